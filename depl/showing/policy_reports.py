"""What was found out about a policy, for people: a report, simulated runs, and replayed ones."""

from depl.models.foundation.wording import (
    counted,
    interval,
    number,
    percentage,
    probability,
    rounded_down,
    rounded_up,
)
from depl.models.policy.replay import Replay
from depl.models.policy.simulation import CONFIDENCE, RISK, Simulation
from depl.models.verifier.policies import PolicyReport
from depl.showing.parts import Listing, Pairs, Section
from depl.showing.reports import names_of, word_of

ENDS = {
    "reached": "reached the target",
    "abandoned": "given up",
    "exhausted": "out of epochs",
    "beyond": "above the grid",
}
"""How runs end, in words."""


def policy_report_sections(report: PolicyReport) -> list[Section]:
    """The verdict, a row per finding, and what was recomputed."""
    verdict = "everything holds" if report.ok else "the policy FAILS"
    if report.repeated:
        verdict += f"\nRepeated from the policy, not checked: {', '.join(names_of(report.repeated))}"
    rows = [(finding.equation, word_of(finding), finding.message) for finding in report.findings]
    sections = [
        Section("", f"{report.policy.name}: {verdict}"),
        Section("", Listing(("rule", "verdict", "finding"), rows)),
    ]
    found = report.course
    if found is not None:
        shares = {name: getattr(found, name) for name in ENDS}
        numbers = [
            ("expected cost", f"at most {rounded_up(found.cost)}"),
            ("expected epochs", f"at most {rounded_up(found.epochs)}"),
            *((ENDS[name], f"probability {probability(max(share, 0.0))}") for name, share in shares.items()),
        ]
        how = "under the law and with the ledger alone"
        if report.policy.state == "observed":
            numbers.append(
                ("unlike all runs seen", f"probability {probability(found.unlike)}, counted as failed")
            )
            how = "over all combinations of the runs"
        sections.append(Section(f"Recomputed by the evaluator, {how}:", Pairs(numbers)))
    return sections


def simulation_sections(found: Simulation, claimed_cost: float, claimed_reached: float) -> list[Section]:
    """How drawn runs ended, beside what is claimed."""
    level = percentage(CONFIDENCE)
    counts = {name: getattr(found, name) for name in ENDS}
    reached, cost = interval(*found.reached_interval, 5), interval(*found.cost_interval, 5)
    numbers = [
        ("P(reached)", f"{number(found.reached / found.runs)}, {level} interval {reached}"),
        ("", f"claimed: at least {rounded_down(claimed_reached)}"),
        ("expected cost", f"{number(found.cost)}, {level} interval {cost}"),
        ("", f"claimed: at most {rounded_up(claimed_cost)}"),
        ("epochs", f"{number(found.epochs)} in the mean"),
        *((ENDS[name], counted(count, "run")) for name, count in counts.items()),
    ]
    sections = [Section(f"{counted(found.runs, 'run')} drawn from the law:", Pairs(numbers))]
    if found.refuted:
        lines = "\n".join(f"- {text}" for text in found.refuted)
        sections.append(Section("", f"REFUTED (each by chance with probability {RISK:g} at most):\n{lines}"))
    else:
        sections.append(Section("", f"No claim is refuted at {RISK:g}."))
    return sections


def replay_sections(found: Replay, claimed_cost: float) -> list[Section]:
    """How real runs ended, beside what is claimed."""
    level, ends = percentage(CONFIDENCE), found.ends
    delivered, cost = interval(*found.delivered_interval, 4), interval(*found.cost_interval, 4)
    numbers = [
        ("delivered", f"{number(found.delivered, 4)} of them, {level} interval {delivered}"),
        ("", f"claimed: at least {rounded_down(found.claimed, 4)}"),
        ("cost", f"{number(found.cost)} in the mean, {level} interval {cost}"),
        ("", f"claimed: at most {rounded_up(claimed_cost, 4)}"),
        ("cost of a success", number(found.per_success)),
        *((ENDS[name], counted(ends[name], "run")) for name in ENDS),
    ]
    switched = sorted(run.switched for run in found.runs if run.switched is not None)
    if switched:
        numbers.append(
            ("switched", f"{counted(len(switched), 'run')}, after epochs {switched[0]} to {switched[-1]}")
        )
    return [Section(f"{counted(len(found.runs), 'seed')}, followed on real training:", Pairs(numbers))]
