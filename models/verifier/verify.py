"""The independent verifier: what a plan says, recomputed from the problem alone, equation by equation.

It shares no formula with any solver: `depl.models.verifier.reading` reads the raw fields of problem and plan,
probabilities come from scipy.special (`depl.models.verifier.distribution`), the cheapest resources from a
numerical search (`depl.models.verifier.resources`). Equations are numbered as in Sec. III of the paper; (2)
and (6) are read in their intent (errata E2, E1): a transfer is paid once, a cluster with data trains once.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from depl.models.foundation.showing import Shown
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Bounds, Claims, Plan, require_plan
from depl.models.verifier.bounds import MOST_PLANS, below_all_seen, bound_findings
from depl.models.verifier.findings import (
    CLAIM,
    Broken,
    Finding,
    Findings,
    Kind,
    exceeded,
    failed,
    in_time,
    judged,
    noted,
    passed,
    undecided,
)
from depl.models.verifier.laws import Bracket, is_discrete
from depl.models.verifier.losses import LossFacts
from depl.models.verifier.reading import (
    EpochFacts,
    budget_of,
    data_faults,
    epoch_facts,
    fits,
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
    if unreadable := tuple(_reading_failures(instance, plan)):
        return Report(unreadable, math.nan, math.nan, _UNKNOWN, math.nan, problem=instance)
    claims = plan.claims or Claims()
    epochs, loss = epoch_facts(instance, plan), loss_facts(instance, plan)
    used = math.fsum(epoch.price * epoch.resources for epoch in epochs)
    moved = transfers(instance, given_data(plan).items())
    cost, duration, violation = used + moved, math.fsum(epoch.time for epoch in epochs), _UNKNOWN
    counted_only = brief and claims.scenarios is not None
    if loss.declared and not loss.undefined and not counted_only:
        violation = loss.violation(loss.on_scale(instance.target.maximum_loss), budget_of(instance))
    sample, sample_findings = claimed_sample(instance, claims.scenarios, draws, counted_only)
    bounds = list(bound_findings(instance, claims, sample, cost, most_plans))
    findings = [
        noted("(2)", f"cost {cost:.12g} = transfers {moved:.12g} (once, E2) + resources {used:.12g}"),
        *sample_findings,
        *_risk_findings(instance, plan, loss, violation, sample),
        in_time("sum of T(k)", duration, instance.target.maximum_time),
        *_rule_findings(instance, plan, epochs, loss),
        *_claim_findings(instance, claims, loss, violation, {"cost": cost, "training_time": duration}),
        *_cheapest_findings(instance, claims, epochs, moved),
        *(finding for finding, _ in bounds),
    ]
    proved = max((bound for _, bound in bounds), default=0.0)
    return Report(tuple(findings), cost, duration, violation, loss.mean, proved, instance)


def _reading_failures(instance: Instance, plan: Plan) -> Iterator[Finding]:
    """Everything that keeps the plan from being evaluated at all."""
    if plan.instance is not None and plan.instance != instance.fingerprint:
        yield failed("instance", f"the plan was made for another instance, {plan.instance[:12]}")
    faults = data_faults(instance, plan.data)
    yield from (failed(rule, message) for rule, message in faults if rule != "sites, residency")
    clusters = {item.name for item in instance.clusters}
    models, given = {item.name for item in instance.models}, given_data(plan)
    for number, epoch in enumerate(plan.epochs, start=1):
        if epoch.model not in models:
            yield failed("Sec. III, models", f"epoch {number}: there is no model {epoch.model!r}")
        if epoch.cluster not in clusters:
            yield failed("Sec. III, clusters", f"epoch {number}: there is no cluster {epoch.cluster!r}")
        elif epoch.cluster not in given:
            yield failed("(6)", f"epoch {number}: cluster {epoch.cluster!r} trains without data", 1.0)
    tabled = longest_tables(instance, (epoch.model for epoch in plan.epochs))
    if tabled is not None and len(plan.epochs) > tabled:
        message = f"K = {len(plan.epochs)} epochs, but the instance has tables for {tabled} only"
        yield failed("Sec. III, K_max", message, float(len(plan.epochs) - tabled))


def _risk_findings(
    instance: Instance, plan: Plan, loss: LossFacts, found: Bracket, sample: DrawnSample | None
) -> Iterator[Finding]:
    """Eq. (3): a probability, or for a plan that claims scenarios a count of them."""
    claims = plan.claims or Claims()
    claim = claims.scenarios
    if loss.undefined:
        yield failed("(3)", loss.undefined)
        return
    if claim is None:
        yield _probability_finding(instance, claims.violation, loss, found)
        return
    if len(plan.epochs) > instance.target.maximum_epochs:
        yield failed("(3)", "the scenarios end at K_max, before the plan")
    elif sample is None:
        yield undecided("(3)", "the scenarios that the plan was made for are not known")
    else:
        yield from count_findings(claim, counted(instance, sample, plan))
    yield law_note(found, budget_of(instance), loss.declared)


def _probability_finding(
    instance: Instance, claim: Bounds | None, loss: LossFacts, found: Bracket
) -> Finding:
    if not loss.declared:
        return undecided("(3)", "no law is declared, and the plan claims no scenarios to be judged on")
    budget = budget_of(instance)
    shown, told = f"P(l(K) > l_max) {found}", f"1 - omega = {float(budget):.12g}"
    if found.lower > budget:
        excess = float(found.lower - budget)
        return failed("(3)", f"{shown} exceeds {told} by {excess:.6g}", excess)
    room = float(found.upper - budget)
    if found.upper <= budget:
        return passed("(3)", f"{shown} <= {told}", room)
    claims_more = claim is not None and claim.upper is not None and claim.upper <= budget
    message = f"{shown} contains {told}: undecided within the verifier's accuracy"
    if claims_more:
        message += ", while the plan claims to be feasible"
    return Finding("(3)", not claims_more, message, room, Kind.UNDECIDED)


def _rule_findings(
    instance: Instance, plan: Plan, epochs: tuple[EpochFacts, ...], loss: LossFacts
) -> Iterator[Finding]:
    """All rules that are kept or broken, epoch by epoch or by the plan as a whole."""
    target = instance.target
    deadline, number, limit = target.round_deadline, len(plan.epochs), target.maximum_epochs
    late = "" if deadline is None else f", every T(k) <= tau = {deadline:.12g}"
    yield from judged("(1)", _work(epochs, deadline), f"resources exactly where there is work{late}")
    yield from judged("(5)", _capacity(epochs), "x <= r(n) in every epoch")
    idle = sorted(set(given_data(plan)) - {epoch.cluster for epoch in plan.epochs})
    message = f"clusters {idle} get data but never train (E1)"
    kept = "a cluster has data if and only if it trains in some epoch (E1)"
    yield from judged("(6)", [(message, float(len(idle)))] if idle else [], kept)
    tell = passed if number <= limit else failed
    yield tell("Sec. III, K_max", f"K = {number}, K_max = {limit}", float(number - limit))
    switches = (
        (f"epoch {epoch}: {before!r} may not be followed by {after!r}", None)
        for epoch, before, after in loss.forbidden
    )
    yield from judged("Sec. III, switches", switches, "every switch is allowed")
    if any(row.clusters is not None for row in instance.datasets):
        faults = data_faults(instance, plan.data)
        misplaced = ((message, None) for rule, message in faults if rule == "sites, residency")
        yield from judged("sites, residency", misplaced, "data are used where they may be alone")
    if any(item.memory is not None for item in instance.clusters):
        yield from judged(
            "sites, memory", _memory(instance, plan), "every model fits on the clusters that train it"
        )
    if target.deployable is not None:
        yield _last_model(instance, plan)
    if instance.traced_law is not None and (loss.outside or loss.support):
        yield from judged("traced law, support", _support(instance, loss), loss.support)


def _work(epochs: tuple[EpochFacts, ...], deadline: float | None) -> Broken:
    """What breaks (1): resources without work, work without resources, the round deadline."""
    for number, epoch in enumerate(epochs, start=1):
        place, used = f"epoch {number}: ", epoch.resources
        if epoch.work > 0.0 and used == 0.0:
            yield f"{place}work {epoch.work:.12g} without resources never ends", math.inf
        elif epoch.work == 0.0 and used > 0.0:
            yield f"{place}x = {used:.12g}, but there is nothing to compute", used
        elif deadline is not None:
            yield from exceeded(f"{place}T(k)", epoch.time, "tau", deadline, TIME_TOLERANCE)


def _capacity(epochs: tuple[EpochFacts, ...]) -> Broken:
    """What breaks (5)."""
    for number, epoch in enumerate(epochs, start=1):
        yield from exceeded(f"epoch {number}: x", epoch.resources, "r(n)", epoch.capacity, CAPACITY_TOLERANCE)


def _memory(instance: Instance, plan: Plan) -> Broken:
    """Epochs whose model needs more memory than the cluster has, and by how much."""
    clusters = {item.name: item for item in instance.clusters}
    models = {item.name: item for item in instance.models}
    for number, epoch in enumerate(plan.epochs, start=1):
        model, place = models[epoch.model], clusters[epoch.cluster]
        if not fits(model, place):
            need, room = model.memory or 0.0, place.memory or 0.0
            what = f"epoch {number}: model {epoch.model!r} needs memory {need:.12g}"
            yield f"{what}, a node of {epoch.cluster!r} has {room:.12g}", need - room


def _last_model(instance: Instance, plan: Plan) -> Finding:
    name, last = "sites, deployment", plan.epochs[-1].model if plan.epochs else instance.target.initial_model
    named = ", ".join(instance.target.deployable or ())
    if may_be_last(instance, last):
        return passed(name, f"the last model {last!r} is one of {named}")
    if last is None:
        return failed(name, f"without an epoch there is no last model; it has to be one of {named}")
    where = "the last model" if plan.epochs else "without an epoch the last model is the initial one,"
    return failed(name, f"{where} {last!r} is none of {named}")


def _support(instance: Instance, loss: LossFacts) -> Broken:
    """Why the runs of a traced law say nothing about a plan."""
    if loss.outside is not None:
        number, reason = loss.outside
        yield f"epoch {number}: {reason}", None
    elif below_all_seen(instance, loss):
        level = f"the {instance.target.quantile_level:g}-quantile"
        seen = "lies below every loss that any run ever had: the law does not describe the runs"
        yield f"{level} {seen}", None


def _claim_findings(
    instance: Instance, claims: Claims, loss: LossFacts, violation: Bracket, numbers: dict[str, float]
) -> Iterator[Finding]:
    """What is said of the claims about this plan: ``numbers`` are recomputed."""
    for name, found in numbers.items():
        claimed = getattr(claims, name)
        if claimed is None:
            continue
        away, shown = claimed - found, f"{found:.12g} recomputed: off by {claimed - found:.6g}"
        if abs(away) <= CLAIM_TOLERANCE * abs(found):
            yield passed(f"{CLAIM}{name}", f"{claimed:.12g}, recomputed {found:.12g}", away)
        else:
            yield failed(f"{CLAIM}{name}", f"{claimed:.12g} is claimed, {shown}", away)
    for name, bounds in (("violation", claims.violation), ("quantile", claims.quantile)):
        if bounds is None:
            continue
        if not loss.declared:
            yield failed(f"{CLAIM}{name}", "no law is declared that could give it")
        elif not loss.undefined and name == "violation":
            yield _violation_claim(bounds, violation)
        elif not loss.undefined:
            yield _quantile_claim(instance, loss, bounds)


def _violation_claim(claimed: Bounds, found: Bracket) -> Finding:
    name = f"{CLAIM}violation"
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
        return passed(name, f"{shown} meets the recomputed {found}", away)
    return failed(name, f"{shown} misses the recomputed {found} by {away:.6g}", away)


def _quantile_claim(instance: Instance, loss: LossFacts, claimed: Bounds) -> Finding:
    """The omega-quantile is the least l with P(l(K) > l) <= 1 - omega: compare probabilities at both ends."""
    budget, name = budget_of(instance), f"{CLAIM}quantile"
    if claimed.lower is not None and claimed.upper is not None and claimed.lower > claimed.upper:
        return failed(name, f"[{claimed.lower:.12g}, {claimed.upper:.12g}] is empty")
    if claimed.upper is not None:
        at_upper = loss.violation(loss.on_scale(claimed.upper), budget)
        if at_upper.lower > budget:
            excess, shown = float(at_upper.lower - budget), f"P(l(K) > {claimed.upper:.12g}) {at_upper}"
            return failed(name, f"{shown} still exceeds 1 - omega by {excess:.6g}", excess)
    if claimed.lower is not None:
        end = loss.on_scale(claimed.lower)
        if math.isfinite(end):  # but for rounding, and 2e-9 where atoms count as lower
            rounding = 1e-12 * (abs(end) + abs(float(loss.certain)))
            end -= rounding + 2e-9 * all(is_discrete(item.law) for item in loss.increments)
        at_lower = loss.violation(end, budget)
        if at_lower.upper <= budget:  # then the quantile is no greater than this end
            short, left = float(budget - at_lower.upper), "l(K)" if loss.scale == "loss" else "ln l(K)"
            shown = f"P({left} > {end:.12g}) {at_lower}"
            return failed(name, f"{shown} is already below 1 - omega by {short:.6g}", short)
    return passed(name, "1 - omega lies between the probabilities at its ends")


def _cheapest_findings(
    instance: Instance, claims: Claims, epochs: tuple[EpochFacts, ...], moved: float
) -> Iterator[Finding]:
    if not claims.cheapest_resources:
        return
    name, target = f"{CLAIM}cheapest_resources", instance.target
    least = moved + least_cost(epochs, target.maximum_time, target.round_deadline)
    cost = moved + math.fsum(epoch.price * epoch.resources for epoch in epochs)
    if cost <= least * (1.0 + OPTIMALITY_TOLERANCE):
        yield passed(name, f"cost {cost:.12g}, least {least:.12g}", cost - least)
    else:
        yield failed(
            name, f"other resources cost {least:.12g}, this plan's {cost - least:.6g} more", cost - least
        )
