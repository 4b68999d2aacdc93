"""The page is whole: sections, links, ids, nothing from elsewhere, and the numbers of the attempts."""

import re
from html.parser import HTMLParser

import pytest

from depl.benchmarks.report.claims import CLAIMS
from depl.benchmarks.report.page import report
from depl.benchmarks.report.verdicts import judged
from depl.models.foundation.errors import InvalidInputError
from tests.cases.attempts_factory import attempt_of
from tests.cases.report_cases import ATTEMPTS, RECORD, drawn, evidence

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """Ids, links, attributes and tables of a page; complains of tags that are not closed."""

    def __init__(self, text):
        super().__init__()
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(text)
        self.close()
        assert not self.open
        links = [value for tag, name, value in self.attributes if (tag, name) == ("a", "href")]
        self.references = [value.removeprefix("#") for value in links]

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self.ids += [known["id"]] if "id" in known else []
        if tag == "table":
            self.rows = self.tables.setdefault(known["id"], [])
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append(known.get("data-value", ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open[-3:]) and not self.rows[-1][-1]:
            self.rows[-1][-1] = data


FIGURES = [drawn("paper-alexnet-cost"), drawn("paper-profiles")]


@pytest.fixture(scope="module")
def text():
    given = evidence(ATTEMPTS, RECORD)
    return report(given, judged(CLAIMS, given), FIGURES)


@pytest.fixture(scope="module")
def parsed(text):
    return Page(text)


def test_the_parts_are_in_order_ids_are_unique_and_links_lead_somewhere(text, parsed):
    parts = ["headline", "claims", "verdicts", "figures", "tables", "suites", "sources"]
    assert [name for name in parsed.ids if name in parts] == parts
    assert len(parsed.ids) == len(set(parsed.ids))
    assert set(parsed.references) <= set(parsed.ids)
    assert {f"claim-{claim.key}" for claim in CLAIMS} <= set(parsed.references)
    for key, names in (
        ("tighter-costs-more", ["paper-alexnet-cost"]),
        ("closely-matches", ["paper-alexnet-cost", "paper-profiles"]),
        ("np-hard", []),
    ):
        claim = text.partition(f'id="claim-{key}"')[2].partition("</details>")[0]
        assert re.findall(r'href="#figure-([^"]+)"', claim) == names


def test_nothing_comes_from_elsewhere_and_figures_have_their_words_and_numbers(text, parsed):
    loading = {("src", tag) for tag in ("img", "script", "iframe")} | {("href", "link"), ("data", "object")}
    assert [value for tag, name, value in parsed.attributes if (name, tag) in loading] == ["data:,"]
    assert not re.search(r"@import|://", text)
    hrefs = [value for _, name, value in parsed.attributes if name in ("href", "xlink:href")]
    assert all(value.startswith("#") or value == "data:," for value in hrefs)
    labels = [value for tag, name, value in parsed.attributes if (tag, name) == ("svg", "aria-label")]
    assert labels == ["What paper-alexnet-cost <shows>", "What paper-profiles <shows>"]
    assert parsed.tables["numbers-paper-profiles"] == [["x", "y"], ["1", "3.0"], ["2", "4.0"]]


def test_the_same_evidence_gives_the_same_page_and_names_are_shown_and_not_obeyed(text):
    given = evidence(ATTEMPTS[::-1], RECORD)
    assert report(given, judged(CLAIMS, given), FIGURES) == text
    odd = report(evidence([attempt_of("one", "<script>\u202e", cost=1.0, meaning="scenarios")]))
    assert "&lt;script&gt;\\u202e" in odd
    with pytest.raises(InvalidInputError, match="no attempts"):
        report(evidence(), [])
