"""The independent evaluator of policies: what a file of `depl.models.problem.policy` claims, again.

It reads the file and the instance alone, and shares no formula with what plans policies: prices, laws and
support are read a second time (`depl.models.verifier.policy_walk`), and the probabilities of the ledger are
carried forward from l(0) (`depl.models.verifier.policy_chain`), where planning goes backwards. A policy on
the observed loss is counted over all combinations of runs again (`depl.models.verifier.policy_count`).

A claimed lower bound, of the cost of all policies or of a success, is *repeated*: it would take planning
again to prove it, and only what contradicts it is found here.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from depl.models.foundation.users_code import exits_are_errors
from depl.models.problem.instance import Instance
from depl.models.problem.policy import STOP, Policy
from depl.models.problem.traced_law import TracedLaw
from depl.models.verifier.findings import CLAIM, Finding, Findings, Kind, failed, passed, undecided
from depl.models.verifier.laws import FloatArray, decimal
from depl.models.verifier.policy_chain import Course, actions_of, course
from depl.models.verifier.policy_count import Count
from depl.models.verifier.policy_exact import exact_reached
from depl.models.verifier.policy_noise import EDGE
from depl.models.verifier.policy_walk import Walk, data_of, starting_losses, walked
from depl.models.verifier.reading import may_be_last, untrained_is_known
from depl.models.verifier.tolerances import ATOM_TOLERANCE, CLAIM_TOLERANCE, RELATIVE_ROUNDING, TIME_TOLERANCE

FAILURE_FACTOR = 1.5
"""What a failed run costs by the rule "ratio", in expected costs of a success: part of what it means."""

_SHIFT_ROUNDING = 1e-13
"""Difference of a shift from that of the instance that counts as rounding, relative to the losses: a part of
`EDGE` of the smallest step."""

_SHOWN = 5
"""Errors of one kind that are listed."""


@dataclass(frozen=True)
class PolicyReport(Findings):
    """All findings, and what was worked out.

    Attributes
    ----------
    findings : tuple of Finding
    course : Course or None
        How the runs of the policy end under the law of the instance: its `cost` is at least, its `reached` at
        most that of the policy, which also stops on the observed loss. None where the file cannot be
        followed.
    policy : Policy
    """

    course: Course | None
    policy: Policy = field(compare=False)


@exits_are_errors
def verify_policy(instance: Instance, policy: Policy) -> PolicyReport:
    """Check a policy against its instance, and everything that its certificate claims.

    Parameters
    ----------
    instance : Instance
    policy : Policy
        Of another instance or inconsistent, it is reported as failing.

    Returns
    -------
    PolicyReport
        Its ``ok`` is the verdict.
    """
    unreadable = tuple(_reading_failures(instance, policy))
    if unreadable:
        return PolicyReport(unreadable, None, policy)
    walk = walked(instance, policy)
    findings = [
        *_walk_findings(walk),
        *_price_findings(policy, walk),
        *_law_findings(policy, walk),
        _time_finding(instance, policy, walk),
        *_deployment_findings(instance, policy, walk),
        *_row_findings(instance, policy),
        _target_finding(policy),
        *_failure_price_findings(policy),
    ]
    followed = not walk.errors and all(item.ok for item in findings if item.equation in {"law", "data"})
    start = starting_losses(instance, policy, _first_pair(policy)) if followed else None
    if start is None:
        if followed:
            findings.append(
                undecided("l(0)", "no run tells the loss before the first epoch, or none is named")
            )
        return PolicyReport(tuple(findings), None, policy)
    found, stopped = _followed(instance, policy, walk, start)
    if found is None:
        return PolicyReport((*findings, *stopped), None, policy)
    findings += stopped
    met = float(start[1][start[0] <= policy.grid.limit + ATOM_TOLERANCE].sum())
    already = met if _may_end_untrained(instance) else 0.0
    exact = None if policy.certificate.exactly is None else exact_reached(policy, walk, start[0])
    findings += [*_claim_findings(policy, found, exact), *_bound_findings(policy, found, already)]
    return PolicyReport(tuple(findings), found, policy)


def _followed(
    instance: Instance, policy: Policy, walk: Walk, start: tuple[FloatArray, FloatArray]
) -> tuple[Course | None, list[Finding]]:
    """How runs end: along the ledger, or over all combinations of runs with what the file says of these."""
    law = instance.traced_law
    if policy.state == "ledger" or law is None:
        return course(policy, walk, *start), []
    found = Count(policy, walk, law)
    if found.refused:
        return None, [undecided("state", f"{found.refused}; replay the policy on runs")]
    claimed, name = policy.certificate.runs, f"{CLAIM}runs"
    shown = f"{claimed} runs behind every stage, {found.fewest} counted"
    runs = passed(name, shown) if claimed == found.fewest else failed(name, shown, None)
    ends = {
        name: float(found.ends[name]) for name in ("reached", "abandoned", "exhausted", "beyond", "unlike")
    }
    off = float(abs(1 - sum(found.ends.values())))
    sums = Course(cost=float(found.cost), epochs=float(found.epochs), lost=0.0, rounding=off, **ends)
    return sums, [runs, *(failed("support", f"{told} at most", None) for told in found.too_late)]


def _reading_failures(instance: Instance, policy: Policy) -> Iterator[Finding]:
    """Everything that keeps a policy from being followed at all."""
    if policy.instance != instance.fingerprint:
        yield failed("instance", f"the policy was made for another instance, {policy.instance[:12]}", None)
    target, law = instance.target, instance.traced_law
    yield from _target_failures(instance, policy)
    yield from _method_failures(policy, law)
    if law is not None and law.observed is not None:
        yield failed("law", "the instance goes on from a run under way, a policy starts before epoch 1", None)
    scale = "loss" if law is None else law.scale
    limit = target.maximum_loss
    if scale == "log":
        limit = math.log(limit) if limit > 0 else -math.inf
    if policy.grid.scale != scale:
        yield failed("grid", f"is one of the {policy.grid.scale}, the law one of the {scale}", None)
    elif policy.grid.limit != limit:
        yield failed("grid", f"limit is {policy.grid.limit!r}, l_max on its scale {limit!r}", None)
    if policy.grid.target >= policy.grid.cells:
        yield failed("grid", f"target {policy.grid.target} is not below cells {policy.grid.cells}", None)
    yield from _data_failures(instance, policy)


def _method_failures(policy: Policy, law: TracedLaw | None) -> Iterator[Finding]:
    """Whether the law is one under which what is claimed can be worked out."""
    method, counts = policy.certificate.method, policy.state == "observed"
    if counts and method != "counted":
        message = "the policy decides on the observed loss, and nothing is claimed that could be checked"
        yield undecided("state", f"{message}; replay it on runs")
        return
    if not counts and method != "ledger":
        yield failed("state", "a policy that carries a ledger is certified under the law", None)
    if counts and policy.certificate.exactly is not None:
        yield failed(
            "state", "an exact probability is claimed of the ledger, and runs are counted here", None
        )
    alone = law is None or (law.residuals == "independent" and not law.deviations)
    if counts and alone:
        yield failed("law", "no runs are combined under this law, so nothing can be counted over them", None)
    elif counts and law is not None and (law.confidence is not None or (law.care and not law.deviations)):
        message = "a confidence, or care without deviations, promises whole runs alone, not combinations"
        yield failed("law", message, None)
    elif not counts and law is not None and (not alone or law.care is not None):
        message = "residuals stay together, or plans deviate: the next loss depends on more than the last one"
        yield failed("law", message, None)


def _target_failures(instance: Instance, policy: Policy) -> Iterator[Finding]:
    """Whether the policy has the target of the instance; a shorter deadline may come with fewer epochs."""
    target = instance.target
    names = ["maximum_loss", "quantile_level"]
    if policy.round_deadline is None or policy.maximum_epochs > target.maximum_epochs:
        names.append("maximum_epochs")
    for name in names:
        claimed, given = getattr(policy, name), getattr(target, name)
        if claimed != given:
            yield failed("target", f"{name} is {claimed!r} in the policy, {given!r} in the instance", None)
    if (policy.round_deadline or 0.0) > (target.round_deadline or math.inf) * (1.0 + TIME_TOLERANCE):
        message = f"round_deadline {policy.round_deadline!r} exceeds that of the instance"
        yield failed("target", f"{message}, {target.round_deadline!r}", None)


def _data_failures(instance: Instance, policy: Policy) -> Iterator[Finding]:
    homes = {row.name: row.clusters for row in instance.datasets}
    clusters = {item.name for item in instance.clusters}
    if len({row.cluster for row in policy.data}) < len(policy.data):
        yield failed("data", "the data of a cluster are listed twice", None)
    for row in policy.data:
        if row.cluster not in clusters:
            yield failed("data", f"there is no cluster {row.cluster!r}", None)
        if len(set(row.datasets)) < len(row.datasets):
            yield failed("data", f"cluster {row.cluster!r} is given a dataset twice", None)
        for name in row.datasets:
            allowed = homes.get(name, ())
            if allowed is not None and row.cluster not in allowed:
                yield failed("data", f"dataset {name!r} may not be used on cluster {row.cluster!r}", None)
    if not data_of(instance, policy):
        yield failed("data", "no cluster may use any dataset", None)


def _walk_findings(walk: Walk) -> Iterator[Finding]:
    yield from (failed(rule, message, None) for rule, message in walk.errors[:_SHOWN])
    if len(walk.errors) > _SHOWN:
        yield failed("nodes", f"and {len(walk.errors) - _SHOWN} more errors like these", None)
    if not walk.errors:
        message = f"{len(walk.steps)} epochs at {len(walk.places)} nodes: switches, sites, support, deadlines"
        yield passed("nodes", f"{message} are kept")


def _price_findings(policy: Policy, walk: Walk) -> Iterator[Finding]:
    """Least resources under the round deadline, and data brought at the first use of a cluster."""
    wrong = []
    for (number, index), step in walk.steps.items():
        claimed = policy.nodes[number].trainings[index].price
        if abs(claimed - step.price) > CLAIM_TOLERANCE * step.price:
            place = f"nodes[{number}].trainings[{index}].price"
            message = f"{place} is {claimed:.12g}, recomputed {step.price:.12g}"
            wrong.append(failed("(2)", message, claimed - step.price))
    yield from wrong[:_SHOWN] or [passed("(2)", "every price is that of the least resources, with transfers")]


def _law_findings(policy: Policy, walk: Walk) -> Iterator[Finding]:
    grid = policy.grid
    size = max(abs(grid.origin), abs(grid.origin + grid.cells * grid.step), abs(grid.limit))
    wrong = []
    for (number, index), step in walk.steps.items():
        told = policy.nodes[number].trainings[index]
        place = f"nodes[{number}].trainings[{index}]"
        if abs(told.shift - step.shift) > _SHIFT_ROUNDING * max(size, abs(step.shift)):
            message = f"{place}.shift is {told.shift!r}, that of the law {step.shift!r}"
            wrong.append(failed("law", message, told.shift - step.shift))
        if told.retention != step.retention:
            message = f"{place}.retention is {told.retention!r}, that of the law {step.retention!r}"
            wrong.append(failed("law", message, told.retention - step.retention))
    yield from wrong[:_SHOWN] or [passed("law", "shifts and retentions are those of the law")]


def _time_finding(instance: Instance, policy: Policy, walk: Walk) -> Finding:
    longest, limit = walk.longest_time(policy), instance.target.maximum_time
    if limit is None:
        return Finding("(4)", True, f"at most {longest:.12g}; no T_max is given", None, Kind.NOTE)
    message = f"runs take at most {longest:.12g}, T_max = {limit:.12g}"
    if longest <= limit * (1.0 + TIME_TOLERANCE):
        return passed("(4)", message, longest - limit)
    return failed("(4)", message, longest - limit)


def _deployment_findings(instance: Instance, policy: Policy, walk: Walk) -> Iterator[Finding]:
    wrong = []
    for number, place in walk.places.items():
        model = instance.target.initial_model if place.pair is None else place.pair[0]
        told = policy.nodes[number].may_stop
        allowed = may_be_last(instance, model) if place.pair else _may_end_untrained(instance)
        if told != allowed:
            message = f"nodes[{number}].may_stop is {told}, the last model being {model!r}"
            wrong.append(failed("sites, deployment", message, None))
    message = "nodes say rightly whether their model may be the last"
    yield from wrong[:_SHOWN] or [passed("sites, deployment", message)]


def _may_end_untrained(instance: Instance) -> bool:
    """Whether a run may have reached the target before its first epoch: only if its loss is known then."""
    return untrained_is_known(instance) and may_be_last(instance, instance.target.initial_model)


def _row_findings(instance: Instance, policy: Policy) -> Iterator[Finding]:
    """Whether rows stop where they should, and train where they have to."""
    wrong = []
    for number, node in enumerate(policy.nodes):
        actions, met = actions_of(node), policy.grid.target + 1
        if node.may_stop and (actions[:met] != STOP).any():
            wrong.append(failed("rows", f"nodes[{number}] goes on where the target is met", None))
        if node.epoch == policy.maximum_epochs and (actions != STOP).any():
            wrong.append(failed("rows", f"nodes[{number}] goes on after K_max epochs", None))
        idle = set(range(len(node.trainings))) - set(actions.tolist())
        if idle:
            message = f"nodes[{number}].trainings[{min(idle)}] stands in none of its rows"
            wrong.append(failed("rows", message, None))
    first = policy.nodes[policy.start]
    actions = actions_of(first)
    above = actions[policy.grid.target + 1 :] if first.may_stop else actions
    if not policy.abandon_at_start and first.trainings and (above == STOP).any():
        message = "runs above the target are given up before epoch 1, and abandon_at_start is not said"
        wrong.append(failed("rows", message, None))
    if instance.traced_law is not None and len(first.trainings) > 1:
        message = "the first epoch depends on l(0), whose law depends on the first epoch"
        wrong.append(failed("rows", message, None))
    yield from wrong[:_SHOWN] or [passed("rows", "stop at the target and after K_max epochs")]


def _target_finding(policy: Policy) -> Finding:
    """The ledger may fall short of the loss by `EDGE` of a step at l(0), and by two after each epoch."""
    grid = policy.grid
    drift = (2 * policy.maximum_epochs + 1) * EDGE
    end = decimal(grid.origin) + (grid.target + Fraction(drift)) * decimal(grid.step)
    excess = float(end - decimal(grid.limit)) - ATOM_TOLERANCE
    shown = f"loss {float(end):.12g} at index {grid.target} at most, all drift counted"
    if excess > 0:
        return failed("grid, target", f"{shown}, and l_max = {grid.limit:.12g} on its scale", excess)
    return passed("grid, target", f"{shown}: l_max = {grid.limit:.12g} is met", excess)


def _failure_price_findings(policy: Policy) -> Iterator[Finding]:
    price, ratio = policy.failure_cost, policy.certificate.ratio
    wrong = []
    if policy.multiplier < price:
        message = f"multiplier {policy.multiplier:.12g} is below failure_cost {price:.12g}"
        wrong.append(failed("failure_cost", message, None))
    if ratio is not None:
        if price < ratio[1]:
            message = f"{price:.12g} is below the expected cost of a success, up to {ratio[1]:.12g}"
            wrong.append(failed("failure_cost", message, price - ratio[1]))
        ruled = FAILURE_FACTOR * ratio[1]
        if policy.failure_cost_rule == "ratio" and abs(price - ruled) > CLAIM_TOLERANCE * ruled:
            message = f"{price:.12g} is not {FAILURE_FACTOR:g} times the upper end {ratio[1]:.12g} of rho*"
            wrong.append(failed("failure_cost", message, price - ruled))
    elif policy.failure_cost_rule == "ratio" and policy.nodes[policy.start].trainings:
        wrong.append(failed("failure_cost", "follows from a ratio that the certificate does not give", None))
    yield from wrong or [passed("failure_cost", f"{price:.12g}, not below a claimed price of a success")]


def _first_pair(policy: Policy) -> tuple[str, str] | None:
    first = policy.nodes[policy.start]
    return (first.trainings[0].model, first.trainings[0].cluster) if first.trainings else None


def _claim_findings(policy: Policy, found: Course, exact: Fraction | None) -> Iterator[Finding]:
    """Cost and probability, up to the rounding of the sums here."""
    claimed, slack = policy.certificate, RELATIVE_ROUNDING + found.unsure
    longest = max((step for step in _greatest_prices(policy)), default=0.0) * policy.maximum_epochs
    away = found.cost - claimed.cost
    if away <= RELATIVE_ROUNDING * found.cost + found.unsure * longest:
        yield passed(f"{CLAIM}cost", f"at most {claimed.cost:.12g}, recomputed {found.cost:.12g}", away)
    else:
        message = f"at most {claimed.cost:.12g} is claimed, {found.cost:.12g} recomputed"
        yield failed(f"{CLAIM}cost", message, away)
    away = claimed.reached - found.reached
    if away <= slack:
        message = f"at least {claimed.reached:.12g}, recomputed {found.reached:.12g}"
        yield passed(f"{CLAIM}reached", message, away)
    else:
        message = f"at least {claimed.reached:.12g} is claimed, {found.reached:.12g} recomputed"
        yield failed(f"{CLAIM}reached", message, away)
    yield _promise_finding(policy, found, exact, slack)
    if found.rounding > RELATIVE_ROUNDING:
        yield undecided("(3)", f"the probabilities of the ends add up to 1 but for {found.rounding:.3g}")


def _promise_finding(policy: Policy, found: Course, exact: Fraction | None, slack: float) -> Finding:
    """Whether P(reached) is omega at least, exactly where a fraction is claimed."""
    claimed, omega = policy.certificate, decimal(policy.quantile_level)
    if claimed.exactly is not None:
        told = f"P(reached) is claimed to be {claimed.exactly} at least"
        if exact is None:
            return undecided("(3)", f"{told}, which is not worked out here")
        if Fraction(claimed.exactly) > exact or Fraction(claimed.reached) > exact or exact < omega:
            return failed("(3)", f"{told}; it is {exact}, omega = {policy.quantile_level:g}", None)
        return passed("(3)", f"{told}; it is {exact}, not below omega = {policy.quantile_level:g}")
    if Fraction(claimed.reached) >= omega and found.reached >= policy.quantile_level - slack:
        return passed("(3)", f"P(reached) >= omega = {policy.quantile_level:g}")
    message = f"P(reached) >= {min(claimed.reached, found.reached):.12g} does not keep omega"
    return failed("(3)", f"{message} = {policy.quantile_level:g}", None)


def _greatest_prices(policy: Policy) -> Iterator[float]:
    for node in policy.nodes:
        yield from (training.price for training in node.trainings)


def _bound_findings(policy: Policy, found: Course, already: float) -> Iterator[Finding]:
    """Lower bounds for all policies: refuted by this one, or repeated."""
    claimed, name = policy.certificate, f"{CLAIM}lower_bound"
    objective = found.cost + policy.failure_cost * found.failed
    if claimed.lower_bound is not None:
        shown = f"{claimed.lower_bound:.12g} of cost + failure_cost * P(failed), here {objective:.12g}"
        if claimed.lower_bound > objective * (1.0 + CLAIM_TOLERANCE):
            yield failed(name, f"{shown}, less than the bound", claimed.lower_bound - objective)
        else:
            yield Finding(name, True, f"{shown}; not proved again here", None, Kind.REPEATED)
    if claimed.ratio is None:
        return
    name, (low, high) = f"{CLAIM}ratio", claimed.ratio
    own = found.cost / (found.reached - already) if found.reached > already else math.inf
    shown = f"a success costs {low:.12g} to {high:.12g} at least; with this policy {own:.12g}"
    if policy.state == "observed":  # enclosed under the law with independent residuals, which is another one
        own = math.inf
    if low > high or low > own * (1.0 + CLAIM_TOLERANCE):
        yield failed(name, f"{shown}: the claims contradict each other", low - min(high, own))
    else:
        yield Finding(name, True, f"{shown}; not proved again here", None, Kind.REPEATED)
