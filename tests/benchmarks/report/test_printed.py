"""What is printed about a figure: claims by the place that they stand at, and the reading that fits best."""

from depl.benchmarks.report.claims.catalogue import ALL
from depl.benchmarks.report.evidence import evidence_of
from depl.benchmarks.report.printed import (
    closest_reading,
    figures_named,
    printed_about,
    printed_table,
)
from depl.benchmarks.report.verdicts import Findings, Reading, Ruling, Verdict


def test_places_name_their_figures() -> None:
    assert figures_named("Abstract; Sec. VI-B, Figs. 5 and 6, left") == {5, 6}
    assert figures_named("Sec. VI-A, Fig. 4, left and centre") == {4}
    assert figures_named("Sec. IV-B; eq. (8)") == set()
    named = set().union(*(figures_named(claim.where) for claim in ALL))
    assert {4, 5, 6, 7, 8, 9} <= named


def test_claims_without_evidence_are_left_out() -> None:
    assert printed_about(5, evidence_of([])) == []
    assert printed_table([]).rows == ()


def test_the_reading_that_names_what_is_drawn_stands_for_the_claim() -> None:
    readings = [
        Reading("DepL as printed against greedy best-exp", 0, 5, "a"),
        Reading("DepL with bounds against greedy best-exp", 5, 5, "b"),
        Reading("DepL with bounds against cost-aware best-exp", 5, 0, "c"),
    ]
    verdict = Verdict(1, ALL[0], Ruling.UNDECIDABLE, "", Findings(readings))
    assert closest_reading(verdict, ("exact", "depl", "expected-greedy")).measured == "b"
    assert closest_reading(verdict, ("exact", "depl-paper")).measured == "a"
    assert closest_reading(verdict, ("other",)).measured == "a"
    rows = printed_table([verdict]).records()
    assert [(row["shown"], row["cases"], row["measured"]) for row in rows] == [(0, 5, "a"), (5, 5, "b")]
