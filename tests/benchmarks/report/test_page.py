"""The page is whole: sections, links, ids, nothing from elsewhere, and the numbers of the attempts."""

import re
from html.parser import HTMLParser

import pytest
from matplotlib.figure import Figure

from depl.benchmarks.analysis.table import Table
from depl.benchmarks.figures.drawing import Drawing
from depl.benchmarks.report import page
from depl.benchmarks.report.claims.catalogue import ALL
from depl.benchmarks.report.page import report
from depl.benchmarks.report.verdicts import judged
from depl.models.foundation.errors import InvalidInputError
from tests.cases.report_cases import costs, evidence, paper, record

ATTEMPTS = [
    *paper(
        costs(exact=(17, 12, 8), depl=(17, 12, 8.5), depl_paper=(40, None, 20), expected_greedy=(30, 20, 16))
    ),
    *paper(costs(exact=(10, 8, 5)), family="paper-mobilenet"),
]
RECORD = record("prediction-sets", comparisons=[{"mean_verdict": "smaller"}], equal_work_change=0.02)
SECTIONS = ("headline", "claims", "ratios", "provenance")
VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """Ids, links, tables and text of a page; complains of tags that are not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.references: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.images: list[dict[str, str | None]] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if "id" in known:
            self.ids.append(known["id"])
        if (known.get("href") or "").startswith("#"):
            self.references.append(known["href"][1:])
        if tag == "table":
            self.rows = self.tables.setdefault(known["id"], [])
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append(known.get("data-value", ""))
        elif tag == "svg":
            self.images.append(known)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if len(self.open) > 1 and {"td", "th"} & set(self.open[-3:]) and not self.rows[-1][-1]:
            self.rows[-1][-1] = data


def drawn(name: str) -> Drawing:
    figure = Figure()
    figure.subplots().plot([1, 2], [3, 4])
    return Drawing(name, f"What {name} shows", figure, Table(("x", "y"), ((1, 3.0), (2, 4.0))))


@pytest.fixture(scope="module")
def text() -> str:
    given = evidence(ATTEMPTS, RECORD)
    return report(given, judged(ALL, given), [drawn("costs"), drawn("epochs")])


@pytest.fixture(scope="module")
def parsed(text) -> Page:
    return Page(text)


def test_every_section_is_there_and_the_contents_lead_to_it(parsed):
    assert set(SECTIONS) | {"figures", "goals"} <= set(parsed.ids)
    assert set(SECTIONS) <= set(parsed.references)


def test_the_layers_are_in_order(parsed):
    layers = ["first", "summary-table", "claims-overview", "claims", "figures", "tables", "provenance"]
    assert [name for name in parsed.ids if name in layers] == layers


def test_claims_lead_to_the_figures_that_show_their_evidence():
    given = evidence(ATTEMPTS)
    text = report(given, judged(ALL, given), [drawn("paper-alexnet-cost"), drawn("paper-profiles")])
    for key, names in (
        ("tighter-costs-more", ["paper-alexnet-cost"]),
        ("closely-matches", ["paper-alexnet-cost", "paper-profiles"]),
        ("np-hard", []),
    ):
        claim = (
            text.partition('<details class="claim')[2]
            .partition(f'id="claim-{key}"')[2]
            .partition("</details>")[0]
        )
        own = claim.partition('class="evidence"')[2].partition("</p>")[0]
        assert re.findall(r'href="#figure-([^"]+)"', own) == names


def test_every_claim_of_the_catalogue_has_a_short_name_that_fits_the_first_screen():
    assert all(4 < len(claim.short) <= 34 for claim in ALL)
    assert len({claim.short for claim in ALL}) == len(ALL)


def test_a_page_without_verdicts_does_not_speak_of_the_paper(parsed):
    text = report(evidence(ATTEMPTS))
    other = Page(text)
    assert "claims" not in other.ids
    assert "claims-overview" not in other.ids
    assert set(other.references) <= set(other.ids)
    assert "the paper claims" not in text
    assert not any(claim.claim in text for claim in ALL)
    assert other.tables["ratios-paper"] == parsed.tables["ratios-paper"]


def test_a_section_without_content_is_left_out():
    given = evidence(ATTEMPTS)
    parsed = Page(report(given, judged(ALL, given)))
    assert "figures" not in parsed.ids
    assert "goals" not in parsed.ids
    assert set(SECTIONS) <= set(parsed.ids)


def test_ids_are_unique_and_links_lead_somewhere(parsed):
    assert len(parsed.ids) == len(set(parsed.ids))
    assert set(parsed.references) <= set(parsed.ids)
    assert len(parsed.references) > len(ALL)


def test_nothing_comes_from_elsewhere(text, parsed):
    loading = {("src", tag) for tag in ("img", "script", "iframe")} | {("href", "link"), ("data", "object")}
    loaded = [value for tag, name, value in parsed.attributes if (name, tag) in loading]
    assert loaded == ["data:,"]
    assert "@import" not in text
    assert "url(http" not in text
    assert "//" not in "".join(
        value for _, name, value in parsed.attributes if name in ("href", "xlink:href")
    )


def test_every_claim_has_an_article_and_a_line_with_its_verdict(parsed):
    lines = parsed.tables["claims-overview"][1:]
    verdicts = judged(ALL, evidence(ATTEMPTS, RECORD))
    assert [line[0] for line in lines] == [str(number) for number in range(1, len(ALL) + 1)]
    brief = [verdict.words.replace(" from the paper", "") for verdict in verdicts]
    assert [line[-1] for line in lines] == brief
    assert len(set(brief)) > 3
    assert {f"claim-{claim.key}" for claim in ALL} <= set(parsed.ids)


def test_the_headline_has_the_ratios_of_the_attempts(parsed):
    header, *lines = parsed.tables["headline-table"]
    rows = {line[0]: dict(zip(header, line, strict=True)) for line in lines}
    assert float(rows["expected-greedy"]["paper-alexnet"]) == pytest.approx((30 / 17 + 20 / 12 + 16 / 8) / 3)
    assert float(rows["depl"]["largest"]) == 8.5 / 8
    assert float(rows["depl-paper"]["paper-alexnet"]) == pytest.approx((40 / 17 + 20 / 8) / 2)
    assert int(rows["depl-paper"]["no plan"]) == 1
    assert rows["depl"]["paper-mobilenet"] == "–"
    assert int(rows["exact"]["compared"]) == 6


def test_endings_add_up_to_the_attempts(parsed):
    header, *lines = parsed.tables["endings-table"]
    assert header[:3] == ["suite", "configuration", "attempts"]
    assert all(int(line[2]) == sum(map(int, line[3:])) for line in lines)
    assert sum(int(line[2]) for line in lines) == len(ATTEMPTS)


def test_figures_have_a_name_for_those_who_cannot_see_them_and_their_numbers(parsed):
    drawings = [image for image in parsed.images if image.get("aria-hidden") != "true"]
    assert [image["aria-label"] for image in drawings] == ["What costs shows", "What epochs shows"]
    assert all(image["role"] == "img" for image in drawings)
    assert parsed.tables["numbers-costs"] == [["x", "y"], ["1", "3.0"], ["2", "4.0"]]


def test_every_table_has_headings_with_a_scope(parsed):
    scopes = [value for tag, name, value in parsed.attributes if (tag, name) == ("th", "scope")]
    assert set(scopes) == {"col", "row"}
    assert all(tag != "th" or name != "id" for tag, name, _ in parsed.attributes)


def test_the_same_evidence_gives_the_same_page(text):
    given = evidence(ATTEMPTS[::-1], RECORD)
    assert report(given, judged(ALL, given), [drawn("costs"), drawn("epochs")]) == text


def test_no_attempts_no_report():
    with pytest.raises(InvalidInputError, match="no attempts"):
        report(evidence(), [])


def test_numbers_that_are_too_many_are_counted_instead(monkeypatch):
    monkeypatch.setattr(page, "MOST_ROWS", 1)
    given = evidence(ATTEMPTS)
    text = report(given, judged(ALL, given), [drawn("costs")], ["Something could not be drawn."])
    assert "Its 2 rows of numbers are too many for this page." in text
    assert "numbers-costs" not in text
    assert "<p>Something could not be drawn.</p>" in text
