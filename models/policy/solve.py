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

from depl.models.foundation.clock import now
from depl.models.foundation.deadline import OutOfTimeError, deadline
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.users_code import exits_are_errors
from depl.models.policy.counted_planner import (
    CountedPlanner,
    WideningPlanner,
    proxy,
    require_counted,
    uncounted,
)
from depl.models.policy.dynamic import Options
from depl.models.policy.ledger_planner import LedgerPlanner
from depl.models.policy.planner import Request, nothing
from depl.models.policy.process import process
from depl.models.policy.result import RUNGS, PolicyResult, Rung
from depl.models.policy.time_limit import Class, restriction, trains, wider
from depl.models.problem.instance import Instance
from depl.models.problem.plan import ClusterData
from depl.models.solving.methods import Progress, require_limits
from depl.models.solving.result import Termination
from depl.models.solving.solve import VerificationError
from depl.models.verifier.policies import verify_policy

_ROUNDING = 1e-14
"""Relative rounding of a product and a difference, on which soundness rests."""

_LONGER = 4.0
"""How many times longer the next policy takes to verify: its grid has up to four times as many cells."""


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
    request = _request(instance, rung, failure_cost, data, switch_epochs, abandon_at_start)
    planner, best, ending, reserve = None, None, Termination.EXHAUSTED, 0.0

    def lateness() -> float:
        return -math.inf if time_limit is None else now() - started - time_limit + reserve

    try:
        with deadline(lateness):
            planner = _planner(request, data, switch_epochs)
            for found in planner.answers():
                reserve = _LONGER * _verified(found)
                best = found if best is None else _better(best, found)
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
    if best is None:
        best = _unfinished(request, planner)
    return _ended(best, ending, gap, now() - started)


def _unfinished(request: Request, planner: LedgerPlanner | WideningPlanner | None) -> PolicyResult:
    """Nothing was certified in time; what was in the way, if not the time, is said first."""
    over = "the time was over before anything was certified"
    seen = uncounted(request.instance.traced_law) if planner is None else planner.found_so_far()
    asked, price = (request, None) if planner is None else (planner.request, planner.price)
    return nothing(asked, price, f"{seen}. Not all was tried: {over}" if seen else over)


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


def _request(
    instance: Instance,
    rung: Rung,
    failure_cost: float | Literal["ratio"],
    data: Mapping[str, Collection[str]] | None,
    switch_epochs: Collection[int] | None,
    abandon_at_start: bool,
) -> Request:
    """What is asked for, checked."""
    if rung not in RUNGS:
        raise InvalidInputError(f"must be one of {', '.join(RUNGS)}, not {rung!r}", "rung")
    if failure_cost != "ratio" and not 0 < float(failure_cost) < math.inf:
        raise InvalidInputError(f"must be a positive number or 'ratio', not {failure_cost}", "failure_cost")
    given = None if failure_cost == "ratio" else float(failure_cost)
    used = tuple(
        ClusterData(cluster=name, datasets=tuple(sorted(names)))
        for name, names in sorted((data or {}).items())
    )
    epochs = None if switch_epochs is None else tuple(sorted(set(switch_epochs)))
    return Request(instance, rung, given, Options(abandon_at_start), used, epochs)


def _planner(
    request: Request, data: Mapping[str, Collection[str]] | None, switch_epochs: Collection[int] | None
) -> LedgerPlanner | WideningPlanner:
    """Who plans under the law of the instance, among policies that keep its limit of the training time."""
    instance, traced = request.instance, request.instance.traced_law
    markov = traced is None or (traced.residuals == "independent" and not traced.deviations)
    if traced is not None and not markov:
        require_counted(traced)
    likely = instance if markov else proxy(instance)
    within = restriction(likely, data, switch_epochs, request.options, request.failure_cost)
    if traced is None or markov:
        chain = process(likely if within is None else within.of(likely), data, switch_epochs)
        return LedgerPlanner(_within(request, within), chain)

    def planners() -> Iterator[CountedPlanner]:
        # A margin is not made up for by epochs (digits-alexnet: .43 of .95 with 27, .76 with 60), and with it
        # each class takes minutes.
        for one in [within] if within is None or traced.deviations else wider(within, likely):
            chain = process(likely if one is None else one.of(likely), data, switch_epochs)
            if one is within or trains(chain):
                yield CountedPlanner(_within(request, one), traced, chain)

    each = planners()
    return WideningPlanner(next(each), each)


def _within(request: Request, within: Class | None) -> Request:
    """What is asked for among the policies of a class, or all."""
    if within is None:
        return request
    return replace(request, round_deadline=within.round_deadline, restriction=within.in_words())


def _better(old: PolicyResult, new: PolicyResult) -> PolicyResult:
    """The cheaper of two answers with the better bound, at the price of a failure of the newer one.

    That price is the lesser one. For policies with F <= p, C + rho F is less than with the greater price by
    at most the difference of the prices times p.
    """
    if new.policy is None or old.policy is None:
        return new if old.policy is None else old
    old = _repriced(old, new)
    bound = max(old.lower_bound, new.lower_bound)
    kept = new if (new.objective or math.inf) <= (old.objective or math.inf) else old
    return replace(kept, lower_bound=bound, cells=new.cells)


def _repriced(old: PolicyResult, new: PolicyResult) -> PolicyResult:
    """An answer at the price of a failure of another one."""
    before, after = old.failure_cost, new.failure_cost
    if old.policy is None or before is None or after is None or before <= after:
        return old
    lost = (before - after) * float(old.instance.target.violation_budget) * (1 + _ROUNDING)
    multiplier = after if old.multiplier == before else old.multiplier
    certificate = msgspec.structs.replace(old.policy.certificate, ratio=new.ratio)
    policy = msgspec.structs.replace(
        old.policy, failure_cost=after, multiplier=multiplier, certificate=certificate
    )
    bound = max(0.0, old.lower_bound * (1 - _ROUNDING) - lost)
    return replace(
        old, failure_cost=after, ratio=new.ratio, multiplier=multiplier, lower_bound=bound, policy=policy
    )


def _ended(best: PolicyResult, ending: Termination, gap: float, seconds: float) -> PolicyResult:
    if best.termination is Termination.INFEASIBLE:
        ending = Termination.INFEASIBLE
    policy = best.policy
    if ending is Termination.EXHAUSTED and policy is not None and best.lower_bound > 0:
        ending = Termination.STUCK  # on the finest grid
    if best.objective is not None and best.lower_bound > best.objective * (1 + 1e-9):
        raise VerificationError(
            f"the policy has {best.objective:.12g}, below the bound {best.lower_bound:.12g} of all"
        )
    if policy is not None and best.lower_bound > 0:
        certificate = msgspec.structs.replace(policy.certificate, lower_bound=best.lower_bound)
        policy = msgspec.structs.replace(policy, certificate=certificate)
    return replace(best, termination=ending, policy=policy, gap_wanted=gap, seconds=seconds)
