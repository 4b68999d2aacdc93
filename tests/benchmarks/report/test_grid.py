"""Tables on the page: texts are escaped, columns and rows have names, numbers are whole behind short ones."""

import pytest
from jinja2 import UndefinedError

from depl.benchmarks.analysis.table import Table
from depl.benchmarks.report.grid import LONGEST, decimals_of, grid, shown
from depl.benchmarks.report.template import rendered


def html(content, caption, identity, **settings) -> str:
    """A table as the page has it, in one line."""
    section = {
        "identity": "s",
        "heading": "",
        "paragraphs": (),
        "grids": [grid(content, caption, identity, **settings)],
    }
    page = rendered(
        "depl.benchmarks.report",
        "page.html",
        title="A < B",
        attempts=1,
        suites=["one"],
        records=0,
        counts=[],
        own=[],
        claims=[],
        overview=None,
        summary={"sentence": "", "table": None},
        families=[],
        notes=[],
        tables=[section],
    )
    assert "<title>A &lt; B</title>" in page
    return page.partition('<section id="s">')[2].partition("</section>")[0].replace("\n", "")


def test_texts_and_attributes_are_escaped():
    text = html(Table(("a",), (("<b> & \u202e",),)), 'Say "x" < y', "t")
    assert 'aria-label="Say &#34;x&#34; &lt; y"' in text
    assert "&lt;b&gt; &amp; \\u202e</th>" in text


def test_a_table_names_its_columns_and_rows_and_keeps_whole_numbers_behind_short_ones():
    text = html(Table(("method", "mean_ratio"), (("depl", 1.23456789), ("exact", None))), "Ratios", "ratios")
    assert '<th scope="col">method</th><th scope="col" class="number">mean ratio</th>' in text
    assert (
        '<th scope="row" class="name">depl</th><td class="number" data-value="1.23456789">1.235</td>' in text
    )
    assert '<th scope="row" class="name">exact</th><td class="name">–</td>' in text
    assert "<caption>Ratios</caption>" in text
    assert 'role="region" tabindex="0" aria-label="Ratios"' in text


def test_a_long_table_is_folded_and_says_how_long_it_is():
    content = Table(("n",), tuple((number,) for number in range(LONGEST + 1)))
    assert f"<summary>Many ({LONGEST + 1} rows)</summary>" in html(content, "Many", "many")
    assert "<summary>" not in html(content, "Many", "many", fold=False)
    assert f"<summary>Short ({LONGEST + 1} rows)</summary>" in html(content, "Many", "many", label="Short")


def test_an_empty_table_still_has_its_heading():
    assert '<th scope="col">a</th><th scope="col">b</th>' in html(Table(("a", "b")), "None", "none")


def test_the_first_column_can_lead_to_places_on_the_page():
    text = html(Table(("n", "m"), ((1, 1), (2, 2))), "Links", "links", links={"1": "claim-one"})
    assert '<a href="#claim-one">1</a>' in text
    assert text.count("<a ") == 1


def test_a_name_that_a_template_lacks_is_an_error():
    with pytest.raises(UndefinedError, match="title"):
        rendered("depl.benchmarks.report", "page.html")


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (None, None, "–"),
        (True, None, "yes"),
        (False, None, "no"),
        (3, None, "3"),
        ("a", 2, "a"),
        (1.0, 3, "1.000"),
        (1.23456, None, "1.235"),
        (12345.6, 0, "12346"),
        (1e-9, None, "1e-09"),
    ],
)
def test_values_are_shown_for_people(value, decimals, text):
    assert shown(value, decimals) == text


@pytest.mark.parametrize(
    ("values", "decimals"),
    [
        ((1.0, 1.5), 3),
        ((12.0, 0.5), 2),
        ((1234.5, 1.0), 0),
        ((1e-9, 1.0), None),
        ((1, 2), None),
        ((0.0,), None),
    ],
)
def test_a_column_has_as_many_decimals_as_give_four_digits(values, decimals):
    assert decimals_of(values) == decimals
