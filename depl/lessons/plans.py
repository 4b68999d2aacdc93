"""All plans of an instance as small as ``tiny``, each with its cheapest resources."""

import itertools
from collections.abc import Mapping

from depl.models.exact.choices import build_plan
from depl.models.exact.listing import data_assignments
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.allocation import allocate
from depl.models.problem.epochs import load
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.traces.table import Schedule

MOST_PLANS = 100_000


def all_plans(instance: Instance) -> list[Plan]:
    """Every plan with at least one epoch that can keep the limits of time, whatever it makes of the loss.

    A plan is a choice of data for each cluster that trains, and of model and cluster for each epoch.

    Raises
    ------
    NotCoveredError
        If there would be more than `MOST_PLANS` sequences for one choice of data.
    """
    longest = instance.target.maximum_epochs
    if (len(instance.models) * len(instance.clusters)) ** longest > MOST_PLANS:
        raise NotCoveredError("there are too many plans to list; depl.solve needs no list")
    found = []
    for _, data in data_assignments(instance):
        steps = [(model.name, place) for place in data for model in instance.models]
        for length in range(1, longest + 1):
            for sequence in itertools.product(steps, repeat=length):
                if {place for _, place in sequence} == set(data) and _allowed(instance, data, sequence):
                    found.append(build_plan(instance, data, sequence))
    return found


def _allowed(instance: Instance, data: Mapping[str, frozenset[str]], sequence: Schedule) -> bool:
    """Whether no switch is forbidden, and some resources keep the limits of time."""
    target = instance.target
    models = [target.initial_model, *(model for model, _ in sequence)]
    loads = [
        load(instance, epoch, model, place, data[place])
        for epoch, (model, place) in enumerate(sequence, start=1)
    ]
    return (
        all(instance.may_follow(before, after) for before, after in itertools.pairwise(models) if after)
        and allocate(loads, target.maximum_time, target.round_deadline).feasible
    )
