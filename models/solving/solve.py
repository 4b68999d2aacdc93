"""Solve an instance by a named method and return only what the independent verifier accepts."""

import math
import time
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from numbers import Integral

import msgspec
import numpy as np

from depl.models.evaluation.evaluate import LEFT_OUT, Evaluation
from depl.models.evaluation.loss_law import loss_law
from depl.models.foundation.clock import now
from depl.models.foundation.deadline import OutOfTimeError, deadline
from depl.models.foundation.errors import DeplError, InvalidInputError, NotCoveredError
from depl.models.foundation.interval import Interval
from depl.models.foundation.memory import MEMORY, memory_ceiling, require_gibibytes
from depl.models.foundation.tolerances import PROOF_TOLERANCE, counts_as_proved
from depl.models.foundation.users_code import exits_are_errors
from depl.models.problem.instance import Instance
from depl.models.problem.laws import NO_LAW
from depl.models.problem.plan import Asked, Bounds, Claims, DualClaim, Plan, ScenarioClaim
from depl.models.scenarios.draws import Scenarios
from depl.models.scenarios.evidence import ScenarioEvidence, scenario_evidence
from depl.models.solving.interrupts import first_interrupt_ignored
from depl.models.solving.known_plan import KnownPlan, known_plan
from depl.models.solving.methods import (
    Cutoff,
    Limits,
    Looks,
    Meaning,
    OnPhase,
    Outcome,
    Progress,
    Registered,
    Rows,
    default_method,
    find,
    is_shipped,
    registered,
    require_counting,
    require_limits,
    require_rows,
)
from depl.models.solving.options import require_declared
from depl.models.solving.result import Result, Solution, Termination
from depl.models.solving.sample import sample_of
from depl.models.solving.spare import Spare
from depl.models.solving.versions import versions
from depl.models.verifier.bounds import MOST_PLANS, bound_without_plan
from depl.models.verifier.findings import Finding, Kind
from depl.models.verifier.verify import Report, verify

_CERTIFYING = 0.0003
"""Seconds to certify and verify one epoch of the plan that is returned: about 0.0001 measured for 1000 to
5000 epochs of different laws, inverse gamma and lognormal, three times that for laws that take longer."""

_NOTHING = "no plan found: the method returns None"
"""The reason where a method returns None."""

_NOT_COUNTED, _LARGEST_RESERVE = 1.0, 0.5
"""Seconds of that which no limit is shortened for, as a limit is kept to 2 seconds; and the share of the
limit that is reserved at most, as a plan may have fewer epochs than K_max. Set by hand."""


class VerificationError(DeplError):
    """A method's own answer fails the verifier, or contradicts itself: a defect of that method."""


@exits_are_errors
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
        (`depl.models.solving.methods.Limits.cutoff`) look for cheaper ones alone. Methods that count
        scenarios take none.
    rows : callable, optional
        Adds constraints of the caller's own to the Pyomo model of a method that solves by a program,
        ``milp``; what they may speak of, `depl.models.programs.own_rows` says. No plan comes back that they
        forbid, and what is proved is proved under them: `Result.rows` names them.

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
    method = default_method(instance) if method is None else method
    gap, time_limit, seed = require_limits(gap, time_limit, seed)
    with memory_ceiling(require_gibibytes(memory)):
        limited, watching = (gap, time_limit, seed), (progress, on_phase)
        chosen = method if isinstance(method, Registered) else find(method)
        known = None if start is None else known_plan(instance, chosen, start)
        if rows is not None:
            require_rows(chosen, rows)
        return _solved(instance, chosen, limited, scenarios, watching, options, looks, known, rows, entered)


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
    spare = Spare(Limits(seed=seed))
    return _result(instance, method, seed, None, _outcome(outcome, method), (0.0, 0.0), spare)


def _solved(
    instance: Instance,
    chosen: Registered,
    limited: tuple[float, float | None, int],
    scenarios: int | Scenarios | None,
    watching: tuple[Progress | None, OnPhase | None],
    options: Mapping[str, object] | None,
    looks: int | None,
    known: KnownPlan | None,
    rows: Rows | None,
    entered: float,
) -> Result:
    method, (gap, time_limit, seed), (progress, on_phase) = chosen.name, limited, watching
    wall, cpu = time.perf_counter(), time.process_time()
    _require_covered(instance, chosen)
    further = _options(chosen, options)
    counted = None if looks is None else Looks(_whole(looks, "looks"))
    limits = Limits(
        gap, time_limit, seed, None, progress, further, started=entered, looks=counted, on_phase=on_phase
    )
    if known is not None:
        limits = replace(limits, cutoff=Cutoff(known.cost))
    if rows is not None:
        limits = replace(limits, rows=rows)
    if time_limit is not None:
        reserve = _reserve(instance, time_limit)
        limits = replace(limits, time_limit=time_limit - reserve, reserve=reserve)
    returned, sample = _run(chosen, instance, limits, scenarios)
    seconds = time.perf_counter() - wall, time.process_time() - cpu
    outcome = _outcome(returned, method)
    if known is not None:
        outcome = _unless_better(instance, known, outcome, gap, method)
    with first_interrupt_ignored():  # an incumbent that took an hour is not lost in its last second
        result = _result(instance, method, seed, sample, outcome, seconds, Spare(limits))
    reached = result.gap is not None and result.gap <= gap + PROOF_TOLERANCE
    if outcome.termination is Termination.GAP_REACHED and not reached:
        raise VerificationError(f"method {method!r} says that the gap {gap} is reached; it is {result.gap}")
    return _asked(result, Asked(gap=gap, time_limit=time_limit, seed=seed))


def _asked(result: Result, asked: Asked) -> Result:
    """The result with a plan that says what was asked for, unless that is what is asked for by default."""
    if result.plan is None or asked == Asked():
        return result
    return replace(result, plan=msgspec.structs.replace(result.plan, asked=asked))


def _unless_better(
    instance: Instance, known: KnownPlan, outcome: Outcome, gap: float, method: str
) -> Outcome:
    """The outcome with the plan to start from, unless that of the method costs less."""
    if known.contradicts(outcome):
        raise VerificationError(
            f"method {method!r} proves that no plan costs less than {outcome.lower_bound:.12g}; the plan "
            f"to start from is feasible and costs {known.cost:.12g}"
        )
    return known.unless_better(instance, outcome, gap)


def _reserve(instance: Instance, time_limit: float) -> float:
    """Seconds of the limit that are kept for certifying and verifying the plan [s]."""
    needed = _CERTIFYING * instance.target.maximum_epochs - _NOT_COUNTED
    return min(max(needed, 0.0), _LARGEST_RESERVE * time_limit)


def _run(
    method: Registered, instance: Instance, limits: Limits, scenarios: int | Scenarios | None
) -> tuple[object, Scenarios | None]:
    """What a method returns, and its scenarios, whose drawing is a part of the solve.

    If it leaves an interrupt or the end of its time to us, it holds nothing.
    """
    sample: Scenarios | None = None
    try:
        with deadline(limits.lateness):
            sample = _sample(instance, method, scenarios, limits.seed)
            return method.run(instance, replace(limits, scenarios=sample)), sample
    except KeyboardInterrupt:
        reason = "interrupted before there was a plan"
        return Outcome(Termination.INTERRUPTED, None, 0.0, reason), sample
    except OutOfTimeError:
        reason = "stopped before there was a plan; allow more time"
        return Outcome(Termination.TIME_LIMIT, None, 0.0, reason), sample
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


def _require_covered(instance: Instance, method: Registered) -> None:
    if method.meaning is Meaning.LAW and not instance.declares_laws:
        raise NotCoveredError(NO_LAW)
    if method.memory or not instance.has_memory:
        return
    able = ", ".join(known.name for known in registered() if known.memory)
    raise NotCoveredError(
        f"method {method.name!r} plans with independent increments, and the loss of {instance.name!r} has "
        f"memory (traced_law); methods that know that: {able}"
    )


def _options(method: Registered, options: Mapping[str, object] | None) -> Mapping[str, object]:
    """The further options of a solve, if the method takes them all."""
    given = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in dict(options or {}).items()
    }
    require_declared(method.name, method.options, given)
    return given


def _whole(number: object, name: str) -> int:
    """A limit that counts.

    Raises
    ------
    InvalidInputError
        If it is no whole number from 0 on.
    """
    if isinstance(number, bool) or not isinstance(number, Integral) or number < 0:
        raise InvalidInputError(f"must be a whole number, at least 0, not {number!r:.80}", name)
    return int(number)


def _sample(
    instance: Instance, method: Registered, scenarios: int | Scenarios | None, seed: int
) -> Scenarios | None:
    """The scenarios that a method counts; None for a method that works under the law."""
    if method.meaning is Meaning.LAW:
        if scenarios is not None:
            require_counting(method.name)
        return None
    return sample_of(instance, scenarios, seed)


def _outcome(returned: object, method: str) -> Outcome:
    """What a method returned, if it is of a known kind and does not contradict itself.

    Raises
    ------
    InvalidInputError
        If it is not, and the method is the user's; a `VerificationError` for one that comes with depl.
    """
    wrong = VerificationError if is_shipped(method) else InvalidInputError
    outcome = returned
    if outcome is None or isinstance(outcome, Plan):
        outcome = Outcome(Termination.EXHAUSTED, outcome, reason=None if outcome else _NOTHING)
    if not isinstance(outcome, Outcome):
        kind = type(outcome).__name__
        raise wrong(f"method {method!r} returns a {kind}; an Outcome, a Plan or None is needed")
    if not is_shipped(method):
        outcome = _well_formed(outcome, method)
    stopped = outcome.termination
    if outcome.plan is None and stopped in (Termination.OPTIMAL, Termination.GAP_REACHED):
        raise wrong(f"method {method!r} says {stopped.value!r} without a plan")
    if outcome.plan is not None and stopped is Termination.INFEASIBLE:
        raise wrong(f"method {method!r} says {stopped.value!r} and holds a plan")
    return outcome


def _well_formed(outcome: Outcome, method: str) -> Outcome:
    """The outcome of a user's method with every field of its declared type; numpy's numbers as plain ones.

    Raises
    ------
    InvalidInputError
        With the method and the field.
    """
    given = {item.name: _plain(getattr(outcome, item.name)) for item in fields(Outcome)}
    try:
        found = msgspec.convert(given, Outcome)
    except msgspec.ValidationError as error:
        raise InvalidInputError(f"method {method!r} returns a malformed Outcome: {error}") from error
    if math.isnan(found.lower_bound):
        raise InvalidInputError(
            f"method {method!r} returns a malformed Outcome: its lower_bound is no number (nan)"
        )
    return found


def _plain(value: object) -> object:
    """Records as their fields, which msgspec then looks at, and numbers of numpy as plain ones."""
    if isinstance(value, np.generic):
        return value.item()
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _result(
    instance: Instance,
    method: str,
    seed: int,
    sample: Scenarios | None,
    outcome: Outcome,
    seconds: tuple[float, float],
    spare: Spare,
) -> Result:
    """What is known whether or not there is a plan, and the plan's own numbers if there is one."""
    result = Result(
        termination=outcome.termination,
        solution=Solution.NONE,
        method=method,
        plan=None,
        cost=None,
        lower_bound=math.inf if outcome.termination is Termination.INFEASIBLE else outcome.lower_bound,
        dual=outcome.dual,
        rows=outcome.rows,
        reason=outcome.reason,
        decisions=outcome.decisions,
        tolerances=dict(outcome.tolerances),
        instance=instance.fingerprint,
        seed=seed,
        versions=dict(versions()),
        wall_seconds=seconds[0],
        cpu_seconds=seconds[1],
        build_seconds=outcome.build_seconds,
        stage_seconds=dict(outcome.stage_seconds),
        phases=outcome.phases,
        problem=instance,
    )
    if outcome.plan is None:
        return replace(result, claimed=_claimed_without_plan(result, instance, sample, spare))
    return _holding(result, instance, sample, outcome, outcome.plan, spare)


def _claimed_without_plan(result: Result, instance: Instance, sample: Scenarios | None, spare: Spare) -> bool:
    """Whether a bound without a plan is no more than a claim of the method.

    Raises
    ------
    VerificationError
        If there is a plan that refutes it.
    """
    if is_shipped(result.method) or not result.lower_bound > 0:
        return False
    if sample is not None or not spare.can_list:
        return True
    finding = bound_without_plan(instance, result.lower_bound)
    if not finding.ok:
        raise VerificationError(_refuted(result.method, finding))
    return finding.kind is not Kind.CHECKED


def _refuted(method: str, *findings: Finding) -> str:
    failed = "; ".join(f"{finding.equation}: {finding.message}" for finding in findings)
    return f"the answer of method {method!r} fails the independent verifier: {failed}"


def _holding(
    result: Result, instance: Instance, sample: Scenarios | None, outcome: Outcome, plan: Plan, spare: Spare
) -> Result:
    """``result`` with the plan and its numbers, once the verifier has accepted them."""
    method, proven = result.method, outcome.termination is Termination.OPTIMAL
    try:
        evaluation = spare.evaluated(instance, plan, sample)
    except InvalidInputError as error:  # the method's fault, not the user's
        raise VerificationError(f"the plan of method {method!r} cannot be evaluated: {error}") from error
    evidence = None
    if sample is not None:  # a stream of its own: the fresh sample must not repeat the scenarios
        rng = None if spare.brief else np.random.default_rng([result.seed, 1])
        evidence = scenario_evidence(instance, sample, plan, rng)
    bound = evaluation.cost if proven else min(outcome.lower_bound, evaluation.cost)
    foreign = bound > 0 and not is_shipped(method)  # what it says of all plans is its own word
    plan = _claiming(instance, outcome, plan, evaluation, evidence, method)
    if foreign:
        plan = _claiming_bound(plan, max(bound, outcome.lower_bound))
    most_plans = MOST_PLANS if foreign and spare.can_list else 0
    report = _verified(instance, plan, evaluation, sample, method, spare.brief, most_plans)
    claimed = foreign and not counts_as_proved(bound, report.proved_bound)
    violation = None
    if _tells_probability(instance, evaluation):
        violation = evaluation.violation
    return replace(
        result,
        solution=_held(outcome) if proven and not claimed else Solution.FEASIBLE,
        plan=plan,
        cost=evaluation.cost,
        lower_bound=bound,
        claimed=claimed,
        scenarios=evidence,
        violation=violation,
        quantile=evaluation.quantile,
        rests_on=loss_law(instance).basis(plan),
        epochs=evaluation.epochs,
        training_time=evaluation.training_time,
        expected_loss=_known(evaluation.expected_loss),
    )


def _held(outcome: Outcome) -> Solution:
    """What a plan is that is proved to be cheapest."""
    return Solution.PROVEN_UNDER_ROWS if outcome.rows else Solution.PROVEN_OPTIMAL


def _tells_probability(instance: Instance, evaluation: Evaluation) -> bool:
    return instance.declares_laws and evaluation.violation.how != LEFT_OUT


def _claiming(
    instance: Instance,
    outcome: Outcome,
    bare: Plan,
    evaluation: Evaluation,
    evidence: ScenarioEvidence | None,
    method: str,
) -> Plan:
    """The plan with its instance and everything that the verifier should recompute."""
    quantile, dual = evaluation.quantile, outcome.dual
    claims = Claims(
        cost=_known(evaluation.cost),
        training_time=_known(evaluation.training_time),
        violation=_bounds(evaluation.violation) if _tells_probability(instance, evaluation) else None,
        quantile=None if quantile is None else _bounds(quantile),
        cheapest_resources=True if outcome.termination is Termination.OPTIMAL else None,
        lower_bound=_known(outcome.lower_bound),
        method=method,
        scenarios=None if evidence is None else _scenario_claim(evidence),
        dual=None if dual is None else DualClaim(**asdict(dual)),
        rows=outcome.rows or None,
    )
    return msgspec.structs.replace(bare, instance=instance.fingerprint, claims=claims)


def _claiming_bound(plan: Plan, bound: float) -> Plan:
    """The plan with the lower bound that its method says, also where it says it by OPTIMAL alone."""
    claims = msgspec.structs.replace(plan.claims or Claims(), lower_bound=bound)
    return msgspec.structs.replace(plan, claims=claims)


def _scenario_claim(evidence: ScenarioEvidence) -> ScenarioClaim:
    return ScenarioClaim(
        size=evidence.size,
        misses=evidence.misses,
        allowed=evidence.allowed,
        digest=evidence.digest,
        seed=evidence.seed,
        decimals=evidence.decimals,
    )


def _bounds(interval: Interval) -> Bounds:
    return Bounds(lower=_known(interval.lower), upper=_known(interval.upper))


def _known(bound: float) -> float | None:
    """A bound, None where it is infinite and so says nothing."""
    return bound if math.isfinite(bound) else None


def _verified(
    instance: Instance,
    plan: Plan,
    evaluation: Evaluation,
    sample: Scenarios | None,
    method: str,
    brief: bool,
    most_plans: int,
) -> Report:
    """What the verifier says of a plan that it accepts, and that is certified feasible."""
    draws = None if sample is None else (sample.improvements, sample.switch_losses)
    report = verify(instance, plan, draws, most_plans=most_plans, brief=brief)
    if not report.ok:
        raise VerificationError(_refuted(method, *report.failures))
    # What the verifier may leave open, the certificate has to decide; a count it decides by itself.
    decided = [c for c in evaluation.constraints if sample is None or c.equation != "(3)"]
    unmet = next((constraint for constraint in decided if not constraint.satisfied), None)
    if unmet is not None:
        raise VerificationError(
            f"the plan of method {method!r} is not certified feasible: {unmet.equation} {unmet.name} "
            f"is up to {unmet.value:.17g}, its limit {unmet.limit:.17g}"
        )
    return report
