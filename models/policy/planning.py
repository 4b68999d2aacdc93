r"""Plan a policy: the least expected cost plus price of failures, with a promise, and a bound for all others.

    minimise C + rho F   subject to   F = P(not reached) <= 1 - omega

over the policies of `depl.models.policy.process`. Why failures have a price, and why it is 1.5 times the
least expected cost of a success unless one is given, is said in `docs/policies`.

Grids become finer until the gap that is wanted is certified or the time is over.
"""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Literal

import msgspec
import numpy as np

from depl.models.foundation.deadline import OutOfTimeError, deadline, now
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.users_code import exits_are_errors
from depl.models.foundation.wording import probability
from depl.models.policy.counted_planner import counted_answers, proxy, require_counted, uncounted
from depl.models.policy.dynamic import Table, careful_table, lower, met_at_start, upper
from depl.models.policy.grid import Expectations, Grid
from depl.models.policy.prices import Price, priced, too_cheap, walk
from depl.models.policy.process import Process
from depl.models.policy.request import Request, policy_of
from depl.models.policy.result import RUNGS, PolicyResult, Rung
from depl.models.policy.static import StaticPlan, best_static, table_of
from depl.models.policy.time_limit import restriction, trains, wider, within
from depl.models.problem.instance import Instance
from depl.models.problem.laws.law import UNIT_ROUNDOFF
from depl.models.problem.policy import STOP
from depl.models.solving.limits import Progress, require_limits
from depl.models.solving.result import Termination
from depl.models.solving.solve import VerificationError
from depl.models.verifier.policies import verify_policy
from depl.models.verifier.policy_ends import exact_reached
from depl.models.verifier.policy_walk import walked

GRIDS = (1_024, 4_096, 16_384, 32_768, 65_536, 131_072, 262_144)
"""Cells of the grids, one after the other, of which each costs as many times as much as the one before. Gaps
fall about fourfold at first and twofold later (`paper-alexnet-deadline-9`: 7.8, 2.5, 1.2, 0.95 %), where a
grid of four times as many cells might not end in time: that instance has its 1 % after 48 of 60 CPU-s."""

_FIRST_WORK = 1e6
"""Most nodes times cells of the first grid, on which prices and fixed plans are looked for in many sweeps:
set by hand, half a second each."""

_LONGER = 4.0
"""How many times longer the next policy takes to verify: its grid has up to four times as many cells."""

_FEW = 16
"""Cells of a grid on which every loss that occurs is l(0)."""

_EQUAL = 1e-9
"""By how much failures may seem too many and be worked out exactly: far above what sums are off by. For few
policies it takes time."""


@exits_are_errors
def solve_policy(
    instance: Instance,
    rung: Rung = "optimal",
    *,
    failure_cost: float | Literal["ratio"] = "ratio",
    gap: float = 0.01,
    time_limit: float | None = 60.0,
    data: Mapping[str, Collection[str]] | None = None,
    switch_epochs: Collection[int] | None = None,
    abandon_at_start: bool = False,
    progress: Progress | None = None,
) -> PolicyResult:
    """Plan a policy that stops, goes on or switches after every epoch.

    Under a law whose residuals stay together per run, the policy is planned on independent ones and certified
    by counting over combinations of runs; it has no lower bound then.

    Parameters
    ----------
    instance : Instance
        With its promise: the target is to be reached with probability omega.
    rung : "static" or "optimal"
        A fixed plan with at most one switch that is left as soon as the target is reached, or any policy.
    failure_cost : float or "ratio"
        Price of a run that fails [cost]; "ratio" is 1.5 times the least expected cost of a success.
    gap : float
        Certified relative gap of the objective that is good enough.
    time_limit : float or None
        Wall seconds.
    data, switch_epochs
        As `depl.models.policy.process.process`.
    abandon_at_start : bool
        Whether a run may be given up before its first epoch.
    progress : callable, optional
        Called with seconds, the least objective so far and its lower bound, whenever more is known.

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
    started = now()
    gap, time_limit, _ = require_limits(gap, time_limit, 0)
    if rung not in RUNGS:
        raise InvalidInputError(f"must be one of {', '.join(RUNGS)}, not {rung!r}", "rung")
    epochs = None if switch_epochs is None else tuple(sorted(set(switch_epochs)))
    request = Request(instance, rung, _price(failure_cost), data, epochs, abandon_at_start)
    best, ending, reserve = request.answer(reason=uncounted(instance.traced_law)), Termination.EXHAUSTED, 0.0

    def lateness() -> float:
        return -math.inf if time_limit is None else now() - started - time_limit + reserve

    try:
        with deadline(lateness):
            for found in _answers(request):
                before, best = best, _better(best, found)
                if best.policy is not before.policy:
                    reserve = _LONGER * _verified(best)
                if progress is not None:
                    value = math.inf if best.objective is None else best.objective
                    progress(now() - started, value, best.lower_bound)
                if (best.gap is not None and best.gap <= gap) or best.termination is Termination.INFEASIBLE:
                    ending = Termination.GAP_REACHED
                    break
    except OutOfTimeError:
        ending = Termination.TIME_LIMIT
    except KeyboardInterrupt:
        ending = Termination.INTERRUPTED
    return replace(_ended(best, ending), gap_wanted=gap, seconds=now() - started)


def _price(failure_cost: float | Literal["ratio"]) -> float | None:
    """The price of a failure that is given, if one is."""
    if failure_cost != "ratio" and not 0 < float(failure_cost) < math.inf:
        raise InvalidInputError(f"must be a positive number or 'ratio', not {failure_cost}", "failure_cost")
    return None if failure_cost == "ratio" else float(failure_cost)


def _better(old: PolicyResult, new: PolicyResult) -> PolicyResult:
    """The cheaper of two answers with the better bound."""
    if old.policy is None or (new.objective is not None and new.objective <= (old.objective or 0.0)):
        kept = new
    else:
        kept = old
    return replace(kept, lower_bound=max(old.lower_bound, new.lower_bound), cells=new.cells)


def _verified(found: PolicyResult) -> float:
    """Seconds that the independent evaluator takes to accept the policy of an answer, if there is one [s]."""
    if found.policy is None:
        return 0.0
    started = now()
    failures = verify_policy(found.instance, found.policy).failures
    if failures:
        told = "; ".join(f"{item.equation}: {item.message}" for item in failures)
        raise VerificationError(f"the policy fails the independent evaluator: {told}")
    return now() - started


def _ended(best: PolicyResult, ending: Termination) -> PolicyResult:
    """The last answer, with why it is the last one."""
    policy, reason = best.policy, best.reason
    if best.termination is Termination.INFEASIBLE:
        ending = Termination.INFEASIBLE
    elif policy is None and ending is not Termination.EXHAUSTED:
        over = "the time was over before anything was certified"
        reason = f"{reason}. Not all was tried: {over}" if reason else over
    elif ending is Termination.EXHAUSTED and policy is not None and best.lower_bound > 0:
        ending = Termination.STUCK  # on the finest grid
    if best.objective is not None and best.lower_bound > best.objective * (1 + 1e-9):
        raise VerificationError(
            f"the policy has {best.objective:.12g}, below the bound {best.lower_bound:.12g} of all"
        )
    if policy is not None and best.lower_bound > 0:
        certificate = msgspec.structs.replace(policy.certificate, lower_bound=best.lower_bound)
        policy = msgspec.structs.replace(policy, certificate=certificate)
    return replace(best, termination=ending, policy=policy, reason=reason)


def _answers(request: Request) -> Iterator[PolicyResult]:
    """What becomes known under the law of the instance, of policies that keep its limit of the time."""
    traced = request.instance.traced_law
    if traced is None or (traced.residuals == "independent" and not traced.deviations):
        asked, likely = within(request, request.instance, restriction(request, request.instance))
        yield from _on_ledger(asked, asked.chain(likely))
        return
    require_counted(traced)
    likely = proxy(request.instance)
    first = restriction(request, likely)
    # A margin is not made up for by epochs (digits-alexnet: .43 of .95 with 27, .76 with 60), and with it
    # each class takes minutes.
    for epochs in [first] if first is None or traced.deviations else wider(first, likely):
        asked, narrowed = within(request, likely, epochs)
        chain = asked.chain(narrowed)
        if epochs != first and not trains(chain):
            continue
        try:
            for found in counted_answers(asked, traced, chain):
                yield found
        except NotCoveredError:
            if epochs == first:
                raise
            return  # longer stages, that too few runs lend to
        if found.policy is not None:
            return


def _on_ledger(request: Request, chain: Process) -> Iterator[PolicyResult]:
    """What is known after each grid; nothing more once it is proved that there is no policy."""
    if request.instance.traced_law is None and met_at_start(chain, chain.starts[0]) == 1:
        yield _idle(request, chain)
        return
    price: Price | None = None
    fixed: StaticPlan | None = None
    few = sum(len(chain.nodes) * cells <= _FIRST_WORK for cells in GRIDS)
    for cells in GRIDS[max(few - 1, 0) :]:
        grid = Grid.of(chain, cells)
        up, down = Expectations(grid, up=True), Expectations(grid, up=False)
        careful = _settled(request, chain, grid, careful_table(chain, up))
        if careful.failure > request.budget:
            least = min(lower(chain, down, 1.0, free=True))
            yield _none(request, cells, least)
            if least > request.instance.target.violation_budget:
                return
            continue
        if price is None or not price.decided:
            price = priced(chain, up, down, careful, request.failure_cost)
        if not price.decided:
            yield request.answer(price, reason=str(too_cheap(price)), cells=cells)
            continue
        fixed = fixed or best_static(chain, up, price.rho, request.budget)
        yield from _on_grid(request, chain, (up, down), careful, price, fixed)
    if price is not None and not price.decided:
        raise too_cheap(price)


def _on_grid(
    request: Request,
    chain: Process,
    both: tuple[Expectations, Expectations],
    careful: Table,
    price: Price,
    fixed: StaticPlan | None,
) -> Iterator[PolicyResult]:
    """The best fixed plan, and the best policy if all are asked for, with the bound of all."""
    (up, down), rho = both, price.rho

    def settled(table: Table) -> Table:
        return _settled(request, chain, up.grid, table)

    def held(table: Table, bound: float) -> PolicyResult:
        policy = policy_of(request, chain, up.grid, table, price, "ledger")
        return request.answer(price, policy, lower_bound=max(0.0, bound))

    plan = None
    if fixed is not None:
        table = settled(upper(chain, up, rho, table_of(chain, up.grid, fixed, rho)))
        plan = table if table.failure <= request.budget else None
    if request.rung == "static":
        bound = min(lower(chain, down, rho))
        reason = "no fixed plan with at most one switch is certified to reach the target often enough"
        none = request.answer(price, reason=reason, lower_bound=bound, cells=up.grid.cells)
        yield none if plan is None else held(plan, bound)
        return
    if plan is not None:
        yield held(plan, 0.0)  # an answer, should there be no time for a better one
    found = walk(lambda asked: settled(upper(chain, up, asked)), request.budget, rho, careful)
    bound = min(lower(chain, down, found.price))
    spent = (found.price - rho) * float(request.instance.target.violation_budget)
    bound -= spent + 8 * UNIT_ROUNDOFF * (bound + spent)  # prices may exceed costs a million times
    best = found.keeping
    if found.failing is not None and plan is not None:
        best = min(best, plan, key=lambda table: table.value(rho))
    yield held(replace(best, multiplier=found.price), bound)


def _settled(request: Request, chain: Process, grid: Grid, table: Table) -> Table:
    """A policy that may keep its promise with equality, judged by exact fractions.

    Sums in doubles are off by some units in the last place. Where noise and l(0) have finitely many values,
    and the process is small enough, the fraction is that which the verifier works out.
    """
    budget = request.instance.target.violation_budget
    if not request.budget < table.failure <= float(budget) + _EQUAL:
        return table
    policy = policy_of(request, chain, grid, table, Price(1.0, None), "ledger")
    losses = chain.starts[table.start].losses
    exact = exact_reached(policy, walked(request.instance, policy), losses)
    if exact is None or 1 - exact > budget:
        return table
    return replace(table, failure=request.budget, exact=exact)


def _none(request: Request, cells: int, least: float) -> PolicyResult:
    """No policy on this grid, or none at all if the least probability of failing is more than is allowed."""
    omega = probability(request.instance.target.quantile_level)
    among = f" of {request.restriction}," if request.restriction else ""
    if least <= request.instance.target.violation_budget:
        reason = (
            f"undecided on {cells} cells: no policy{among} is certified to reach the target with probability "
            f"{omega}, and that there is none is not proved"
        )
        return request.answer(reason=reason, cells=cells)
    reason = (
        f"no policy{among} reaches the target with probability {omega}: under the law at most "
        f"{1 - least:.6g}; raise maximum_loss or maximum_epochs, or lower quantile_level"
    )
    found = request.answer(reason=reason, cells=cells)
    return found if request.restriction else replace(found, termination=Termination.INFEASIBLE)


def _idle(request: Request, chain: Process) -> PolicyResult:
    """Where l(0) meets the target: stop at once. No run fails, so their price does not matter."""
    grid = Grid.of(chain, _FEW)
    stop = tuple(np.full(grid.cells, STOP, dtype=np.int16) for _ in chain.nodes)
    price = Price(1.0 if request.failure_cost is None else request.failure_cost, None)
    policy = policy_of(request, chain, grid, Table(stop, 0, 0.0, 0.0, price.rho), price, "ledger")
    reason = (
        "the loss before the first epoch meets the target already, and so the policy trains nothing: no "
        "run fails, and no success is paid for"
    )
    return request.answer(price, policy, reason=reason)
