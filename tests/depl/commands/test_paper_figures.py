"""``depl figures``: the paper's layout, values, verdicts and printed sentences."""

import csv
import json

import pytest

from depl.benchmarks.figures.paper import COLUMN, METHODS, paper_drawing
from depl.benchmarks.measure.store import read_attempts
from tests.cases.picture_cases import require_legends_outside


@pytest.fixture(scope="module")
def attempts():
    return [*read_attempts("paper"), *read_attempts("paper-eta")]


def test_a_figure_is_written_with_values_and_what_is_printed(ask, tmp_path):
    given = ("--format", "png,pdf", "--latex", "--out", tmp_path)
    code, out, err = ask("figures", "--paper", 8, *given)
    assert code == 0, err
    endings = ("-printed.csv", ".csv", ".pdf", ".png", ".tex")
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"paper-figure-8{end}" for end in endings]
    assert (tmp_path / "paper-figure-8.pdf").read_bytes().startswith(b"%PDF")
    with (tmp_path / "paper-figure-8.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["method"] for row in rows} == set(METHODS)
    exact = [row for row in rows if row["method"] == "exact" and row["target"] == "5"]
    assert sum(float(row["cost"]) for row in exact) == pytest.approx(17.0)  # 17 slow-steady epochs of 1
    assert "best-exp incurs the highest cost" in out
    assert r"\toprule" in (tmp_path / "paper-figure-8.tex").read_text()


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


def test_verdicts_and_assumed_values_are_told_in_every_layout(ask, tmp_path):
    words = ("figures", "--paper", 9, "--format", "svg", "--out", tmp_path)
    code, wide, _ = ask(*words, "--json", "--methods", "depl,exact")
    told = json.loads(wide)
    assert (code, told["figure"], bool(told["printed"])) == (0, 9, True)
    assert {row["target"] for row in told["values"]} == {"5", "9", "13"}
    code, wide, _ = ask(*words)
    picture = (tmp_path / "paper-figure-9.svg").read_text(encoding="utf-8")
    for said in ("Printed: best-exp", "assumed: bandwidth", "DepL, our loop with bounds (depl)"):
        assert said in picture
    code, narrow, _ = ask(*words, "--column-width", "--latex")
    caption = narrow.splitlines()[0]
    for said in (
        "Printed: best-exp runs a higher number",
        "Here: ",
        "Assumed: bandwidth, volume, shape, size",
    ):
        assert said in caption
    assert "Printed: " not in wide.splitlines()[0]
    assert "Here: " in (tmp_path / "paper-figure-9.tex").read_text(encoding="utf-8")
