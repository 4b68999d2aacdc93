"""What all adapters share: the loss that they observe, and the model that an epoch is to train."""

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any

from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.controller import Controller
from depl.models.policy.decisions import Decision, Switch

_SHOWN = 12
"""Names that a message lists."""


def loss_of(metrics: Mapping[str, Any] | None, name: str, what: str) -> Any:
    """The loss among the metrics of an evaluation.

    Raises
    ------
    InvalidInputError
        If it is not there; ``what`` says which argument names it.
    """
    if metrics is not None and name in metrics:
        return metrics[name]
    there = ", ".join(sorted(map(str, metrics or ()))[:_SHOWN]) or "nothing"
    raise InvalidInputError(
        f"the evaluation after this epoch has no {name!r}; it has {there}. Name the loss by {what}, and "
        "evaluate after every epoch",
        what,
    )


def begun(controller: Controller, remedy: str) -> Decision:
    """Begin a run without its loss before the first epoch, if the policy trains whatever that is.

    Raises
    ------
    InvalidInputError
        If the policy decides on it; ``remedy`` says how it is evaluated.
    """
    try:
        return controller.start()
    except InvalidInputError as error:
        raise InvalidInputError(
            f"the loss before the first epoch is not known, and the policy decides on it; {remedy}"
        ) from error


def changed_model(controller: Controller) -> str | None:
    """The model that the next epoch trains, where it is another than that of the last epoch; else None."""
    decision = controller.decision
    if not isinstance(decision, Switch):
        return None
    return None if controller.records[-1].get("model") == decision.model else decision.model


def models_before(controller: Controller) -> tuple[str, ...]:
    """The models that a run has switched to so far, in order, the first one left out."""
    trained = [str(record["model"]) for record in controller.records if "model" in record]
    return tuple(after for before, after in pairwise(trained) if after != before)


def require_convert(controller: Controller, convert: Callable[..., Any] | None) -> None:
    """Refuse a run that may switch to another model if nothing says how.

    Raises
    ------
    InvalidInputError
        With what to give.
    """
    if convert is None and len(controller.models) > 1:
        raise InvalidInputError(
            f"is missing, and the run may switch between {_listed(controller.models)}; give a function that "
            "makes the one of the other",
            "convert",
        )


def require_clusters(controller: Controller, given: Mapping[str, object]) -> None:
    """Refuse nodes that are not given for every cluster.

    Raises
    ------
    InvalidInputError
        With the first cluster that is missing.
    """
    for cluster in controller.clusters:
        if cluster not in given:
            raise InvalidInputError(f"has no entry for the cluster {cluster!r}", "nodes")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
