r"""Plan a policy: the least expected cost plus price of failures, with a promise, and a bound for all others.

    minimise C + rho F   subject to   F = P(not reached) <= 1 - omega

over the policies of `depl.models.policy.process`. Why failures have a price, and why it is 1.5 times the
least expected cost of a success unless one is given, is said in `docs/policies`.

Grids become finer, fourfold each time, until the gap that is wanted is certified or the time is over. The
prices that a coarse grid found are where the finer one begins.
"""

import math
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import msgspec

from depl.models.foundation.deadline import OutOfTimeError, deadline
from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.dynamic import Options, Table, lower, upper
from depl.models.policy.grid import Expectations, Grid
from depl.models.policy.hull import Walk, walk
from depl.models.policy.process import Process, process
from depl.models.policy.ratio import least_ratio, least_ratio_below
from depl.models.policy.result import PolicyResult
from depl.models.policy.tables import policy_nodes
from depl.models.problem.instance import Instance
from depl.models.problem.plan import ClusterData
from depl.models.problem.policy import Certificate, LossGrid, Policy
from depl.models.solving.methods import require_limits
from depl.models.solving.result import Solution, Termination
from depl.models.solving.solve import VerificationError
from depl.models.verifier.policies import verify_policy

FAILURE_FACTOR = 1.5
"""Price of a failed run in least expected costs of a success, unless one is given. At 1 it pays to give up
every run that begins worse than the best; from 1.5 on, no run was given up before its first epoch on the real
runs of `docs/policies`, and the cost of a success rose by less than a hundredth."""

GRIDS = (4_096, 16_384, 65_536, 262_144)
"""Cells of the grids, one after the other: each costs four times as much as the one before, and leaves about
a quarter of its gap."""

_LONGER = 4.0
"""How many times longer the next policy takes to verify: its grid has four times as many cells."""

_CAREFUL = 1e6
"""Price of a failure, in the greatest cost of a run, at which a policy of (nearly) least failure is found: F
then differs from the least by 1e-6 at most, which the walk along the hull makes up for."""


def solve_policy(
    instance: Instance,
    *,
    failure_cost: float | Literal["ratio"] = "ratio",
    gap: float = 0.01,
    time_limit: float | None = 60.0,
    data: Mapping[str, Collection[str]] | None = None,
    switch_epochs: Collection[int] | None = None,
    abandon_at_start: bool = False,
) -> PolicyResult:
    """Plan a policy that stops, goes on or switches after every epoch.

    Parameters
    ----------
    instance : Instance
        With its promise: the target is to be reached with probability omega.
    failure_cost : float or "ratio"
        Price of a run that fails [cost]; "ratio" is `FAILURE_FACTOR` times the least expected cost of a
        success.
    gap : float
        Certified relative gap of the objective that is good enough.
    time_limit : float or None
        Wall seconds.
    data, switch_epochs
        As `depl.models.policy.process.process`.
    abandon_at_start : bool
        Whether a run may be given up before its first epoch.

    Raises
    ------
    InvalidInputError
        If a price is below the least expected cost of a success (then not to train is best), or a parameter
        is out of its range.
    NotCoveredError
        If the process of the instance is not covered.
    VerificationError
        If the independent evaluator objects to the policy.
    """
    started = time.monotonic()
    gap, time_limit, _ = require_limits(gap, time_limit, 0)
    if failure_cost != "ratio" and not 0 < float(failure_cost) < math.inf:
        raise InvalidInputError(f"must be a positive number or 'ratio', not {failure_cost}", "failure_cost")
    whole = process(instance, data, switch_epochs)
    given = None if failure_cost == "ratio" else float(failure_cost)
    planner = _Planner(instance, whole, given, Options(abandon_at_start), _told(data), _sorted(switch_epochs))
    best, ending, reserve = None, Termination.EXHAUSTED, 0.0

    def lateness() -> float:
        return -math.inf if time_limit is None else time.monotonic() - started - time_limit + reserve

    try:
        with deadline(lateness):
            for found in planner.answers():
                reserve = _LONGER * _verified(found)
                best = found if best is None else _better(best, found)
                if (best.gap is not None and best.gap <= gap) or best.termination is Termination.INFEASIBLE:
                    ending = Termination.GAP_REACHED
                    break
    except OutOfTimeError:
        ending = Termination.TIME_LIMIT
    except KeyboardInterrupt:
        ending = Termination.INTERRUPTED
    return _ended(best or planner.nothing(), ending, gap, time.monotonic() - started)


def _verified(found: PolicyResult) -> float:
    """Seconds that the independent evaluator takes to accept the policy of an answer, if there is one [s]."""
    if found.policy is None:
        return 0.0
    started = time.monotonic()
    failures = verify_policy(found.instance, found.policy).failures
    if failures:
        told = "; ".join(f"{item.equation}: {item.message}" for item in failures)
        raise VerificationError(f"the policy fails the independent evaluator: {told}")
    return time.monotonic() - started


def _told(data: Mapping[str, Collection[str]] | None) -> tuple[ClusterData, ...]:
    return tuple(
        ClusterData(cluster=name, datasets=tuple(sorted(used))) for name, used in sorted((data or {}).items())
    )


def _sorted(epochs: Collection[int] | None) -> tuple[int, ...] | None:
    return None if epochs is None else tuple(sorted(set(epochs)))


def _better(old: PolicyResult, new: PolicyResult) -> PolicyResult:
    """The new policy unless it is worse, with the better bound; a price that was proved later replaces it."""
    if new.policy is None or old.policy is None:
        return new if old.policy is None else old
    if new.failure_cost != old.failure_cost:  # objectives with other prices cannot be compared
        return new
    bound = max(old.lower_bound, new.lower_bound)
    kept = new if (new.objective or math.inf) <= (old.objective or math.inf) else old
    return replace(kept, lower_bound=bound, cells=new.cells)


def _ended(best: PolicyResult, ending: Termination, gap: float, seconds: float) -> PolicyResult:
    if best.termination is Termination.INFEASIBLE:
        ending = Termination.INFEASIBLE
    policy = best.policy
    if policy is not None:
        if best.objective is not None and best.lower_bound > best.objective * (1 + 1e-9):
            raise VerificationError(
                f"the policy has {best.objective:.12g}, below the bound {best.lower_bound:.12g} of all"
            )
        certificate = msgspec.structs.replace(policy.certificate, lower_bound=best.lower_bound)
        policy = msgspec.structs.replace(policy, certificate=certificate)
    return replace(best, termination=ending, policy=policy, gap_wanted=gap, seconds=seconds)


@dataclass
class _Planner:
    """Answers on finer and finer grids."""

    instance: Instance
    process: Process
    failure_cost: float | None
    options: Options
    data: tuple[ClusterData, ...]
    switch_epochs: tuple[int, ...] | None
    ratio: tuple[float, float] | None = None
    price: float | None = None

    @property
    def budget(self) -> float:
        """p = 1 - omega, rounded down."""
        return math.nextafter(float(self.instance.target.violation_budget), 0.0)

    def answers(self) -> Iterator[PolicyResult]:
        """What is known after each grid, and within it after each step of the walk."""
        hint: float | None = None
        for cells in GRIDS:
            grid = Grid.of(self.process, cells)
            up, down = Expectations(grid, up=True), Expectations(grid, up=False)
            careful = self._careful(up)
            if careful.failure > self.budget:
                least = min(lower(self.process, down, 1.0, self.options, free=True))
                yield self._none(cells, least)
                if least > self.budget:
                    return
                continue
            if self.ratio is None:
                self._find_ratio(up, down, careful)
            for found in self._walks(up, careful, hint):
                hint = found.price
            yield self._answer(found, up, down)

    def _careful(self, up: Expectations) -> Table:
        """A policy of least failure, up to a millionth."""
        longest = sum(
            max(
                (training.price for number in numbers for training in self.process.nodes[number].trainings),
                default=0.0,
            )
            for numbers in self.process.by_epoch()
        )
        return upper(self.process, up, _CAREFUL * max(longest, 1e-9), self.options)

    def _find_ratio(self, up: Expectations, down: Expectations, careful: Table) -> None:
        found = least_ratio(self.process, up, careful, self.options)
        self.ratio = least_ratio_below(self.process, down, found.upper, self.options), found.upper
        self.price = FAILURE_FACTOR * found.upper if self.failure_cost is None else self.failure_cost
        if self.price < found.upper:
            raise InvalidInputError(
                f"a failed run at {self.price:.6g} is cheaper than the least expected cost of a success, "
                f"which is {self.ratio[0]:.6g} to {self.ratio[1]:.6g}: not to train would be best; give at "
                f"least {math.ceil(found.upper * 1e4) / 1e4:.6g}",
                "failure_cost",
            )

    def _walks(self, up: Expectations, careful: Table, hint: float | None) -> Iterator[Walk]:
        assert self.price is not None  # noqa: S101 - found before
        keeping = careful
        if hint is not None and hint > self.price:
            near = upper(self.process, up, hint * (1 + 1e-9), self.options)
            keeping = near if near.failure <= self.budget else careful
        return walk(
            lambda price: upper(self.process, up, price, self.options), self.budget, self.price, keeping
        )

    def _answer(self, found: Walk, up: Expectations, down: Expectations) -> PolicyResult:
        assert self.price is not None  # noqa: S101 - found before
        bound = min(lower(self.process, down, found.price, self.options))
        bound = max(0.0, bound - (found.price - self.price) * float(self.instance.target.violation_budget))
        table = found.keeping
        policy = self._policy(table, found.price, up.grid, bound)
        return PolicyResult(
            Termination.EXHAUSTED,
            Solution.FEASIBLE,
            policy,
            policy.certificate.cost,
            policy.certificate.reached,
            self.price,
            self.ratio,
            found.price,
            bound,
            self.instance,
            0.0,
            up.grid.cells,
            0.0,
        )

    def _policy(self, table: Table, multiplier: float, grid: Grid, bound: float) -> Policy:
        target = self.instance.target
        assert self.price is not None  # noqa: S101 - found before
        return Policy(
            name=self.instance.name,
            instance=self.instance.fingerprint,
            maximum_loss=target.maximum_loss,
            quantile_level=target.quantile_level,
            maximum_epochs=target.maximum_epochs,
            failure_cost=self.price,
            failure_cost_rule="ratio" if self.failure_cost is None else "given",
            multiplier=multiplier,
            abandon_at_start=self.options.abandon_at_start,
            data=self.data,
            switch_epochs=self.switch_epochs,
            grid=LossGrid(
                scale=self.process.scale,
                origin=grid.origin,
                step=grid.step,
                cells=grid.cells,
                target=grid.target,
                limit=self.process.limit,
            ),
            start=0,
            nodes=policy_nodes(self.process, table),
            certificate=Certificate(
                method="ledger",
                cost=table.cost,
                reached=max(0.0, math.nextafter(1 - table.failure, 0.0)),
                lower_bound=bound,
                ratio=self.ratio,
            ),
        )

    def _none(self, cells: int, least: float) -> PolicyResult:
        omega = self.instance.target.quantile_level
        if least > self.budget:
            reason = (
                f"no policy reaches the target with probability {omega:g}: under the law at most "
                f"{1 - least:.6g}; raise maximum_loss or maximum_epochs, or lower quantile_level"
            )
            ending = Termination.INFEASIBLE
        else:
            reason = (
                f"undecided on {cells} cells: no policy is certified to reach the target with probability "
                f"{omega:g}, and that there is none is not proved"
            )
            ending = Termination.EXHAUSTED
        return replace(self.nothing(), termination=ending, cells=cells, reason=reason)

    def nothing(self) -> PolicyResult:
        """Before anything is known."""
        return PolicyResult(
            Termination.EXHAUSTED,
            Solution.NONE,
            None,
            None,
            None,
            self.price,
            self.ratio,
            None,
            0.0,
            self.instance,
            0.0,
            0,
            0.0,
            "the time was over before the first grid was solved",
        )
