"""``depl figures``: the paper's layout, values, verdicts and printed sentences."""

import csv
import json

import pytest

from depl.benchmarks.figures.paper import COLUMN, paper_drawing
from depl.benchmarks.measure.store import read_attempts
from tests.cases.picture_cases import require_legends_outside


@pytest.fixture(scope="module")
def attempts():
    return [*read_attempts("paper"), *read_attempts("paper-eta")]


def test_a_figure_is_written_with_values_verdicts_and_what_is_printed(ask, tmp_path):
    words = ("figures", "--paper", 9, "--methods", "depl,exact", "--out")
    code, out, err = ask(*words, tmp_path / "narrow", "--latex", "--column-width", "--format", "png")
    assert code == 0, err
    endings = ("-printed.csv", ".csv", ".png", ".tex")
    found = sorted(path.name for path in (tmp_path / "narrow").iterdir())
    assert found == [f"paper-figure-9{end}" for end in endings]
    for said in (
        "Printed: best-exp runs a higher number",
        "Here: ",
        "Assumed: bandwidth, volume, shape, size",
    ):
        assert said in out.splitlines()[0]
    latex = (tmp_path / "narrow" / "paper-figure-9.tex").read_text(encoding="utf-8")
    assert all(said in latex for said in (r"\toprule", "Here: "))
    told = json.loads(ask(*words, tmp_path, "--format", "svg", "--json")[1])
    assert (told["figure"], bool(told["printed"])) == (9, True)
    with (tmp_path / "paper-figure-9.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["target"] for row in rows] == [row["target"] for row in told["values"]]
    assert {row["target"] for row in rows} == {"5", "9", "13"}
    picture = (tmp_path / "paper-figure-9.svg").read_text(encoding="utf-8")
    assert all(said in picture for said in ("Printed: best-exp", "assumed: bandwidth"))


def test_the_layout_and_the_places_of_the_methods_are_those_of_the_paper(attempts):
    left, centre, right = (wide := paper_drawing(5, attempts).figure).axes
    assert (left.get_ylabel(), centre.get_ylabel()) == ("cost", "expected loss / optimum's")
    assert right.get_xlabel() == "levels $\\eta$"
    column = paper_drawing(9, attempts, layout=COLUMN).figure
    assert column.get_figwidth() == 3.5
    for figure, side in ((wide, "y0"), (column, "x0")):
        assert len({getattr(axes.get_position(), side) for axes in figure.axes}) == 1
        require_legends_outside(figure)
    chosen = paper_drawing(7, attempts, ("expected-cost", "depl-paper")).figure.axes
    titles = ["optimal (expected-cost)", "DepL as printed (depl-paper)"]
    assert [axes.get_title(loc="left") for axes in chosen] == titles
