"""Runs that share their first epochs count as one with every plan and stage, here and for the verifier."""

import itertools

import msgspec
import numpy as np
import pytest

from depl.models.evaluation.traced_loss import OutsideSupportError, end_law, untrained_law
from depl.models.problem.traced_law import TracedLaw
from depl.models.verifier.traces import traced_loss, untrained
from tests.cases.memory_cases import every_schedule, instance_of, random_law
from tests.cases.traced_law_cases import reading

PER_RUN = [seed for seed in range(40) if reading(seed)["residuals"] == "per_run"]


def forked(law: TracedLaw) -> TracedLaw:
    """Every run twice: the second one has another last loss, and the same beginning."""
    runs = []
    for number, run in enumerate(law.runs):
        losses = (*run.losses[:-1], round(run.losses[-1] + 0.001, 3))
        runs += [
            msgspec.structs.replace(run, origin=number),
            msgspec.structs.replace(run, origin=number, losses=losses),
        ]
    return msgspec.structs.replace(law, runs=tuple(runs))


@pytest.mark.parametrize("seed", PER_RUN[:8])
def test_forks_of_every_run_change_no_promise(seed: int) -> None:
    law = random_law(np.random.default_rng(4000 + seed), **reading(seed))
    twice, compared = forked(law), 0
    for schedule in every_schedule(instance_of(law)):
        try:
            one, other = end_law(law, schedule), end_law(twice, schedule)
        except OutsideSupportError:
            continue
        compared += 1
        proofs = [traced_loss(item, schedule).increments for item in (law, twice)]
        assert one == other
        for mine, others in itertools.zip_longest(*proofs):
            assert np.sort(mine.law.values) == pytest.approx(np.sort(others.law.values), abs=1e-12)
    assert compared > 0
    assert untrained_law(law, 1.0) == untrained_law(twice, 1.0)
    assert untrained(law) == untrained(twice)
