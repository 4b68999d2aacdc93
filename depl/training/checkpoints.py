"""Weights that go with the log of a run, so that a run that was killed goes on with both.

The weights of an epoch are written before its line of the log, and those of the epoch before are removed
after it. So the weights of the last epoch of the log are always there; an epoch whose line is missing is
trained again. After the run has stopped, what is left are the weights of the epoch that it stopped at.
"""

import contextlib
import os
from collections.abc import Callable
from typing import Any

from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.controller import Controller
from depl.models.policy.decisions import Decision


class Checkpoints:
    """A folder of one run that holds the weights after the last epoch observed.

    Parameters
    ----------
    folder : str or path
        Made if it is not there.
    suffix : str
        Of the files, such as ".pt": some libraries go by it.

    Raises
    ------
    InvalidInputError
        If one of the two can stand in no name of a file.
    """

    def __init__(self, folder: str | os.PathLike[str], suffix: str = "") -> None:
        self.folder, self.suffix = os.fspath(folder), suffix
        if "\0" in self.folder + suffix:
            raise InvalidInputError("no name of a file has a null byte", self.folder)

    def path(self, epoch: int) -> str:
        """The file of an epoch."""
        return os.path.join(self.folder, f"epoch-{epoch}{self.suffix}")

    def found(self, controller: Controller) -> str | None:
        """The file to go on from; None before the first epoch. What a killed process left is removed.

        Raises
        ------
        InvalidInputError
            If it is not there.
        """
        path = self.path(controller.epoch)
        if os.path.exists(path):
            self._remove_all_but(controller.epoch)
            return path
        if controller.epoch == 0:
            return None
        lacks = f"has no {os.path.basename(path)}, and the log of the run holds {controller.epoch} epochs"
        raise InvalidInputError(f"{lacks}; give the folder of that run, or begin a new log", self.folder)

    def observe(self, controller: Controller, loss: Any, save: Callable[[str], object]) -> Decision:
        """Keep the weights of the epoch that was just trained, and ask what comes next.

        Parameters
        ----------
        controller : Controller
        loss : float
            After the epoch.
        save : callable
            Writes the weights to the path that it is given.

        Raises
        ------
        InvalidInputError
            If the folder cannot be written, and as `Controller.observe`.
        """
        epoch = controller.epoch + 1
        part = os.path.join(self.folder, f"unfinished{self.suffix}")
        try:
            os.makedirs(self.folder, exist_ok=True)
            save(part)
            with open(part, "rb+") as file:  # it is on the disk before its name
                os.fsync(file.fileno())
            os.replace(part, self.path(epoch))
        except OSError as error:
            raise InvalidInputError(f"cannot be written ({error.strerror or error})", self.folder) from error
        decision = controller.observe(loss)
        self._remove_all_but(epoch)
        return decision

    def _remove_all_but(self, epoch: int) -> None:
        """Remove the weights of other epochs; those that cannot be removed do no harm."""
        for name in os.listdir(self.folder):
            number = name.removeprefix("epoch-").removesuffix(self.suffix)
            own = number.isdecimal() and name == os.path.basename(self.path(int(number)))
            if own and int(number) != epoch:
                with contextlib.suppress(OSError):
                    os.remove(os.path.join(self.folder, name))


def observe(
    controller: Controller, loss: Any, checkpoints: Checkpoints | None, save: Callable[[str], object]
) -> Decision:
    """The same, or without weights."""
    return controller.observe(loss) if checkpoints is None else checkpoints.observe(controller, loss, save)
