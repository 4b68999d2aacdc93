"""The tables of the report, each under the name of its CSV file."""

from collections.abc import Mapping, Sequence

from depl.benchmarks.analysis.growth import growth_table, growths
from depl.benchmarks.analysis.limits import broken_table, judged, limits_table
from depl.benchmarks.analysis.ratio_table import ratio_table, reference_table
from depl.benchmarks.analysis.table import Table
from depl.benchmarks.report.claims.theory import SIZES
from depl.benchmarks.report.evidence import Evidence
from depl.benchmarks.report.headline import headline_table
from depl.benchmarks.report.own import OwnMethod
from depl.benchmarks.report.printed_steps import printed_steps_table
from depl.benchmarks.report.verdicts import Verdict


def report_tables(
    evidence: Evidence, verdicts: Sequence[Verdict], own: Sequence[OwnMethod] = ()
) -> Mapping[str, Table]:
    """Headline, verdicts, ratios of all suites, what is proved of every instance, growth of time, limits.

    And of each of the reader's own methods: against others, by groups, and its worst instances.

    Returns
    -------
    mapping of str to Table
        Tables without a row are left out.
    """
    claims = tuple(
        (verdict.number, verdict.claim.key, verdict.claim.claim, verdict.words, verdict.reason)
        for verdict in verdicts
    )
    limits = judged(evidence.attempts)
    found = {
        "headline": headline_table(evidence),
        "claims": Table(("number", "key", "claim", "verdict", "reason"), claims),
        "ratios": ratio_table(evidence.attempts),
        "references": reference_table(evidence.attempts),
        "printed-steps": printed_steps_table(evidence.attempts),
        "growth": growth_table(growths(evidence.attempts, SIZES)),
        "limits": limits_table(limits),
        "limits-broken": broken_table(limits),
    }
    for place, method in enumerate(own, start=1):
        for name, content in (
            ("against", method.against),
            ("groups", method.groups),
            ("worst", method.worst),
        ):
            found[f"own-{place}-{name}"] = content
    return {name: table for name, table in found.items() if table.rows}
