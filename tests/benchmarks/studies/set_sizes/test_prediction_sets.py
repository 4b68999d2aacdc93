"""Prediction sets: closed forms, all splits against their enumeration, coverage by simulation, refusals."""

import math
from itertools import combinations

import numpy as np
import pytest

from depl.benchmarks.studies.set_sizes.prediction_sets import (
    Score,
    SetSizes,
    class_scores,
    mean_prediction_sets,
)


def prediction_sets(scores, labels, level, calibration):
    """Of one split: the classes with scores up to the r-th smallest that calibrates."""
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


def test_the_label_score_is_what_the_class_lacks_to_one():
    assert class_scores([[0.7, 0.25], [0.3, 0.75]]).tolist() == [
        pytest.approx([0.3, 0.75]),
        pytest.approx([0.7, 0.25]),
    ]


def test_the_cumulative_score_is_the_probability_of_likelier_classes_and_ties_are_none():
    table = np.array([[0.5, 0.4, 0.2], [0.3, 0.4, 0.2], [0.2, 0.2, 0.6]])
    found = class_scores(table, Score.CUMULATIVE)
    assert found == pytest.approx(np.array([[0, 0, 0.6], [0.5, 0, 0.6], [0.8, 0.8, 0]]))


def test_one_split_by_hand():
    probabilities = [[0.9, 0.6, 0.2, 0.5, 0.1, 0.65], [0.1, 0.4, 0.8, 0.5, 0.9, 0.35]]
    labels = [0, 0, 1, 0, 0, 0]
    found = prediction_sets(class_scores(probabilities), labels, 0.5, [0, 1, 2])
    # Scores 0.1, 0.4, 0.2 rank ceil(4 / 2) = 2, threshold 0.2; sets {}, {1}, {}, none with it.
    assert (found.coverage, found.size) == pytest.approx((0, 1 / 3))
    wider = prediction_sets(class_scores(probabilities), labels, 0.75, [0, 1, 2])
    # Rank 3, threshold 0.4: {}, {1}, {0}.
    assert (wider.size, wider.coverage) == pytest.approx((2 / 3, 1 / 3))


@pytest.mark.parametrize("score", Score)
@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.parametrize(("calibration", "level"), [(1, 0.5), (4, 0.6), (4, 0.8), (6, 0.3), (3, 0.9)])
def test_the_mean_over_all_splits_is_their_enumeration(score, decimals, calibration, level):
    table, labels = drawn(7, seed=5, decimals=decimals)
    scores = class_scores(table, score)
    found = mean_prediction_sets(scores, labels, level, calibration)
    splits = [
        prediction_sets(scores, labels, level, list(chosen)) for chosen in combinations(range(7), calibration)
    ]
    assert found == pytest.approx(np.mean(splits, axis=0))


@pytest.mark.parametrize("score", Score)
@pytest.mark.parametrize("count", [600, pytest.param(1500, marks=pytest.mark.slow)])
def test_the_mean_over_all_splits_is_where_repeated_splits_go(score, count):
    table, labels = drawn(60, classes=5, seed=2)
    scores = class_scores(table, score)
    rng = np.random.default_rng(11)
    splits = [prediction_sets(scores, labels, 0.8, rng.permutation(60)[:30]) for _ in range(count)]
    found = mean_prediction_sets(scores, labels, 0.8, 30)
    for name in ("coverage", "size"):  # the others are too rare here to be seen
        values = np.array([getattr(one, name) for one in splits])
        error = values.std() / math.sqrt(len(values))
        assert abs(getattr(found, name) - values.mean()) <= 4 * error


@pytest.mark.parametrize("calibration", [9, 25, 49])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
def test_without_ties_the_coverage_is_the_rank_over_one_more_whatever_the_network(calibration, level):
    table, labels = drawn(50, seed=3)
    found = mean_prediction_sets(class_scores(table), labels, level, calibration)
    rank = math.ceil(round((calibration + 1) * level, 9))
    assert found.coverage == pytest.approx(rank / (calibration + 1), abs=1e-12)


def test_with_ties_the_coverage_is_more():
    table, labels = drawn(50, seed=3, decimals=1)
    found = mean_prediction_sets(class_scores(table), labels, 0.8, 24)
    assert found.coverage > 20 / 25 + 0.001


@pytest.mark.parametrize("count", [1200, pytest.param(3000, marks=pytest.mark.slow)])
def test_fresh_examples_are_covered_as_promised_and_sizes_are_those_of_a_closed_form(count):
    """p(true) uniform on [0, 1], two classes: E[T] = r / (n + 1), coverage E[T] and size 2 E[T]."""
    rng = np.random.default_rng(4)
    coverages, sizes = [], []
    for _ in range(count):
        true = rng.uniform(size=40)
        found = prediction_sets(class_scores([true, 1 - true]), np.zeros(40, int), 0.9, np.arange(19))
        coverages.append(found.coverage)
        sizes.append(found.size)
    for values, expected in ((coverages, 18 / 20), (sizes, 2 * 18 / 20)):
        assert abs(np.mean(values) - expected) <= 4 * np.std(values) / math.sqrt(count)


@pytest.mark.parametrize("score", Score)
def test_who_knows_has_single_classes_and_who_guesses_has_all(score):
    labels = np.arange(40) % 4
    known = mean_prediction_sets(class_scores(np.eye(4)[:, labels], score), labels, 0.9, 20)
    assert known == pytest.approx((1, 1))
    guessed = mean_prediction_sets(class_scores(np.full((4, 40), 0.25), score), labels, 0.9, 20)
    assert guessed == pytest.approx((1, 4))


def test_label_sets_can_be_empty_and_cumulative_sets_cannot():
    table, labels = drawn(40, seed=1)
    labels = table.argmax(axis=0)  # always right, so that few classes suffice
    by_label, cumulative = (
        mean_prediction_sets(class_scores(table, score), labels, 0.5, 20) for score in Score
    )
    assert by_label.size < 0.6
    assert cumulative.size == pytest.approx(1)


@pytest.mark.parametrize(("runs", "enough"), [(18, False), (19, True)])
def test_with_too_few_examples_to_calibrate_sets_hold_all_classes(runs, enough):
    table, labels = drawn(30, seed=6)
    scores = class_scores(table)
    for found in (
        mean_prediction_sets(scores, labels, 0.95, runs),
        prediction_sets(scores, labels, 0.95, np.arange(runs)),
    ):
        assert (found.size == pytest.approx(3)) == (not enough)


def test_a_single_class_is_in_its_set_as_often_as_it_is_covered():
    found = mean_prediction_sets(np.array([[0.1, 0.2, 0.3, 0.4]]), np.zeros(4, int), 0.5, 3)
    assert found == pytest.approx((0.5, 0.5))
