"""What runs lend to a stage: suffix weights by recursion, and how many runs a schedule lends."""

import numpy as np
import pytest

from depl.models.estimation.affine import fit_affine
from depl.models.evaluation.traced_lending import suffix_weights
from depl.models.evaluation.traced_prediction import final_atoms
from tests.models.estimation.test_affine import drawn, schedule


def test_suffix_weights_are_those_of_the_recursion() -> None:
    rng = np.random.default_rng(1)
    retentions, terms, first = rng.uniform(size=7), rng.normal(size=7), 2.5
    loss = first
    for retention, term in zip(retentions, terms, strict=True):
        loss = retention * loss + term
    weights = suffix_weights(retentions)
    assert weights[-1] == 1
    assert weights @ np.r_[first, terms] == pytest.approx(loss, abs=1e-12)
    assert suffix_weights([]).tolist() == [1.0]


def test_no_schedule_lends_more_runs_to_another_than_the_median_schedule() -> None:
    """Stages of four epochs after the switch: 60 runs switched at 2, 15 at 3 and none later lend them."""
    traces = drawn(60, 0.1, np.random.default_rng(5))
    keep = [index for index in range(180) if index < 60 or index < 75 or index >= 165]
    law = fit_affine(traces.select(keep))
    found = final_atoms(law, schedule(4))  # ages to 4: starts 2 and 3; the median of 60 and 15 is 37.5
    assert not found.together
    assert found.donors == 15  # of the first stage: start 5 alone has four epochs of it
    assert found.values.size == 15 * (38 + 15)
