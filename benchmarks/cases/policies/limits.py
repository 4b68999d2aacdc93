"""What counted policies cost at least, and how often they reach the target at most, whatever they are.

A counted policy is one under the law of the runs that lend to it, and which these are is decided by the
longest stages that it may train (`depl.models.policy.counted`). Runs of one first stage and one second stage
make few different sets of donors: one for each length of a recorded first stage, and of a second. For each
pair of sets there is a lower bound for all policies that are counted on it, with any memory
(`depl.models.policy.history_bound`). The least of them holds for every counted policy with at most one switch.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from depl.models.policy.counted_planner import proxy
from depl.models.policy.history_bound import history_values
from depl.models.policy.process import process
from depl.models.policy.stages import Extent, Kind, extents
from depl.models.problem.instance import Instance
from depl.models.problem.traced_law import TracedLaw

_PRICES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Prices of a failure for which the bound is worked out, in that of the objective; any of them gives one."""

_ALONE = 1e9
"""Price of a failure, in that of the objective, at which nothing but failures counts: costs are a hundred
millionth of it."""


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
        prices = [factor * failure_cost for factor in _PRICES]
        values = {price: least(price) for price in prices}
        costs.append(max(values[price] - price * budget for price in prices))
        objectives.append(
            max(values[price] - max(0.0, price - failure_cost) * budget for price in prices)
            if False
            else max(
                values[price] - (price - failure_cost) * budget for price in prices if price >= failure_cost
            )
        )
        failures.append(least(_ALONE * failure_cost) / (_ALONE * failure_cost))
    return Limits(min(costs), min(objectives), 1 - min(failures))


def _reaches(whole: Mapping[Kind, Extent], traced: TracedLaw) -> Iterator[dict[Kind, Extent]]:
    """How far stages may go, once for every pair of sets of donors."""
    first, later = sorted(whole, key=lambda kind: kind[1] is not None)
    firsts, laters = (
        [length for length in _lengths(traced, kind) if _shorter(traced, kind, length) < whole[kind].longest]
        for kind in (first, later)
    )
    for length in firsts:
        for other in laters:
            yield {first: Extent(length, 0), later: Extent(other, 0)}


def _lengths(traced: TracedLaw, kind: Kind) -> list[int]:
    """Of the recorded stages of a kind, ascending: between two of them the donors are those of the greater."""
    stages = traced.law.by_stage[kind[0], kind[1] is None]
    return sorted({length for _, _, length in stages})


def _shorter(traced: TracedLaw, kind: Kind, length: int) -> int:
    """The recorded length below one; 0 below the first."""
    return max((other for other in _lengths(traced, kind) if other < length), default=0)
