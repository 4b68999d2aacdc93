"""A policy for people, and the outcome of planning one: what is promised, what it rests on, and its table."""

from depl.models.foundation.wording import (
    counted,
    counter_probability,
    interval,
    number,
    percentage,
    probability,
    rounded_down,
    rounded_up,
)
from depl.models.policy.result import PolicyResult
from depl.models.problem.policy import Certificate, Policy
from depl.models.problem.units import Units
from depl.models.solving.result import Termination
from depl.showing.parts import Listing, Pairs, Section, shortened_name
from depl.showing.policy_rows import cells_of, rows_of

_STATES = {
    Termination.GAP_REACHED: "within the wanted gap of the best, proved",
    Termination.INFEASIBLE: "proved infeasible: no policy keeps the promise",
    Termination.TIME_LIMIT: "stopped by the time limit",
    Termination.INTERRUPTED: "stopped by the user",
    Termination.EXHAUSTED: "nothing more to try",
    Termination.STUCK: "stuck: more time would prove no more",
}

_HEADER = ("trained last", "after epoch", "loss", "next")

_MOST_LINES = 60
"""Lines of a table: two screens, as of the stages of a plan; the rest is counted."""

_MOST_BANDS = 8
"""Bands of losses of one row: set by hand. Policies have three or four; what has more is no set of
thresholds, and `--details` lists it."""

_RANGES = (
    "x ... y: the bound differs between these epochs or states, from x to y, or what is done changes to and "
    "fro there"
)

_DIGITS = 6
"""Of what is rounded in a stated direction."""


def policy_brief(policy: Policy) -> str:
    """One line on a policy."""
    found = policy.certificate
    return (
        f"<Policy {shortened_name(policy.name)}: loss {number(policy.maximum_loss)} reached with probability "
        f"{_floor(found.reached)} at least, expected cost {rounded_up(found.cost, _DIGITS)} at most>"
    )


def policy_sections(policy: Policy, *, details: bool = False) -> list[Section]:
    """What is claimed of a policy, and its table: losses, and what is done up to them."""
    found = policy.certificate
    pairs = [
        (policy.name, f"a policy; made for the instance with fingerprint {policy.instance[:12]}"),
        (
            _event(policy),
            f"at least {_floor(found.reached)}, {_basis(found)}; asked {probability(policy.quantile_level)}",
        ),
        ("expected cost", f"at most {rounded_up(found.cost, _DIGITS)}"),
        ("failed runs", f"are priced at {number(policy.failure_cost)} each{_rule(policy)}"),
        ("epochs", f"at most {policy.maximum_epochs}{_switching(policy)}{_deadline(policy)}"),
        ("looked up by", _lookup(policy)),
    ]
    return [Section("", Pairs(pairs)), *table_sections(policy, details=details)]


def table_sections(policy: Policy, *, details: bool = False) -> list[Section]:
    """The table of a policy; with ``details`` every node by itself, and all of them."""
    rows = rows_of(policy, merged=not details)
    most = 2**31 if details else _MOST_BANDS
    lines = [line for row in rows for line in cells_of(row, most)]
    kept = lines if details else lines[:_MOST_LINES]
    sections = [Section("", Listing(_HEADER, kept))]
    if len(lines) > len(kept):
        sections.append(Section("", f"and {counted(len(lines) - len(kept), 'more line')}"))
    if any(low != high for row in rows for low, high in row.ends):
        sections.append(Section("", _RANGES))
    return sections


def policy_result_brief(result: PolicyResult) -> str:
    """One line on an outcome."""
    bound = (
        f"lower bound {rounded_down(result.lower_bound, _DIGITS)}" if result.lower_bound > 0 else "no bound"
    )
    if result.policy is None or result.cost is None or result.reached is None:
        return f"<PolicyResult {result.termination.value}: no policy, {bound}>"
    gap = "" if result.gap is None else f", gap {percentage(result.gap)}"
    cost = _units(result).after(rounded_up(result.cost, _DIGITS), "cost")
    return (
        f"<PolicyResult {result.termination.value}: cost {cost} at most, reached with probability "
        f"{_floor(result.reached)} at least, {bound}{gap}>"
    )


def policy_result_sections(result: PolicyResult) -> list[Section]:
    """What is promised, what failures cost, how far from the best, and the table of the policy."""
    state = _STATES.get(result.termination, result.termination.value)
    if result.policy is not None and result.termination is not Termination.GAP_REACHED:
        state = f"a policy; {state}"
    grid = f", losses on {result.cells} points" if result.cells else ""
    pairs = [(result.instance.name, state), ("planned in", f"{result.seconds:.2f} s{grid}")]
    if result.reason:
        pairs.append(("reason", result.reason))
    if result.restriction:
        pairs.append(("looked at", f"policies of {result.restriction}"))
    if result.policy is not None:
        pairs += _promised(result, result.policy)
    pairs += _priced(result)
    if result.objective is not None or result.lower_bound > 0:
        pairs += _bounded(result)
    sections = [Section("", Pairs(pairs))]
    return sections if result.policy is None else [*sections, *table_sections(result.policy)]


def _promised(result: PolicyResult, policy: Policy) -> list[tuple[str, str]]:
    units, found = _units(result), policy.certificate
    per_success = result.per_success
    pairs = [
        (
            _event(policy),
            f"at least {_floor(found.reached)}, {_basis(found)}; asked {probability(policy.quantile_level)}",
        ),
        ("expected cost", f"at most {units.after(rounded_up(found.cost, _DIGITS), 'cost')}"),
    ]
    if per_success is not None:
        pairs.append(("per success", f"at most {units.after(rounded_up(per_success, _DIGITS), 'cost')}"))
    if result.instance.has_memory:
        pairs.append(("rests on", _rests_on(found)))
    return pairs


def _priced(result: PolicyResult) -> list[tuple[str, str]]:
    """The price of a failed run and where it comes from."""
    if result.failure_cost is None:
        return []
    units, given = _units(result), ""
    if result.ratio is not None:
        ends = interval(*result.ratio, _DIGITS)
        which = " of the same law with independent residuals" if is_counted(result) else ""
        given = f"; a success costs {ends} at least in the mean{which}"
    price = units.amount(result.failure_cost, "cost")
    if result.policy is not None:
        price += _rule(result.policy)
    pairs = [("a failed run", f"counts {price}{given}")]
    return pairs if result.multiplier is None else [*pairs, ("promise", _multiplied(result))]


def _multiplied(result: PolicyResult) -> str:
    """Whether the promise decides on the policy."""
    price = number(result.multiplier)
    if is_counted(result):
        planned = f"kept as counted, by a policy planned at a price of {price} a failure"
        return f"{planned}; the cheapest of those tried"
    if result.promise_binds:
        return f"binds: priced at {price} a failure, the best policy just keeps it"
    return "slack: the price of failures alone decides on the policy"


def is_counted(result: PolicyResult) -> bool:
    """Whether the policy was planned on independent residuals and counted over combinations of runs."""
    return result.policy is not None and result.policy.certificate.method == "counted"


def _bounded(result: PolicyResult) -> list[tuple[str, str]]:
    units = _units(result)
    name = "cost + failures"
    bound = "no lower bound is proved"
    if result.lower_bound > 0:
        gap = "" if result.gap is None else f" (gap {percentage(result.gap)})"
        bound = f"lower bound {units.after(rounded_down(result.lower_bound, _DIGITS), 'cost')}{gap}"
    if result.objective is None:
        return [(name, bound)]
    held = f"at most {units.after(rounded_up(result.objective, _DIGITS), 'cost')}"
    pairs = [(name, f"{held}, {bound}")]
    if result.lower_bound > 0 and result.policy is not None:
        pairs.append(("bound holds for", bound_class(result.policy)))
    return pairs


def bound_class(policy: Policy) -> str:
    """The policies that the lower bound is of."""
    told = "all policies that keep the promise, also those that draw lots or remember the whole run"
    if policy.round_deadline is not None:
        told += f", of at most {counted(policy.maximum_epochs, 'epoch')}"
        told += f" of at most {number(policy.round_deadline)} each"
    if policy.switch_epochs is not None:
        told += f", and switch only{_switching(policy)[len(', switches') :]}"
    if policy.data:
        told += ", with these data"
    if not policy.abandon_at_start:
        told += "; a run whose first loss is above the target trains at least one epoch"
    return told


def _event(policy: Policy) -> str:
    return f"P(loss <= {number(policy.maximum_loss)} reached)"


def _floor(probability: float) -> str:
    return counter_probability(0, _DIGITS) if probability >= 1 else rounded_down(probability, _DIGITS)


def _basis(found: Certificate) -> str:
    return (
        "counted over all combinations of the runs"
        if found.method == "counted"
        else "certified under the law"
    )


def _rests_on(found: Certificate) -> str:
    if found.method == "counted":
        runs = counted(found.runs or 0, "run")
        return f"{runs} or more behind every stage, one unseen run that fails, and a choice on the same runs"
    return (
        "a law fitted to runs, taken for the whole law: residuals are independent from epoch to epoch; no "
        "run unlike those seen counts"
    )


def _rule(policy: Policy) -> str:
    if policy.failure_cost_rule == "given":
        return ", as given"
    return ", 1.5 times the least expected cost of a success"


def _switching(policy: Policy) -> str:
    """After which epochs switches are allowed."""
    if policy.switch_epochs is None:
        return ""
    epochs, parts = policy.switch_epochs, []
    start = 0
    for index in range(1, len(epochs) + 1):
        if index == len(epochs) or epochs[index] != epochs[index - 1] + 1:
            first, last = epochs[start], epochs[index - 1]
            parts.append(str(first) if first == last else f"{first} to {last}")
            start = index
    return f", switches after epochs {', '.join(parts)}" if parts else ", no switches"


def _deadline(policy: Policy) -> str:
    """How long an epoch may take, where that is less than the instance asks for."""
    if policy.round_deadline is None:
        return ""
    return f", each with the least resources that end it within {number(policy.round_deadline)}"


def _lookup(policy: Policy) -> str:
    if policy.state == "observed":
        return "the observed loss, rounded up"
    return "the ledger, which is never below the observed loss"


def _units(result: PolicyResult) -> Units:
    return result.instance.units
