"""Lessons are read and run; notebooks and pages hold what they say, and nothing from elsewhere."""

import ast
import json
import re

import jsonschema
import pytest

from depl.lessons.exercises import EXERCISES
from depl.lessons.export import (
    CellOutput,
    as_notebook,
    handout_of,
    kit_page,
    markdown,
    page_of,
    run_cells,
    slides_of,
)
from depl.lessons.shipped import chosen, lessons, parsed, without_imports
from tests.cases.browser import print_out, seen

SCRIPT = '''r"""
9. Small
========

A *summary*.
"""

# %%
# First
# -----
#
# A paragraph with :math:`a
# b` and :doc:`/risk`.

import matplotlib.pyplot as plt

print("a < b")
plt.plot([1, 2])
plt.xlabel("time")
plt.ylabel("loss")
plt.show()

# %%
# **Exercise 9.1.** How much?

answer = None
check = print
check("9.1", answer)

# %%
# Second
# ------
#
# The last one.


class Page:
    def _repr_html_(self):
        return "<b>page</b>"


Page()

# %%
# We need this:

import math
'''

CODE = {"required": ["outputs", "execution_count"]}
CELL = {
    "required": ["id", "cell_type", "metadata", "source"],
    "properties": {
        "id": {"type": "string", "pattern": "^[a-zA-Z0-9-_]{1,64}$"},
        "cell_type": {"enum": ["markdown", "code"]},
        "metadata": {"type": "object"},
        "source": {"type": "array", "items": {"type": "string"}},
        "execution_count": {"type": ["integer", "null"]},
        "outputs": {"type": "array"},
    },
    "if": {"properties": {"cell_type": {"const": "code"}}},
    "then": CODE,
    "else": {"not": {"anyOf": [{"required": [name]} for name in CODE["required"]]}},
}
NOTEBOOK = {
    "required": ["cells", "metadata", "nbformat", "nbformat_minor"],
    "additionalProperties": False,
    "properties": {
        "nbformat": {"const": 4},
        "nbformat_minor": {"const": 5},
        "metadata": {
            "properties": {
                "kernelspec": {"required": ["name", "display_name"]},
                "language_info": {"required": ["name"]},
            }
        },
        "cells": {"type": "array", "items": CELL},
    },
}
"""What version 4.5 of the format asks of notebooks without outputs, as nbformat's schema has it."""


@pytest.fixture(scope="module")
def lesson():
    return parsed("9_small", SCRIPT)


@pytest.fixture(scope="module")
def shown(lesson):
    return run_cells(lesson)


def test_a_script_is_read_into_title_summary_and_cells_and_lessons_are_chosen_by_number(lesson):
    assert (lesson.number, lesson.title, lesson.summary) == (9, "Small", "A *summary*.")
    first, second, _, last = lesson.cells
    assert without_imports(first.code).startswith('print("a < b")')
    assert without_imports(last.code) == ""
    assert (first.exercises, second.exercises) == ((), ("9.1",))
    assert [lesson.number for lesson in chosen([5, 2, 5])] == [2, 5]
    assert chosen([]) == lessons()


def test_markdown_has_headings_formulas_and_the_words_of_references():
    text = "Heading\n-------\n\nA ``word``, :math:`x\ny`, :ref:`E10\n<erratum-e10>` and :doc:`/risk`:\n\n"
    text += ".. math::\n\n   a + b\n   = c .\n\nEnd."
    wanted = "## Heading\n\nA `word`, $x y$, E10 and *risk*:\n\n$$\na + b\n= c .\n$$\n\nEnd."
    assert markdown(text) == wanted


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.name)
def test_a_notebook_follows_the_schema_holds_all_code_and_no_mark_of_another_language(lesson):
    assert lesson.exercises == tuple(name for name in EXERCISES if name.startswith(f"{lesson.number}."))
    assert all(cell.text and ast.parse(cell.code) for cell in lesson.cells)
    notebook = json.loads(as_notebook(lesson))
    jsonschema.validate(notebook, NOTEBOOK)
    cells = notebook["cells"]
    code, texts = (
        ["".join(cell["source"]) for cell in cells if cell["cell_type"] == kind]
        for kind in ("code", "markdown")
    )
    assert code == [cell.code for cell in lesson.cells if cell.code]
    assert texts[0].startswith(f"# {lesson.number}. {lesson.title}\n\n")
    assert not [text for text in texts if re.search(r":\w+:`|^\.\. |``|^-{4,}$|^={4,}$", text, re.MULTILINE)]
    assert len({cell["id"] for cell in cells}) == len(cells)


def test_a_page_has_formulas_as_mathml_and_frames_around_exercises():
    text = (
        "Heading\n-------\n\nText & :math:`x_1 = 0.5`.\n\n.. math::\n\n   \\{a\\}\n\n"
        "**Exercise 1.1.** *How* much?"
    )
    title, body = page_of(text)
    assert (title, "<mo>.</mo>" in body) == ("", False)
    for part in (
        "<h2>Heading</h2>",
        "<p>Text &amp; <math",
        '<div class="math"><math',
        '<mo stretchy="false">{</mo>',
        '<div class="exercise"><p><strong>Exercise 1.1.</strong> <em>How</em> much?</p>',
    ):
        assert part in body
    assert page_of("Plan\n====\n\nText.", titled=True) == ("Plan", "<p>Text.</p>")


def test_what_a_cell_shows_is_its_output_its_figures_and_the_page_of_its_last_expression(lesson, shown):
    first, _, third, _ = shown
    ((address, words),) = first.pictures
    assert (first.text, words) == ("a < b", "loss against time")
    assert address.startswith("data:image/svg+xml;base64,")
    assert third == CellOutput("", (), "<b>page</b>")
    assert run_cells(lesson) == shown  # the same lesson makes the same files


def test_slides_have_a_title_each_and_output_is_escaped(lesson, shown):
    page = slides_of(lesson, shown)
    titles = re.findall(r"<h[12]>(.*?)</h[12]>", page)
    assert titles == ["9. Small", "First", "First", "First", "Second", "Second"]
    for there in ("a &lt; b", '<img src="data:image/svg+xml;base64,', "<b>page</b>", "3 / 6"):
        assert there in page
    for absent in ("import matplotlib", "check(", "We need this"):
        assert absent not in page


def test_pages_refer_to_no_other_file_a_handout_has_lines_below_its_exercises_and_a_kit_its_tables(
    lesson, shown
):
    page = handout_of(lesson, shown)
    table = kit_page("Plan\n====\n\n====  ====\nfrom  what\n====  ====\n0     open\n====  ====\n")
    for made in (slides_of(lesson, shown), page, table):
        assert not re.findall(r'(?:src|href)="(?!data:)', made)
        assert ("url(" in made, "default-src 'none'" in made) == (False, True)
    assert page.count('<div class="lines">') == len(lesson.exercises) == 1
    assert "The last one." in page
    assert not [word for word in ("check(", "We need this") if word in page]
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
  document.querySelectorAll(".later").forEach((output) => output.classList.remove("later"));
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
def test_keys_turn_the_slides_nothing_runs_over_and_each_prints_on_a_sheet(lesson, tmp_path):
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
