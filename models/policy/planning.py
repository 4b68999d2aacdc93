r"""Plan a policy: the least expected cost plus price of failures, with a promise, and a bound for all others.

    minimise C + rho F   subject to   F = P(not reached) <= 1 - omega

over the policies of `depl.models.policy.process`, on grids that become finer until the gap that is wanted is
certified or the time is over. Where residuals stay together per run, policies are planned on a *proxy*, the
same law with independent residuals, and counted over combinations of runs: fixed plans, then policies for
several prices of a failure. `docs/policies` says why failures have a price, and what choosing on the same
runs does to the promise.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from depl.models.evaluation.traced_support import FEWEST_DONORS
from depl.models.foundation.deadline import OutOfTimeError, deadline, now
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.wording import probability
from depl.models.policy.dynamic import (
    Price,
    StaticPlan,
    Table,
    best_static,
    careful_table,
    lower,
    met_at_start,
    priced,
    static_plans,
    table_of,
    too_cheap,
    upper,
    walk,
)
from depl.models.policy.follow import Kind, counted, extents, kind_of, latest_starts
from depl.models.policy.grid import Expectations, Grid
from depl.models.policy.process import Process
from depl.models.policy.request import Request, policy_of, restriction, trains, wider
from depl.models.policy.result import RUNGS, PolicyResult, Rung
from depl.models.problem.instance import Instance
from depl.models.problem.laws.law import UNIT_ROUNDOFF
from depl.models.problem.policy import STOP
from depl.models.problem.traced_law import TracedLaw
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

PRICES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Prices of a failure that are tried, in that of the objective: set by hand. F under the proxy falls slowly
in the price, and is a fifth of what is counted on the first real law that was tried."""

PROXY_CELLS = 2_048
"""Of the grid of the proxy. Nothing that is certified rests on it, only which policies are counted: on three
problems of the case `closed-loop` these, 4,096 and 16,384 cells led to the same policies."""

_STEP = 2
"""Epochs between the lengths of fixed plans that are tried before those beside the best: set by hand. One
more or less changes few donors and little of the cost."""

_CLOSE = 0.05
"""Relative width of the enclosure of rho* under the proxy: set by hand. Its upper end gives the price of a
failure; the lower one is told, and nothing rests on it."""

_BESIDES = (
    f"besides, {FEWEST_DONORS} runs at least must have trained each stage for as long as the policy may (a "
    "loss before the first epoch is not needed: without one the policy decides from epoch 1 on)"
)
"""What else a policy takes, so that one refusal says it all."""

_MARGIN = (
    "as every combination is moved up by the margin for plans that were never run: fit with --care 0, which "
    "leaves that out, and certify the policy by fresh runs; or follow a plan that whole runs carry until the "
    "target is reached (depl solve, then depl policy decide PLAN --instance INSTANCE)"
)
"""What stands in the way of policies where the law has a margin, however much time there is."""


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
    if failure_cost != "ratio" and not 0 < float(failure_cost) < math.inf:
        raise InvalidInputError(f"must be a positive number or 'ratio', not {failure_cost}", "failure_cost")
    price = None if failure_cost == "ratio" else float(failure_cost)
    epochs = None if switch_epochs is None else tuple(sorted(set(switch_epochs)))
    request = Request(instance, instance, rung, price, data, epochs, abandon_at_start)
    best, ending, reserve = request.answer(reason=uncounted(instance.traced_law)), Termination.EXHAUSTED, 0.0
    try:
        with deadline(lambda: -math.inf if time_limit is None else now() - started - time_limit + reserve):
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
    return replace(_ended(best, ending), seconds=now() - started)


def _better(old: PolicyResult, new: PolicyResult) -> PolicyResult:
    """The cheaper of two answers with the better bound."""
    cheaper = old.policy is None or (new.objective is not None and new.objective <= (old.objective or 0.0))
    kept = new if cheaper else old
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
        yield from _on_ledger(request.within(restriction(request)))
        return
    require_counted(traced)
    request = replace(request, planned=proxy(request.instance))
    first, most = restriction(request), request.instance.target.maximum_epochs
    # A margin is not made up for by epochs (digits-alexnet: .43 of .95 with 27, .76 with 60), and with it
    # each class takes minutes.
    for epochs in [first] if first is None or traced.deviations else wider(first, most):
        asked = request.within(epochs)
        chain = asked.chain()
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


def _on_ledger(request: Request) -> Iterator[PolicyResult]:
    """What is known after each grid; nothing more once it is proved that there is no policy."""
    chain = request.chain()
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


# --- counted over combinations of runs --------------------------------------------------------------------


class Caps(NamedTuple):
    """Most epochs of a first stage, and of every stage after it."""

    first: int
    later: int


def capped(process: Process, caps: Caps) -> Process:
    """The process in which no stage lasts longer than the caps.

    Which runs lend residuals is decided by the longest stage that a policy may train, and a table over all
    losses trains very long stages where a loss would be most unusual.
    """
    return process.restricted(
        lambda place: place.age <= (caps.first if place.previous is None else caps.later)
    )


def proxy(instance: Instance) -> Instance:
    """The instance with residuals that are independent of each other, and without a margin for plans."""
    if instance.traced_law is None:
        return instance
    plain = {"residuals": "independent", "deviations": (), "care": None, "confidence": None, "diverged": 0}
    law = msgspec.structs.replace(instance.traced_law, settled_epochs=1, **plain)
    return instance.replace(traced_law=law)


def require_counted(traced: TracedLaw) -> None:
    """Refuse laws that say nothing of combinations of runs."""
    if traced.confidence is not None:
        raise NotCoveredError(
            "a confidence counts whole runs, and a policy combines stages of different runs: fit without a "
            "confidence, with --care 0 where the traces hold fewer plans than a margin takes (depl traces "
            f"import says so), and certify the policy by fresh runs; {_BESIDES}"
        )
    if traced.only_whole_runs:
        raise NotCoveredError(
            "the traces hold too few plans to tell by how much plans that were never run deviate, "
            "and a policy combines stages of different runs: fit with --care 0, which leaves their margin "
            f"out, so that its promise is bold, and certify it by fresh runs; {_BESIDES}"
        )


def uncounted(traced: TracedLaw | None) -> str:
    """What is in the way of a policy before any was counted; empty if only time is."""
    return f"no policy was counted yet, {_MARGIN}" if traced is not None and traced.deviations else ""


def counted_answers(request: Request, traced: TracedLaw, chain: Process) -> Iterator[PolicyResult]:
    """What is known after each policy that is counted, on the process of the proxy."""
    grid = Grid.of(chain, PROXY_CELLS)
    up, down = Expectations(grid, up=True), Expectations(grid, up=False)
    price = priced(chain, up, down, careful_table(chain, up), request.failure_cost, _CLOSE)
    if not price.decided:
        raise too_cheap(price)
    search = _Search(request, traced, price, grid)
    for plan, caps in search.among(list(static_plans(chain, up)), chain):
        search.count(chain, table_of(chain, grid, plan, price.rho), caps)
        yield search.answer()
    if request.rung == "optimal":
        process, before = search.narrowed(chain), math.inf
        for factor in PRICES:
            table = upper(process, up, factor * price.rho)
            if table.value(price.rho) > search.value:
                break  # the proxy is the bolder one, and those of greater prices cost more
            value = search.count(process, table, search.caps)
            yield search.answer()
            if value > before:
                break
            before = value
    yield search.answer(finished=True)


class _Search:
    """The best policy counted so far: its cost with failures, itself, and how long its stages are.

    Before there is one, ``caps`` are those of the policy that reaches the target most often.
    """

    def __init__(self, request: Request, traced: TracedLaw, price: Price, grid: Grid) -> None:
        self.request, self.traced, self.price, self.grid = request, traced, price, grid
        self.value, self.best = math.inf, request.answer(price)
        self.caps: Caps | None = None
        self.most = -1.0
        self.refusal: NotCoveredError | None = None

    def among(self, plans: Sequence[StaticPlan], chain: Process) -> Iterator[tuple[StaticPlan, Caps]]:
        """Fixed plans, every second length first, then all that switch where the best one does."""
        rho, longest = self.price.rho, max(len(plan.path) for plan in plans)
        ranked = [(plan, _caps_of(chain, plan)) for plan in sorted(plans, key=lambda item: item.value(rho))]
        for shift in range(_STEP):
            for plan, caps in ranked:
                if (longest - len(plan.path)) % _STEP != shift or plan.value(rho) > self.value:
                    continue  # the proxy is the bolder one
                if shift == 0 or (self.caps and caps.first == self.caps.first):
                    yield plan, caps

    def narrowed(self, chain: Process) -> Process:
        """No stage longer than those of the best plan, none that begins later than each run lends."""
        process, latest = capped(chain, self.caps) if self.caps else chain, dict[Kind, int]()
        for start in process.starts:
            for kind, epochs in latest_starts(self.traced.law, extents(process.nodes, start.node)).items():
                latest[kind] = min(epochs, latest.get(kind, epochs))
        return process.restricted(lambda place: place.start <= latest.get(kind_of(place), -1))

    def count(self, process: Process, table: Table, caps: Caps | None) -> float:
        """What the policy of a table costs with its failures; infinite if it breaks the promise [cost]."""
        policy = policy_of(self.request, process, self.grid, table, self.price, "observed")
        try:
            done = counted(policy, self.traced)
        except NotCoveredError as refusal:
            self.refusal = refusal
            return math.inf
        reached = float(done.reached)
        if math.isinf(self.value) and reached > self.most:
            self.caps = caps
        self.most = max(self.most, reached)
        if 1 - done.reached > self.request.instance.target.violation_budget:
            return math.inf
        value = done.cost + self.price.rho * float(1 - done.reached)
        if value < self.value:
            self.value, self.caps = value, caps
            below = reached if done.reached >= reached else max(0.0, reached - 2.0**-53)
            told = {"method": "counted", "cost": done.cost, "reached": below, "runs": done.runs}
            certificate = msgspec.structs.replace(policy.certificate, **told)
            policy = msgspec.structs.replace(policy, certificate=certificate)
            self.best = self.request.answer(self.price, policy)
        return value

    def answer(self, *, finished: bool = False) -> PolicyResult:
        """The best policy, or why there is none."""
        if self.best.policy is not None:
            return self.best
        if self.most < 0:
            if finished and self.refusal is not None:
                raise self.refusal
            return self.request.answer(self.price, reason=uncounted(self.traced))
        told = (
            "no policy that was tried reaches the target with probability "
            f"{probability(self.request.instance.target.quantile_level)} over the combinations of runs; the "
            f"most was {self.most:.4f}"
        )
        told += f", {_MARGIN}; or record" if self.traced.deviations else ". Record"
        reason = f"{told} more runs, raise maximum_loss, or lower quantile_level"
        return self.request.answer(self.price, reason=reason, cells=self.grid.cells)


def _caps_of(process: Process, plan: StaticPlan) -> Caps:
    """How long the stages of a plan with at most one switch are."""
    number = process.starts[plan.start].node
    for action in plan.path:
        number = process.nodes[number].trainings[action].following
    place = process.nodes[number].place
    if place is None or place.previous is None:
        return Caps(len(plan.path), 0)
    return Caps(place.start, place.age)
