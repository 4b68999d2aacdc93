"""The study of stage 1: what counts as faster, and what each method makes of the best of all subsets."""

import numpy as np
import pytest

from depl.benchmarks.studies import data
from depl.benchmarks.studies.data import EXTENSION, FAMILIES, POINT, SOLVERS, Row, measured, speed_ratios
from depl.benchmarks.studies.set_functions.families import hard_grid_cut

ROWS = [
    Row("cut", 200, POINT, 0.5, 0.25, -3.0, True, True),
    Row("cut", 200, EXTENSION, 6.0, 2.0, -3.0, True, True),
    Row("cut", 500, POINT, 0.25, 0.25, -4.0, False, True),
    Row("cut", 500, EXTENSION, 9.0, 9.0, -4.0, True, True),
    Row("cut", 10, POINT, 1.0, 1.0, -1.0, True, False),
    Row("cut", 10, EXTENSION, 9.0, 9.0, -1.0, True, False),
]


def test_ratios_count_from_a_size_on_and_only_where_the_faster_one_has_a_proof() -> None:
    assert speed_ratios(ROWS, 200) == {"cut": [12.0, 0.0]}
    assert speed_ratios(ROWS, 10) == {"cut": [12.0, 0.0, 9.0]}
    assert speed_ratios(ROWS, 200, search=True) == {"cut": [8.0, 0.0]}
    assert speed_ratios(ROWS[:1], 10) == {}


def test_all_methods_that_cover_a_family_are_measured_on_the_same_function(monkeypatch) -> None:
    monkeypatch.setattr(data, "_REPEATS", 1)
    rows = measured(1, (6,), 5.0)
    assert {row.family for row in rows} == set(FAMILIES)
    for family in FAMILIES:
        own = [row for row in rows if row.family == family]
        assert {"brute-force", POINT, EXTENSION} <= {row.solver for row in own} <= set(SOLVERS)
        assert all(row.optimal for row in own)
        assert max(row.value for row in own) == pytest.approx(min(row.value for row in own), abs=1e-9)


def test_hard_grids_have_small_weights() -> None:
    assert abs(hard_grid_cut(np.random.default_rng(1), 50).modular).max() <= 10


def test_depl_finds_the_best_of_all_subsets_and_the_others_may_not() -> None:
    rows = data._methods(np.random.default_rng(4), 3)
    assert len(rows) == 4 * 3
    assert all(row["worst_ratio"] >= row["mean_ratio"] >= 1 - 1e-9 for row in rows)
    assert all(
        row["optimal_share"] == 1 for row in rows if "depl" in row.values() or "submodular" in row.values()
    )
    assert any(row["optimal_share"] < 1 for row in rows if row["method"] == POINT)
