"""``depl figures``: the paper's layout, values and printed sentences; and what it refuses."""

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


def test_the_layout_is_the_papers(attempts):
    wide = paper_drawing(5, attempts)
    left, centre, right = wide.figure.axes
    assert left.get_ylabel() == "cost"
    assert centre.get_ylabel() == "expected loss / optimum's"
    assert right.get_xlabel() == "levels $\\eta$"
    assert len({axes.get_position().y0 for axes in wide.figure.axes}) == 1
    require_legends_outside(wide.figure)


@pytest.mark.parametrize("number", [5, 9])
def test_a_column_has_the_panels_below_each_other(attempts, number):
    column = paper_drawing(number, attempts, layout=COLUMN)
    assert column.figure.get_figwidth() == 3.5
    assert len({axes.get_position().x0 for axes in column.figure.axes}) == 1
    require_legends_outside(column.figure)


def test_the_methods_stand_in_the_places_of_the_paper(ask, attempts, tmp_path):
    chosen = ("expected-cost", "depl-paper")
    drawing = paper_drawing(7, attempts, chosen)
    titles = [axes.get_title(loc="left") for axes in drawing.figure.axes]
    assert titles == ["optimal (expected-cost)", "DepL as printed (depl-paper)"]
    words = ("--methods", "depl,exact", "--out", tmp_path, "--json", "--format", "svg")
    code, out, _ = ask("figures", "--paper", 9, *words)
    assert code == 0
    found = json.loads(out)
    assert found["figure"] == 9
    assert {row["target"] for row in found["values"]} == {"5", "9", "13"}
    assert found["printed"]


def test_verdicts_and_assumed_values_are_told_in_every_layout(ask, tmp_path):
    words = ("--paper", 9, "--format", "svg", "--latex", "--out")
    code, wide, _ = ask("figures", *words, tmp_path / "wide")
    assert code == 0
    picture = (tmp_path / "wide" / "paper-figure-9.svg").read_text(encoding="utf-8")
    code, narrow, _ = ask("figures", *words, tmp_path / "narrow", "--column-width")
    assert code == 0
    caption = narrow.splitlines()[0]
    assert "Printed: best-exp runs a higher number of epochs" in caption
    assert "Here: " in caption
    assert "Assumed: bandwidth, volume, shape, size, initial loss" in caption
    assert "Here: " in (tmp_path / "narrow" / "paper-figure-9.tex").read_text(encoding="utf-8")
    assert "Printed: " not in wide.splitlines()[0]
    for said in ("Printed: best-exp", "assumed: bandwidth", "DepL, our loop with bounds (depl)"):
        assert said in picture


def test_wrong_usage_is_refused(ask, tmp_path):
    for words, told in (
        (["--paper", 3], "2, 4, 5, 6, 7, 8, 9"),
        (["--paper", 5, "--format", "jpg"], "png, svg, pdf"),
        (["--paper", 5, "--methods", "depl,depl"], "different names"),
        (["--paper", 7, "--methods", "nobody", "--out", tmp_path], "nobody"),
        (["--paper", 7, "--family", "tiny", "--out", tmp_path], "'tiny'"),
        (["--paper", 2, "a.npz", "b.npz", "--out", tmp_path], "one file of traces"),
    ):
        code, _, err = ask("figures", *words)
        assert code == 2
        assert told in err
    assert list(tmp_path.iterdir()) == []
