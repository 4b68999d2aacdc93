"""Sums of labels are those of exact arithmetic, rounded once; asked one at a time or together."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import InverseGamma, Normal
from depl.models.risk.certify import has_contour
from depl.models.risk.contour import Contour, label_table, violation
from depl.models.risk.labels import LabelSums
from depl.models.risk.verdicts import PreparedVerdicts
from tests.problems import atoms, student

TERMS = [
    Term(-scale, law)
    for scale in (1.0, 0.37, 1e-3)
    for law in (Normal(mean=1.0, variance=0.2), InverseGamma(shape=2.5, scale=1.5))
]
CONTOUR = Contour(abscissa=1.5, spacing=0.4, count=19, tilt=3.0)


def exact_sum(counts: np.ndarray, values: np.ndarray) -> float:
    products = [Fraction(count) * Fraction(value) for count, value in zip(counts, values, strict=True)]
    return float(sum(products, Fraction(0)))


def test_a_sum_of_rows_is_the_exact_sum_rounded_once() -> None:
    table, rng = label_table(TERMS, CONTOUR), np.random.default_rng(4)
    sums = LabelSums(table, 512.0)
    for _ in range(2):
        rows = rng.integers(0, len(TERMS), 100)
        counts = rng.integers(1, 5, 100).astype(float)
        found = sums.of_rows(rows, counts)
        for name in ("transform", "mean", "rounding", "tilted", "variance"):
            column = getattr(table, name).reshape(len(table), -1)
            parts = [column.real, column.imag] if np.iscomplexobj(column) else [column]
            got = getattr(found, name).reshape(-1)
            halves = [got.real, got.imag] if np.iscomplexobj(got) else [got]
            for part, half in zip(parts, halves, strict=True):
                exact = [exact_sum(counts, part[rows, place]) for place in range(part.shape[1])]
                rounded_once = name in ("transform", "mean")
                assert half == pytest.approx(exact, rel=3e-16 if rounded_once else 1e-13, abs=1e-300)


def test_without_elementary_bounds_intervals_hold_and_are_no_tighter() -> None:
    labels = label_table(TERMS, CONTOUR).combine(np.eye(len(TERMS)) * 3)
    wider = 0
    for threshold in (-3.0, 0.5, 2.0, 9.0, 400.0):
        lower, upper = violation(CONTOUR, labels, threshold)
        least, most = violation(CONTOUR, labels, threshold, elementary=False)
        assert (least <= lower).all()
        assert (most >= upper).all()
        wider += int((most > upper).sum() + (least < lower).sum())
    assert wider


def test_increments_answer_by_bits_whether_a_loss_has_a_contour() -> None:
    coin = Term(-1.0, atoms(0.0, 1.0))
    wide = Term(1.0, student(2.0, 0.1, 0.2))
    cut = Term(1.0, student(2.0, 0.1, 0.2, -1.0, 2.0))
    growing = Term(1.0, InverseGamma(shape=2.5, scale=1.5))
    kinds = (TERMS[0], TERMS[1], coin, wide, cut, growing)
    prepared, answers = PreparedVerdicts(0.0, Fraction(1, 20)), []
    for index in range(1 << len(kinds)):
        chosen = [kind for place, kind in enumerate(kinds) if index >> place & 1]
        loss = FinalLoss(0.0, tuple((term, 2) for term in chosen))
        asked = prepared._increments.asked(loss, prepared.budget)
        cores = FinalLoss(0.0, tuple(zip(asked.cores, asked.counts, strict=True)))
        assert asked.has_contour == has_contour(cores)
        answers.append(asked.has_contour)
    assert 8 <= sum(answers) <= len(answers) - 8


def test_terms_are_equal_by_value_and_travel_without_their_kept_hash() -> None:
    one, other = Term(-0.5, Normal(mean=1.0, variance=0.2)), Term(-0.5, Normal(mean=1.0, variance=0.2))
    assert hash(one) == hash(other)
    assert {one: 7}[other] == 7
    sent = pickle.dumps(one)
    assert b"_hash" not in sent
    assert pickle.loads(sent) == one
