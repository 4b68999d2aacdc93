"""The page on the paper's figures counts the verdicts that ``depl figures`` prints."""

import pytest

from depl.benchmarks.figures.paper import FAMILIES
from depl.benchmarks.measure.results import read_all
from depl.benchmarks.measure.store import read_attempts
from depl.benchmarks.report.claims import about_figure
from depl.benchmarks.report.evidence import evidence_of
from depl.benchmarks.report.verdicts import counts, judged
from tests.docs.pages import text_of

PAGE = text_of("docs/paper_figures.rst")


@pytest.fixture(scope="module")
def evidence():
    return evidence_of([*read_attempts("paper"), *read_attempts("paper-eta")], read_all())


@pytest.mark.parametrize("number", FAMILIES)
def test_a_figure_has_its_line_and_its_verdicts(number, evidence):
    row = next(part for part in PAGE.split("   * - ") if part.startswith(f"Fig. {number}:"))
    assert f"``depl figures --paper {number}``" in row
    verdicts = judged(about_figure(number), evidence)
    said = (
        f"{len(verdicts)} claim{'s' * (len(verdicts) > 1)}: {counts(verdicts)}" if verdicts else "no claims"
    )
    assert f"- {said}\n" in row
