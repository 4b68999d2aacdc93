"""The paper's statements are tried as printed: each count by a case that is known."""

import numpy as np
import pytest

from depl.benchmarks.studies import printed_statements
from depl.benchmarks.studies.printed_statements import (
    added_transforms,
    helps,
    knapsacks,
)


def test_the_corrected_reduction_decides_every_knapsack_and_the_printed_one_only_some(rng):
    found = knapsacks(rng, 12)
    assert found["corrected"] == 0
    assert 0 < found["printed"] < 24


def test_an_answer_without_a_proof_is_wrong(rng, monkeypatch):
    monkeypatch.setattr(printed_statements, "_decided", lambda instance: None)
    found = knapsacks(rng, 1)
    assert found == {"printed": 2, "corrected": 2}


@pytest.fixture
def rng():
    return np.random.default_rng(20261124)


# Values of f on the subsets of {1, 2}: {}, {1}, {2}, {1, 2}.
@pytest.mark.parametrize(
    ("values", "later", "pairs"),
    [
        ((4.0, 3.0, 3.0, 2.0), False, False),  # everything helps
        ((4.0, 5.0, 5.0, 6.0), False, False),  # nothing helps
        ((4.0, 5.0, 3.0, 4.0), True, False),  # 1 does not help, then 2 does
        ((4.0, 5.0, 5.0, 3.0), True, True),  # neither helps, both do
        ((4.0, 4.0, 4.0, 4.0), False, False),
    ],
)
def test_what_helps_after_what_did_not_is_found(values, later, pairs):
    assert helps(np.array(values)) == (later, pairs)


def test_added_transforms_are_safe_and_never_equal(rng):
    found = added_transforms(rng, "paper-alexnet-9", 6)
    assert found["unsafe"] == 0
    # E5: 1.305 in the Gaussian limit, at omega = 0.99; less for few, skewed epochs.
    assert all(1.1 < ratio < 1.35 for ratio in found["ratios"])
