"""What all adapters share: the loss that they observe, the epoch they are at, and the model it trains."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.controller import Controller
from depl.models.policy.decisions import Decision, Switch
from depl.training.checkpoints import Checkpoints

_SHOWN = 12
"""Names that a message lists."""


def loss_of(metrics: Mapping[str, Any] | None, name: str, what: str) -> Any:
    """The loss among the metrics of an evaluation, which the argument ``what`` names."""
    if metrics is not None and name in metrics:
        return metrics[name]
    there = ", ".join(sorted(map(str, metrics or ()))[:_SHOWN]) or "nothing"
    message = f"the evaluation after this epoch has no {name!r}; it has {there}. Name the loss by {what}, and"
    raise InvalidInputError(f"{message} evaluate after every epoch", what)


def begun(controller: Controller, remedy: str) -> Decision:
    """The decision of a run, which begins without its first loss if the policy trains whatever that is."""
    try:
        return controller.decision or controller.start()
    except InvalidInputError as error:
        unknown = "the loss before the first epoch is not known, and the policy decides on it"
        raise InvalidInputError(f"{unknown}; {remedy}") from error


def require_epoch(controller: Controller, epoch: int, remedy: str) -> None:
    """Refuse an epoch that the controller does not wait for."""
    if epoch != controller.epoch:
        said = f"fit is at epoch {epoch}, and {controller.epoch} epochs are observed"
        raise InvalidInputError(f"{said}; call {remedy}")


def changed_model(controller: Controller) -> str | None:
    """The model that the next epoch trains, where it is another than that of the last epoch; else None."""
    decision = controller.decision
    if not isinstance(decision, Switch) or controller.records[-1].get("model") == decision.model:
        return None
    return decision.model


def models_before(controller: Controller) -> tuple[str, ...]:
    """The models that a run has switched to so far, in order, the first one left out."""
    trained = [str(record["model"]) for record in controller.records if "model" in record]
    return tuple(after for before, after in pairwise(trained) if after != before)


def require_convert(controller: Controller, convert: Callable[..., Any] | None) -> None:
    """Refuse a run that may switch to another model if nothing says how."""
    if convert is None and len(controller.models) > 1:
        may = f"is missing, and the run may switch between {', '.join(map(repr, controller.models))}"
        raise InvalidInputError(f"{may}; give a function that makes the one of the other", "convert")


def require_suffix(checkpoints: Checkpoints | None, suffix: str, who: str) -> None:
    """Refuse files that end otherwise than those that a library saves to."""
    if checkpoints is not None and checkpoints.suffix != suffix:
        message = f"{who} to files that end in {suffix}: suffix={suffix!r}"
        raise InvalidInputError(message, "checkpoints")
