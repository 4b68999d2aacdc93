"""Lessons are found and read: cells, exercises, notebooks, formulas."""

import ast
import json
import re

import pytest

from depl.lessons.exercises import EXERCISES
from depl.lessons.export.markup import EXERCISE, HEADING, TEXT, pieces
from depl.lessons.export.notebook import as_notebook, markdown
from depl.lessons.export.texts import Lesson, chosen, lessons, parsed, without_imports
from depl.models.foundation.errors import InvalidInputError

SCRIPT = '''r"""
3. A title
==========

What it is *about*.
"""

# %%
# Heading
# -------
#
# Text with :math:`a
# b` and :doc:`/risk`.

import math

x = 1

# %%
# **Exercise 3.1.** How much?

answer = None
check("3.1", answer)
'''


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.name)
def test_the_cells_of_a_shipped_lesson_are_its_code_and_its_exercises(lesson: Lesson) -> None:
    assert lesson.exercises == tuple(name for name in EXERCISES if name.startswith(f"{lesson.number}."))
    for cell in lesson.cells:
        ast.parse(cell.code)
        assert cell.text


def test_a_script_is_read_into_title_summary_and_cells() -> None:
    lesson = parsed("3_short", SCRIPT)
    assert (lesson.number, lesson.title, lesson.summary) == (3, "A title", "What it is *about*.")
    first, second = lesson.cells
    assert first.code == "import math\n\nx = 1"
    assert without_imports(first.code) == "x = 1"
    assert without_imports("import math") == ""
    assert (first.exercises, second.exercises) == ((), ("3.1",))


def test_lessons_are_chosen_by_number_each_once_and_a_number_that_there_is_not_is_refused() -> None:
    assert [lesson.number for lesson in chosen([5, 2, 5])] == [2, 5]
    assert chosen([]) == lessons()
    with pytest.raises(InvalidInputError, match="there is no lesson 99; they are 1 to"):
        chosen([1, 99])


def test_markdown_has_headings_formulas_and_the_words_of_references() -> None:
    text = "Heading\n-------\n\nA ``word``, :math:`x\ny`, :ref:`E10\n<erratum-e10>` and :doc:`/risk`:\n\n"
    text += ".. math::\n\n   a + b\n   = c .\n\nEnd."
    wanted = "## Heading\n\nA `word`, $x y$, E10 and *risk*:\n\n$$\na + b\n= c .\n$$\n\nEnd."
    assert markdown(text) == wanted


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.name)
def test_a_notebook_holds_all_code_and_no_mark_of_another_language(lesson: Lesson) -> None:
    notebook = json.loads(as_notebook(lesson))
    cells = notebook["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    assert code == [cell.code for cell in lesson.cells if cell.code]
    assert texts[0].startswith(f"# {lesson.number}. {lesson.title}\n\n")
    assert not [text for text in texts if re.search(r":\w+:`|^\.\. |``|^-{4,}$|^={4,}$", text, re.MULTILINE)]
    names = [cell["id"] for cell in cells]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)


def test_pieces_of_a_page_are_headings_texts_and_exercises() -> None:
    found = pieces(
        "Heading\n-------\n\nText & :math:`x_1`.\n\n.. math::\n\n   a\n\n**Exercise 1.1.** *How* much?"
    )
    assert [piece.kind for piece in found] == [HEADING, TEXT, TEXT, EXERCISE]
    assert found[0].html == "Heading"
    assert found[1].html.startswith("<p>Text &amp; <math")
    assert 'display="block"' in found[2].html
    assert found[3].html == "<p><strong>Exercise 1.1.</strong> <em>How</em> much?</p>"
