"""What the benchmark of the expanded graph measures with: random problems, the sparse peer, the figure."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from depl.benchmarks.figures.ratio_against_levels import RatioCurve, curves_of, ratio_against_levels
from depl.benchmarks.measure.results import RESULTS, read
from depl.benchmarks.studies.paths.random_paths import random_path_problem
from depl.benchmarks.studies.paths.sparse_graph import sparse_graph
from depl.heuristics.paths.layered import cost_up
from depl.heuristics.paths.setting import least_weight
from depl.models.risk.rounded import Rounding
from tests.cases.additive_cases import random_problem

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize("epochs", [1, 7, 30])
def test_every_drawn_problem_is_feasible_and_has_to_lose_at_least_half_of_its_loss(epochs):
    for seed in range(5):
        problem = random_path_problem(np.random.default_rng(seed), epochs)
        assert problem.epochs == epochs
        assert 0.1 <= problem.maximum_loss / problem.initial_loss <= 0.5 + 1e-9
        assert problem.feasible(least_weight(problem).path.models)


def test_the_same_state_of_the_generator_draws_the_same_problem():
    one, other = (random_path_problem(np.random.default_rng(3), 9) for _ in range(2))
    assert np.array_equal(one.losses, other.losses)
    assert (one.maximum_time, one.initial_loss) == (other.maximum_time, other.initial_loss)


@pytest.mark.parametrize("rounding", Rounding)
def test_the_sparse_graph_has_the_shortest_paths_of_the_layered_search(rounding):
    finite = 0
    for seed in range(20):
        problem = random_problem(np.random.default_rng(seed), 5, 3, timed=seed % 3 > 0)
        for levels in (6, 25):
            own = sparse_graph(problem, levels, rounding).least_weight()
            if rounding is Rounding.UP:
                assert own == pytest.approx(cost_up(problem, levels), rel=1e-12)
            finite += math.isfinite(own)
    assert finite >= 15


def test_the_figure_has_two_lines_per_curve_and_hollow_markers_where_paths_are_missed():
    curve = RatioCurve("K = 20", (50, 100), (None, 1.1), (0.8, 0.9), (1.0, 0.25))
    axes = ratio_against_levels([curve])
    lines = {tuple(line.get_xdata()): line for line in axes.lines if line.get_linestyle() in ("-", "--")}
    assert list(lines[100,].get_ydata()) == [1.1]
    assert list(lines[50, 100].get_ydata()) == [0.8, 0.9]
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
    assert [line.get_ydata()[0] for line in hollow if len(line.get_ydata())] == [1.1]
    assert axes.get_xscale() == "log"


def test_the_page_shows_what_the_record_says():
    rows = read(RESULTS / "expanded-graph.json").values["curves"]
    shown = re.findall(
        r"   \* - (\d+)\n     - (\d+)\n     - (\d+) %\n((?:     - \S+\n){4})",
        (ROOT / "docs" / "model_selection.rst").read_text(encoding="utf-8"),
    )
    assert len(shown) == 12
    for epochs, levels, missed, ratios in shown:
        row = next(row for row in rows if (row["epochs"], row["eta"]) == (int(epochs), int(levels)))
        assert round(100 * row["missed"]) == int(missed)
        measured = [row[name] for name in ("up_mean", "up_max", "down_mean", "down_min")]
        assert ratios.split()[1::2] == ["--" if value is None else f"{value:.3f}" for value in measured]


def test_the_curves_of_the_record_are_drawn(tmp_path, ask):
    assert ask("bench", "cases", "draw", "expanded-graph", tmp_path)[0] == 0
    assert (tmp_path / "expanded-graph.svg").stat().st_size > 5000
    curves = curves_of(read(RESULTS / "expanded-graph.json").values["curves"])
    assert [curve.label for curve in curves] == ["K = 20", "K = 50", "K = 100"]
    texts = [text.get_text() for text in ratio_against_levels(curves).get_legend().get_texts()]
    assert texts[:3] == [curve.label for curve in curves]
    assert texts[3:] == [
        "some instances: no path",
        "rounded up: keeps the limits",
        "rounded down: a lower bound",
    ]
