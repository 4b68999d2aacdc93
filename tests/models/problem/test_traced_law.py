"""The affine law put together, its documents, and fingerprints of instances without one.

What is refused of a document is tabled in ``test_refusals``.
"""

import numpy as np
import pytest

from depl.instances import library
from depl.models.estimation import affine
from depl.models.estimation.affine import fit_affine
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.affine_law import AffineStep, Position, positions
from depl.models.problem.counting import LARGEST_RETENTION
from depl.models.problem.traced_law import traced_law
from tests.cases.affine_runs import coefficients, drawn
from tests.cases.memory_cases import FULL, random_law
from tests.oracles.traced_law import Oracle, places


@pytest.mark.parametrize(
    "place",
    [
        Position(("third", "edge"), None, 1, 0),
        Position(FULL, ("third", "far"), 1, 1),
        Position(FULL, None, 9, 0),
    ],
)
def test_an_epoch_without_a_law_is_refused_in_words(place):
    law = random_law(np.random.default_rng(0)).law
    assert law.find(place) is None
    with pytest.raises(NotCoveredError, match="outside the support of the traces: too few runs were at"):
        law.step(place)


@pytest.mark.parametrize("seed", range(10))
def test_random_laws_are_those_of_their_statement(seed):
    document = random_law(np.random.default_rng(seed), scale=("loss", "log")[seed % 2])
    oracle, law = Oracle(document), document.law
    assert law.scale == document.scale
    for run, (record, schedule) in enumerate(zip(law.records, oracle.schedules, strict=True)):
        assert record.trained == schedule
        assert record.observed.tolist() == list(document.runs[run].losses)
        assert record.losses == pytest.approx(oracle.losses[run], abs=1e-15)
        assert record.positions == tuple(places(schedule))
        for k, place in enumerate(record.positions, start=1):
            step, row = law.step(place), oracle.row(places(schedule)[k - 1])
            assert record.residuals[k - 1] == pytest.approx(oracle.residual(row, run, k), abs=1e-12)
            assert np.sort(step.residuals) == pytest.approx(
                np.sort(oracle.residuals(places(schedule)[k - 1])), abs=1e-12
            )
            before = [oracle.losses[other][at - 1] for other, at in row.pool]
            assert step.losses == pytest.approx((min(before), max(before)), abs=1e-15)
            assert 0 <= step.retention <= LARGEST_RETENTION
    for schedule in {own[:length] for own in oracle.schedules for length in range(1, len(own) + 1)}:
        ends = [(item.trained, item.age) for item, after in _with_next(schedule) if after]
        begin = [run for run, own in enumerate(oracle.schedules) if own[: len(schedule)] == schedule]
        assert list(law.beginnings[tuple(ends)]) == begin


def _with_next(schedule):
    """Every position, and whether its stage ends there."""
    found = positions(schedule)
    return [(place, k + 1 == len(found) or found[k + 1].age == 1) for k, place in enumerate(found)]


# --- documents -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", ["loss", "log"])
def test_a_fitted_law_becomes_a_document_and_comes_back_as_the_same_law(scale, monkeypatch):
    monkeypatch.setattr(affine, "LEAST", 20)
    law = fit_affine(drawn(12, 0.1, np.random.default_rng(0)), scale=scale)
    document = traced_law(law, "independent", 7.0, (0.5, -0.5))
    assert document.residuals == "independent"
    assert (document.unseen_loss, document.deviations) == (7.0, (0.5, -0.5))
    again = document.law
    assert again.scale == document.scale == scale
    assert law.rows.keys() == again.rows.keys()
    assert any(row.ages is not None for row in document.steps)
    for one, other in zip(law.records, again.records, strict=True):
        assert one.positions == other.positions
        np.testing.assert_array_equal(one.residuals, other.residuals)
    for key, step in law.rows.items():
        assert coefficients(step) == coefficients(again.rows[key])
        np.testing.assert_array_equal(np.sort(step.residuals), np.sort(again.rows[key].residuals))
        assert step.losses == again.rows[key].losses


def test_rows_of_the_same_coefficients_stay_apart_as_policies_keep_the_noise_of_a_row_under_it():
    rows = [AffineStep(1.0, 0.0, 0.5, (1, 1), residuals=np.array([-end, end])) for end in (1.0, 2.0)]
    assert len(set(rows)) == 2


OLD_FINGERPRINTS = {
    ("tiny", None): "7190d094920a2395c9c88045cac74ed80fb021547375ae136547aae73ea28103",
    ("paper-alexnet", 5): "b55244ea7e76a37b0c8abda33f6cc19e5f02b8afa81f17b0c8281e63eda6d6d9",
    ("paper-mobilenet", 5): "4a5a0f8a38d55f18d219451453ecc3883144eb3567d49d3bd8a72aedce3ecb88",
}
"""From before instances could have a traced law or unequal nodes."""


@pytest.mark.parametrize(("name", "target"), OLD_FINGERPRINTS)
def test_instances_without_a_traced_law_have_the_fingerprint_they_had(name, target):
    assert library.load(name, target).fingerprint == OLD_FINGERPRINTS[name, target]
