"""What a run does next: go on, switch, or stop.

Nothing but the standard library is imported, as training programs import this.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

Reason = Literal["reached", "deadline", "abandoned"]
"""Why a run stops: its loss meets the target and its model is kept; no epoch is left; or it is given up."""


@dataclass(frozen=True, slots=True)
class _Train:
    model: str
    cluster: str
    epoch: int
    loss: float


@dataclass(frozen=True, slots=True)
class Continue(_Train):
    """Train one more epoch of the same model on the same cluster, or the first epoch of all.

    Attributes
    ----------
    model, cluster : str
        What the next epoch trains, and where.
    epoch : int
        Epochs trained so far.
    loss : float
        Observed after them.
    """

    kind: ClassVar[str] = "continue"


@dataclass(frozen=True, slots=True)
class Switch(_Train):
    """Train the next epoch with another model or on another cluster than the last one.

    Attributes
    ----------
    model, cluster, epoch, loss
        As of `Continue`.
    """

    kind: ClassVar[str] = "switch"


@dataclass(frozen=True, slots=True)
class Stop:
    """Train no more, and keep the model of this epoch if the target is reached.

    Attributes
    ----------
    reason : "reached", "deadline" or "abandoned"
    epoch : int
        Epochs trained.
    loss : float
        Observed after them; not finite where the run diverged.
    note : str
        What else there is to say, such as that the run diverged; may be empty.
    """

    kind: ClassVar[str] = "stop"

    reason: Reason
    epoch: int
    loss: float
    note: str = ""


Decision = Continue | Switch | Stop
