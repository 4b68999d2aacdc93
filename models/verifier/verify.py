"""The independent verifier: what a plan says, recomputed from the problem alone, equation by equation.

It shares no formula with any solver: `depl.models.verifier.reading` reads the raw fields of problem and plan,
probabilities come from scipy.special (`depl.models.verifier.distribution`), the cheapest resources from a
numerical search (`depl.models.verifier.resources`). Equations are numbered as in Sec. III of the paper; (2)
and (6) are read in their intent (errata E2, E1): a transfer is paid once, a cluster with data trains once.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from depl.models.foundation.showing import Shown
from depl.models.foundation.users_code import exits_are_errors
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Bounds, Claims, Plan, require_plan
from depl.models.verifier.bounds import bound_findings
from depl.models.verifier.findings import Finding, Findings, Kind, failed, judged, noted, passed, undecided
from depl.models.verifier.laws import Bracket, decimal, is_discrete
from depl.models.verifier.losses import LossFacts
from depl.models.verifier.plans import MOST_PLANS, below_all_seen
from depl.models.verifier.reading import (
    EpochFacts,
    epoch_facts,
    given_data,
    longest_tables,
    loss_facts,
    may_be_last,
    transfers,
)
from depl.models.verifier.resources import least_cost
from depl.models.verifier.scenarios import (
    DrawnSample,
    Draws,
    claimed_sample,
    count_findings,
    counted,
    law_note,
)
from depl.models.verifier.tolerances import (
    CAPACITY_TOLERANCE,
    CLAIM_TOLERANCE,
    OPTIMALITY_TOLERANCE,
    TIME_TOLERANCE,
)

_UNKNOWN = Bracket(0.0, 1.0)
_Broken = Iterator[tuple[str, float | None]]
"""What breaks a rule: the message, and by how much if that is a number."""


@dataclass(frozen=True, repr=False)
class Report(Findings, Shown):
    """All findings, and what the verifier recomputed.

    Attributes
    ----------
    findings : tuple of Finding
    cost : float
        Objective (2) [cost]; nan, like the other numbers, where the plan cannot be read.
    training_time : float
        Sum of T(k) [time].
    violation : Bracket
        P(l(K) > l_max); [0, 1] where it is not defined.
    expected_loss : float
        E l(K).
    proved_bound : float
        Greatest lower bound of the cost of all plans that was proved again; 0 says nothing [cost].
    problem : Instance or None
        What the plan was checked against, for whoever shows the report.
    """

    cost: float
    training_time: float
    violation: Bracket
    expected_loss: float
    proved_bound: float = 0.0
    problem: Instance | None = field(default=None, compare=False)


@exits_are_errors
def verify(
    instance: Instance,
    plan: Plan,
    draws: Draws | None = None,
    most_plans: int = MOST_PLANS,
    *,
    brief: bool = False,
) -> Report:
    """Check a plan against every equation of the problem, and every claim it makes.

    Parameters
    ----------
    instance : Instance
    plan : Plan
        With or without claims; of another instance or inconsistent, it is reported as failing.
    draws : two float arrays, shapes (S, K, M) and (S, K, M, M), optional
        Improvements and switches of the scenarios that the plan claims, where they are the user's own; those
        with a seed are drawn again.
    most_plans : int
        Up to how many pairs of a sequence and an assignment of data the plans of the instance are listed, to
        prove or refute a claimed lower bound (a second or two); 0 for never.
    brief : bool
        Leave out what a plan that claims scenarios can be judged without: its probability under the law, and
        drawing scenarios again that are given.

    Returns
    -------
    Report
        Its ``ok`` is the verdict.

    Raises
    ------
    InvalidInputError
        If there is no plan: ``plan`` is None, or another thing.
    """
    require_plan(plan)
    unreadable = tuple(_reading_failures(instance, plan))
    if unreadable:
        return Report(unreadable, math.nan, math.nan, _UNKNOWN, math.nan, problem=instance)
    claims = plan.claims or Claims()
    epochs, loss = epoch_facts(instance, plan), loss_facts(instance, plan)
    resource_cost = math.fsum(epoch.price * epoch.resources for epoch in epochs)
    transfer_cost = transfers(instance, given_data(plan).items())
    cost, duration = resource_cost + transfer_cost, math.fsum(epoch.time for epoch in epochs)
    violation = _UNKNOWN
    counted_only = brief and claims.scenarios is not None
    if loss.declared and not loss.undefined and not counted_only:
        violation = _violation(instance, loss, loss.on_scale(instance.target.maximum_loss))
    message = f"cost {cost:.12g} = transfers {transfer_cost:.12g} (once, E2) + resources {resource_cost:.12g}"
    sample, sample_findings = _sample(instance, claims, draws, counted_only)
    bounds = list(bound_findings(instance, claims, sample, cost, most_plans))
    findings = [
        noted("(2)", message),
        *sample_findings,
        *_risk_findings(instance, plan, loss, violation, sample),
        _limit_finding("(4)", "sum of T(k)", duration, "T_max", instance.target.maximum_time),
        *_rule_findings(instance, plan, epochs, loss),
        *_claim_findings(instance, claims, loss, violation, cost, duration),
        *_cheapest_findings(instance, claims, epochs, transfer_cost),
        *(finding for finding, _ in bounds),
    ]
    proved = max((bound for _, bound in bounds), default=0.0)
    return Report(tuple(findings), cost, duration, violation, loss.mean, proved, instance)


def _reading_failures(instance: Instance, plan: Plan) -> Iterator[Finding]:
    """Everything that keeps the plan from being evaluated at all."""
    if plan.instance is not None and plan.instance != instance.fingerprint:
        yield failed("instance", f"the plan was made for another instance, {plan.instance[:12]}")
    clusters = {item.name for item in instance.clusters}
    models = {item.name for item in instance.models}
    datasets = {item.name for item in instance.datasets}
    seen: set[str] = set()
    for row in plan.data:
        if row.cluster not in clusters:
            yield failed("Sec. III, clusters", f"there is no cluster {row.cluster!r}")
        if row.cluster in seen:
            yield failed("Sec. III, data", f"the data of cluster {row.cluster!r} are listed twice")
        seen.add(row.cluster)
        for name in sorted(set(row.datasets) - datasets):
            yield failed("Sec. III, data", f"there is no dataset {name!r}")
        if len(set(row.datasets)) < len(row.datasets):
            yield failed("Sec. III, data", f"cluster {row.cluster!r} is given a dataset twice")
    for number, epoch in enumerate(plan.epochs, start=1):
        if epoch.model not in models:
            yield failed("Sec. III, models", f"epoch {number}: there is no model {epoch.model!r}")
        if epoch.cluster not in clusters:
            yield failed("Sec. III, clusters", f"epoch {number}: there is no cluster {epoch.cluster!r}")
        elif epoch.cluster not in seen:
            yield failed("(6)", f"epoch {number}: cluster {epoch.cluster!r} trains without data", 1.0)
    tabled = longest_tables(instance, (epoch.model for epoch in plan.epochs))
    if tabled is not None and len(plan.epochs) > tabled:
        message = f"K = {len(plan.epochs)} epochs, but the instance has tables for {tabled} only"
        yield failed("Sec. III, K_max", message, float(len(plan.epochs) - tabled))


def _violation(instance: Instance, loss: LossFacts, threshold: float) -> Bracket:
    """P(l(K) > l), l given on the scale of the law: minus infinity is exceeded by all losses."""
    gap = loss.gap(threshold)
    if gap is None:
        return Bracket(1.0, 1.0)
    return loss.exceeding(gap, _budget(instance), known=True)


def _budget(instance: Instance) -> Fraction:
    """p = 1 - omega in the decimals that were written."""
    return Fraction(1) - decimal(instance.target.quantile_level)


def _sample(
    instance: Instance, claims: Claims, draws: Draws | None, brief: bool
) -> tuple[DrawnSample | None, list[Finding]]:
    """The scenarios that the plan claims, None if there are none or they are not known; and what to say."""
    if claims.scenarios is not None:
        return claimed_sample(instance, claims.scenarios, draws, brief)
    told = noted("claim: scenarios", "the plan claims none; those given are not used")
    return None, [] if draws is None else [told]


def _risk_findings(
    instance: Instance, plan: Plan, loss: LossFacts, found: Bracket, sample: DrawnSample | None
) -> Iterator[Finding]:
    """Eq. (3): a probability, or for a plan that claims scenarios a count of them."""
    claims = plan.claims or Claims()
    claim = claims.scenarios
    if loss.undefined:
        yield failed("(3)", loss.undefined)
    elif claim is None:
        yield _probability_finding(_budget(instance), claims.violation, loss, found)
    elif len(plan.epochs) > instance.target.maximum_epochs:
        yield failed("(3)", "the scenarios end at K_max, before the plan")
    elif sample is None:
        yield undecided("(3)", "the scenarios that the plan was made for are not known")
    else:
        yield from count_findings(claim, counted(instance, sample, plan))
    if claim is not None and not loss.undefined:
        yield law_note(found, instance.target.quantile_level, loss.declared)


def _probability_finding(budget: Fraction, claim: Bounds | None, loss: LossFacts, found: Bracket) -> Finding:
    if not loss.declared:
        return undecided("(3)", "no law is declared, and the plan claims no scenarios to be judged on")
    shown, told = f"P(l(K) > l_max) {_interval(found)}", f"1 - omega = {float(budget):.12g}"
    if found.lower > budget:
        excess = float(found.lower - budget)
        return failed("(3)", f"{shown} exceeds {told} by {excess:.6g}", excess)
    if found.upper <= budget:
        return passed("(3)", f"{shown} <= {told}", float(found.upper - budget))
    claims_more = claim is not None and claim.upper is not None and claim.upper <= budget
    message = f"{shown} contains {told}: undecided within the verifier's accuracy"
    if claims_more:
        message += ", while the plan claims to be feasible"
    return Finding("(3)", not claims_more, message, float(found.upper - budget), Kind.UNDECIDED)


def _limit_finding(equation: str, left: str, value: float, right: str, limit: float | None) -> Finding:
    if limit is None:
        return noted(equation, f"{left} = {value:.12g}; no {right} is given")
    excess = value - limit
    if value <= limit * (1.0 + TIME_TOLERANCE):
        return passed(equation, f"{left} = {value:.12g} <= {right} = {limit:.12g}", excess)
    return failed(equation, f"{left} = {value:.12g} exceeds {right} = {limit:.12g} by {excess:.6g}", excess)


def _rule_findings(
    instance: Instance, plan: Plan, epochs: tuple[EpochFacts, ...], loss: LossFacts
) -> Iterator[Finding]:
    """All rules that are kept or broken, epoch by epoch or by the plan as a whole."""
    target = instance.target
    deadline, number, limit = target.round_deadline, len(plan.epochs), target.maximum_epochs
    late = "" if deadline is None else f", every T(k) <= tau = {deadline:.12g}"
    kept = f"resources exactly where there is work{late}"
    yield from judged("(1)", _work(epochs, deadline), kept)
    yield from judged("(5)", _capacity(epochs), "x <= r(n) in every epoch")
    idle = sorted(set(given_data(plan)) - {epoch.cluster for epoch in plan.epochs})
    message = f"clusters {idle} get data but never train (E1)"
    kept = "a cluster has data if and only if it trains in some epoch (E1)"
    yield from judged("(6)", [(message, float(len(idle)))] if idle else [], kept)
    kind = Kind.CHECKED if number <= limit else Kind.FAILED
    message = f"K = {number}, K_max = {limit}"
    yield Finding("Sec. III, K_max", number <= limit, message, float(number - limit), kind)
    switches = [
        (f"epoch {epoch}: {before!r} may not be followed by {after!r}", None)
        for epoch, before, after in loss.forbidden
    ]
    yield from judged("Sec. III, switches", switches, "every switch is allowed")
    if any(row.clusters is not None for row in instance.datasets):
        yield from judged(
            "sites, residency", _residency(instance, plan), "data are used where they may be alone"
        )
    if any(item.memory is not None for item in instance.clusters):
        kept = "every model fits on the clusters that train it"
        yield from judged("sites, memory", _memory(instance, plan), kept)
    if target.deployable is not None:
        yield _last_model("sites, deployment", instance, plan)
    if instance.traced_law is not None and (loss.outside or loss.support):
        yield from judged("traced law, support", _support(instance, loss), loss.support)


def _work(epochs: Iterable[EpochFacts], deadline: float | None) -> _Broken:
    """What breaks (1): resources without work, work without resources, the round deadline."""
    for number, epoch in enumerate(epochs, start=1):
        place, used = f"epoch {number}: ", epoch.resources
        if epoch.work > 0.0 and used == 0.0:
            yield f"{place}work {epoch.work:.12g} without resources never ends", math.inf
        elif epoch.work == 0.0 and used > 0.0:
            yield f"{place}x = {used:.12g}, but there is nothing to compute", used
        elif deadline is not None:
            finding = _limit_finding("(1)", f"{place}T(k)", epoch.time, "tau", deadline)
            if not finding.ok:
                yield finding.message, finding.amount


def _capacity(epochs: Iterable[EpochFacts]) -> _Broken:
    """What breaks (5)."""
    for number, epoch in enumerate(epochs, start=1):
        used, capacity = epoch.resources, epoch.capacity
        if used > capacity * (1.0 + CAPACITY_TOLERANCE):
            over = used - capacity
            yield f"epoch {number}: x = {used:.12g} exceeds r(n) = {capacity:.12g} by {over:.6g}", over


def _residency(instance: Instance, plan: Plan) -> _Broken:
    """Data that are used where they may not be."""
    homes = {row.name: row.clusters for row in instance.datasets}
    for row in plan.data:
        for name in row.datasets:
            allowed = homes[name]
            if allowed is not None and row.cluster not in allowed:
                yield f"dataset {name!r} may not be used on cluster {row.cluster!r}", None


def _memory(instance: Instance, plan: Plan) -> _Broken:
    """Epochs whose model needs more memory than the cluster has, and by how much."""
    held = {item.name: item.memory for item in instance.clusters}
    asked = {item.name: item.memory for item in instance.models}
    for number, epoch in enumerate(plan.epochs, start=1):
        room, need = held[epoch.cluster], asked[epoch.model]
        if room is not None and need is not None and need > room:
            what = f"epoch {number}: model {epoch.model!r} needs memory {need:.12g}"
            yield f"{what}, a node of {epoch.cluster!r} has {room:.12g}", need - room


def _last_model(name: str, instance: Instance, plan: Plan) -> Finding:
    last = plan.epochs[-1].model if plan.epochs else instance.target.initial_model
    named = ", ".join(instance.target.deployable or ())
    if may_be_last(instance, last):
        return passed(name, f"the last model {last!r} is one of {named}")
    if last is None:
        return failed(name, f"without an epoch there is no last model; it has to be one of {named}")
    where = "the last model" if plan.epochs else "without an epoch the last model is the initial one,"
    return failed(name, f"{where} {last!r} is none of {named}")


def _support(instance: Instance, loss: LossFacts) -> _Broken:
    """Why the runs of a traced law say nothing about a plan."""
    if loss.outside is not None:
        number, reason = loss.outside
        yield f"epoch {number}: {reason}", None
    elif below_all_seen(instance, loss):
        level = f"the {instance.target.quantile_level:g}-quantile"
        seen = "lies below every loss that any run ever had: the law does not describe the runs"
        yield f"{level} {seen}", None


def _claim_findings(
    instance: Instance, claims: Claims, loss: LossFacts, violation: Bracket, cost: float, duration: float
) -> Iterator[Finding]:
    for name, claimed, found in (
        ("cost", claims.cost, cost),
        ("training_time", claims.training_time, duration),
    ):
        if claimed is None:
            continue
        away, shown = claimed - found, f"{found:.12g} recomputed: off by {claimed - found:.6g}"
        if abs(away) <= CLAIM_TOLERANCE * abs(found):
            yield passed(f"claim: {name}", f"{claimed:.12g}, recomputed {found:.12g}", away)
        else:
            yield failed(f"claim: {name}", f"{claimed:.12g} is claimed, {shown}", away)
    for name in ("violation", "quantile"):
        bounds = getattr(claims, name)
        if bounds is None:
            continue
        if not loss.declared:
            yield failed(f"claim: {name}", "no law is declared that could give it")
        elif not loss.undefined and name == "violation":
            yield _violation_claim(bounds, violation)
        elif not loss.undefined:
            yield _quantile_claim(instance, loss, bounds)


def _violation_claim(claimed: Bounds, found: Bracket) -> Finding:
    name = "claim: violation"
    low = -math.inf if claimed.lower is None else claimed.lower
    high = math.inf if claimed.upper is None else claimed.upper
    away = max(float(found.lower) - high, low - float(found.upper))
    shown = f"[{low:.12g}, {high:.12g}]"
    outside = [end for end in (claimed.lower, claimed.upper) if end is not None and not 0.0 <= end <= 1.0]
    if outside:
        message = f"{outside[0]:.12g} is not a probability"
        return failed(name, message, max(-outside[0], outside[0] - 1.0))
    if low > high:
        return failed(name, f"{shown} is empty", low - high)
    if low <= found.upper and high >= found.lower:
        return passed(name, f"{shown} meets the recomputed {_interval(found)}", away)
    return failed(name, f"{shown} misses the recomputed {_interval(found)} by {away:.6g}", away)


def _quantile_claim(instance: Instance, loss: LossFacts, claimed: Bounds) -> Finding:
    """The omega-quantile is the least l with P(l(K) > l) <= 1 - omega: compare probabilities at both ends."""
    budget = _budget(instance)
    name = "claim: quantile"
    if claimed.lower is not None and claimed.upper is not None and claimed.lower > claimed.upper:
        return failed(name, f"[{claimed.lower:.12g}, {claimed.upper:.12g}] is empty")
    if claimed.upper is not None:
        at_upper = _violation(instance, loss, loss.on_scale(claimed.upper))
        if at_upper.lower > budget:
            excess = float(at_upper.lower - budget)
            shown = f"P(l(K) > {claimed.upper:.12g}) {_interval(at_upper)}"
            return failed(name, f"{shown} still exceeds 1 - omega by {excess:.6g}", excess)
    if claimed.lower is not None:
        end = loss.on_scale(claimed.lower)
        if math.isfinite(end):  # but for rounding, and 2e-9 where atoms count as lower
            rounding = 1e-12 * (abs(end) + abs(float(loss.certain)))
            end -= rounding + 2e-9 * all(is_discrete(item.law) for item in loss.increments)
        at_lower = _violation(instance, loss, end)
        if at_lower.upper <= budget:  # then the quantile is no greater than this end
            short = float(budget - at_lower.upper)
            left = "l(K)" if loss.scale == "loss" else "ln l(K)"
            shown = f"P({left} > {end:.12g}) {_interval(at_lower)}"
            return failed(name, f"{shown} is already below 1 - omega by {short:.6g}", short)
    return passed(name, "1 - omega lies between the probabilities at its ends")


def _cheapest_findings(
    instance: Instance, claims: Claims, epochs: tuple[EpochFacts, ...], transfer_cost: float
) -> Iterator[Finding]:
    if not claims.cheapest_resources:
        return
    name = "claim: cheapest_resources"
    target = instance.target
    least = transfer_cost + least_cost(epochs, target.maximum_time, target.round_deadline)
    cost = transfer_cost + math.fsum(epoch.price * epoch.resources for epoch in epochs)
    excess = cost - least
    if cost <= least * (1.0 + OPTIMALITY_TOLERANCE):
        yield passed(name, f"cost {cost:.12g}, least {least:.12g}", excess)
    else:
        yield failed(name, f"other resources cost {least:.12g}, this plan's {excess:.6g} more", excess)


def _interval(found: Bracket) -> str:
    if found.lower == found.upper:
        return f"= {float(found.lower):.12g}"
    return f"in [{float(found.lower):.12g}, {float(found.upper):.12g}]"
