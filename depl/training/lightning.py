"""Lightning: a callback that ends the fit where the controller stops the run.

    follow = ControllerCallback(depl.Controller("policy.json", log="run.jsonl"), convert=convert)
    trainer = Trainer(max_epochs=follow.controller.last_epoch, callbacks=[follow])
    trainer.validate(module, validation)
    trainer.fit(module, train, validation)

``convert(module, to)`` is yours; it makes the model ``to`` of the module in place. The optimizers are set up
again after it.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.controller import Controller
from depl.models.policy.decisions import Stop
from depl.training.checkpoints import Checkpoints, observe
from depl.training.following import (
    begun,
    changed_model,
    loss_of,
    models_before,
    require_convert,
    require_epoch,
)

try:
    # The trainer has to be of the package that the callback is of.
    if "pytorch_lightning" in sys.modules and "lightning" not in sys.modules:
        from pytorch_lightning import Callback
    else:
        from lightning.pytorch import Callback
except ImportError as error:
    raise ImportError("this adapter needs Lightning: pip install 'depl[lightning]'") from error


class ControllerCallback(Callback):  # type: ignore[misc]
    """Shows the controller the loss of every epoch, and does what it decides.

    Parameters
    ----------
    controller : Controller
        Of this run.
    monitor : str
        Name of the validation loss, as logged: the same evaluation that the traces held.
    convert : callable, optional
        ``convert(module, to)`` makes the model ``to`` of the module; needed where the run may switch.
    checkpoints : Checkpoints, optional
        Where the trainer's checkpoint is kept.
    """

    def __init__(
        self,
        controller: Controller,
        monitor: str = "val_loss",
        *,
        convert: Callable[[Any, str], object] | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        super().__init__()
        require_convert(controller, convert)
        self.controller, self.monitor = controller, monitor
        self.convert, self.checkpoints = convert, checkpoints
        self._seen: tuple[int, Any] | None = None

    @property
    def resume_path(self) -> str | None:
        """For ``trainer.fit(..., ckpt_path=...)``: what to go on from; None for a new run."""
        return None if self.checkpoints is None else self.checkpoints.found(self.controller)

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Refuse a trainer that would overrule the controller; make the model that a checkpoint holds."""
        if stage != "fit":
            return
        _require_obedient(trainer, self.controller)
        if self.convert is not None:
            for model in models_before(self.controller):
                self.convert(pl_module, model)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Refuse a run that has not begun, or is elsewhere; train nothing if it has stopped."""
        decision = begun(self.controller, "call trainer.validate(module, ...) before fit")
        remedy = "fit(..., ckpt_path=callback.resume_path), with checkpoints given to the callback"
        require_epoch(self.controller, trainer.current_epoch, remedy)
        trainer.should_stop = isinstance(decision, Stop)

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Switch to another model, if that was decided."""
        model = changed_model(self.controller)
        if model is not None and self.convert is not None:
            self.convert(pl_module, model)
            trainer.strategy.setup_optimizers(trainer)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Note the loss; that of ``trainer.validate`` before the first epoch begins the run."""
        if trainer.sanity_checking:
            return
        loss = loss_of(trainer.callback_metrics, self.monitor, "monitor")
        if trainer.state.fn == "fit":
            self._seen = trainer.global_step, loss
        elif self.controller.decision is None:
            self.controller.start(loss)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Observe."""
        if self._seen is None or self._seen[0] != trainer.global_step:
            remedy = "leave val_check_interval and check_val_every_n_epoch of the trainer at 1"
            message = f"no validation at the end of this epoch; {remedy}, and give fit the validation data"
            raise InvalidInputError(message)
        save = partial(trainer.save_checkpoint, weights_only=False)
        decision = observe(self.controller, self._seen[1], self.checkpoints, save)
        trainer.should_stop = isinstance(decision, Stop)


def _require_obedient(trainer: Any, controller: Controller) -> None:
    last, wrong = trainer.max_epochs, ""
    if trainer.fit_loop.min_epochs or trainer.fit_loop.min_steps:
        wrong = "min_epochs and min_steps of the trainer overrule a stop; leave them out"
    elif last is not None and 0 <= last < controller.last_epoch:
        wrong = f"max_epochs={last} of the trainer ends the run before the controller does"
        wrong += f"; max_epochs=controller.last_epoch is {controller.last_epoch}"
    elif trainer.world_size > 1:
        wrong = f"has {trainer.world_size} processes, each of which would lead a run of its own; train with"
        wrong += " one device, or keep the controller in one process and broadcast its decision"
    if wrong:
        raise InvalidInputError(wrong, "trainer")
