"""Chords of penalties lie below them, and the compiled loop with its blocks finds what numpy finds."""

import itertools
import math

import numpy as np
import pytest

from depl.heuristics.bounds.tilted_bound import Chords, _with_floors, tilted_costs
from depl.models.risk.lower_bound.laws import STEP


def read(table, column):
    """One row as the kernel reads it: constant before the first column, on beyond the last."""
    if not column > 0:
        return float(table[0])
    left = min(int(column), len(table) - 2)
    return float(table[left] + (column - left) * (table[left + 1] - table[left]))


def tables(rng, columns):
    """Rising and falling, convex and concave, smooth and rough rows."""
    x = np.arange(columns) * STEP
    return np.array(
        [
            np.exp(1.5 * x),
            -np.exp(2 * x),
            np.log1p(x),
            -np.sqrt(x),
            np.cumsum(rng.random(columns)),
            -np.cumsum(rng.random(columns)),
            rng.normal(size=columns),
        ]
    )


def test_lines_through_what_is_read_at_both_ends_lie_below_the_table():
    rng = np.random.default_rng([17, 1])
    rows = tables(rng, 60)
    table, sag, _ = _with_floors(rows, from_left=True)
    narrow = 0
    for _ in range(150):
        low = math.exp(rng.uniform(-0.1, 0.4))
        high = low * math.exp(rng.uniform(0, 5 * STEP))
        at, left, weight = Chords.of(np.array([low, high]), np.array([low, low]), True).columns
        narrow += weight[0] > 0
        assert left[0] == left[1] == pytest.approx(math.log(low) / STEP)
        if not weight[0]:
            assert at[0] == at[1]
            continue
        for row in range(len(rows)):
            off = weight[0] * sag[row, max(int(left[0]), 0)]
            ends = [read(table[row], column) - off for column in at]
            for share in np.linspace(0, 1, 11):
                h = low + share * (high - low)
                line = ends[0] + share * (ends[1] - ends[0])
                assert line <= read(table[row], math.log(h) / STEP) + 1e-12
    assert narrow > 75


@pytest.mark.parametrize("apart", [True, False])
def test_the_compiled_loop_finds_what_numpy_finds(apart):
    rng = np.random.default_rng([17, 2])
    for trial in range(4):
        epochs, models, pairs = 4, 3, int(rng.integers(1, 40))
        ends = np.sort(rng.uniform(0.9, 1.4, pairs + 1))
        low, high = np.repeat(ends[:-1], 2), np.repeat(ends[1:], 2)
        line = np.repeat(ends, 2)[1:-1]
        rises, falls = Chords.of(line, low, apart), Chords.of(line, high, apart)
        rows = tables(rng, 60)
        rising, falling = _with_floors(rows, from_left=False), _with_floors(-rows, from_left=True)
        psi = rng.uniform(0, 3, (2, models, 2 * pairs)) + 2 * line
        charges = rng.uniform(0, 0.2, 2 * pairs)
        gains = rng.normal(size=(epochs, models))
        places = rng.uniform(0, 8, (epochs, models))
        which = rng.integers(0, len(rows), (epochs, models))
        stretches = np.sort(rng.integers(0, 2, epochs))
        weights, chosen = np.empty((epochs, models)), np.empty((epochs, models), dtype=np.int64)
        price = float(rng.uniform(0, 3))
        tilted_costs(
            psi, stretches, charges, gains, (line, low), price, places, which,
            rising, rises.columns, falling, falls.columns, apart, weights, chosen,
        )  # fmt: skip
        for k, m in itertools.product(range(epochs), range(models)):
            values = []
            for o in range(2 * pairs):
                h = line[o] if gains[k, m] > 0 else low[o]
                value = psi[stretches[k], m, o] + charges[o] - price * gains[k, m] * h
                for (table, sag, _), (at, left, weight) in (
                    (rising, rises.columns),
                    (falling, falls.columns),
                ):
                    if table is falling[0] and not apart:
                        continue
                    value += read(table[which[k, m]], places[k, m] + at[o])
                    value -= weight[o] * sag[which[k, m], int(max(places[k, m] + left[o], 0))]
                values.append(value)
            assert weights[k, m] == pytest.approx(min(values), abs=1e-9), trial
            assert values[chosen[k, m]] == pytest.approx(min(values), abs=1e-9)
