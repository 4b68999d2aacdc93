r"""Policies under laws whose residuals stay together per run: planned on a proxy, certified by counting.

The loss so far does not tell all that a run has shown, so a dynamic program over it is a *proxy*: the same
law with independent residuals. Its policies, for one price of a failure after the other, are then followed
over all combinations of runs (`depl.models.policy.counted`), without a ledger, on the observed loss. That
which costs least of those that keep the promise there is the answer. What is counted need not fall as the
price rises, so all prices are looked at. There is no lower bound: the proxy's is none for this law.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from depl.models.foundation.errors import NotCoveredError
from depl.models.policy.counted import Counted, counted
from depl.models.policy.dynamic import Table, certified, upper
from depl.models.policy.grid import Expectations, Grid
from depl.models.policy.planner import Price, Request, careful_table, held, nothing, policy_of, priced
from depl.models.policy.process import Process
from depl.models.policy.pruned import pruned
from depl.models.policy.result import PolicyResult
from depl.models.policy.static import actions_of, static_plans
from depl.models.problem.instance import Instance
from depl.models.problem.policy import Policy
from depl.models.problem.traced_law import TracedLaw

PRICES = (1.0, 1.5, 2.0, 4.0, 8.0, 16.0)
"""Prices of a failure that are tried, in that of the objective: set by hand, from a half to twice apart. F
under the proxy falls slowly in the price, from 0.041 to 0.014 on the first real law that was tried."""

PROXY_CELLS = 4_096
"""Of the grid of the proxy. Nothing that is certified rests on it, only which policies are counted: on three
problems of the case `closed-loop` 2,048 cells, these and 16,384 led to the same policies, in 10, 14 and 40 s.
"""

RARE = (0.002, 0.01, 0.03)
"""Probabilities up to which the longest stages are left out, one after the other: set by hand. What is left
out counts as failed; in exchange more runs lend to the stages that are kept, and fewer count as unseen."""


def proxy(instance: Instance) -> Instance:
    """The instance with residuals that are independent of each other, and without a margin for plans."""
    traced = instance.traced_law
    if traced is None:
        return instance
    plain = msgspec.structs.replace(
        traced, residuals="independent", deviations=(), care=None, confidence=None, settled_epochs=1
    )
    return instance.replace(traced_law=plain)


def require_counted(traced: TracedLaw) -> None:
    """Refuse laws that say nothing of combinations of runs.

    Raises
    ------
    NotCoveredError
        With what to do.
    """
    if traced.confidence is not None:
        raise NotCoveredError(
            "a confidence counts whole runs, and a policy combines stages of different runs: fit without a "
            "confidence, and certify the policy by fresh runs"
        )
    if traced.only_whole_runs:
        raise NotCoveredError(
            "the traces hold too few plans to tell by how much plans that were never run deviate, "
            "and a policy combines stages of different runs: fit with --care 0, and certify it by fresh runs"
        )


@dataclass
class CountedPlanner:
    """Answers that become cheaper.

    Attributes
    ----------
    request : Request
    traced : TracedLaw
    process : Process
        Of the proxy.
    price : Price or None
        Known once it was found.
    """

    request: Request
    traced: TracedLaw
    process: Process
    price: Price | None = None

    def answers(self) -> Iterator[PolicyResult]:
        """Policies that keep the promise as counted, each cheaper than the one before; or none."""
        grid = Grid.of(self.process, PROXY_CELLS)
        up, down = Expectations(grid, up=True), Expectations(grid, up=False)
        careful = careful_table(self.process, up, self.request.options)
        self.price = priced(self.request, self.process, up, down, careful)
        best: float | None = None
        most = 0.0
        for table in self._tables(up, self.price.rho):
            if best is not None and table.value(self.price.rho) > best:  # the proxy is the bolder one
                continue
            policy = policy_of(self.request, self.process, grid, table, self.price, "observed")
            done = counted(policy, self.traced)
            most = max(most, float(done.reached))
            if 1 - done.reached > self.request.instance.target.violation_budget:
                continue
            found = held(self.request, _with(policy, done), self.price, 0.0)
            value = done.cost + self.price.rho * float(1 - done.reached)
            if best is None or value < best:
                best = value
                yield found
        if best is None:
            omega = self.request.instance.target.quantile_level
            reason = (
                f"no policy that was tried reaches the target with probability {omega:g} over the "
                f"combinations of runs; the most was {most:.4f}. Record more runs, raise maximum_loss, or "
                "lower quantile_level"
            )
            yield nothing(self.request, self.price, reason, grid.cells)

    def _tables(self, up: Expectations, rho: float) -> Iterator[Table]:
        """Policies to be counted."""
        if self.request.rung == "optimal":
            for factor in PRICES:
                table = upper(self.process, up, factor * rho, self.request.options)
                for rare in RARE:
                    actions = pruned(self.process, up, table, rare)
                    yield certified(self.process, up, actions, table.start, table.multiplier)
        plans = static_plans(self.process, up)
        for plan in sorted(plans, key=lambda item: item.cost + rho * item.failure):
            yield Table(actions_of(self.process, up.grid, plan), plan.start, plan.cost, plan.failure, rho)


def _with(policy: Policy, done: Counted) -> Policy:
    """A policy with what was counted."""
    reached = float(done.reached)
    if done.reached < reached:
        reached = max(0.0, reached - 2.0**-53)
    certificate = msgspec.structs.replace(
        policy.certificate, method="counted", cost=done.cost, reached=reached, runs=done.runs
    )
    return msgspec.structs.replace(policy, certificate=certificate)
