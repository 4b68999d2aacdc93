"""The independent verifier: what a plan says, recomputed from the problem alone, equation by equation.

It shares no formula with any solver. Problem and plan are read from their raw fields
(`depl.models.verifier.reading`), probabilities come from scipy's densities, convolved here
(`depl.models.verifier.distribution`), and the cheapest resources from a numerical search
(`depl.models.verifier.resources`). Equations are numbered as in Sec. III of the paper; (2) and (6) are read
in their intent (errata E2 and E1): a transfer is paid once, and a cluster with data trains at least once.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from depl.models.foundation.showing import Shown
from depl.models.foundation.users_code import exits_are_errors
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Bounds, Claims, Plan, require_plan
from depl.models.verifier.bounds import MOST_PLANS, bound_findings
from depl.models.verifier.findings import Finding, Kind, failed, passed, undecided
from depl.models.verifier.laws import Bracket, decimal, is_discrete
from depl.models.verifier.reading import (
    EpochFacts,
    LossFacts,
    epoch_facts,
    given_data,
    longest_tables,
    loss_facts,
    transfers,
)
from depl.models.verifier.requirements import below_all_seen
from depl.models.verifier.resources import least_cost
from depl.models.verifier.sample import DrawnSample
from depl.models.verifier.scenarios import Draws, claimed_sample, count_findings, counted, law_note
from depl.models.verifier.sites import site_findings
from depl.models.verifier.tolerances import (
    CAPACITY_TOLERANCE,
    CLAIM_TOLERANCE,
    OPTIMALITY_TOLERANCE,
    TIME_TOLERANCE,
)

_UNKNOWN = Bracket(0.0, 1.0)


@dataclass(frozen=True, repr=False)
class Report(Shown):
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

    findings: tuple[Finding, ...]
    cost: float
    training_time: float
    violation: Bracket
    expected_loss: float
    proved_bound: float = 0.0
    problem: Instance | None = field(default=None, compare=False)

    @property
    def ok(self) -> bool:
        """Whether every finding is."""
        return all(finding.ok for finding in self.findings)

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings that are not."""
        return tuple(finding for finding in self.findings if not finding.ok)

    @property
    def checked(self) -> tuple[Finding, ...]:
        """The claims that were recomputed, or proved without a solver."""
        return tuple(
            finding for finding in self.findings if finding.is_claim and finding.kind is Kind.CHECKED
        )

    @property
    def repeated(self) -> tuple[Finding, ...]:
        """The claims that nothing here contradicts and nothing here proves: `ok` does not speak for them."""
        return tuple(item for item in self.findings if item.kind is Kind.REPEATED)


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
    epochs, loss = epoch_facts(instance, plan), loss_facts(instance, plan)
    resource_cost = math.fsum(epoch.price * epoch.resources for epoch in epochs)
    transfer_cost = transfers(instance, plan)
    cost, duration = resource_cost + transfer_cost, math.fsum(epoch.time for epoch in epochs)
    violation = _UNKNOWN
    counted_only = brief and plan.claims is not None and plan.claims.scenarios is not None
    if loss.declared and not loss.undefined and not counted_only:
        violation = _violation(instance, loss, loss.on_scale(instance.target.maximum_loss))
    message = f"cost {cost:.12g} = transfers {transfer_cost:.12g} (once, E2) + resources {resource_cost:.12g}"
    sample, sample_findings = _sample(instance, plan, draws, counted_only)
    bounds = list(bound_findings(instance, plan.claims or Claims(), sample, cost, most_plans))
    findings = [
        Finding("(2)", True, message, None, Kind.NOTE),
        *sample_findings,
        *_risk_findings(instance, plan, loss, violation, sample),
        _limit_finding("(4)", "sum of T(k)", duration, "T_max", instance.target.maximum_time),
        *_epoch_findings(instance, epochs),
        _data_finding(plan),
        _epochs_finding(instance, plan),
        *_switch_findings(loss),
        *site_findings(instance, plan),
        *_support_findings(instance, loss),
        *_claim_findings(instance, plan, loss, violation, cost, duration),
        *_cheapest_findings(instance, plan, epochs, transfer_cost),
        *(finding for finding, _ in bounds),
    ]
    proved = max((bound for _, bound in bounds), default=0.0)
    return Report(tuple(findings), cost, duration, violation, loss.mean, proved, instance)


def _reading_failures(instance: Instance, plan: Plan) -> Iterator[Finding]:
    """Everything that keeps the plan from being evaluated at all."""
    if plan.instance is not None and plan.instance != instance.fingerprint:
        yield failed("instance", f"the plan was made for another instance, {plan.instance[:12]}", None)
    clusters = {item.name for item in instance.clusters}
    models = {item.name for item in instance.models}
    datasets = {item.name for item in instance.datasets}
    seen: set[str] = set()
    for row in plan.data:
        if row.cluster not in clusters:
            yield failed("Sec. III, clusters", f"there is no cluster {row.cluster!r}", None)
        if row.cluster in seen:
            yield failed("Sec. III, data", f"the data of cluster {row.cluster!r} are listed twice", None)
        seen.add(row.cluster)
        for name in sorted(set(row.datasets) - datasets):
            yield failed("Sec. III, data", f"there is no dataset {name!r}", None)
        if len(set(row.datasets)) < len(row.datasets):
            yield failed("Sec. III, data", f"cluster {row.cluster!r} is given a dataset twice", None)
    for number, epoch in enumerate(plan.epochs, start=1):
        if epoch.model not in models:
            yield failed("Sec. III, models", f"epoch {number}: there is no model {epoch.model!r}", None)
        if epoch.cluster not in clusters:
            yield failed("Sec. III, clusters", f"epoch {number}: there is no cluster {epoch.cluster!r}", None)
        elif epoch.cluster not in seen:
            yield failed("(6)", f"epoch {number}: cluster {epoch.cluster!r} trains without data", 1.0)
    tabled = longest_tables(instance, (epoch.model for epoch in plan.epochs))
    if tabled is not None and len(plan.epochs) > tabled:
        excess = len(plan.epochs) - tabled
        message = f"K = {len(plan.epochs)} epochs, but the instance has tables for {tabled} only"
        yield failed("Sec. III, K_max", message, float(excess))


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
    instance: Instance, plan: Plan, draws: Draws | None, brief: bool
) -> tuple[DrawnSample | None, list[Finding]]:
    """The scenarios that the plan claims, None if there are none or they are not known; and what to say."""
    claim = None if plan.claims is None else plan.claims.scenarios
    if claim is not None:
        return claimed_sample(instance, claim, draws, brief)
    if draws is None:
        return None, []
    message = "the plan claims none; those given are not used"
    return None, [Finding("claim: scenarios", True, message, None, Kind.NOTE)]


def _risk_findings(
    instance: Instance, plan: Plan, loss: LossFacts, found: Bracket, sample: DrawnSample | None
) -> Iterator[Finding]:
    """Eq. (3): a probability, or for a plan that claims scenarios a count of them."""
    claim = None if plan.claims is None else plan.claims.scenarios
    if claim is None:
        yield _probability_finding(instance, plan, loss, found)
    elif loss.undefined:
        yield failed("(3)", loss.undefined, None)
    elif len(plan.epochs) > instance.target.maximum_epochs:
        yield failed("(3)", "the scenarios end at K_max, before the plan", None)
    elif sample is None:
        yield undecided("(3)", "the scenarios that the plan was made for are not known")
    else:
        yield from count_findings(claim, counted(instance, sample, plan))
    if claim is not None and not loss.undefined:
        yield law_note(found, instance.target.quantile_level, loss.declared)


def _probability_finding(instance: Instance, plan: Plan, loss: LossFacts, found: Bracket) -> Finding:
    if loss.undefined:
        return failed("(3)", loss.undefined, None)
    if not loss.declared:
        return undecided("(3)", "no law is declared, and the plan claims no scenarios to be judged on")
    budget = _budget(instance)
    shown = f"P(l(K) > l_max) {_interval(found)}"
    if found.lower > budget:
        excess = float(found.lower - budget)
        return failed("(3)", f"{shown} exceeds 1 - omega = {float(budget):.12g} by {excess:.6g}", excess)
    if found.upper <= budget:
        message = f"{shown} <= 1 - omega = {float(budget):.12g}"
        return Finding("(3)", True, message, float(found.upper - budget), Kind.CHECKED)
    claims = None if plan.claims is None else plan.claims.violation
    claims_more = claims is not None and claims.upper is not None and claims.upper <= budget
    message = f"{shown} contains 1 - omega = {float(budget):.12g}: undecided within the verifier's accuracy"
    if claims_more:
        message += ", while the plan claims to be feasible"
    return Finding("(3)", not claims_more, message, float(found.upper - budget), Kind.UNDECIDED)


def _limit_finding(equation: str, left: str, value: float, right: str, limit: float | None) -> Finding:
    if limit is None:
        return Finding(equation, True, f"{left} = {value:.12g}; no {right} is given", None, Kind.NOTE)
    excess = value - limit
    if value <= limit * (1.0 + TIME_TOLERANCE):
        return Finding(
            equation, True, f"{left} = {value:.12g} <= {right} = {limit:.12g}", excess, Kind.CHECKED
        )
    return failed(equation, f"{left} = {value:.12g} exceeds {right} = {limit:.12g} by {excess:.6g}", excess)


def _epoch_findings(instance: Instance, epochs: tuple[EpochFacts, ...]) -> list[Finding]:
    """Eqs. (1), with the round deadline, and (5), epoch by epoch: all failures, or that there are none."""
    deadline = instance.target.round_deadline
    failures: list[Finding] = []
    for number, epoch in enumerate(epochs, start=1):
        place, used = f"epoch {number}: ", epoch.resources
        if epoch.work > 0.0 and used == 0.0:
            failures.append(
                failed("(1)", f"{place}work {epoch.work:.12g} without resources never ends", math.inf)
            )
        elif epoch.work == 0.0 and used > 0.0:
            failures.append(failed("(1)", f"{place}x = {used:.12g}, but there is nothing to compute", used))
        elif deadline is not None:
            finding = _limit_finding("(1)", f"{place}T(k)", epoch.time, "tau", deadline)
            failures.extend([] if finding.ok else [finding])
        excess = used - epoch.capacity
        if used > epoch.capacity * (1.0 + CAPACITY_TOLERANCE):
            message = f"{place}x = {used:.12g} exceeds r(n) = {epoch.capacity:.12g} by {excess:.6g}"
            failures.append(failed("(5)", message, excess))
    late = "" if deadline is None else f", every T(k) <= tau = {deadline:.12g}"
    held = {
        "(1)": f"resources exactly where there is work{late}",
        "(5)": "x <= r(n) in every epoch",
    }
    broken = {finding.equation for finding in failures}
    return [passed(name, text) for name, text in held.items() if name not in broken] + failures


def _data_finding(plan: Plan) -> Finding:
    idle = sorted(set(given_data(plan)) - {epoch.cluster for epoch in plan.epochs})
    if idle:
        return failed("(6)", f"clusters {idle} get data but never train (E1)", float(len(idle)))
    message = "a cluster has data if and only if it trains in some epoch (E1)"
    return Finding("(6)", True, message, None, Kind.CHECKED)


def _epochs_finding(instance: Instance, plan: Plan) -> Finding:
    number, limit = len(plan.epochs), instance.target.maximum_epochs
    message = f"K = {number}, K_max = {limit}"
    kind = Kind.CHECKED if number <= limit else Kind.FAILED
    return Finding("Sec. III, K_max", number <= limit, message, float(number - limit), kind)


def _switch_findings(loss: LossFacts) -> list[Finding]:
    failures = [
        failed("Sec. III, switches", f"epoch {number}: {before!r} may not be followed by {after!r}", None)
        for number, before, after in loss.forbidden
    ]
    return failures or [passed("Sec. III, switches", "every switch is allowed")]


def _support_findings(instance: Instance, loss: LossFacts) -> list[Finding]:
    """Whether the runs of a traced law say anything about a plan."""
    if instance.traced_law is None or not (loss.outside or loss.support):
        return []
    if loss.outside is not None:
        number, reason = loss.outside
        return [failed("traced law, support", f"epoch {number}: {reason}", None)]
    if below_all_seen(instance, loss):
        message = (
            f"the {instance.target.quantile_level:g}-quantile lies below every loss that any run ever had"
        )
        return [failed("traced law, support", f"{message}: the law does not describe the runs", None)]
    return [passed("traced law, support", loss.support)]


def _claim_findings(
    instance: Instance, plan: Plan, loss: LossFacts, violation: Bracket, cost: float, duration: float
) -> Iterator[Finding]:
    claims = plan.claims
    if claims is None:
        return
    if claims.cost is not None:
        yield _number_claim("claim: cost", claims.cost, cost)
    if claims.training_time is not None:
        yield _number_claim("claim: training_time", claims.training_time, duration)
    if not loss.declared:
        for name in ("violation", "quantile"):
            if getattr(claims, name) is not None:
                yield failed(f"claim: {name}", "no law is declared that could give it", None)
        return
    if claims.violation is not None and not loss.undefined:
        yield _violation_claim(claims.violation, violation)
    if claims.quantile is not None and not loss.undefined:
        yield _quantile_claim(instance, loss, claims.quantile)


def _number_claim(name: str, claimed: float, found: float) -> Finding:
    away = claimed - found
    if abs(away) <= CLAIM_TOLERANCE * abs(found):
        return Finding(name, True, f"{claimed:.12g}, recomputed {found:.12g}", away, Kind.CHECKED)
    return failed(name, f"{claimed:.12g} is claimed, {found:.12g} recomputed: off by {away:.6g}", away)


def _violation_claim(claimed: Bounds, found: Bracket) -> Finding:
    low = -math.inf if claimed.lower is None else claimed.lower
    high = math.inf if claimed.upper is None else claimed.upper
    away = max(float(found.lower) - high, low - float(found.upper))
    shown = f"[{low:.12g}, {high:.12g}]"
    outside = [end for end in (claimed.lower, claimed.upper) if end is not None and not 0.0 <= end <= 1.0]
    if outside:
        message = f"{outside[0]:.12g} is not a probability"
        return failed("claim: violation", message, max(-outside[0], outside[0] - 1.0))
    if low > high:
        return failed("claim: violation", f"{shown} is empty", low - high)
    if low <= found.upper and high >= found.lower:
        message = f"{shown} meets the recomputed {_interval(found)}"
        return Finding("claim: violation", True, message, away, Kind.CHECKED)
    return failed("claim: violation", f"{shown} misses the recomputed {_interval(found)} by {away:.6g}", away)


def _quantile_claim(instance: Instance, loss: LossFacts, claimed: Bounds) -> Finding:
    """The omega-quantile is the least l with P(l(K) > l) <= 1 - omega: compare probabilities at both ends."""
    budget = _budget(instance)
    name = "claim: quantile"
    if claimed.lower is not None and claimed.upper is not None and claimed.lower > claimed.upper:
        return failed(name, f"[{claimed.lower:.12g}, {claimed.upper:.12g}] is empty", None)
    if claimed.upper is not None:
        at_upper = _violation(instance, loss, loss.on_scale(claimed.upper))
        if at_upper.lower > budget:
            excess = float(at_upper.lower - budget)
            shown = f"P(l(K) > {claimed.upper:.12g}) {_interval(at_upper)}"
            return failed(name, f"{shown} still exceeds 1 - omega by {excess:.6g}", excess)
    if claimed.lower is not None:
        end = loss.on_scale(claimed.lower)
        below = end - _room_below(loss, end) if math.isfinite(end) else end
        at_lower = _violation(instance, loss, below)
        if at_lower.upper < budget or (at_lower.lower == at_lower.upper == budget):
            short = float(budget - at_lower.upper)
            left = "l(K)" if loss.scale == "loss" else "ln l(K)"
            shown = f"P({left} > {below:.12g}) {_interval(at_lower)}"
            return failed(name, f"{shown} is already below 1 - omega by {short:.6g}", short)
    return Finding(name, True, "1 - omega lies between the probabilities at its ends", None, Kind.CHECKED)


def _room_below(loss: LossFacts, end: float) -> float:
    """How far below a claimed end of the quantile to look: rounding, and where atoms count as lower, 2e-9."""
    rounding = 1e-12 * (abs(end) + abs(float(loss.certain)))
    return rounding + 2e-9 if all(is_discrete(item.law) for item in loss.increments) else rounding


def _cheapest_findings(
    instance: Instance, plan: Plan, epochs: tuple[EpochFacts, ...], transfer_cost: float
) -> Iterator[Finding]:
    if plan.claims is None or not plan.claims.cheapest_resources:
        return
    name = "claim: cheapest_resources"
    target = instance.target
    least = transfer_cost + least_cost(epochs, target.maximum_time, target.round_deadline)
    cost = transfer_cost + math.fsum(epoch.price * epoch.resources for epoch in epochs)
    excess = cost - least
    if cost <= least * (1.0 + OPTIMALITY_TOLERANCE):
        yield Finding(name, True, f"cost {cost:.12g}, least {least:.12g}", excess, Kind.CHECKED)
    else:
        yield failed(name, f"other resources cost {least:.12g}, this plan's {excess:.6g} more", excess)


def _interval(found: Bracket) -> str:
    if found.lower == found.upper:
        return f"= {float(found.lower):.12g}"
    return f"in [{float(found.lower):.12g}, {float(found.upper):.12g}]"
