"""Drawings on the page lead nowhere else and do not mix up their parts."""

import pytest

from depl.benchmarks.report.inline_svg import inline_svg
from depl.models.foundation.errors import InvalidInputError

SVG = """<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="200pt"
     height="100pt" viewBox="0 0 200 100"><metadata><a href="http://elsewhere.example"/></metadata>
 <defs><style>*{stroke: red}</style><path id="glyph" d="M0 0"/><clipPath id="clip"><rect/></clipPath></defs>
 <use xlink:href="#glyph"/><g id="axes" clip-path="url(#clip)" style="fill: url(#glyph)"/>
 <text fill="#abcdef">said</text></svg>"""


def test_a_drawing_loses_what_leads_elsewhere_and_gets_ids_of_its_own():
    text = inline_svg(SVG, "one", "What it shows", "f1")
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
    assert 'class="wide"' in text


def test_what_a_drawing_says_is_escaped():
    made = inline_svg(SVG, "one", 'a <b> & "c"', "f1")
    assert 'aria-label="a <b&gt; &amp; &quot;c&quot;"' in made


@pytest.mark.parametrize(
    ("width", "height", "shape"), [(200, 150, "narrow"), (600, 230, "wide"), (907, 230, "panorama")]
)
def test_the_shape_of_a_drawing_says_how_much_of_the_page_it_takes(width, height, shape):
    made = inline_svg(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}pt" height="{height}pt"/>', "one", "it", "f"
    )
    assert f'class="{shape}"' in made


def test_what_is_no_drawing_is_refused():
    with pytest.raises(InvalidInputError, match="'one' is no SVG"):
        inline_svg("<svg", "one", "nothing", "f1")
