"""The shipped traces: what they cover, where they come from, and that training gives them again."""

import numpy as np
import pytest

from depl.instances.training.families import FAMILIES, family
from depl.instances.training.names import RECORDED_ONLY
from depl.instances.training.recorded import recorded_families, recorded_traces
from depl.instances.training.recording import described
from depl.instances.training.runs import as_traces, train_run
from depl.models.foundation.errors import InvalidInputError

# Where they were recorded the losses come out to the last digit. Other processors and other builds of BLAS
# add in another order: with the kernels of five others, 30 epochs differed by 2e-7, or by 2e-4 where a tie
# was broken the other way.
EPOCHS = 30
TOLERANCE = 1e-3


def test_every_family_has_its_runs():
    assert recorded_families() == tuple(sorted((*FAMILIES, *RECORDED_ONLY)))
    for name, chosen in FAMILIES.items():
        assert recorded_traces(name).runs == tuple(str(seed) for seed in range(chosen.shipped))


@pytest.mark.parametrize("name", FAMILIES)
def test_runs_follow_the_schedules_of_their_seeds(name):
    chosen, traces = family(name), recorded_traces(name)
    for seed in range(0, chosen.shipped, 7):
        wanted = tuple(
            (f"pruned-{round(100 * factor)}", cluster) for factor, cluster in chosen.schedule(seed)
        )
        assert traces.schedules[seed] == wanted
    assert set(traces.last_epochs) == {60}


@pytest.mark.parametrize("name", FAMILIES)
def test_the_provenance_is_that_of_the_code_as_it_is(name):
    told = recorded_traces(name).provenance
    now = described(family(name), family(name).task())
    assert {key: told[key] for key in ("family", "setup", "schedule", "summary")} == {
        key: now[key] for key in ("family", "setup", "schedule", "summary")
    }
    assert told["command"] == f"depl train --family {name} --runs {family(name).shipped} --seed 0"
    assert len(told["commit"]) == 40
    assert told["versions"].startswith("numpy ")


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("digits-alexnet", 0),
        ("digits-mobilenet", 1),
        ("cells-perceptron", 7),
    ],
)
def test_a_seed_trained_again_gives_the_shipped_losses(name, seed):
    chosen, shipped = family(name), recorded_traces(name).select([seed])
    schedule = chosen.schedule(seed)[:EPOCHS]
    again = as_traces([str(seed)], [schedule], [train_run(chosen.task(), schedule, chosen.generator(seed))])
    assert np.abs(again.loss - shipped.loss[: EPOCHS + 1]).max() <= TOLERANCE


@pytest.mark.parametrize("name", ["digits-alexnet", "digits-mobilenet"])
def test_real_networks_learn_and_further_pruning_makes_the_loss_jump(name):
    traces = recorded_traces(name)
    loss = traces.matrix()
    assert np.median(loss[:, -1]) < 0.3 * np.median(loss[:, 0])
    assert np.median(traces.target("error_rate")[traces.epoch == 60]) < 0.25
    jump = (traces.metrics["start_loss"][1:] - traces.loss[:-1])[~np.isnan(traces.metrics["start_loss"][1:])]
    assert (jump > 0).mean() > 0.9


@pytest.mark.parametrize("name", RECORDED_ONLY)
def test_families_no_longer_trained_keep_their_traces(name):
    traces = recorded_traces(name)
    assert len(traces.runs) == (60 if name == "zen-attention" else 100)
    assert traces.provenance["family"] == name
    with pytest.raises(InvalidInputError, match=f"{name} is no longer trained; its recorded traces remain"):
        family(name)


def test_traces_that_are_not_shipped_are_refused():
    with pytest.raises(InvalidInputError, match="no traces of 'none'; known are cells-perceptron"):
        recorded_traces("none")
