"""Policies under laws with independent noise: certified on the ledger, with a bound for all policies."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from depl.models.foundation.wording import probability
from depl.models.policy.dynamic import STOP, Table, certified, lower, met_at_start, upper
from depl.models.policy.exact import exact_failure
from depl.models.policy.grid import Expectations, Grid
from depl.models.policy.hull import Walk, walk
from depl.models.policy.planner import (
    Price,
    Request,
    careful_table,
    grids,
    held,
    nothing,
    policy_of,
    priced,
    refined,
    too_cheap,
)
from depl.models.policy.process import Process
from depl.models.policy.result import PolicyResult
from depl.models.policy.static import StaticPlan, actions_of, static_plans
from depl.models.problem.laws.law import UNIT_ROUNDOFF
from depl.models.solving.result import Termination


@dataclass
class LedgerPlanner:
    """Answers on finer and finer grids.

    Attributes
    ----------
    request : Request
    process : Process
    price : Price or None
        Known once the first grid was solved, and no greater on finer ones.
    fixed : StaticPlan or None
        The best fixed plan, left when the target is reached, as the first grid told.
    """

    request: Request
    process: Process
    price: Price | None = None
    fixed: StaticPlan | None = None

    def answers(self) -> Iterator[PolicyResult]:
        """What is known after each grid; nothing more once it is proved that there is no policy.

        Raises
        ------
        InvalidInputError
            If a given price of a failure is too small, or not shown to be large enough on the finest grid.
        """
        if (
            self.request.instance.traced_law is None
            and met_at_start(self.process, self.process.starts[0]) == 1
        ):
            yield self._idle()
            return
        for cells in grids(self.process):
            grid = Grid.of(self.process, cells)
            up, down = Expectations(grid, up=True), Expectations(grid, up=False)
            careful = self._settled(careful_table(self.process, up, self.request.options), grid)
            if careful.failure > self.request.budget:
                least = min(lower(self.process, down, 1.0, self.request.options, free=True))
                yield self._none(cells, least)
                if least > self.request.instance.target.violation_budget:
                    return
                continue
            if self.price is None:
                self.price = priced(self.request, self.process, up, down, careful)
            else:
                self.price = refined(self.request, self.process, up, down, self.price)
            if not self.price.decided:
                yield self._undecided(self.price, cells)
                continue
            if self.fixed is None:
                self.fixed = best_static(self.process, up, self.price.rho, self.request.budget)
                if self.request.rung == "optimal" and (table := self._certified_fixed(up)) is not None:
                    yield self._held(table, up, 0.0)  # an answer, should there be no time for a better one
            yield (
                self._static(up, down) if self.request.rung == "static" else self._optimal(careful, up, down)
            )

        if self.price is not None and not self.price.decided:
            raise too_cheap(self.price)

    def found_so_far(self) -> str:
        """Nothing: only time is in the way of a first answer."""
        return ""

    def _undecided(self, price: Price, cells: int) -> PolicyResult:
        """Where the given price of a failure may be too small: a finer grid tells."""
        if price.ratio is not None and price.rho < price.ratio[0]:
            raise too_cheap(price)
        return nothing(self.request, price, str(too_cheap(price)), cells)

    def _idle(self) -> PolicyResult:
        """Where l(0) meets the target: stop at once. No run fails, so their price does not matter."""
        grid = Grid.of(self.process, _FEW)
        stop = tuple(np.full(grid.cells, STOP, dtype=np.int16) for _ in self.process.nodes)
        given = self.request.failure_cost
        price = Price(1.0 if given is None else given, None)
        policy = policy_of(
            self.request, self.process, grid, Table(stop, 0, 0.0, 0.0, price.rho), price, "ledger"
        )
        reason = (
            "the loss before the first epoch meets the target already, and so the policy trains nothing: no "
            "run fails, and no success is paid for"
        )
        return replace(held(self.request, policy, price, 0.0), reason=reason)

    @property
    def rho(self) -> float:
        """The price of a failed run [cost]."""
        return 0.0 if self.price is None else self.price.rho

    def _optimal(self, careful: Table, up: Expectations, down: Expectations) -> PolicyResult:
        found = self._walked(careful, up)
        bound = min(lower(self.process, down, found.price, self.request.options))
        spent = (found.price - self.rho) * float(self.request.instance.target.violation_budget)
        bound -= spent + 8 * UNIT_ROUNDOFF * (bound + spent)  # prices may exceed costs a million times
        table = found.keeping
        if found.failing is not None and (other := self._certified_fixed(up)) is not None:
            table = min(table, other, key=lambda item: item.value(self.rho))
        return self._held(replace(table, multiplier=found.price), up, bound)

    def _walked(self, careful: Table, up: Expectations) -> Walk:
        def solve(price: float) -> Table:
            return self._settled(upper(self.process, up, price, self.request.options), up.grid)

        return walk(solve, self.request.budget, self.rho, careful)

    def _settled(self, table: Table, grid: Grid) -> Table:
        """A policy that may keep its promise with equality, judged by its exact failures."""
        budget = self.request.instance.target.violation_budget
        if not self.request.budget < table.failure <= float(budget) + _EQUAL:
            return table
        exact = exact_failure(self.process, grid, table)
        if exact is None or exact > budget:
            return table
        return replace(table, failure=self.request.budget, exact=exact)

    def _static(self, up: Expectations, down: Expectations) -> PolicyResult:
        table = self._certified_fixed(up)
        bound = min(lower(self.process, down, self.rho, self.request.options))
        if table is None:
            reason = "no fixed plan with at most one switch is certified to reach the target often enough"
            return replace(nothing(self.request, self.price, reason, up.grid.cells), lower_bound=bound)
        return self._held(table, up, bound)

    def _certified_fixed(self, up: Expectations) -> Table | None:
        """The best fixed plan on this grid, if it keeps the promise there."""
        if self.fixed is None:
            return None
        actions = actions_of(self.process, up.grid, self.fixed)
        table = certified(self.process, up, actions, self.fixed.start, self.rho)
        table = self._settled(table, up.grid)
        return table if table.failure <= self.request.budget else None

    def _held(self, table: Table, up: Expectations, bound: float) -> PolicyResult:
        if self.price is None:
            return nothing(self.request, None, "")
        policy = policy_of(self.request, self.process, up.grid, table, self.price, "ledger")
        return held(self.request, policy, self.price, max(0.0, bound))

    def _none(self, cells: int, least: float) -> PolicyResult:
        omega, within = self.request.instance.target.quantile_level, self.request.restriction
        among = f" of {within}," if within else ""
        if least > self.request.instance.target.violation_budget:
            reason = (
                f"no policy{among} reaches the target with probability {probability(omega)}: under the law "
                f"at most {1 - least:.6g}; raise maximum_loss or maximum_epochs, or lower quantile_level"
            )
            found = nothing(self.request, self.price, reason, cells)
            return found if within else replace(found, termination=Termination.INFEASIBLE)
        reason = (
            f"undecided on {cells} cells: no policy{among} is certified to reach the target with probability "
            f"{probability(omega)}, and that there is none is not proved"
        )
        return nothing(self.request, self.price, reason, cells)


_FEW = 16
"""Cells of a grid on which every loss that occurs is l(0)."""

_EQUAL = 1e-9
"""By how much failures may seem too many and be worked out exactly: far above what sums are off by. For few
policies it takes time."""

_SPARE = 1e-6
"""Relative failure that a fixed plan found by plain sums has to spare, which rounding may take."""


def best_static(process: Process, up: Expectations, rho: float, budget: float) -> StaticPlan | None:
    """The fixed plan of least cost and price of failures that keeps the promise; None if none does."""
    best, value = None, math.inf
    for plan in static_plans(process, up):
        if plan.failure <= budget * (1 - _SPARE) and plan.cost + rho * plan.failure < value:
            best, value = plan, plan.cost + rho * plan.failure
    return best
