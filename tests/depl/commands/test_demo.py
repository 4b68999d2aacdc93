"""``depl demo`` and ``depl figures``: rows and values, what is printed, and "proved" only where it is."""

import csv
import json
from dataclasses import replace

import depl
from depl.benchmarks.figures.comparison import Entry
from depl.benchmarks.figures.family import Gallery
from depl.commands import demo
from depl.instances.library import load
from depl.models.solving.methods import register
from depl.models.solving.result import Outcome, Termination
from tests.problems import plan


def slow_epochs(instance, limits):
    """22 - l_max epochs of the steadiest model, with a bound of 80 % of their cost."""
    count = round(22 - instance.target.maximum_loss)
    steady = plan(*[("slow-steady", "A")] * count, data=("training-data",))
    return Outcome(Termination.EXHAUSTED, steady, 0.8 * count)


def rows_of(out, *methods):
    """Cells of the rows of some methods."""
    cells = [[cell.strip() for cell in line.split("|")] for line in out.splitlines()]
    return [row for row in cells if len(row) == 8 and row[1] in methods]


def test_the_demo_prints_a_row_for_every_target_and_writes_the_figures(
    ask, tmp_path, monkeypatch, own_methods
):
    """The gallery itself is drawn where it is tested."""
    register("demo-slow", slow_epochs)
    monkeypatch.setattr(demo, "FAMILIES", ("paper-alexnet",))
    monkeypatch.setattr(demo, "METHODS", ("exact", "demo-slow", "expected-greedy"))
    monkeypatch.setattr(Gallery, "write", lambda self, folder: [folder / "cost.png", folder / "cost.svg"])
    code, out, err = ask("demo", "--out", tmp_path / "figures")
    assert (code, err) == (0, "")
    rows = rows_of(out, "demo-slow")
    assert [[row[0], *row[2:5]] for row in rows] == [
        ["5", "17", "1.000", "13.6"],
        ["7", "15", "1.071", "12"],
        ["9", "13", "1.083", "10.4"],
        ["11", "11", "1.100", "8.8"],
        ["13", "9", "1.125", "7.2"],
    ]
    assert rows[0][5] == "0 / 0 / 17"
    assert all(float(row[6].removeprefix(">= ")) > 0.99 for row in rows)
    assert {row[3] for row in rows_of(out, "exact")} == {"proved optimum"}
    assert (str(tmp_path / "figures" / "cost.png") in out, "cost.svg" in out) == (True, False)
    assert "enumerate agrees: it proves the same optimum at every target (to 1e-09)" in out
    assert "All methods agree (proved cheapest on these scenarios, costs equal to 1e-09)" in out


def entries_of(*methods):
    instance = load("paper-alexnet", 9)
    return [Entry("9", instance, method, depl.solve(instance, method)) for method in methods]


def test_ratios_are_over_what_is_proved_and_nothing_else_is_called_proved_or_known(own_methods):
    register("demo-slow", slow_epochs)
    exact, greedy, slow, cheap = entries_of("exact", "expected-greedy", "demo-slow", "expected-cost")
    refused = Entry("9", exact.instance, "refuses", None, "covers nothing")
    for entries, cells in (
        ((exact, greedy, refused), ["12 proved optimum 12", "33.8 2.817 ", "no plan  "]),
        ((slow, cheap), ["13 <= 1.25 10.4", "12 <= 1.154 "]),
        ((cheap,), ["12 no bound known "]),
    ):
        rows = rows_of(demo.comparison_table(entries), *(entry.method for entry in entries))
        assert [" ".join(row[2:5]) for row in rows] == cells


def test_a_second_method_that_proves_less_does_not_agree():
    first, second = entries_of("exact", demo.SECOND_METHOD)
    assert demo.agreement([first, second]).startswith("enumerate agrees")
    assert "does NOT agree" in demo.agreement([first])
    assert "does NOT agree" in demo.agreement([first, replace(second, result=None)])


def test_a_figure_is_written_with_values_verdicts_and_what_is_printed(ask, tmp_path):
    words = ("figures", "--paper", 9, "--methods", "depl,exact", "--out")
    code, _, err = ask(*words, tmp_path / "figures")
    assert code == 0, err
    endings = ("-printed.csv", ".csv", ".pdf", ".png", ".svg", ".tex")
    found = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert found == [f"paper-figure-9{end}" for end in endings]
    latex = (tmp_path / "figures" / "paper-figure-9.tex").read_text(encoding="utf-8")
    assert all(said in latex for said in (r"\toprule", "Fig. 9 of the paper"))
    told = json.loads(ask(*words, tmp_path, "--json")[1])
    assert (told["figure"], bool(told["printed"])) == (9, True)
    with (tmp_path / "paper-figure-9.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["target"] for row in rows] == [row["target"] for row in told["values"]]
    assert {row["target"] for row in rows} == {"5", "9", "13"}
    picture = (tmp_path / "paper-figure-9.svg").read_text(encoding="utf-8")
    assert all(said in picture for said in ("Printed: best-exp", "assumed: bandwidth"))
