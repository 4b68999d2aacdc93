"""Slides and handouts hold what the lesson says, what its cells show, and nothing from elsewhere."""

import re
from pathlib import Path

import pytest

from depl.lessons.export.pages import handout_of, kit_page, slides_of
from depl.lessons.export.running import CellOutput, Picture, run_cells
from depl.lessons.export.texts import Lesson, chosen, parsed
from tests.benchmarks.report.test_browser import print_out, seen

SCRIPT = '''r"""
9. Small
========

A summary.
"""

# %%
# First
# -----
#
# A paragraph.

import matplotlib.pyplot as plt

print("a < b")
plt.plot([1, 2])
plt.xlabel("time")
plt.ylabel("loss")
plt.show()

# %%
# **Exercise 9.1.** How much?

answer = None
print("9.1", answer)

# %%
# Second
# ------
#
# The last one.


class Page:
    def _repr_html_(self):
        return "<b>page</b>"


Page()
'''


@pytest.fixture(scope="module")
def lesson() -> Lesson:
    return parsed("9_small", SCRIPT)


@pytest.fixture(scope="module")
def shown(lesson: Lesson) -> tuple[CellOutput, ...]:
    return run_cells(lesson)


def test_what_a_cell_shows_is_its_output_its_figures_and_the_page_of_its_last_expression(
    shown: tuple[CellOutput, ...],
) -> None:
    first, _, last = shown
    assert first.text == "a < b"
    assert [picture.alternative for picture in first.pictures] == ["loss against time"]
    assert first.pictures[0].address.startswith("data:image/svg+xml;base64,")
    assert (last.text, last.pictures, last.html) == ("", (), "<b>page</b>")


def test_the_same_lesson_makes_the_same_files(lesson: Lesson, shown: tuple[CellOutput, ...]) -> None:
    assert run_cells(lesson) == shown


def test_slides_have_a_title_each_and_output_is_escaped(
    lesson: Lesson, shown: tuple[CellOutput, ...]
) -> None:
    page = slides_of(lesson, shown)
    assert list(dict.fromkeys(re.findall(r"<h[12]>(.*?)</h[12]>", page))) == ["9. Small", "First", "Second"]
    assert "a &lt; b" in page
    assert "import matplotlib" not in page
    assert '<img src="data:image/svg+xml;base64,' in page
    assert "<b>page</b>" in page


def test_more_than_a_slide_holds_goes_on_on_the_next_one() -> None:
    paragraphs = "".join(f"#\n# Paragraph {number}: {'word ' * 40}\n" for number in range(12))
    long = parsed("9_long", f'"""\n9. Long\n=======\n\nAll.\n"""\n\n# %%\n# First\n# -----\n{paragraphs}\n')
    page = slides_of(long, [CellOutput("", (), "")])
    assert re.findall(r"<h2>(.*?)</h2>", page) == ["First"] * 3
    assert [int(found) for found in re.findall(r"Paragraph (\d+):", page)] == list(range(12))


def test_a_long_line_of_output_is_broken_and_nothing_follows_a_figure_on_its_slide() -> None:
    picture = Picture("data:,", "drawing")
    drawn = parsed("9_drawn", '"""\n9. D\n====\n\nAll.\n"""\n\n# %%\n# Before.\n\nx = 1\n\n# %%\n# After.\n')
    page = slides_of(drawn, [CellOutput("word " * 60, (picture,), ""), CellOutput("", (), "")])
    _, before, after = page.split('<section class="slide')[1:]
    assert "Before." in before
    assert "<figure>" in before
    assert "After." in after
    (output,) = re.findall(r'<pre class="output"[^>]*>(.*?)</pre>', page, re.DOTALL)
    assert max(map(len, output.split("\n"))) <= 88
    assert output.split() == ["word"] * 60


def test_a_cell_that_only_imports_is_not_shown() -> None:
    script = '"""\n9. I\n====\n\nAll.\n"""\n\n# %%\n# We need this:\n\nimport math\n\n# %%\n# The rest.\n'
    importing = parsed("9_importing", script)
    for make in (slides_of, handout_of):
        page = make(importing, [CellOutput("", (), "")] * 2)
        assert "We need this" not in page
        assert "The rest." in page


def test_pages_refer_to_no_other_file(lesson: Lesson, shown: tuple[CellOutput, ...]) -> None:
    for page in (slides_of(lesson, shown), handout_of(lesson, shown), kit_page("Title\n=====\n\nText.\n")):
        assert not re.findall(r'(?:src|href)="(?!data:)', page)
        assert "url(" not in page
        assert "default-src 'none'" in page


def test_a_handout_has_lines_below_its_exercises_and_a_kit_its_tables() -> None:
    (first,) = chosen([1])
    shown = [CellOutput("", (), "") for _ in first.cells]
    page = handout_of(first, shown)
    assert page.count('<div class="lines">') == len(first.exercises)
    assert "check(" not in page
    table = kit_page("Plan\n====\n\n====  ====\nfrom  what\n====  ====\n0     open\n====  ====\n")
    assert "<h1>Plan</h1>" in table
    assert "<td><p>open</p></td>" in table or "<td>open</td>" in table


PROBE = """
const complaints = [];
addEventListener("error", (event) => complaints.push(String(event.message || event.target.outerHTML)), true);
addEventListener("securitypolicyviolation", (event) => complaints.push(event.violatedDirective));
addEventListener("load", () => {
  const slides = [...document.querySelectorAll(".slide")];
  const press = (key) => document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const now = () => slides.findIndex((slide) => slide.classList.contains("now"));
  const turned = [now()];
  const keys = ["ArrowRight", " ", "ArrowLeft", "End", "ArrowRight", "Home"];
  keys.forEach((key) => { press(key); turned.push(now()); });
  const over = slides.filter((slide) => {
    slide.classList.add("now");
    const body = slide.querySelector(".body");
    const wide = [...body.querySelectorAll("pre")].some((pre) => pre.scrollWidth > pre.clientWidth + 1);
    const small = [...body.querySelectorAll("figure")].some((figure) => figure.clientHeight < 250);
    return wide || small || body.scrollHeight > body.clientHeight + 1;
  }).map((slide) => slide.innerText.slice(0, 200));
  parent.postMessage(JSON.stringify({ complaints, turned, over, count: slides.length }), "*");
});
"""


@pytest.mark.browser
@pytest.mark.parametrize("lesson", chosen([]), ids=lambda lesson: lesson.name)
def test_keys_turn_the_slides_nothing_runs_over_and_each_prints_on_a_sheet(
    lesson: Lesson, tmp_path: Path
) -> None:
    page = slides_of(lesson, run_cells(lesson))
    found = seen(page, 1280, tmp_path, PROBE)
    assert found["complaints"] == []
    assert found["over"] == []
    last = found["count"] - 1
    assert found["turned"] == [0, 1, 2, 1, last, last, 0]
    source, printed = tmp_path / "page.html", tmp_path / "page.pdf"
    source.write_text(page, encoding="utf-8")
    print_out(source, printed)
    assert len(re.findall(rb"/Type\s*/Page\b", printed.read_bytes())) == found["count"]
