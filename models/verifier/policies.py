"""The independent evaluator of policies: what a file of `depl.models.problem.policy` claims, again.

It reads the file and the instance alone, and shares no formula with what plans policies: prices, laws and
support are read a second time (`depl.models.verifier.policy_walk`), and how runs end is worked out forwards,
where planning goes backwards (`depl.models.verifier.policy_ends`). A claimed lower bound, of the cost of all
policies or of a success, is *repeated*: it would take planning again to prove it.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from depl.models.problem.instance import Instance
from depl.models.problem.policy import STOP, Policy
from depl.models.problem.traced_law import TracedLaw
from depl.models.verifier.findings import (
    CLAIM,
    Broken,
    Finding,
    Findings,
    failed,
    in_time,
    judged,
    passed,
    repeated,
    undecided,
)
from depl.models.verifier.laws import FloatArray, decimal
from depl.models.verifier.policy_ends import Count, Course, actions_of, course, exact_reached
from depl.models.verifier.policy_noise import EDGE
from depl.models.verifier.policy_walk import Walk, data_of, starting_losses, walked
from depl.models.verifier.reading import data_faults, may_be_last, untrained_is_known
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
    checks = *_unreadable(instance, policy), *_uncountable(policy, instance.traced_law)
    data = [failed("data", message) for _, message in data_faults(instance, policy.data)]
    if not data_of(instance, policy):
        data.append(failed("data", "no cluster may use any dataset"))
    if unreadable := (*checks, *data):
        return PolicyReport(unreadable, None, policy)
    walk = walked(instance, policy)
    findings = list(_walk_findings(instance, policy, walk))
    if walk.errors or not all(item.ok for item in findings if item.equation == "law"):
        return PolicyReport(tuple(findings), None, policy)
    first = policy.nodes[policy.start].trainings
    start = starting_losses(instance, next(((item.model, item.cluster) for item in first), None))
    if not start.size:
        findings.append(undecided("l(0)", "no run tells the loss before the first epoch, or none is named"))
        return PolicyReport(tuple(findings), None, policy)
    found, stopped = _followed(instance, policy, walk, start)
    findings += stopped
    if found is not None:
        met = float(np.mean(start <= policy.grid.limit + ATOM_TOLERANCE))
        already = met if _may_end_untrained(instance) else 0.0
        exact = None if policy.certificate.exactly is None else exact_reached(policy, walk, start)
        findings += [*_claim_findings(policy, found, exact), *_bound_findings(policy, found, already)]
    return PolicyReport(tuple(findings), found, policy)


def _followed(
    instance: Instance, policy: Policy, walk: Walk, start: FloatArray
) -> tuple[Course | None, list[Finding]]:
    """How runs end: along the ledger, or over all combinations of runs with what the file says of these."""
    law = instance.traced_law
    if policy.state == "ledger" or law is None:
        return course(policy, walk, start), []
    try:
        found = Count(policy, walk, law)
    except OverflowError as error:
        return None, [undecided("state", f"{error}; replay the policy on runs")]
    claimed, name = policy.certificate.runs, f"{CLAIM}runs"
    shown = f"{claimed} runs behind every stage, {found.fewest} counted"
    runs = passed(name, shown) if claimed == found.fewest else failed(name, shown)
    return found.course(), [runs, *(failed("support", f"{told} at most") for told in found.too_late)]


def _unreadable(instance: Instance, policy: Policy) -> Iterator[Finding]:
    """What keeps a policy from being followed at all: another instance, target or grid."""
    target, law, grid, own = instance.target, instance.traced_law, policy.grid, policy.round_deadline
    scale, limit = "loss" if law is None else law.scale, target.maximum_loss
    if scale == "log":
        limit = math.log(limit) if limit > 0 else -math.inf
    names = ["maximum_loss", "quantile_level"]
    if own is None or policy.maximum_epochs > target.maximum_epochs:  # a shorter deadline, fewer epochs
        names.append("maximum_epochs")
    asked = [(name, getattr(policy, name), getattr(target, name)) for name in names]
    late = (own or 0.0) > (target.round_deadline or math.inf) * (1.0 + TIME_TOLERANCE)
    begun = law is not None and law.observed is not None
    other = f"the policy was made for another instance, {policy.instance[:12]}"
    late_by = f"round_deadline {own!r} exceeds that of the instance, {target.round_deadline!r}"
    under_way = "the instance goes on from a run under way, a policy starts before epoch 1"
    moved = grid.scale == scale and grid.limit != limit
    for rule, wrong, message in (
        ("instance", policy.instance != instance.fingerprint, other),
        *(
            ("target", said != given, f"{name} is {said!r} in the policy, {given!r} in the instance")
            for name, said, given in asked
        ),
        ("target", late, late_by),
        ("law", begun, under_way),
        ("grid", grid.scale != scale, f"is one of the {grid.scale}, the law one of the {scale}"),
        ("grid", moved, f"limit is {grid.limit!r}, l_max on its scale {limit!r}"),
        ("grid", grid.target >= grid.cells, f"target {grid.target} is not below cells {grid.cells}"),
    ):
        if wrong:
            yield failed(rule, message)


def _uncountable(policy: Policy, law: TracedLaw | None) -> Iterator[Finding]:
    """Whether the law is one under which what is claimed can be worked out."""
    method, counts = policy.certificate.method, policy.state == "observed"
    if counts and method != "counted":
        message = "the policy decides on the observed loss, and nothing is claimed that could be checked"
        yield undecided("state", f"{message}; replay it on runs")
        return
    alone = law is None or (law.residuals == "independent" and not law.deviations)
    careful = law is not None and (law.confidence is not None or bool(law.care and not law.deviations))
    apart = law is not None and (not alone or law.care is not None)
    exactly = counts and policy.certificate.exactly is not None
    ledger = not counts and method != "ledger"
    for rule, wrong, message in (
        ("state", ledger, "a policy that carries a ledger is certified under the law"),
        ("state", exactly, "an exact probability is claimed of the ledger, and runs are counted here"),
        ("law", counts and alone, "no runs are combined under this law, so nothing can be counted over them"),
        (
            "law",
            counts and not alone and careful,
            "a confidence, or care without deviations, promises whole runs alone, not combinations",
        ),
        (
            "law",
            not counts and apart,
            "residuals stay together, or plans deviate: the next loss depends on more than the last one",
        ),
    ):
        if wrong:
            yield failed(rule, message)


def _walk_findings(instance: Instance, policy: Policy, walk: Walk) -> Iterator[Finding]:
    """Everything that the file says of single epochs and rows."""
    yield from (failed(rule, message) for rule, message in walk.errors[:_SHOWN])
    if len(walk.errors) > _SHOWN:
        yield failed("nodes", f"and {len(walk.errors) - _SHOWN} more errors like these")
    if not walk.errors:
        message = f"{len(walk.steps)} epochs at {len(walk.places)} nodes: switches, sites, support, deadlines"
        yield passed("nodes", f"{message} are kept")
    kept = "every price is that of the least resources, with transfers"
    yield from judged("(2)", _wrong_numbers(policy, walk, "price"), kept, _SHOWN)
    kept = "shifts and retentions are those of the law"
    yield from judged("law", _wrong_numbers(policy, walk, "shift", "retention"), kept, _SHOWN)
    yield in_time("time of the longest run", walk.longest_time(), instance.target.maximum_time)
    kept = "nodes say rightly whether their model may be the last"
    yield from judged("sites, deployment", _wrong_ends(instance, policy, walk), kept, _SHOWN)
    kept = "stop at the target and after K_max epochs"
    yield from judged("rows", _wrong_rows(instance, policy), kept, _SHOWN)
    yield _target_finding(policy)
    kept = f"{policy.failure_cost:.12g}, not below a claimed price of a success"
    yield from judged("failure_cost", _wrong_failure_price(policy), kept)


def _wrong_numbers(policy: Policy, walk: Walk, *names: str) -> Broken:
    """Prices with the least resources and data brought at the first use of a cluster, and rows of the law."""
    grid = policy.grid
    size = max(abs(grid.origin), abs(grid.origin + grid.cells * grid.step), abs(grid.limit))
    for (number, index), step in walk.steps.items():
        shift = _SHIFT_ROUNDING * max(size, abs(step.shift))
        rooms = {"price": CLAIM_TOLERANCE * step.price, "shift": shift, "retention": 0.0}
        for name in names:
            said, found = getattr(policy.nodes[number].trainings[index], name), getattr(step, name)
            if abs(said - found) > rooms[name]:
                place = f"nodes[{number}].trainings[{index}].{name}"
                yield f"{place} is {said!r}, recomputed {found!r}", said - found


def _wrong_ends(instance: Instance, policy: Policy, walk: Walk) -> Broken:
    for number, place in walk.places.items():
        model = instance.target.initial_model if place.pair is None else place.pair[0]
        said = policy.nodes[number].may_stop
        if said != (may_be_last(instance, model) if place.pair else _may_end_untrained(instance)):
            yield f"nodes[{number}].may_stop is {said}, the last model being {model!r}", None


def _may_end_untrained(instance: Instance) -> bool:
    """Whether a run may have reached the target before its first epoch: only if its loss is known then."""
    return untrained_is_known(instance) and may_be_last(instance, instance.target.initial_model)


def _wrong_rows(instance: Instance, policy: Policy) -> Broken:
    """Whether rows stop where they should, and train where they have to."""
    met = policy.grid.target + 1
    for number, node in enumerate(policy.nodes):
        actions = actions_of(node)
        if node.may_stop and (actions[:met] != STOP).any():
            yield f"nodes[{number}] goes on where the target is met", None
        if node.epoch == policy.maximum_epochs and (actions != STOP).any():
            yield f"nodes[{number}] goes on after K_max epochs", None
        if idle := set(range(len(node.trainings))) - set(actions.tolist()):
            yield f"nodes[{number}].trainings[{min(idle)}] stands in none of its rows", None
    first = policy.nodes[policy.start]
    above = actions_of(first)[met if first.may_stop else 0 :]
    if not policy.abandon_at_start and first.trainings and (above == STOP).any():
        yield "runs above the target are given up before epoch 1, and abandon_at_start is not said", None
    if instance.traced_law is not None and len(first.trainings) > 1:
        yield "the first epoch depends on l(0), whose law depends on the first epoch", None


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


def _wrong_failure_price(policy: Policy) -> Broken:
    price, ratio = policy.failure_cost, policy.certificate.ratio
    if policy.multiplier < price:
        yield f"multiplier {policy.multiplier:.12g} is below failure_cost {price:.12g}", None
    if ratio is not None:
        if price < ratio[1]:
            shown = f"{price:.12g} is below the expected cost of a success, up to {ratio[1]:.12g}"
            yield shown, price - ratio[1]
        ruled = FAILURE_FACTOR * ratio[1]
        if policy.failure_cost_rule == "ratio" and abs(price - ruled) > CLAIM_TOLERANCE * ruled:
            shown = f"{price:.12g} is not {FAILURE_FACTOR:g} times the upper end {ratio[1]:.12g} of rho*"
            yield shown, price - ruled
    elif policy.failure_cost_rule == "ratio" and policy.nodes[policy.start].trainings:
        yield "follows from a ratio that the certificate does not give", None


def _claim_findings(policy: Policy, found: Course, exact: Fraction | None) -> Iterator[Finding]:
    """Cost and probability, up to the rounding of the sums here."""
    claimed, slack = policy.certificate, RELATIVE_ROUNDING + found.unsure
    prices = [training.price for node in policy.nodes for training in node.trainings]
    longest = max(prices, default=0.0) * policy.maximum_epochs
    room = RELATIVE_ROUNDING * found.cost + found.unsure * longest
    for name, side, said, here, away, most in (
        ("cost", "at most", claimed.cost, found.cost, found.cost - claimed.cost, room),
        ("reached", "at least", claimed.reached, found.reached, claimed.reached - found.reached, slack),
    ):
        if away <= most:
            yield passed(f"{CLAIM}{name}", f"{side} {said:.12g}, recomputed {here:.12g}", away)
        else:
            yield failed(f"{CLAIM}{name}", f"{side} {said:.12g} is claimed, {here:.12g} recomputed", away)
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
            return failed("(3)", f"{told}; it is {exact}, omega = {policy.quantile_level:g}")
        return passed("(3)", f"{told}; it is {exact}, not below omega = {policy.quantile_level:g}")
    if Fraction(claimed.reached) >= omega and found.reached >= policy.quantile_level - slack:
        return passed("(3)", f"P(reached) >= omega = {policy.quantile_level:g}")
    message = f"P(reached) >= {min(claimed.reached, found.reached):.12g} does not keep omega"
    return failed("(3)", f"{message} = {policy.quantile_level:g}")


def _bound_findings(policy: Policy, found: Course, already: float) -> Iterator[Finding]:
    """Lower bounds for all policies: refuted by this one, or repeated."""
    claimed, name = policy.certificate, f"{CLAIM}lower_bound"
    objective = found.cost + policy.failure_cost * found.failed
    if claimed.lower_bound is not None:
        shown = f"{claimed.lower_bound:.12g} of cost + failure_cost * P(failed), here {objective:.12g}"
        if claimed.lower_bound > objective * (1.0 + CLAIM_TOLERANCE):
            yield failed(name, f"{shown}, less than the bound", claimed.lower_bound - objective)
        else:
            yield repeated(name, f"{shown}; not proved again here")
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
        yield repeated(name, f"{shown}; not proved again here")
