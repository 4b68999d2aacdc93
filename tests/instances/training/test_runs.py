"""Runs: what they record, what they depend on, and what they refuse."""

import sys

import numpy as np
import pytest

from depl.instances.training.families import family
from depl.instances.training.runs import Epoch, model_name, pruning_factor, train_run
from depl.models.foundation.errors import InvalidInputError
from tests.cases.training_cases import small_family

FAMILY = small_family()
TASK = FAMILY.task()
HALF, MORE = Epoch(0.5, "edge"), Epoch(0.75, "far-edge")


def trained(schedule, seed=0):
    return train_run(TASK, schedule, FAMILY.generator(seed))


def test_a_run_learns_and_records_every_epoch_from_the_one_before_training():
    run = trained([HALF] * 10 + [MORE] * 5)
    assert len(run.loss) == len(run.error_rate) == 16
    assert run.loss[10] < 0.6 * run.loss[0]
    assert np.isfinite(run.start_loss).nonzero()[0].tolist() == [11]
    assert run.start_loss[11] != run.loss[10]
    assert run.probabilities.shape == (2, 1, 100)
    assert run.error_rate[-1] == np.mean(run.probabilities.argmax(axis=0) != TASK.material.test.labels)
    # a change of the cluster alone is no switch
    run = trained([HALF] * 2 + [Epoch(0.5, "far-edge")] * 2)
    assert np.isnan(run.start_loss).all()
    assert not np.array_equal(run.loss, trained([HALF] * 4).loss)


def test_names_of_models_stand_for_pruning_factors():
    for factor in (0, 0.25, 0.36, 0.5, 0.75, 0.9):
        assert pruning_factor(model_name(factor)) == factor
    for name in ("full", "pruned-", "pruned-100", "pruned-5x"):
        with pytest.raises(InvalidInputError, match="pruned-0 to pruned-99"):
            pruning_factor(name)


@pytest.mark.parametrize(
    ("schedule", "path", "message"),
    [
        ([], ".schedule", "at least one epoch"),
        ([HALF, Epoch(0.5, "cloud")], ".schedule[1].cluster", "there are edge, far-edge"),
        ([Epoch(1.0, "edge")], ".schedule[0].factor", r"in \[0, 1\)"),
    ],
)
def test_a_schedule_that_cannot_be_trained_is_refused(schedule, path, message):
    with pytest.raises(InvalidInputError, match=message) as caught:
        trained(schedule)
    assert caught.value.path == path


def test_without_its_libraries_training_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    with pytest.raises(InvalidInputError, match="extra 'train'"):
        trained([HALF])
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(InvalidInputError, match="extra 'train'"):
        family("digits-alexnet").task()
