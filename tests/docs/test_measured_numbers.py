"""Measured numbers of README, paper.md and pages are those of the records, and whatever is stale is found."""

import difflib
import re

import pytest
from scipy.stats import binom

from depl.benchmarks.measure.catalogue import all_studies
from depl.benchmarks.measure.results import RESULTS
from depl.benchmarks.measure.store import RECORDED
from depl.benchmarks.report import quoted
from depl.models.foundation.errors import InvalidInputError
from depl.models.verifier.tolerances import CLAIM_TOLERANCE
from tests.docs.pages import ROOT, measured_numbers, text_of, words_of

PAGES = [path.relative_to(ROOT).as_posix() for path in measured_numbers.pages()]
QUOTING = [page for page in PAGES if text_of(page) != (ROOT / page).read_text(encoding="utf-8")]
NAMED_ALONE = {
    ("docs/loop.rst", "ratios"),  # what measures, without a figure
    ("docs/traces.rst", "closed-loop"),  # a page
}
"""Records that a page names without quoting them, with the reason."""
WORDS = {"data", "default", "graph", "placement", "ratios", "samples", "scale"}
"""Records whose names stand for something else, too: on a page they are named as records."""


@pytest.mark.parametrize("page", QUOTING)
def test_the_numbers_of_a_page_are_current(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    fresh, stale = measured_numbers.rewritten(text)
    wanted = "\n".join(
        difflib.unified_diff(text.splitlines(), fresh.splitlines(), page, "to be written", "", "", 0)
    )
    assert not wanted, f"run 'make numbers':\n{wanted}"
    assert not stale, "these words hold no more: write the sentence anew, and its condition"


def test_a_record_that_a_page_names_is_quoted_there_or_it_is_said_why_not():
    named, quoting = set(), set()
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for record in sorted(path.stem for path in RESULTS.glob("*.json")):
            module = rf"studies\.{record.replace('-', '_')}`"
            name = rf"\brecords?\b[^.]{{,80}}`{record}`" if record in WORDS else f"`{record}`"
            pattern = rf"{name}|run {record}\b|results/{record}\.json|{module}"
            named |= {(page, record)} if re.search(pattern, text) else set()
            quoting |= {(page, record)} if re.search(rf"<(?:!--)?(?:if )?{record} ", text) else set()
    assert named - quoting == NAMED_ALONE


def test_the_tool_writes_what_is_stale_and_says_what_holds_no_more(tmp_path, monkeypatch, capsys):
    page = tmp_path / "README.md"
    page.write_text("of 1<!--ratios instances-->, none<!--if ratios depl_missed > 0-->\n")
    monkeypatch.setattr(measured_numbers, "ROOT", tmp_path)
    monkeypatch.setattr(measured_numbers, "pages", lambda: [page])
    assert measured_numbers.main() == 1
    assert page.read_text() == "of 1000<!--ratios instances-->, none<!--if ratios depl_missed > 0-->\n"
    assert "README.md: this holds no more" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("in 9.1 %<!--v a .1%--> of", "in 12.3 %<!--v a .1%--> of"),
        ("(up to 1 %<!--v a ≤.0%-->)", "(up to 13 %<!--v a ≤.0%-->)"),
        ("from 1<!--v a ≥.2p--> to", "from 12.34<!--v a ≥.2p--> to"),
        ("3e-7<!--v small .0e-->", "3e-9<!--v small .0e-->"),
        ("*no*<!--v rows.len words-->", "*no*<!--v rows.len words-->"),
        ("<!--n-->1 or 2<!--v rows.x-->", "<!--n-->1, 2 and 3<!--v rows.x-->"),
        (":n:`9 <v rows[y=b, c][x>1].x>`", ":n:`3 <v rows[y=b, c][x>1].x>`"),
        (":n:`many <v rows[x<3].len words>`", ":n:`two <v rows[x<3].len words>`"),
        (":n:`9 <v rows.-1.x .1f>`", ":n:`3.0 <v rows.-1.x .1f>`"),
        (":n:`9 <v by.p-q.k + by.p-q.l / 2 .1f>`", ":n:`4.5 <v by.p-q.k + by.p-q.l / 2 .1f>`"),
        (":n:`9 <v a * 100000 2s>`", ":n:`12000 <v a * 100000 2s>`"),
        (":n:`9 <v by.p-q.max>`", ":n:`5 <v by.p-q.max>`"),
    ],
)
def test_a_marker_says_where_a_value_is_and_how_it_is_written(text, wanted, monkeypatch):
    rows = [{"x": 1, "y": "a"}, {"x": 2, "y": "a"}, {"x": 3, "y": "b, c"}]
    values = {"a": 0.12349, "small": 3.2e-9, "rows": rows, "by": {"p-q": {"k": 4, "l": 5}}}
    monkeypatch.setattr(quoted, "source", lambda name: values)
    if "*no*" in text:
        with pytest.raises(InvalidInputError, match="no number stands before it"):
            measured_numbers.rewritten(text)
    else:
        assert measured_numbers.rewritten(text) == (wanted, [])


REFUSED = {
    "1<!--ratio instances-->": "no record 'ratio' to quote; did you mean 'ratios'",
    "1<!--ratios instance-->": "no 'instance' in 'instance'; did you mean",
    "1<!--ratios-->": "write SOURCE PATH FORMAT",
    ":n:`1 <ratios instances q>`": "Unknown format code 'q'",
    ":if:`all <ratios instances>`": "write SOURCE PATH SIGN VALUE",
    ".. begin ratio\n\n.. end": "no such table",
    "2<!--ratios instances-->7 %": "its number goes on behind it",
}


@pytest.mark.parametrize("marker", REFUSED)
def test_a_marker_of_nothing_is_refused_by_its_name_and_the_pages_are_told_of_a_stale_number(marker):
    with pytest.raises(InvalidInputError, match=re.escape(REFUSED[marker])) as refused:
        measured_numbers.rewritten(marker)
    assert str(refused.value).startswith(marker.splitlines()[0].removesuffix("7 %"))
    assert measured_numbers.objection(marker)
    assert measured_numbers.objection(":n:`1000 <ratios instances>`") == ""
    assert "run 'make numbers'" in measured_numbers.objection(":n:`1001 <ratios instances>`")
    assert "is stale" in measured_numbers.objection(":if:`all <ratios depl_missed > 0>`")


def test_a_reader_sees_no_marker():
    """A line of Markdown that begins with a comment would be one of HTML as a whole."""
    markdown = "".join((ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "paper.md"))
    assert not re.search(r"(?m)^<!--(?!begin |end-->)", markdown)
    assert (
        measured_numbers.plain("a 1<!--r x-->.\n<!--begin t-->\nb\n<!--end-->\n:n:`2 <r x>`")
        == "a 1.\n\nb\n\n2"
    )
    assert not re.search(r"<!--|:n:|:if:|\.\. begin|\.\. end", "".join(map(text_of, PAGES)))


# The page on all records, and numbers that follow from numbers beside them ------------------------------


def test_every_file_of_attempts_and_record_is_of_a_study_that_exists():
    attempts = {path.name.partition(".")[0] for path in RECORDED.glob("*.jsonl.gz")} | {"behaviour"}
    records = {path.stem for path in RESULTS.glob("*.json")}
    assert {name: study.sweeps for name, study in all_studies().items() if name in attempts | records} == (
        dict.fromkeys(records, False) | dict.fromkeys(attempts, True)
    )
    assert f"relative {CLAIM_TOLERANCE:.0e}".replace("e-0", "e-") in words_of("docs/measured.rst")


def test_the_small_case_of_the_page_on_scenarios():
    text = words_of("docs/scenarios.rst")
    (shown,) = re.findall(r"a loss that misses with ([\d.]+) %", text)
    share = float(shown) / 100
    assert f"(1 - {share:.3f})^{{10}} = {(1 - share) ** 10:.2f}`" in text
    assert f"the two epochs miss {400 * share:.0f} on average" in text
    assert f"that they get through has a probability of {100 * binom.cdf(20, 400, share):.0f} %" in text
