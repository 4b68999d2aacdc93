"""A figure with a slider is one piece of HTML that holds all its positions and refers to nothing else."""

import json
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from depl.lessons.slider import Frame, Polyline, Slider
from depl.models.foundation.errors import InvalidInputError
from tests.benchmarks.report.test_browser import chromium


def rising(height: float, note: str = "a note") -> Frame:
    return Frame(f"h = {height:g}", [Polyline("line", [0.0, 1.0], [0.0, height])], note)


@pytest.fixture
def slider() -> Slider:
    return Slider(
        "height", [rising(1, "first note"), rising(2)], "x & y", "y", (0.0, 1.0), (0.0, 2.0), start=1
    )


def frames(page: str) -> list[dict[str, object]]:
    found = re.search(r'<script type="application/json">(.*?)</script>', page)
    assert found is not None
    return json.loads(found[1])


def test_every_position_is_in_the_page_and_the_first_shown_is_drawn_without_a_script(slider: Slider) -> None:
    page = slider.html()
    first, second = frames(page)
    assert [first["position"], second["position"]] == ["h = 1", "h = 2"]
    # The axes are 492 by 302 and begin at (58, 316): a line to the middle, and one to the corner.
    assert first["paths"] == ["M58.0 316.0L550.0 165.0"]
    assert second["paths"] == ["M58.0 316.0L550.0 14.0"]
    assert '<path class="moving" d="M58.0 316.0L550.0 14.0"' in page
    assert "<output>h = 2</output>" in page


def test_the_page_needs_nothing_else(slider: Slider) -> None:
    assert not re.search(r"(https?:)?//|src=|href=|@import|fetch\(", slider.html())
    assert slider._repr_html_() == slider.html()


def test_the_drawing_is_well_formed_and_its_names_are_escaped(slider: Slider) -> None:
    drawing = re.search(r"<svg.*?</svg>", slider.html())
    assert drawing is not None
    ElementTree.fromstring(drawing[0])
    assert "x &amp; y" in drawing[0]


def test_a_note_cannot_end_the_script_early() -> None:
    page = Slider("height", [rising(1, "</script><b>")], "x", "y", (0, 1), (0, 1)).html()
    assert page.count("</script>") == 2
    assert frames(page)[0]["notes"] == "</script><b>"
    assert "&lt;/script&gt;&lt;b&gt;" in page


def test_two_sliders_of_a_page_have_different_names(slider: Slider) -> None:
    other = Slider("height", [rising(3)], "x", "y", (0, 1), (0, 2))
    names = {re.search(r'id="(slider-\w+)"', each.html())[1] for each in (slider, other)}
    assert len(names) == 2


@pytest.mark.parametrize("given", [[], [rising(1), Frame("0", [], "")]])
def test_frames_that_do_not_fit_together_are_refused(given: list[Frame]) -> None:
    with pytest.raises(InvalidInputError, match="the same lines in every frame"):
        Slider("height", given, "x", "y", (0, 1), (0, 1))


def test_a_start_outside_the_frames_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="a position from 0 to 0"):
        Slider("height", [rising(1)], "x", "y", (0, 1), (0, 1), start=1)


MOVED = """<script>
addEventListener("load", () => {
  const input = document.querySelector("input");
  input.value = 0;
  input.dispatchEvent(new Event("input"));
});
</script>"""


@pytest.mark.browser
def test_moving_the_slider_moves_the_line_the_value_and_the_note(slider: Slider, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(f"<!DOCTYPE html><title>slider</title>{slider.html()}{MOVED}", encoding="utf-8")
    command = [
        chromium(),
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={tmp_path / 'profile'}",
        "--virtual-time-budget=5000",
        "--dump-dom",
        page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert "<output>h = 1</output>" in done.stdout
    assert '<path class="moving" d="M58.0 316.0L550.0 165.0"' in done.stdout
    assert "first note" in re.findall(r'<p class="notes".*?</p>', done.stdout)[0]
