"""Keras 3: ``fit`` ends where the controller stops the run or switches to another model.

    controller = depl.Controller("policy.json", log="run.jsonl")
    controller.start(model.evaluate(*validation, return_dict=True)["loss"])
    while not isinstance(controller.decision, depl.Stop):
        if isinstance(controller.decision, depl.Switch):
            model = convert(model, controller.decision.model)
        model.fit(*train, validation_data=validation, initial_epoch=controller.epoch,
                  epochs=controller.last_epoch, callbacks=[ControllerCallback(controller)])

``convert`` is yours; it returns a compiled model, whose optimizer is new.
"""

from typing import Any

from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.controller import Controller
from depl.models.policy.decisions import Continue, Stop
from depl.training.checkpoints import Checkpoints, observe
from depl.training.following import begun, loss_of, require_epoch, require_suffix

try:
    from keras.callbacks import Callback
except ImportError as error:
    raise ImportError("this adapter needs Keras 3: pip install 'depl[keras]'") from error


class ControllerCallback(Callback):  # type: ignore[misc]
    """Shows the controller the loss of every epoch, and ends ``fit`` unless it says to go on.

    Parameters
    ----------
    controller : Controller
        Of this run, which has been shown the loss before the first epoch, unless its policy trains that epoch
        whatever it is.
    monitor : str
        Key of the loss in the logs of an epoch: the same evaluation that the traces held.
    checkpoints : Checkpoints, optional
        Where the model is kept, with suffix ".keras".
    """

    def __init__(
        self, controller: Controller, monitor: str = "val_loss", checkpoints: Checkpoints | None = None
    ) -> None:
        super().__init__()
        require_suffix(checkpoints, ".keras", "Keras saves")
        self.controller, self.monitor, self.checkpoints = controller, monitor, checkpoints

    def on_train_begin(self, logs: Any = None) -> None:
        """Refuse a run that has not begun or has stopped: ``fit`` trains at least one batch."""
        remedy = "call controller.start(model.evaluate(...)) before fit"
        if isinstance(begun(self.controller, remedy), Stop):
            raise InvalidInputError(f"the run has stopped, so do not call fit: {self.controller.why()}")

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Refuse an epoch that the controller does not wait for."""
        remedy = "fit(initial_epoch=controller.epoch, epochs=controller.last_epoch)"
        require_epoch(self.controller, epoch, remedy)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Observe."""
        loss = loss_of(logs, self.monitor, "monitor")
        decision = observe(self.controller, loss, self.checkpoints, lambda path: self.model.save(path))
        if not isinstance(decision, Continue):
            self.model.stop_training = True
