"""Prediction sets: closed forms, and the mean over all splits against their enumeration."""

import math
from itertools import combinations

import numpy as np
import pytest

from depl.benchmarks.studies.helpers.sets import SetSizes, mean_prediction_sets


def prediction_sets(table, labels, level, calibration):
    """Of one split: the classes with scores up to the r-th smallest that calibrates."""
    scores = 1 - np.asarray(table)
    own = np.array([scores[label, place] for place, label in enumerate(labels)])
    rank = math.ceil(round((len(calibration) + 1) * level, 9))
    chosen = sorted(own[index] for index in calibration)
    threshold = chosen[rank - 1] if rank <= len(chosen) else math.inf
    tested = [index for index in range(len(own)) if index not in set(calibration)]
    return SetSizes(
        coverage=float(np.mean([own[index] <= threshold for index in tested])),
        size=float(np.mean([(scores[:, index] <= threshold).sum() for index in tested])),
    )


def drawn(examples, classes=3, seed=0, decimals=None):
    """Random distributions and labels; few decimals make ties."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(classes), examples).T
    if decimals is not None:
        table = np.round(table, decimals)
        table[-1] = 1 - table[:-1].sum(axis=0)
        table = np.abs(table)
    return table, rng.integers(0, classes, examples)


@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.parametrize(("calibration", "level"), [(1, 0.5), (4, 0.6), (4, 0.8), (6, 0.3), (3, 0.9)])
def test_the_mean_over_all_splits_is_their_enumeration(decimals, calibration, level):
    table, labels = drawn(7, seed=5, decimals=decimals)
    splits = [
        prediction_sets(table, labels, level, list(chosen)) for chosen in combinations(range(7), calibration)
    ]
    found = mean_prediction_sets(table, labels, level, calibration)
    assert found == pytest.approx(np.mean(splits, axis=0))


@pytest.mark.parametrize("calibration", [9, 25, 49])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
def test_without_ties_the_coverage_is_the_rank_over_one_more_whatever_the_network(calibration, level):
    table, labels = drawn(50, seed=3)
    rank = math.ceil(round((calibration + 1) * level, 9))
    found = mean_prediction_sets(table, labels, level, calibration)
    assert found.coverage == pytest.approx(rank / (calibration + 1), abs=1e-12)


LABELS = np.arange(40) % 4


@pytest.mark.parametrize(
    ("table", "labels", "level", "calibration", "found"),
    [
        (np.eye(4)[:, LABELS], LABELS, 0.9, 20, (1, 1)),  # who knows
        (np.full((4, 40), 0.25), LABELS, 0.9, 20, (1, 4)),  # who guesses
        ([[0.9, 0.8, 0.7, 0.6]], np.zeros(4, int), 0.5, 3, (0.5, 0.5)),  # a single class
        (*drawn(30, seed=6), 0.95, 18, (1, 3)),  # too few to calibrate: all classes
    ],
)
def test_sets_that_can_be_told(table, labels, level, calibration, found):
    assert mean_prediction_sets(table, labels, level, calibration) == pytest.approx(found)


def test_sets_are_small_where_the_network_is_always_right_and_not_whole_with_enough_to_calibrate():
    table, _ = drawn(40, seed=1)
    assert mean_prediction_sets(table, table.argmax(axis=0), 0.5, 20).size < 0.6
    assert mean_prediction_sets(*drawn(30, seed=6), 0.95, 19).size < 3
