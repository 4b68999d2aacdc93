"""The page on the paper's figures counts the verdicts that ``depl figures`` prints."""

from pathlib import Path

import pytest

from depl.benchmarks.figures.paper import FAMILIES
from depl.benchmarks.measure.results import read_all
from depl.benchmarks.measure.store import read_attempts
from depl.benchmarks.report.evidence import evidence_of
from depl.benchmarks.report.printed import printed_about

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "paper_figures.rst").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def evidence():
    return evidence_of([*read_attempts("paper"), *read_attempts("paper-eta")], read_all())


@pytest.mark.parametrize("number", FAMILIES)
def test_a_figure_has_its_line_and_its_verdicts(number, evidence):
    row = next(part for part in PAGE.split("   * - ") if part.startswith(f"Fig. {number}:"))
    assert f"``depl figures --paper {number}``" in row
    words = [item.words for item in printed_about(number, evidence)]
    holds, fails, open_ones = (
        sum(word.startswith(start) for word in words) for start in ("holds", "fails", "not decidable")
    )
    assert holds + fails + open_ones == len(words)
    said = "no claims"
    if words:
        said = (
            f"{len(words)} claim{'s' * (len(words) > 1)}: {holds} hold{'s' * (holds == 1)}, "
            f"{fails} fail{'s' * (fails == 1)}, {open_ones} {'is' if open_ones == 1 else 'are'} not decidable"
        )
    assert f"- {said}\n" in row
