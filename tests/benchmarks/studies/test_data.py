"""The study of stage 1: what counts as faster, and what each method makes of the best of all subsets."""

from types import SimpleNamespace

import numpy as np
import pytest

from depl.benchmarks.studies import data
from depl.benchmarks.studies.data import EXTENSION, FAMILIES, POINT, Timed, speed
from depl.benchmarks.studies.helpers.set_functions import hard_grid_cut
from tests.oracles.minimum_cut import graph_of


def answer(value: float, optimal: bool, seconds: float, search: float) -> Timed:
    return Timed(SimpleNamespace(value=value, optimal=optimal), seconds, search)


def test_ratios_count_only_what_the_faster_one_proves_and_end_where_the_other_is_stopped(monkeypatch) -> None:
    told = {
        (POINT, 2): answer(-3.0, True, 0.5, 0.25),
        (EXTENSION, 2): answer(-3.0 + 1e-6, True, 6.0, 2.0),
        (POINT, 3): answer(-4.0, False, 0.25, 0.25),
        (EXTENSION, 3): answer(-4.5, False, 9.0, 9.0),
    }
    monkeypatch.setattr(data, "FAMILIES", {data._HARD: lambda rng, size: SimpleNamespace(size=size)})
    monkeypatch.setattr(data, "_SOLVERS", {POINT: POINT, EXTENSION: EXTENSION})
    monkeypatch.setattr(data, "timed", lambda solver, function: told.get((solver, function.size)))
    found = speed(np.random.default_rng(0), (2, 3, 4))
    assert found["speed_ratios"] == {data._HARD: [8.0, 0.0]}
    assert found["speed_ratio_median_with_certificates"] == 6.0
    assert found["largest_disagreement"] == pytest.approx(1e-6 / 3)


def test_both_methods_prove_the_same_of_every_family(monkeypatch) -> None:
    monkeypatch.setattr(data, "_REPEATS", 1)
    found = speed(np.random.default_rng(1), (6,))
    assert found["speed_ratios"].keys() == FAMILIES.keys()
    assert all(ratio > 0 for own in found["speed_ratios"].values() for ratio in own)
    assert found["largest_disagreement"] <= 1e-9


def test_hard_grids_have_small_weights() -> None:
    assert abs(graph_of(hard_grid_cut(np.random.default_rng(1), 50)).modular).max() <= 10


def test_depl_finds_the_best_of_all_subsets_and_the_others_may_not() -> None:
    rows = data._methods(np.random.default_rng(4), 3)
    assert len(rows) == 4 * 3
    assert all(row["worst_ratio"] >= row["mean_ratio"] >= 1 - 1e-9 for row in rows)
    assert all(
        row["optimal_share"] == 1 for row in rows if "depl" in row.values() or "submodular" in row.values()
    )
    assert any(row["optimal_share"] < 1 for row in rows if row["method"] == POINT)
