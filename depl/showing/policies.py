"""A policy for people, and the outcome of planning one: what is promised, what it rests on, and its table."""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import groupby

from depl.models.foundation.wording import counted, number, probability
from depl.models.policy.result import PolicyResult
from depl.models.problem.policy import Certificate, Policy
from depl.models.solving.result import Termination
from depl.showing import parts
from depl.showing.parts import Listing, Names, Pairs, Rounding, Section
from depl.showing.policy_rows import cells_of, rows_of

NAMES: Names = {
    "cost": ("expected cost", "cost", Rounding.UP, 6),
    "per_success": ("per success", "cost", Rounding.UP, 6),
    "objective": ("cost + failures", "cost", Rounding.UP, 6),
    "failed": ("failed", "", Rounding.UP, 6),
    "reached": ("reached", "", Rounding.DOWN, 6),
    "lower_bound": ("lower bound", "cost", Rounding.DOWN, 6),
    "ratio": ("a success", "cost", Rounding.OUTWARD, 6),
    "failure_cost": ("a failed run", "cost", Rounding.NEAREST, 6),
    "multiplier": ("price", "cost", Rounding.NEAREST, 6),
    "gap": ("gap", "%", Rounding.UP, 3),
}
"""Of what is claimed of policies: their costs are expected costs, of which upper bounds are known."""

fact = partial(parts.fact, names=NAMES)

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


def policy_sections(policy: Policy, *, details: bool = False) -> list[Section]:
    """What is claimed of a policy, and its table: losses, and what is done up to them."""
    lookup = "the ledger, which is never below the observed loss"
    pairs = [
        (policy.name, f"a policy; made for the instance with fingerprint {policy.instance[:12]}"),
        _promise(policy),
        fact("cost", policy.certificate.cost).pair,
        ("failed runs", f"are priced at {number(policy.failure_cost)} each{_rule(policy)}"),
        ("epochs", f"at most {policy.maximum_epochs}{_switching(policy)}{_deadline(policy)}"),
        ("looked up by", "the observed loss, rounded up" if policy.state == "observed" else lookup),
    ]
    return [Section("", Pairs(pairs)), *_table(policy, details)]


def _table(policy: Policy, details: bool = False) -> list[Section]:
    """The table of a policy; with ``details`` every node by itself, and all of them."""
    rows = rows_of(policy, merged=not details)
    most = 2**31 if details else _MOST_BANDS
    lines = [line for row in rows for line in cells_of(row, most)]
    kept = lines if details else lines[:_MOST_LINES]
    more = f"and {counted(len(lines) - len(kept), 'more line')}" if len(lines) > len(kept) else ""
    mixed = any(low != high for row in rows for low, high in row.ends)
    return [Section("", Listing(_HEADER, kept)), Section("", more), Section("", _RANGES if mixed else "")]


def policy_result_sections(result: PolicyResult) -> list[Section]:
    """What is promised, what failures cost, how far from the best, and the table of the policy."""
    sections = [Section("", Pairs(list(_outcome(result))))]
    return sections if result.policy is None else [*sections, *_table(result.policy)]


def _outcome(result: PolicyResult) -> Iterator[tuple[str, str]]:
    units, policy = result.instance.units, result.policy
    state = _STATES.get(result.termination, result.termination.value)
    if policy is not None and result.termination is not Termination.GAP_REACHED:
        state = f"a policy; {state}"
    grid = f", losses on {result.cells} points" if result.cells else ""
    yield result.instance.name, state
    yield "planned in", f"{result.seconds:.2f} s{grid}"
    if result.reason:
        yield "reason", result.reason
    if result.restriction:
        yield "looked at", f"policies of {result.restriction}"
    if policy is not None:
        yield _promise(policy)
        yield fact("cost", policy.certificate.cost, units).pair
        if result.per_success is not None:
            yield fact("per_success", result.per_success, units).pair
        if result.instance.has_memory:
            yield "rests on", _rests_on(policy.certificate)
    if result.failure_cost is not None:
        yield "a failed run", f"counts {_price(result)}"
        if result.multiplier is not None:
            yield "promise", _multiplied(result)
    if result.objective is not None or result.lower_bound > 0:
        yield from _bounded(result)


def _price(result: PolicyResult) -> str:
    """The price of a failed run and where it comes from."""
    price, given = fact("failure_cost", result.failure_cost, result.instance.units).shown, ""
    if result.ratio is not None:
        which = " of the same law with independent residuals" if _is_counted(result) else ""
        given = f"; a success costs {fact('ratio', result.ratio).number} at least in the mean{which}"
    return f"{price}{'' if result.policy is None else _rule(result.policy)}{given}"


def _multiplied(result: PolicyResult) -> str:
    """Whether the promise decides on the policy."""
    price = number(result.multiplier)
    if _is_counted(result):
        planned = f"kept as counted, by a policy planned at a price of {price} a failure"
        return f"{planned}; the cheapest of those tried"
    if result.promise_binds:
        return f"binds: priced at {price} a failure, the best policy just keeps it"
    return "slack: the price of failures alone decides on the policy"


def _is_counted(result: PolicyResult) -> bool:
    """Whether the policy was planned on independent residuals and counted over combinations of runs."""
    return result.policy is not None and result.policy.certificate.method == "counted"


def _bounded(result: PolicyResult) -> Iterator[tuple[str, str]]:
    units, bound = result.instance.units, "no lower bound is proved"
    if result.lower_bound > 0:
        gap = "" if result.gap is None else f" (gap {fact('gap', result.gap).shown})"
        bound = f"lower bound {fact('lower_bound', result.lower_bound, units).shown}{gap}"
    held = fact("objective", result.objective, units)
    yield held.label, bound if result.objective is None else f"{held.told}, {bound}"
    if result.objective is not None and result.lower_bound > 0 and result.policy is not None:
        yield "bound holds for", bound_class(result.policy)


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


def _promise(policy: Policy) -> tuple[str, str]:
    """What the policy reaches, and how that was established."""
    found = policy.certificate
    basis = (
        "counted over all combinations of the runs"
        if found.method == "counted"
        else "certified under the law"
    )
    asked = probability(policy.quantile_level)
    return (
        f"P(loss <= {number(policy.maximum_loss)} reached)",
        f"at least {_floor(found.reached)}, {basis}; asked {asked}",
    )


def _floor(reached: float) -> str:
    return fact("reached", min(reached, 1.0)).shown


def _rests_on(found: Certificate) -> str:
    if found.method == "counted":
        runs = counted(found.runs or 0, "run")
        return f"{runs} or more behind every stage, one unseen run that fails, and a choice on the same runs"
    return (
        "a law fitted to runs, taken for the whole law: residuals are independent from epoch to epoch; no "
        "run unlike those seen counts"
    )


def _rule(policy: Policy) -> str:
    given = policy.failure_cost_rule == "given"
    return ", as given" if given else ", 1.5 times the least expected cost of a success"


def _switching(policy: Policy) -> str:
    """After which epochs switches are allowed."""
    if policy.switch_epochs is None:
        return ""
    spans = []
    for _, group in groupby(enumerate(policy.switch_epochs), key=lambda item: item[1] - item[0]):
        epochs = [epoch for _, epoch in group]
        spans.append(str(epochs[0]) if len(epochs) == 1 else f"{epochs[0]} to {epochs[-1]}")
    return f", switches after epochs {', '.join(spans)}" if spans else ", no switches"


def _deadline(policy: Policy) -> str:
    """How long an epoch may take, where that is less than the instance asks for."""
    if policy.round_deadline is None:
        return ""
    return f", each with the least resources that end it within {number(policy.round_deadline)}"


def mathematics(result: PolicyResult) -> str:
    """Each step from the price of a failed run to the certified gap in numbers, as far as it was come to."""
    target = result.instance.target
    lines = [
        "Mathematics",
        "  minimise      J = C + rho F  subject to  F <= 1 - omega",
        "                over policies; C the expected cost, F = P(stopped without a loss of at most "
        f"{number(target.maximum_loss)}),",
        f"                1 - omega = 1 - {probability(target.quantile_level)} = "
        f"{number(float(target.violation_budget))}",
    ]
    if result.ratio is not None and result.failure_cost is not None:
        lines += _price_lines(result)
    if result.policy is not None and result.objective is not None:
        lines += _cost_lines(result)
    if result.lower_bound > 0:
        lines += _bound_lines(result)
    return "\n".join(lines)


def _exact(name: str, value: object) -> str:
    """A number of the mathematics, to seven digits."""
    return fact(name, value)._replace(digits=7).number


def _price_lines(result: PolicyResult) -> list[str]:
    ends = fact("ratio", result.ratio)._replace(digits=7)
    given = result.policy is not None and result.policy.failure_cost_rule == "given"
    source = f"given; at least {ends.upper.number} is allowed" if given else f"1.5 * {ends.upper.number}"
    law = "under the same law with independent residuals" if _is_counted(result) else "of any"
    return [
        f"  rho*          in {ends.number}, the least C / (P(reached) - P(met untrained)) {law}",
        f"  rho           = {source} = {_exact('failure_cost', result.failure_cost)}",
        "                without a price the least C at P(reached) >= omega is had by not training at all in "
        "some runs,",
        "                at random or on bad first losses; from rho* on that saves nothing",
    ]


def _cost_lines(result: PolicyResult) -> list[str]:
    cost, missed = _exact("cost", result.cost or 0.0), _exact("failed", 1 - Fraction(result.reached or 0.0))
    counted_runs = "sums over all combinations of the runs that lend to the stages"
    chain = "sums over the chain of the ledger, every rounding against the policy"
    lines = [
        f"  C             <= {cost}, F <= {missed}: {counted_runs if _is_counted(result) else chain}",
        f"  J             <= {cost} + {_exact('failure_cost', result.failure_cost)} * {missed} = "
        f"{_exact('objective', result.objective)}",
    ]
    if result.per_success is not None:
        success = _exact("per_success", result.per_success)
        lines.append(f"  C / P         <= {success}, the expected cost of a success")
    return lines


def _bound_lines(result: PolicyResult) -> list[str]:
    bound, lines = _exact("lower_bound", result.lower_bound), []
    if result.multiplier is None or result.failure_cost is None:
        lines.append(f"  J of any      >= {bound}")
    elif result.promise_binds:
        price, rho = (_exact("multiplier", value) for value in (result.multiplier, result.failure_cost))
        budget = number(float(result.instance.target.violation_budget))
        lines += [
            f"  lambda        = {price} > rho: at this price of a failure the best just keeps the promise",
            "  J of any      >= V(lambda) - (lambda - rho) (1 - omega)",
            f"                =  V(lambda) - ({price} - {rho}) * {budget} >= {bound}",
        ]
    else:
        lines += [
            "  lambda        = rho: the best policy without a promise keeps it, so that it is slack",
            f"  J of any      >= V(rho) >= {bound}",
        ]
    lines.append(
        f"                V: least C + lambda F over losses rounded down, on {result.cells} points, "
        "every rounding downwards"
    )
    if result.gap is not None:
        lines.append(f"  gap           = 1 - bound / J = {fact('gap', result.gap).shown}, certified")
    return lines
