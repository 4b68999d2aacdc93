"""The shipped sets of runs that switch: what they cover, that no seed is used twice, and that they repeat."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from depl.instances.training.counterfactual import Switching, train_branches
from depl.instances.training.families import FAMILIES, family
from depl.instances.training.names import RECORDED_ONLY
from depl.instances.training.recorded import (
    named_traces,
    recorded_counterfactuals,
    recorded_names,
    recorded_traces,
)
from depl.instances.training.recording import described
from depl.instances.training.runs import Epoch, as_traces
from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.counterfactuals import read_counterfactuals
from tests.instances.training.test_recorded import TOLERANCE

ROOT = Path(__file__).resolve().parents[3]
RECORDED = ("digits-alexnet-slow", "digits-mobilenet")
SWITCHES = tuple(range(4, 35, 2))
STAGES = (("pruned-50", "edge"), ("pruned-75", "far-edge"))
JUDGING = Switching(Epoch(0.5, "edge"), Epoch(0.75, "far-edge"), SWITCHES, 47)
FITTING = replace(JUDGING, draw=0)
SETS = {"judging": (JUDGING, range(2000000, 2000120)), "fitting": (FITTING, range(3000000, 3000640))}
NAMES = tuple(f"{name}-{kind}" for name in RECORDED for kind in SETS)


@pytest.mark.parametrize("name", RECORDED)
def test_every_seed_of_the_judging_set_was_trained_at_every_switch_epoch(name):
    found = recorded_counterfactuals(name)
    assert found.seeds == tuple(str(seed) for seed in SETS["judging"][1])
    assert (found.switch_epochs, found.stages, found.epochs) == (SWITCHES, STAGES, 47)
    assert found.table.shape == (120, 16, 48)
    assert not np.isnan(found.table).any()


@pytest.mark.parametrize("name", RECORDED)
def test_the_fitting_set_has_forty_runs_of_every_switch_epoch(name):
    traces = recorded_traces(f"{name}-fitting")
    plans = {(STAGES[0],) * switch + (STAGES[1],) * (47 - switch) for switch in SWITCHES}
    assert {plan: len(runs) for plan, runs in traces.by_schedule().items()} == dict.fromkeys(plans, 40)
    seeds = [int(run.split("/")[0]) for run in traces.runs]
    assert seeds == list(SETS["fitting"][1])
    assert [int(run.split("/")[1]) for run in traces.runs] == [FITTING.switches(seed)[0] for seed in seeds]


def test_no_seed_is_in_two_files():
    for name in RECORDED:
        files = [f"{name}-{kind}" for kind in SETS] + [name]
        seeds = Counter(
            seed for file in files for seed in {run.split("/")[0] for run in recorded_traces(file).runs}
        )
        assert max(seeds.values()) == 1
        assert len(seeds) == 120 + 640 + FAMILIES[name].shipped


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("name", RECORDED)
def test_the_provenance_is_that_of_the_code_as_it_is_with_the_command(name, kind):
    switching, seeds = SETS[kind]
    told = recorded_traces(f"{name}-{kind}").provenance
    now = {**described(family(name), family(name).task()), "schedule": switching.text()}
    assert {key: told[key] for key in ("family", "setup", "schedule", "summary")} == {
        key: now[key] for key in ("family", "setup", "schedule", "summary")
    }
    assert told["command"] == (
        f"depl train --family {name} --runs {len(seeds)} --seed {seeds.start} "
        "--stages pruned-50@edge,pruned-75@far-edge "
        f"--switch-epochs {','.join(map(str, SWITCHES))} --epochs 47"
        + (" --draw-switch 0" if switching.draw == 0 else "")
    )
    assert len(told["commit"]) == 40
    page = (ROOT / "docs" / "traces.rst").read_text(encoding="utf-8").replace("\\\n", " ")
    shown = told["command"].replace(name, "$family") + f" --out $family-{kind}.csv.gz"
    assert shown in " ".join(page.split())


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("name", RECORDED)
def test_the_beginning_of_a_seed_trained_again_gives_the_shipped_losses(name, kind):
    switching, seeds = SETS[kind]
    seed, chosen = seeds[7], family(name)
    switches = [switch for switch in switching.switches(seed) if switch in (4, 6) or switching.draw == 0]
    short = replace(switching, switch_epochs=tuple(switches), epochs=max(switches) + 4)
    runs = train_branches(chosen.task(), short, switches, chosen.generator(seed))
    shipped = {run: index for index, run in enumerate(recorded_traces(f"{name}-{kind}").runs)}
    table = recorded_traces(f"{name}-{kind}").matrix()
    for switch, run in zip(switches, runs, strict=True):
        again = as_traces([str(seed)], [short.schedule(switch)], [run]).loss
        assert np.abs(again - table[shipped[f"{seed}/{switch}"], : len(again)]).max() <= TOLERANCE


@pytest.mark.parametrize("name", RECORDED)
def test_later_switches_leave_a_lower_loss_at_the_end(name):
    final = np.median(recorded_counterfactuals(name).table[:, :, -1], axis=0)
    assert final[0] > 1.1 * final[-1]
    assert (np.diff(final) < 0).sum() >= 10


def test_files_stay_small():
    folder = ROOT / "instances" / "data" / "counterfactuals"
    assert {path.stem for path in folder.iterdir()} == {
        f"{name}-{kind}" for name in RECORDED for kind in SETS
    }
    assert all(path.stat().st_size < 400_000 for path in folder.iterdir())


def test_sets_are_found_by_name_wherever_traces_are():
    assert set(recorded_names()) == {*NAMES, *FAMILIES, *RECORDED_ONLY}
    for name in NAMES:
        assert named_traces(name).runs == recorded_traces(name).runs
    with pytest.raises(InvalidInputError, match="no branches of 'zen-attention'; known are digits-alexnet"):
        recorded_counterfactuals("zen-attention")
    with pytest.raises(InvalidInputError, match="did you mean 'digits-alexnet-slow-fitting'"):
        recorded_traces("digits-alexnet-slow-fiting")


def test_one_switch_epoch_of_each_seed_is_no_tree():
    with pytest.raises(InvalidInputError, match="seed '3000000' has no branch of epoch"):
        read_counterfactuals(recorded_traces(f"{RECORDED[0]}-fitting"))
