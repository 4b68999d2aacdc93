"""A policy for people: its promise and table, and what checking it and drawing its runs found."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from depl.models.foundation.wording import counted, number, percentage, probability
from depl.models.problem.policy import STOP, Policy, PolicyNode
from depl.models.solving.result import Termination
from depl.showing import parts
from depl.showing.parts import DOWN, NEAREST, OUTWARD, UP, Fact, Listing, Names, Pairs, Section
from depl.showing.plans import verdict_content, verdict_sections
from depl.showing.results import ENDED

if TYPE_CHECKING:
    from depl.models.policy.follow import Simulation
    from depl.models.policy.result import PolicyResult
    from depl.models.verifier.policies import PolicyReport

policy_result_names: Names = {
    "cost": ("expected cost", "cost", UP, 6),
    "per_success": ("per success", "cost", UP, 6),
    "objective": ("cost + failures", "cost", UP, 6),
    "reached": ("reached", "", DOWN, 6),
    "lower_bound": ("lower bound", "cost", DOWN, 6),
    "ratio": ("a success", "cost", OUTWARD, 6),
    "failure_cost": ("a failed run", "cost", NEAREST, 6),
    "multiplier": ("price", "cost", NEAREST, 6),
    "gap": ("gap", "%", UP, 3),
    "violation": ("P(target missed)", "", OUTWARD, 7),
}
"""Of what is claimed of policies: their costs are expected costs, of which upper bounds are known."""

fact = partial(parts.fact, names=policy_result_names)

_PROVED = {
    Termination.GAP_REACHED: "within the wanted gap of the best, proved",
    Termination.INFEASIBLE: "proved infeasible: no policy keeps the promise",
    Termination.EXHAUSTED: "nothing more to try",
}

_MOST_LINES = 60
"""Lines of a table: two screens, as of the stages of a plan; the rest is counted."""

_RANGES = "x ... y: the bound differs between these epochs or states, from x to y"


def policy_sections(policy: Policy, *, details: bool = False) -> Iterator[Section]:
    """What is claimed of a policy, and its table; with ``details`` every node by itself, and all of them."""
    lookup = "the ledger, which is never below the observed loss"
    least, deadline = ", each with the least resources that end it within", policy.round_deadline
    timed = "" if deadline is None else f"{least} {number(deadline)}"
    yield (
        "",
        [
            (policy.name, f"a policy; made for the instance with fingerprint {policy.instance[:12]}"),
            _promise(policy),
            fact("cost", policy.certificate.cost),
            ("failed runs", f"are priced at {number(policy.failure_cost)} each{_rule(policy)}"),
            ("epochs", f"at most {policy.maximum_epochs}{_switching(policy)}{timed}"),
            ("looked up by", "the observed loss, rounded up" if policy.state == "observed" else lookup),
        ],
    )
    yield from _table(policy, details)


def _promise(policy: Policy) -> tuple[str, str]:
    found, asked = policy.certificate, probability(policy.quantile_level)
    basis = "counted over all combinations of the runs" if _is_counted(policy) else "certified under the law"
    kept = fact("reached", min(found.reached, 1.0)).told
    return f"P(loss <= {number(policy.maximum_loss)} reached)", f"{kept}, {basis}; asked {asked}"


def _is_counted(policy: Policy | None) -> bool:
    """Whether it was planned on independent residuals and counted over combinations of runs."""
    return policy is not None and policy.certificate.method == "counted"


def _rule(policy: Policy | None) -> str:
    if policy is None:
        return ""
    given = policy.failure_cost_rule == "given"
    return ", as given" if given else ", 1.5 times the least expected cost of a success"


def _switching(policy: Policy) -> str:
    if policy.switch_epochs is None:
        return ""
    spans = [_range(span[0], span[-1], " to ") for span in consecutive(policy.switch_epochs, int)]
    return f", switches after epochs {', '.join(spans)}" if spans else ", no switches"


def policy_result_sections(result: PolicyResult) -> Iterator[Section]:
    """What is promised, what failures cost, how far from the best, and the table of the policy."""
    yield "", _outcome(result)
    if result.policy is not None:
        yield from _table(result.policy)


def _outcome(result: PolicyResult) -> Pairs:
    units, policy, counts = result.instance.units, result.policy, _is_counted(result.policy)
    proved, grid = result.termination is Termination.GAP_REACHED, f", losses on {result.cells} points"
    state = (ENDED | _PROVED)[result.termination]
    yield result.instance.name, state if policy is None or proved else f"a policy; {state}"
    yield "planned in", f"{result.seconds:.2f} s{grid if result.cells else ''}"
    yield "reason", result.reason or None
    yield "looked at", f"policies of {result.restriction}" if result.restriction else None
    if policy is not None:
        yield _promise(policy)
        yield fact("cost", policy.certificate.cost, units)
        yield fact("per_success", result.per_success, units)
    if policy is not None and result.instance.has_memory:
        runs = f"{counted(policy.certificate.runs or 0, 'run')} or more behind every stage, one unseen run"
        yield "rests on", f"{runs} that fails, and a choice on the same runs" if counts else _FITTED
    if result.failure_cost is not None:
        failed = fact("failure_cost", result.failure_cost, units).shown
        yield "a failed run", f"counts {failed}{_rule(policy)}"
        law = " of the same law with independent residuals" if counts else ""
        ratio, price = fact("ratio", result.ratio, units), number(result.multiplier)
        yield ratio.label, result.ratio and f"costs {ratio.told} at least in the mean{law}"
        binds = f"binds: priced at {price} a failure, the best policy just keeps it"
        slack = "slack: the price of failures alone decides on the policy"
        promise = binds if result.promise_binds else slack
        if counts:
            planned = f"planned at a price of {price} a failure"
            promise = f"kept as counted, by the cheapest of those tried, {planned}"
        yield "promise", None if result.multiplier is None else promise
    bound, held = "no lower bound is proved", fact("objective", result.objective, units)
    if result.lower_bound > 0:
        gap = "" if result.gap is None else f" (gap {fact('gap', result.gap).shown})"
        bound = f"lower bound {fact('lower_bound', result.lower_bound, units).shown}{gap}"
    if result.objective is not None or result.lower_bound > 0:
        yield held.label, bound if result.objective is None else f"{held.told}, {bound}"
    if result.objective is not None and result.lower_bound > 0 and policy is not None:
        yield "bound holds for", bound_class(policy)


_FITTED = (
    "a law fitted to runs, taken for the whole law: residuals are independent from epoch to epoch; no run "
    "unlike those seen counts"
)
"""What a policy rests on that is certified under a law fitted to runs."""


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


Site = tuple[str, str]
"""A model and the cluster on which it trains."""


Doing = Site | str
"""What is done: training at a site, or stopping, in words."""

STOPS = REACHED, GIVE_UP, NO_EPOCH_LEFT = "stop: reached", "stop: give up", "stop: no epoch is left"


def site_of(node: PolicyNode) -> Site | None:
    """What was trained last; None before the first epoch."""
    return None if node.model is None or node.cluster is None else (node.model, node.cluster)


def loss_at(policy: Policy, index: int) -> float:
    """The loss of an index of the grid."""
    value = policy.grid.origin + index * policy.grid.step
    return math.exp(value) if policy.grid.scale == "log" else value


def bands(policy: Policy, node: PolicyNode) -> list[tuple[int, Doing]]:
    """Up to which index what is done, neighbours alike joined; a target that is met stops the run."""
    met = min(policy.grid.target, policy.grid.cells - 1)
    found: list[tuple[int, Doing]] = [(met, REACHED)] if node.may_stop else []
    for row in node.rows:
        if found and row.upto <= found[-1][0]:
            continue
        doing: Doing = NO_EPOCH_LEFT if node.epoch == policy.maximum_epochs else GIVE_UP
        if row.action != STOP:
            training = node.trainings[row.action]
            doing = training.model, training.cluster
        if found and found[-1][1] == doing:
            found.pop()
        found.append((row.upto, doing))
    return found


def words_of(doing: Doing, now: Site | None = None) -> str:
    """What is done where a site was trained last, in words."""
    if isinstance(doing, str):
        return doing
    where = f"{doing[0]} on {doing[1]}"
    return f"train {where}" if now is None else "go on" if doing == now else f"switch to {where}"


def consecutive(items: Iterable[Any], epoch_of: Callable[[Any], int]) -> list[list[Any]]:
    """Items in the order of their epochs, those of consecutive ones together."""
    ordered = sorted(items, key=epoch_of)
    ranks = {epoch: rank for rank, epoch in enumerate(dict.fromkeys(map(epoch_of, ordered)))}
    groups = groupby(ordered, key=lambda item: epoch_of(item) - ranks[epoch_of(item)])
    return [list(group) for _, group in groups]


def _table(policy: Policy, details: bool = False) -> Iterator[Section]:
    """Up to which losses what is done; nodes that do the same merged over epochs unless all are wanted."""
    alike: dict[Any, list[tuple[int, list[int]]]] = defaultdict(list)
    for node in policy.nodes:
        ends, done = zip(*bands(policy, node), strict=True)
        alike[site_of(node), done].append((node.epoch, list(ends)))
    order, spans = list(dict.fromkeys(map(site_of, policy.nodes))), []
    for (site, done), nodes in alike.items():
        for span in [[node] for node in nodes] if details else consecutive(nodes, lambda node: node[0]):
            spans.append((order.index(site), span[0][0], span[-1][0], done, [ends for _, ends in span]))
    lines: list[tuple[str, str, str, str]] = []
    for place, first, last, done, merged in sorted(spans, key=lambda span: span[:3]):
        site = order[place]
        head = "nothing yet" if site is None else f"{site[0]} on {site[1]}", _range(first, last, " to ")
        for index, doing in enumerate(done):
            upto = [loss_at(policy, ends[index]) for ends in merged]
            losses = f"up to {_range(number(min(upto), 4), number(max(upto), 4), ' ... ')}"
            if index == len(done) - 1:
                losses = "above" if index else "any"
            lines.append((*(head if index == 0 else ("", "")), losses, words_of(doing, site)))
    kept = lines if details else lines[:_MOST_LINES]
    more = f"and {counted(len(lines) - len(kept), 'more line')}" if len(lines) > len(kept) else ""
    yield "", Listing(("trained last", "after epoch", "loss", "next"), kept)
    yield "", more
    yield "", _RANGES if any(" ... " in line[2] for line in kept) else ""


def _range(first: object, last: object, word: str) -> str:
    return str(first) if first == last else f"{first}{word}{last}"


_ENDS = {
    "reached": "reached the target",
    "abandoned": "given up",
    "exhausted": "out of epochs",
    "beyond": "above the grid",
}
"""How runs end, in words."""


def policy_report_content(report: PolicyReport) -> dict[str, Any]:
    """The findings, and how runs end."""
    return verdict_content(report, "rule") | {"course": report.course and vars(report.course)}


def policy_report_sections(report: PolicyReport) -> Iterator[Section]:
    """The verdict, a row per finding, and what was recomputed."""
    yield from verdict_sections(report, report.policy.name, "policy", "rule")
    if report.course is None:
        return
    found, observed = report.course, report.policy.state == "observed"
    shares = {words: getattr(found, name) for name, words in _ENDS.items()}
    how = "over all combinations of the runs" if observed else "under the law and with the ledger alone"
    unlike = f"probability {probability(found.unlike)}, counted as failed" if observed else None
    yield (
        f"Recomputed by the evaluator, {how}:",
        [
            fact("cost", found.cost)._replace(digits=7),
            Fact("expected epochs", found.epochs, "", UP, 7),
            *((words, f"probability {probability(max(share, 0.0))}") for words, share in shares.items()),
            ("unlike all runs seen", unlike),
        ],
    )


def simulation_content(found: Simulation) -> dict[str, Any]:
    """The counts with their intervals."""
    cost = found.cost_interval if found.runs > 1 else None
    return {**vars(found), "reached_interval": found.reached_interval, "cost_interval": cost}


def simulation_sections(found: Simulation, claimed_cost: float, claimed_reached: float) -> Iterator[Section]:
    """How drawn runs ended, beside what is claimed."""
    from depl.models.policy.follow import CONFIDENCE, RISK

    refuted = "".join(f"\n- {text}" for text in found.refuted)
    chance = f"REFUTED (each by chance with probability {RISK:g} at most):{refuted}"
    sure = f"{percentage(CONFIDENCE)} interval"
    pairs = found.reached_interval, found.cost_interval
    reached, cost = (Fact("", pair, "", OUTWARD, 5).number for pair in pairs)
    numbers = [
        ("delivered", f"{number(found.reached / found.runs)} of them, {sure} {reached}"),
        ("", f"claimed: {fact('reached', claimed_reached)._replace(digits=7).told}"),
        ("cost", f"{number(found.cost)} in the mean, {sure} {cost}"),
        ("", f"claimed: {fact('cost', claimed_cost)._replace(digits=7).told}"),
        *((words, counted(getattr(found, name), "run")) for name, words in _ENDS.items()),
    ]
    title = f"{counted(found.runs, 'run')} drawn from the law:"
    yield title, [*numbers, ("epochs", f"{number(found.epochs)} in the mean")]
    yield "", chance if refuted else f"No claim is refuted at {RISK:g}."
