"""The comparison of minimisers: what counts as faster."""

import numpy as np
import pytest

from depl.benchmarks.studies.set_functions import submodular_methods
from depl.benchmarks.studies.set_functions.random_set_functions import hard_grid_cut
from depl.benchmarks.studies.set_functions.submodular_methods import (
    FAMILIES,
    SOLVERS,
    Row,
    measured,
    speed_ratios,
)

POINT, CUTS = "minimum-norm-point", "lovasz"
ROWS = [
    Row("cut", 200, POINT, 0.5, -3.0, True, True),
    Row("cut", 200, CUTS, 6.0, -3.0, True, True),
    Row("cut", 500, POINT, 0.25, -4.0, False, True),
    Row("cut", 500, CUTS, 9.0, -4.0, True, True),
    Row("cut", 10, POINT, 1.0, -1.0, True, False),
    Row("cut", 10, CUTS, 9.0, -1.0, True, False),
]


def test_ratios_count_from_a_size_on_and_only_where_the_faster_one_has_a_proof() -> None:
    assert speed_ratios(ROWS, 200) == {"cut": [12.0, 0.0]}
    assert speed_ratios(ROWS, 10) == {"cut": [12.0, 0.0, 9.0]}
    assert speed_ratios(ROWS[:1], 10) == {}


def test_ratios_of_searches_leave_out_what_both_methods_share() -> None:
    rows = [
        Row("cut", 200, POINT, 1.0, -3.0, True, True, search_seconds=0.25),
        Row("cut", 200, CUTS, 3.0, -3.0, True, True, search_seconds=2.0),
    ]
    assert speed_ratios(rows, 200) == {"cut": [3.0]}
    assert speed_ratios(rows, 200, search=True) == {"cut": [8.0]}


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every attempt is timed once, not up to three times."""
    monkeypatch.setattr(submodular_methods, "_REPEATS", 1)


@pytest.mark.usefixtures("once")
def test_all_methods_that_cover_a_family_are_measured_on_the_same_function() -> None:
    rows = measured(1, (6,), 5.0)
    assert {row.family for row in rows} == set(FAMILIES)
    for family in FAMILIES:
        own = [row for row in rows if row.family == family]
        assert {"brute-force", POINT, CUTS} <= {row.solver for row in own} <= set(SOLVERS)
        assert all(row.optimal for row in own)
        assert max(row.value for row in own) == pytest.approx(min(row.value for row in own), abs=1e-9)


def test_hard_grids_have_small_weights() -> None:
    assert abs(hard_grid_cut(np.random.default_rng(1), 50).modular).max() <= 10
