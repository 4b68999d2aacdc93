"""What counted policies cost at least, and how often they reach the target at most, whatever they are.

A counted policy is one under the law of the runs that lend to it, and which these are is decided by the
longest stages that it may train (`depl.models.policy.counted`). Runs of one first stage and one second stage
make few different sets of donors: one for each length of a recorded first stage, and of a second. For each
pair of sets there is a lower bound for all policies that are counted on it, with any memory
(`depl.models.policy.history_bound`). The least of them holds for every counted policy that switches once at
most.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from depl.models.policy.counted_planner import proxy
from depl.models.policy.history_bound import history_values
from depl.models.policy.process import process
from depl.models.policy.stages import Extent, Kind, extents
from depl.models.problem.instance import Instance
from depl.models.problem.traced_law import TracedLaw

_BELOW = (0.25, 0.5)
"""Prices of a failure, in that of the objective, for which the bound is worked out: set by hand, any of them
gives one. Those below 1 bound costs alone."""

_ABOVE = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)

_ALONE = 1e9
"""Price of a failure, in that of the objective, at which nothing but failures counts: a run costs less than
ten prices of the objective, a hundred millionth of it."""


@dataclass(frozen=True)
class Limits:
    """Of all counted policies with at most one switch.

    Attributes
    ----------
    cost : float
        Lower bound of the expected cost of those that keep the promise [cost].
    objective : float
        Lower bound of their cost and price of failures [cost].
    reached : float
        Upper bound of P(target reached), for all of them.
    """

    cost: float
    objective: float
    reached: float


def limits(instance: Instance, switches: Collection[int], failure_cost: float) -> Limits:
    """Over all sets of donors.

    Parameters
    ----------
    instance : Instance
        Whose runs have one first stage and one second stage, the same ones.
    switches : collection of int
        Epochs after which policies may switch.
    failure_cost : float
        rho [cost].
    """
    traced = instance.traced_law
    assert traced is not None  # noqa: S101 - it was fitted to runs
    chain, budget = process(proxy(instance), switch_epochs=switches), float(instance.target.violation_budget)
    costs, objectives, failures = [], [], []
    for reach in _reaches(extents(chain.nodes, chain.starts[0].node), traced):
        least = history_values(chain, traced, reach)
        values = {factor: least(factor * failure_cost) for factor in (*_BELOW, *_ABOVE)}
        costs.append(max(value - factor * failure_cost * budget for factor, value in values.items()))
        objectives.append(max(values[factor] - (factor - 1) * failure_cost * budget for factor in _ABOVE))
        failures.append(least(_ALONE * failure_cost) / (_ALONE * failure_cost))
    return Limits(min(costs), min(objectives), 1 - min(failures) + 10 / _ALONE)


def _reaches(whole: Mapping[Kind, Extent], traced: TracedLaw) -> Iterator[dict[Kind, Extent]]:
    """How far stages may go, once for every pair of sets of donors."""
    first, later = sorted(whole, key=lambda kind: kind[1] is not None)
    for length in _lengths(traced, first, whole[first].longest):
        for other in _lengths(traced, later, whole[later].longest):
            yield {first: Extent(length, 0), later: Extent(other, 0)}


def _lengths(traced: TracedLaw, kind: Kind, longest: int) -> list[int]:
    """Of recorded stages, up to the first that is as long as any of a policy may be.

    A stage that is longer than one of them and no longer than the next has the donors of the next.
    """
    recorded = sorted({length for _, _, length in traced.law.by_stage[kind[0], kind[1] is None]})
    return [length for place, length in enumerate(recorded) if place == 0 or recorded[place - 1] < longest]
