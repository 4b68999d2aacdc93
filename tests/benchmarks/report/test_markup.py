"""Texts are escaped, tables say what they hold, and drawings do not mix up their parts."""

from html.parser import HTMLParser
from xml.etree.ElementTree import tostring

import pytest

from depl.benchmarks.analysis.table import Table
from depl.benchmarks.report.markup import (
    LONGEST,
    decimals_of,
    drawing,
    element,
    page,
    sentence,
    shown,
    table,
    within,
)
from depl.models.foundation.errors import InvalidInputError

SVG = """<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="200pt"
     height="100pt" viewBox="0 0 200 100"><metadata><a href="http://elsewhere.example"/></metadata>
 <defs><style>*{stroke: red}</style><path id="glyph" d="M0 0"/><clipPath id="clip"><rect/></clipPath></defs>
 <use xlink:href="#glyph"/><g id="axes" clip-path="url(#clip)" style="fill: url(#glyph)"/>
 <text fill="#abcdef">said</text></svg>"""


def html(made) -> str:
    return tostring(made, encoding="unicode", method="html")


def test_texts_and_attributes_are_escaped():
    assert html(element("p", "a < b & c", {"title": '"x" < y'})) == (
        '<p title="&quot;x&quot; < y">a &lt; b &amp; c</p>'
    )


def test_a_sentence_keeps_the_order_of_its_parts():
    made = sentence("one ", element("b", "two"), " three ", element("i", "four"), ".")
    assert html(made) == "<p>one <b>two</b> three <i>four</i>.</p>"


def test_a_table_names_its_columns_and_rows_and_keeps_whole_numbers_behind_short_ones():
    made = table(Table(("method", "mean_ratio"), (("depl", 1.23456789), ("exact", None))), "Ratios", "ratios")
    text = html(made)
    assert '<th scope="col">method</th><th scope="col" class="number">mean ratio</th>' in text
    assert (
        '<th scope="row" class="name">depl</th><td class="number" data-value="1.23456789">1.235</td>' in text
    )
    assert '<th scope="row" class="name">exact</th><td class="name">–</td>' in text
    assert "<caption>Ratios</caption>" in text
    assert 'role="region" tabindex="0" aria-label="Ratios"' in text


def test_a_long_table_is_folded_and_says_how_long_it_is():
    content = Table(("n",), tuple((number,) for number in range(LONGEST + 1)))
    assert html(table(content, "Many", "many")).startswith(
        f"<details><summary>Many ({LONGEST + 1} rows)</summary>"
    )
    assert "details" not in html(table(content, "Many", "many", fold=False))


def test_an_empty_table_still_has_its_heading():
    assert '<th scope="col">a</th><th scope="col">b</th>' in html(table(Table(("a", "b")), "None", "none"))


def test_the_first_column_can_lead_to_places_on_the_page():
    made = table(Table(("n",), ((1,), (2,))), "Links", "links", links={"1": "claim-one"})
    assert '<a href="#claim-one">1</a>' in html(made)
    assert html(made).count("<a ") == 1


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


def test_a_drawing_loses_what_leads_elsewhere_and_gets_ids_of_its_own():
    text = html(drawing(SVG, "figure-one", "What it shows", "f1"))
    assert "elsewhere" not in text
    assert "stroke: red" not in text
    assert "xmlns" not in text
    assert '<path d="M0 0" id="f1-1">' in text
    assert '<use href="#f1-1">' in text
    assert '<clippath id="f1-0">' in text.lower()
    assert 'clip-path="url(#f1-0)"' in text
    assert 'style="fill: url(#f1-1)"' in text
    assert '<text fill="#abcdef">said</text>' in text
    assert "axes" not in text  # an id that nothing uses
    assert 'viewBox="0 0 200 100"' in text
    assert 'role="img" aria-label="What it shows"' in text
    assert "<figcaption>What it shows</figcaption>" in text


def test_what_is_no_drawing_is_refused():
    with pytest.raises(InvalidInputError, match="'figure-one' is no SVG"):
        drawing("<svg", "figure-one", "nothing", "f1")


def test_a_page_is_one_document_with_style_and_script_in_it():
    text = page(
        "A < B", "p > b { color: red }", "if (1 < 2 && true) {}", [within("main", [element("p", "x")])]
    )
    assert text.startswith("<!DOCTYPE html>\n<html")
    assert "<title>A &lt; B</title>" in text
    assert "<style>p > b { color: red }</style>" in text
    assert "<script>if (1 < 2 && true) {}</script>" in text
    HTMLParser().feed(text)
