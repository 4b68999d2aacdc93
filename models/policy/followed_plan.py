"""A fixed plan that is left as soon as the target is reached, as rules for a controller.

No table is needed: whatever the loss is above the target, the next epoch of the plan is trained. What the
plan promises of its final loss holds of *reached* here, too: a run that is not stopped early ends as planned,
and one that is stopped has reached the target. It costs what was planned at most.
"""

import math
import os
from typing import Any

from depl.models.evaluation.evaluate import epoch_loads
from depl.models.foundation.documents import read_text
from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.rules import STOP, Place, Rules, Training
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan

_NO_TARGET = -1
"""In the place of the greatest cell in which the target is met: the loss itself says it, at every epoch."""


def plan_rules(plan: Plan | str | os.PathLike[str], instance: Instance | str | os.PathLike[str]) -> Rules:
    """The rules of a run that follows a plan and stops once its loss meets the target.

    It may stop after each epoch whose model may be the last. The only cell of the grid holds every loss.

    Parameters
    ----------
    plan : Plan, path or JSON text
    instance : Instance, path or JSON text
        What it was made for.

    Raises
    ------
    InvalidInputError
        If one of them cannot be read, they do not belong together, or the last model may not be the last.
    """
    if not isinstance(instance, Instance):
        instance = Instance.from_json(_text(instance))
    if not isinstance(plan, Plan):
        plan = Plan.from_json(_text(plan))
    plan.check_names(instance)
    rules, prices = instance.rules, _prices(instance, plan)
    model, cluster, may_stop = instance.target.initial_model, None, rules.may_stop
    places = []
    for number, epoch in enumerate(plan.epochs):
        training = Training(epoch.model, epoch.cluster, prices[number], 0.0, 0.0, number + 1)
        places.append(Place(number, model, cluster, may_stop, (training,), (0,), (0,)))
        model, cluster, may_stop = epoch.model, epoch.cluster, rules.may_end(epoch.model)
    if not may_stop:
        ending = "without an epoch" if model is None else f"with {model!r}, which may not be the last model"
        raise InvalidInputError(f"ends {ending}; make another plan", "plan")
    places.append(Place(len(plan.epochs), model, cluster, may_stop, (), (0,), (STOP,)))
    return _around(instance, tuple(places))


def _text(source: Any) -> str:
    """The JSON text of a document that is given as such or by the path of its file."""
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return source
    if isinstance(source, str | os.PathLike):
        return read_text(os.fspath(source))
    raise InvalidInputError(
        f"a plan is followed with its instance, each as such, as the path of its file or as JSON text, and "
        f"not as {type(source).__name__}",
        "policy",
    )


def _prices(instance: Instance, plan: Plan) -> list[float]:
    """Of every epoch, at its resources as planned, with data that its cluster is brought [cost]."""
    brought = {
        row.cluster: math.fsum(instance.transfer_cost(name, row.cluster) for name in row.datasets)
        for row in plan.data
    }
    loads = zip(epoch_loads(instance, plan), plan.epochs, strict=True)
    return [load.price * epoch.resources + brought.pop(epoch.cluster, 0.0) for load, epoch in loads]


def _around(instance: Instance, places: tuple[Place, ...]) -> Rules:
    """Rules with one cell, which every finite loss is in: so only the loss itself says whether to stop."""
    return Rules(
        name=f"plan of {len(places) - 1} epochs for {instance.name}",
        instance=instance.fingerprint,
        scale="loss",
        origin=0.0,
        step=math.inf,
        cells=1,
        target=_NO_TARGET,
        limit=instance.target.maximum_loss,
        ledger=False,
        last=len(places) - 1,
        start=0,
        places=places,
    )
