"""Tiny instances with scenarios, on which every exact method can be judged by writing out all plans.

Each of them is drawn before anything is solved: an instance of the random family, other switch laws and an
initial model with some probability, a sample of its noise (or, with some probability, numbers of the
user's own that may raise the loss), and a target that one of a few random plans just meets on that sample.
Every second one has two clusters, two datasets, or both. Some targets are out of reach, some are met at
the start, some lie exactly on a sum of increments, so that ties decide.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from depl.instances.generator import random_instance, random_plan
from depl.models.evaluation.evaluate import epoch_loads
from depl.models.problem.allocation import allocate
from depl.models.problem.instance import Instance, Switch, Transfer
from depl.models.problem.laws import Empirical, FloatArray, Normal, SwitchLaw
from depl.models.problem.plan import Plan
from depl.models.scenarios.draws import (
    Scenarios,
    allowed_misses,
    draw_scenarios,
    given_scenarios,
    scenario_losses,
)

_LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_SHAPES = ((2, 1), (1, 2), (2, 2))
_REFERENCE_PLANS = 12


@dataclass(frozen=True, eq=False)
class SampledInstance:
    """An instance and the scenarios that its plans are counted on."""

    instance: Instance
    scenarios: Scenarios


def tiny_sampled(rng: np.random.Generator, count: int) -> Iterator[SampledInstance]:
    """Draw ``count`` tiny instances with scenarios; the first n do not depend on ``count``.

    K_max is 2 to 4, |M| 1 to 3, S 5 to 20. Those at odd positions have two clusters, two datasets, or both.
    """
    for index in range(count):
        yield sampled_instance(rng, *(_SHAPES[index // 2 % len(_SHAPES)] if index % 2 else (1, 1)))


def sampled_instance(rng: np.random.Generator, clusters: int, datasets: int) -> SampledInstance:
    """Draw one, with so many clusters and datasets."""
    few = 1 if rng.random() < 0.15 else 2
    draft = random_instance(
        rng,
        models=(few, 3),
        clusters=(clusters, clusters),
        datasets=(datasets, datasets),
        maximum_epochs=(2 if rng.random() < 0.5 else 4, 4),
    )
    if rng.random() < 0.5:
        draft = draft.replace(transfers=tuple(_cheaper(row) for row in draft.transfers))
    instance = draft.replace(
        quantile_level=float(rng.choice(_LEVELS)),
        initial_model=draft.models[-1].name if rng.random() < 0.25 else draft.target.initial_model,
    )
    if rng.random() < 0.4:
        instance = _with_gainful_switches(rng, instance)
    scenarios = _sample(rng, instance)
    instance = _with_target(rng, instance, scenarios)
    return SampledInstance(instance.replace(name=f"tiny-{instance.fingerprint[:8]}"), scenarios)


def _cheaper(row: Transfer) -> Transfer:
    return Transfer(dataset=row.dataset, cluster=row.cluster, cost=row.cost / 16)


def _with_gainful_switches(rng: np.random.Generator, instance: Instance) -> Instance:
    """Switches whose loss is negative in most scenarios; forbidden ones stay forbidden."""
    typical = min(model.improvement.at(1)[1].moments().mean for model in instance.models)

    def law(old: SwitchLaw) -> SwitchLaw:
        if old.forbids:
            return old
        mean, deviation = round(-0.4 * abs(typical) * rng.uniform(), 4), 0.3 * abs(typical)
        if rng.random() < 0.5:
            return Normal(mean=mean, variance=round(deviation**2 + 1e-4, 4))
        return Empirical(values=tuple(round(value, 3) for value in rng.normal(mean, deviation, 5).tolist()))

    rows = tuple(
        Switch(previous=row.previous, following=row.following, law=law(row.law)) for row in instance.switches
    )
    return instance.replace(switches=rows, other_switches=law(instance.other_switches))


def _sample(rng: np.random.Generator, instance: Instance) -> Scenarios:
    """Draws from the laws, on a decimal grid in three cases of ten; or the user's own numbers."""
    size, seed = int(rng.integers(5, 21)), int(rng.integers(2**31))
    decimals = int(rng.integers(1, 3)) if rng.random() < 0.3 else None
    drawn = draw_scenarios(instance, size, seed, decimals)
    if rng.random() < 0.8:
        return drawn
    spread = float(np.std(drawn.improvements)) + 0.1
    return given_scenarios(
        instance,
        drawn.improvements + rng.normal(0, spread, drawn.improvements.shape),
        rng.normal(0, spread / 2, drawn.switch_losses.shape),
        decimals,
    )


def _with_target(rng: np.random.Generator, instance: Instance, scenarios: Scenarios) -> Instance:
    """A maximum loss that one of the better of a few random plans meets: just so, or with some slack."""
    plans = [random_plan(rng, instance) for _ in range(_REFERENCE_PLANS)]
    reached = np.array([_reached(instance, scenarios, plan) for plan in plans])
    in_time = [place for place, plan in enumerate(plans) if _in_time(instance, plan)]
    order = sorted(in_time or range(len(plans)), key=lambda place: reached[place])
    chosen = float(reached[order[int(rng.integers(1 + len(order) // 3))]])
    initial = instance.target.initial_loss
    fall = max(initial - chosen, 0.05)
    kind = rng.choice(["exact", "slack", "beyond", "start"], p=[0.25, 0.57, 0.15, 0.03])
    least = {
        "exact": chosen,
        "slack": chosen + fall * rng.uniform(0, 0.1),
        "beyond": chosen - fall * rng.uniform(0.1, 1.5),
        "start": initial,
    }
    return instance.replace(maximum_loss=least[str(kind)])


def _reached(instance: Instance, scenarios: Scenarios, plan: Plan) -> float:
    """The least maximum loss that the plan meets on the scenarios."""
    losses: FloatArray = np.sort(scenario_losses(instance, scenarios, plan))
    return float(losses[-1 - allowed_misses(instance, len(scenarios))])


def _in_time(instance: Instance, plan: Plan) -> bool:
    loads = epoch_loads(instance, plan)
    return allocate(loads, instance.target.maximum_time, instance.target.round_deadline).feasible
