"""The page on a plan in headless Chromium, without a network: ``make browser``."""

import re

import pytest

import depl
from depl.reporting.facts import facts_of
from depl.reporting.page import Source, page_of
from tests.cases.browser import WIDTHS, print_out, seen

pytestmark = pytest.mark.browser

SHEETS = 2
PROBE = """
const complaints = [];
addEventListener("error", (event) => complaints.push(String(event.message || event.target.outerHTML)), true);
addEventListener("securitypolicyviolation", (event) => complaints.push(event.violatedDirective));
addEventListener("load", () => {
  const box = document.querySelector("figure svg").getBoundingClientRect();
  const inner = innerWidth, width = document.documentElement.scrollWidth;
  parent.postMessage(JSON.stringify({ complaints, inner, width, picture: [box.width, box.height] }), "*");
});
"""


@pytest.fixture(scope="module")
def page():
    instance = depl.load("tiny")
    plan = depl.solve(instance, "enumerate").plan
    facts = facts_of(instance, plan, lambda target, _: depl.solve(target, "enumerate"))
    return page_of(facts, Source("tiny"), 10.0).html


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits_the_window_and_all_of_it_is_there(page, width, tmp_path):
    found = seen(page, width, tmp_path, PROBE)
    assert found["complaints"] == []
    assert found["width"] <= found["inner"] == width
    across, high = found["picture"]
    assert 200 < across <= width
    assert high > 100


def test_the_page_prints_on_two_sheets(page, tmp_path):
    source, printed = tmp_path / "page.html", tmp_path / "page.pdf"
    source.write_text(page, encoding="utf-8")
    print_out(source, printed)
    sheets = re.findall(rb"/Type\s*/Page\b", printed.read_bytes())
    assert 1 <= len(sheets) <= SHEETS
