"""The report in headless Chromium, without a network: ``make browser``, which fails where there is none."""

import re
import subprocess

import pytest

from depl.benchmarks.analysis.reference import natural
from depl.benchmarks.report.claims import CLAIMS
from depl.benchmarks.report.page import report
from depl.benchmarks.report.verdicts import judged
from depl.cli import main
from tests.cases.browser import WIDTHS, print_out, seen
from tests.cases.report_cases import ATTEMPTS, RECORD, drawn, evidence

pytestmark = pytest.mark.browser

SHEETS = 15


@pytest.fixture(scope="module", params=["made up", "as committed"])
def page(request, tmp_path_factory):
    if request.param == "made up":
        given = evidence(ATTEMPTS, RECORD)
        return report(given, judged(CLAIMS, given), [drawn("costs"), drawn("paper-alexnet-epochs")])
    path = tmp_path_factory.mktemp("report") / "report.html"
    assert main(["bench", "report", "--out", str(path)]) == 0
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module", params=WIDTHS)
def found(request, page, tmp_path_factory):
    told = seen(page, request.param, tmp_path_factory.mktemp("browser"))
    assert told["inner"] == request.param
    return told


def test_nothing_goes_wrong_or_is_too_wide_and_every_figure_can_be_seen(found):
    assert found["complaints"] == []
    assert max(found["folded"], found["unfolded"]) <= found["inner"]
    assert len(found["marks"]) >= 3
    assert len(found["figures"]) >= 2
    assert min(width for width, _ in found["figures"]) > 200
    assert min(height for _, height in found["figures"]) > 100


def test_a_click_on_a_heading_sorts_its_table(found):
    (up, upward), (down, downward) = found["verdicts"]
    assert (upward, downward) == ("ascending", "descending")
    assert up == sorted(up, key=natural)
    assert down == sorted(down, key=natural, reverse=True)
    assert len(set(up)) > 1
    (up, _), (down, _) = found["numbers"]
    assert up == found["before"] == [str(number) for number in range(1, len(CLAIMS) + 1)]
    assert down == up[::-1]


def test_it_prints_on_few_sheets_with_all_claims_and_figures(page, tmp_path):
    source, printed = tmp_path / "page.html", tmp_path / "page.pdf"
    source.write_text(page, encoding="utf-8")
    print_out(source, printed)
    sheets = len(re.findall(rb"/Type\s*/Page\b", printed.read_bytes()))
    assert 3 <= sheets <= SHEETS
    marked = re.sub(r"<figcaption>(.*?)</figcaption>", r"<figcaption>FIGURE</figcaption>", page)
    source.write_text(marked, encoding="utf-8")
    print_out(source, printed)
    told = subprocess.run(["pdftotext", str(printed), "-"], capture_output=True, text=True, check=True).stdout
    assert told.count("FIGURE") == page.count("<figcaption>") > 1
    words = re.sub(r"[\s-]+", "", told)  # a hyphen at the end of a line is not told
    assert all(re.sub(r"[\s-]+", "", claim.text) in words for claim in CLAIMS)
    assert "machinesandversions" not in words  # tables are left out on paper
