"""Claims of proof that verified plans contradict: how many of each configuration, and on which instances."""

from collections.abc import Sequence

from depl.benchmarks.analysis.ratio_table import trials
from depl.benchmarks.analysis.tally import Fate, Trial
from depl.benchmarks.report.evidence import Evidence
from depl.models.foundation.wording import counted

MOST_NAMED = 20
"""Disputed instances that are named; ``references.csv`` has all."""


def contradicted(found: Sequence[Trial]) -> tuple[int, int]:
    """How many claims of proof are contradicted by verified plans, and how many there are.

    A claim of proof is a plan that is called cheapest, a positive lower bound, or the word that there is no
    plan.
    """
    claims = [
        trial
        for trial in found
        if trial.claim.optimal or trial.claim.infeasible or trial.claim.lower_bound > 0
    ]
    wrong = sum(trial.wrong_bound or trial.fate is Fate.FALSE_INFEASIBLE for trial in claims)
    return wrong, len(claims)


def disputes(evidence: Evidence) -> list[str]:
    """A sentence for every configuration with a contradicted claim, and one on the disputed instances."""
    groups: dict[str, list[Trial]] = {}
    for attempt, trial in trials(evidence.attempts):
        groups.setdefault(attempt.task.configuration, []).append(trial)
    told = []
    for name, own in groups.items():
        wrong, claims = contradicted(own)
        if wrong:
            told.append(
                f"Claims of proof contradicted by cheaper plans: {wrong} of {claims} (method {name})."
            )
    disputed = dict.fromkeys(
        question.instance for question, known in evidence.references.items() if known.disputed
    )
    if disputed:
        rest = len(disputed) - MOST_NAMED
        names = ", ".join(list(disputed)[:MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")
        told.append(
            f"On {counted(len(disputed), 'instance')} the least cost that was called optimal, or the word "
            f"that there is no plan, is refuted, so that no ratio to an optimum is formed: {names}."
        )
    return told
