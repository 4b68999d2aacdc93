"""Solve an instance by a named method and return only what the independent verifier accepts.

A plan is returned only with the certificate of its probability and the consent of the verifier, however long
these take. What it can do without is left out where it would break the time limit: the quantile; and, of a
plan for scenarios, all that holds under the law, fresh draws, and drawing the scenarios again, which `depl
check` can do at leisure.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import TypeVar

import msgspec
import numpy as np

from depl.models.evaluation.end_law import EndLaw
from depl.models.evaluation.evaluate import Constraint, Evaluation, evaluate, plan_cost
from depl.models.evaluation.loss_law import loss_law
from depl.models.foundation.deadline import LEEWAY, OutOfTimeError, deadline, now
from depl.models.foundation.errors import DeplError, InvalidInputError, NotCoveredError
from depl.models.foundation.interval import Interval
from depl.models.foundation.memory import MEMORY, memory_ceiling, require_gibibytes
from depl.models.foundation.tolerances import PROOF_TOLERANCE, counts_as_proved
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Asked, Bounds, Claims, DualClaim, Plan, ScenarioClaim
from depl.models.scenarios.draws import ScenarioEvidence, Scenarios, scenario_evidence
from depl.models.solving.interrupts import first_interrupt_ignored
from depl.models.solving.limits import (
    Cutoff,
    Limits,
    Looks,
    OnPhase,
    Progress,
    Rows,
    require_limits,
    sample_of,
)
from depl.models.solving.methods import (
    Meaning,
    Registered,
    default_method,
    find,
    is_shipped,
    require_counting,
    require_covered,
    require_rows,
)
from depl.models.solving.options import given_options
from depl.models.solving.result import (
    Outcome,
    Result,
    Solution,
    Termination,
    finite,
    outcome_of,
    proved_as,
    stopped_as,
    versions,
)
from depl.models.solving.standstill import Standstill
from depl.models.verifier.bounds import MOST_PLANS, bound_without_plan
from depl.models.verifier.findings import Finding, Kind
from depl.models.verifier.verify import verify

_Found = TypeVar("_Found")

SHARE, SECONDS = 0.05, 2.0
"""What a solve may take beyond its limit: a share of it, and seconds."""

_CHECKING = 0.5
"""Seconds that are kept for what follows besides: small checks and writing down. Set by hand."""

_QUANTILE, _AGAIN = 0.0017, 2.0
"""Seconds that a quantile and the check of both its ends take per epoch, measured for 5000 epochs; and how
many times the certificate of the probability they take at least, where that alone tells what laws cost."""

_LISTING = 2.0
"""Seconds to list the plans of an instance at most (`depl.models.verifier.bounds.MOST_PLANS`)."""

_LAW, _DRAWING = 0.0033, 1.7e-6
"""Seconds of all that holds under the law per epoch, and of drawing a number of a scenario again: measured
for 5000 epochs and 100 scenarios."""

_CERTIFYING = 0.0003
"""Seconds to certify and verify one epoch of the plan that is returned: about 0.0001 measured for 1000 to
5000 epochs of different laws, inverse gamma and lognormal, three times that for laws that take longer."""

_NOT_COUNTED, _LARGEST_RESERVE = 1.0, 0.5
"""Seconds of that which no limit is shortened for, as a limit is kept to 2 seconds; and the share of the
limit that is reserved at most, as a plan may have fewer epochs than K_max. Set by hand."""


class VerificationError(DeplError):
    """A method's own answer fails the verifier, or contradicts itself: a defect of that method."""


def solve(
    instance: Instance,
    method: str | Registered | None = None,
    *,
    gap: float = 0.0,
    time_limit: float | None = None,
    seed: int = 0,
    scenarios: int | Scenarios | None = None,
    progress: Progress | None = None,
    on_phase: OnPhase | None = None,
    options: Mapping[str, object] | None = None,
    looks: int | None = None,
    memory: float = MEMORY,
    start: Plan | None = None,
    rows: Rows | None = None,
    stop_when_stuck: bool = False,
) -> Result:
    """Find a cheapest plan whose final loss meets its target with its target probability.

    Parameters
    ----------
    instance : Instance
    method : str or Registered, optional
        A registered method, or one of `depl.methods`; otherwise `depl.models.solving.methods.default_method`.
    gap : float
        Relative gap (cost - lower bound) / cost that is good enough.
    time_limit : float, optional
        Wall seconds. For very long plans the method gets less, as its plan has to be certified and verified.
    seed : int
        Seed of methods that draw; the same seed gives the same result.
    scenarios : int or Scenarios, optional
        For methods that count scenarios: how many to draw with ``seed`` (100 unless given), or which.
    progress : callable, optional
        Receives (seconds, incumbent, bound).
    on_phase : callable, optional
        Receives the name of each method that the method lets run, when its turn begins.
    options : mapping, optional
        What the method takes besides, by name: the ``options`` of `depl.models.solving.methods.Registered`.
    looks : int, optional
        How often the method may look at the clock before its time counts as over: a limit under which it
        ends alike on every machine, for comparing versions. Solvers that keep the time themselves (HiGHS)
        are not stopped by it.
    memory : float
        GiB that a table of the solve may take; what needs more is refused before it is begun
        (`depl.models.foundation.memory`).
    start : Plan, optional
        A feasible plan that is known. It is returned unless a cheaper one is found, and methods that can
        (`depl.models.solving.limits.Limits.cutoff`) look for cheaper ones alone. Methods that count
        scenarios take none.
    rows : callable, optional
        Adds constraints of the caller's own to the Pyomo model of a method that solves by a program,
        ``milp``; what they may speak of, `depl.models.programs.own_rows` says. No plan comes back that they
        forbid, and what is proved is proved under them: `Result.rows` names them.
    stop_when_stuck : bool
        Stop as *stuck* once neither a plan that is held nor the bound has moved for a third of the time
        limit; without a limit, for as long as the solve took before, and for 10 seconds at least. ``auto``
        lets each of its methods have its turn first. HiGHS keeps the time itself and is not stopped.

    Raises
    ------
    InvalidInputError
        For an unknown method, an impossible option, an instance that the method does not cover, or a plan to
        start from that is not feasible.
    NotCoveredError
        If the law of the loss has memory and the method plans with independent increments; or if no law is
        declared, and the method plans under the law or would have to draw scenarios; or if it needs more
        memory than it may take, or than there is.
    VerificationError
        If the method's plan fails the independent verifier, or its outcome contradicts itself.
    """
    entered = now()
    gap, time_limit, seed = require_limits(gap, time_limit, seed)
    with memory_ceiling(require_gibibytes(memory)):
        chosen = _chosen(instance, method, rows)
        known = None if start is None else _known(instance, chosen, start)
        known_cost = math.inf if known is None else plan_cost(instance, known)
        reserve = _reserve(instance, time_limit)
        limits = Limits(
            gap=gap,
            time_limit=None if time_limit is None else time_limit - reserve,
            seed=seed,
            progress=progress or (None if not stop_when_stuck else lambda *_: None),
            options=given_options(chosen.name, chosen.options, options),
            started=entered,
            looks=None if looks is None else Looks(_whole(looks, "looks")),
            cutoff=None if known is None else Cutoff(known_cost),
            reserve=reserve,
            on_phase=on_phase,
            rows=rows,
            standstill=None if not stop_when_stuck else Standstill(time_limit, known_cost),
        )
        asked = Asked(gap=gap, time_limit=time_limit, seed=seed)
        return _solved(Request(instance, chosen, limits, asked, known), scenarios)


@dataclass(frozen=True)
class Request:
    """What is asked of a method, and when and how it was asked."""

    instance: Instance
    method: Registered
    limits: Limits  # those of the method, with the scenarios once they are drawn
    # What the caller said, before time was reserved for the certificate.
    asked: Asked = field(default_factory=Asked)
    start: Plan | None = None  # that to start from

    @property
    def sample(self) -> Scenarios | None:
        """The scenarios that the method counts; None under the law."""
        return self.limits.scenarios

    def spare(self) -> float:
        """Seconds until the solve would break its limit; infinite without one [s]."""
        if self.limits.time_limit is None:
            return math.inf
        whole = self.limits.time_limit + self.limits.reserve
        return SHARE * whole + SECONDS - _CHECKING - self.limits.lateness()

    def in_time(self, seconds: float, work: Callable[[], _Found]) -> _Found | None:
        """What some work finds; None where there is no time for it, by what it takes at least or in fact."""
        if self.spare() < seconds:
            return None
        try:
            with deadline(lambda: LEEWAY - self.spare()):
                return work()
        except OutOfTimeError:
            return None


def verified_result(instance: Instance, method: str, outcome: Outcome, seed: int = 0) -> Result:
    """The result of an outcome that is known from elsewhere, once the verifier has accepted its plan.

    Its bound is taken as it is: what proves it is not looked at again.

    Parameters
    ----------
    method : str
        Whose outcome it is; one that works under the law.

    Raises
    ------
    VerificationError
        As `solve`.
    """
    request = Request(instance, find(method), Limits(seed=seed))
    return _judged(request, outcome_of(method, outcome, VerificationError), (0.0, 0.0))


def _chosen(instance: Instance, method: str | Registered | None, rows: Rows | None) -> Registered:
    """The method, once it is known to cover what is asked."""
    named = default_method(instance) if method is None else method
    chosen = named if isinstance(named, Registered) else find(named)
    require_rows(chosen, rows)
    require_covered(instance, chosen)
    return chosen


def _known(instance: Instance, method: Registered, plan: Plan) -> Plan:
    """A plan that a caller gives, once it is found feasible."""
    if method.meaning is Meaning.SCENARIOS:
        raise InvalidInputError(
            f"method {method.name!r} counts scenarios and starts from no plan; leave it out", "start"
        )
    constraints = evaluate(instance, plan, quantile=False).constraints
    if unmet := next(filter(None, map(_unmet, constraints)), ""):
        raise InvalidInputError(f"is not feasible: {unmet}; give a plan that 'depl check' accepts", "start")
    return plan.bare()


def _unmet(constraint: Constraint) -> str:
    """What a constraint asks and what is there, where it is not satisfied."""
    if constraint.satisfied:
        return ""
    said = f"{constraint.equation} {constraint.name} is up to {constraint.value:.17g}"
    return f"{said}, its limit {constraint.limit:.17g}"


def _reserve(instance: Instance, time_limit: float | None) -> float:
    """Seconds of the limit, if there is one, that are kept for certifying and verifying the plan [s]."""
    needed = _CERTIFYING * instance.target.maximum_epochs - _NOT_COUNTED
    return 0.0 if time_limit is None else min(max(needed, 0.0), _LARGEST_RESERVE * time_limit)


def _whole(number: object, name: str) -> int:
    """A limit that counts."""
    if isinstance(number, bool) or not isinstance(number, Integral) or number < 0:
        raise InvalidInputError(f"must be a whole number, at least 0, not {number!r:.80}", name)
    return int(number)


def _solved(request: Request, scenarios: int | Scenarios | None) -> Result:
    wall, cpu = time.perf_counter(), time.process_time()
    returned, request = _run(request, scenarios)
    seconds = time.perf_counter() - wall, time.process_time() - cpu
    outcome = outcome_of(request.method.name, returned, VerificationError)
    outcome = _if_stuck(request, _unless_better(request, outcome))
    with first_interrupt_ignored():  # an incumbent that took an hour is not lost in its last second
        result = _judged(request, outcome, seconds)
    asked = request.asked
    reached = result.gap is not None and result.gap <= asked.gap + PROOF_TOLERANCE
    if outcome.termination is Termination.GAP_REACHED and not reached:
        raise VerificationError(
            f"method {result.method!r} says that the gap {asked.gap} is reached; it is {result.gap}"
        )
    if result.plan is None or asked == Asked():
        return result
    return replace(result, plan=msgspec.structs.replace(result.plan, asked=asked))


def _run(request: Request, scenarios: int | Scenarios | None) -> tuple[object, Request]:
    """What a method returns, and with which scenarios, whose drawing is a part of the solve.

    If it leaves an interrupt or the end of its time to us, it holds nothing.
    """
    method, limits = request.method, request.limits
    try:
        with deadline(limits.lateness):
            if method.meaning is Meaning.SCENARIOS:
                limits = replace(limits, scenarios=sample_of(request.instance, scenarios, limits.seed))
                request = replace(request, limits=limits)
            elif scenarios is not None:
                require_counting(method.name)
            return method.run(request.instance, limits), request
    except KeyboardInterrupt:
        return Outcome(Termination.INTERRUPTED, None, 0.0, "interrupted before there was a plan"), request
    except OutOfTimeError:
        reason = "stopped before there was a plan; allow more time"
        return Outcome(Termination.TIME_LIMIT, None, 0.0, reason), request
    except TypeError as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise
        raise InvalidInputError(
            f"method {method.name!r} cannot be called with an instance and limits: {error}"
        ) from error
    except MemoryError as error:
        raise NotCoveredError(
            f"method {method.name!r} needs more memory than there is ({str(error) or 'no more was given'}); "
            "leave out models, datasets or epochs, or use another method"
        ) from error


def _unless_better(request: Request, outcome: Outcome) -> Outcome:
    """The outcome with the plan to start from, unless that of the method costs less.

    A method whose cutoff this plan was (`depl.models.solving.limits.Limits.cutoff`) may return no plan, and
    a lower bound that proves this one.
    """
    known = request.start
    if known is None:
        return outcome
    cost = plan_cost(request.instance, known)
    above = outcome.lower_bound > cost + PROOF_TOLERANCE * abs(cost)
    if above or outcome.termination is Termination.INFEASIBLE:
        raise VerificationError(
            f"method {request.method.name!r} proves that no plan costs less than {outcome.lower_bound:.12g}; "
            f"the plan to start from is feasible and costs {cost:.12g}"
        )
    if outcome.plan is not None and plan_cost(request.instance, outcome.plan) <= cost:
        return outcome
    ending = proved_as(cost, outcome.lower_bound, request.asked.gap) or stopped_as(outcome.termination)
    return replace(outcome, termination=ending, plan=known, reason=None)


def _if_stuck(request: Request, outcome: Outcome) -> Outcome:
    """The outcome, which says so where the method was stopped because nothing moved."""
    standstill = request.limits.standstill
    stopped = outcome.plan is not None and outcome.termination in (Termination.TIME_LIMIT, Termination.STUCK)
    if standstill is None or not stopped or not standstill.over() or request.limits.late():
        return outcome
    tried = ", ".join(phase.method for phase in outcome.phases) or request.method.name
    reason = f"neither the plan nor the bound has moved for {standstill.stood:.0f} s; tried: {tried}"
    return replace(outcome, termination=Termination.STUCK, reason=reason)


def _judged(request: Request, outcome: Outcome, seconds: tuple[float, float]) -> Result:
    """What is known whether or not there is a plan, and the plan's own numbers if there is one."""
    infeasible = outcome.termination is Termination.INFEASIBLE
    held = replace(outcome, plan=None, lower_bound=math.inf if infeasible else outcome.lower_bound)
    result = Result(
        **vars(held),
        solution=Solution.NONE,
        method=request.method.name,
        instance=request.instance.fingerprint,
        seed=request.limits.seed,
        versions=dict(versions()),
        wall_seconds=seconds[0],
        cpu_seconds=seconds[1],
        problem=request.instance,
    )
    if outcome.plan is not None:
        return _holding(request, result, outcome, outcome.plan)
    return replace(result, claimed=_claimed_without_plan(request, result.lower_bound))


def _claimed_without_plan(request: Request, bound: float) -> bool:
    """Whether a bound without a plan is no more than a claim of the method, which no plan refutes."""
    if is_shipped(request.method.name) or not bound > 0:
        return False
    if request.sample is not None or request.spare() < _LISTING:
        return True
    finding = bound_without_plan(request.instance, bound)
    if not finding.ok:
        raise VerificationError(_refuted(request, finding))
    return finding.kind is not Kind.CHECKED


def _holding(request: Request, result: Result, outcome: Outcome, plan: Plan) -> Result:
    """``result`` with the plan and its numbers, once the verifier has accepted them."""
    instance, sample, evidence = request.instance, request.sample, None
    proven = outcome.termination is Termination.OPTIMAL
    try:
        evaluation, brief = _evaluated(request, plan)
    except InvalidInputError as error:  # the method's fault, not the user's
        reason = f"the plan of method {result.method!r} cannot be evaluated: {error}"
        raise VerificationError(reason) from error
    if sample is not None:  # a stream of its own: the fresh sample must not repeat the scenarios
        rng = None if brief else np.random.default_rng([result.seed, 1])
        evidence = scenario_evidence(instance, sample, plan, rng)
    bound = evaluation.cost if proven else min(outcome.lower_bound, evaluation.cost)
    foreign = bound > 0 and not is_shipped(result.method)  # what it says of all plans is its own word
    said = max(bound, outcome.lower_bound) if foreign else finite(outcome.lower_bound)
    claims = _claims(result.method, outcome, evaluation, evidence, said)
    plan = msgspec.structs.replace(plan, instance=instance.fingerprint, claims=claims)
    proved = _verified(request, plan, evaluation, brief, foreign and request.spare() >= _LISTING)
    claimed = foreign and not counts_as_proved(bound, proved)
    cheapest = Solution.PROVEN_UNDER_ROWS if outcome.rows else Solution.PROVEN_OPTIMAL
    return replace(
        result,
        solution=cheapest if proven and not claimed else Solution.FEASIBLE,
        plan=plan,
        cost=evaluation.cost,
        lower_bound=bound,
        claimed=claimed,
        evaluation=evaluation,
        scenarios=evidence,
        rests_on=loss_law(instance).basis(plan),
    )


def _evaluated(request: Request, plan: Plan) -> tuple[Evaluation, bool]:
    """The evaluation of a plan with all that there is time for; whether the verifier may be brief, too."""
    instance, sample, epochs = request.instance, request.sample, len(plan.epochs)
    if sample is None:
        started = time.perf_counter()

        def quantile(law: EndLaw) -> Interval | None:
            needed = max(_QUANTILE * epochs, _AGAIN * (time.perf_counter() - started))
            return request.in_time(needed, lambda: law.quantile(instance.target.violation_budget))

        return evaluate(instance, plan, quantile=quantile), False
    needed = _LAW * epochs + _DRAWING * (sample.improvements.size + sample.switch_losses.size)
    known = instance.declares_laws
    found = request.in_time(needed, lambda: evaluate(instance, plan, probability=known))
    return (evaluate(instance, plan, probability=False), True) if found is None else (found, False)


def _claims(
    method: str,
    outcome: Outcome,
    evaluation: Evaluation,
    evidence: ScenarioEvidence | None,
    lower_bound: float | None,
) -> Claims:
    """Everything that the verifier should recompute."""
    dual, counted = outcome.dual, ScenarioClaim.__struct_fields__
    return Claims(
        cost=finite(evaluation.cost),
        training_time=finite(evaluation.training_time),
        violation=_bounds(evaluation.certified),
        quantile=_bounds(evaluation.quantile),
        cheapest_resources=True if outcome.termination is Termination.OPTIMAL else None,
        lower_bound=lower_bound,
        method=method,
        scenarios=None if evidence is None else ScenarioClaim(**{n: getattr(evidence, n) for n in counted}),
        dual=None if dual is None else DualClaim(**vars(dual)),
        rows=outcome.rows or None,
    )


def _bounds(interval: Interval | None) -> Bounds | None:
    if interval is None:
        return None
    return Bounds(lower=finite(interval.lower), upper=finite(interval.upper))


def _verified(request: Request, plan: Plan, evaluation: Evaluation, brief: bool, list_plans: bool) -> float:
    """The lower bound that the verifier proves; it accepts the plan, which is certified feasible."""
    sample, method = request.sample, request.method.name
    draws = None if sample is None else (sample.improvements, sample.switch_losses)
    most = MOST_PLANS if list_plans else 0
    report = verify(request.instance, plan, draws, most_plans=most, brief=brief)
    if not report.ok:
        raise VerificationError(_refuted(request, *report.failures))
    # What the verifier may leave open, the certificate has to decide; a count it decides by itself.
    decided = [c for c in evaluation.constraints if sample is None or c.equation != "(3)"]
    if unmet := next(filter(None, map(_unmet, decided)), ""):
        raise VerificationError(f"the plan of method {method!r} is not certified feasible: {unmet}")
    return report.proved_bound


def _refuted(request: Request, *findings: Finding) -> str:
    failed = "; ".join(f"{finding.equation}: {finding.message}" for finding in findings)
    return f"the answer of method {request.method.name!r} fails the independent verifier: {failed}"
