"""``depl diagnose`` and ``depl certify``: verdicts with their numbers, for people and as objects."""

import json
import shutil

import numpy as np
import pytest

from depl.models.traces.files import write_traces
from depl.models.traces.fingerprints import fingerprints
from depl.models.traces.stages import PLAN, plan_text
from depl.models.traces.table import Traces
from tests.cases.fit_cases import draw_traces
from tests.depl.commands.conftest import sessions

EPOCHS = 8
PLANNED = {PLAN: plan_text((("net", "site"),) * EPOCHS)}
SESSIONS = """
the verdict, its reason, what runs carry and what comes next come first, the rest with details
$ diagnose good.csv --resamples 19
paper's law may be used: whole runs vary
a promise of 0.95 that is right on average, and 0.9 with confidence 0.95, for a plan that they
did not choose next depl fit good.csv --template
- whole runs | 40 | 10 |
$ diagnose bad.csv --resamples 49 --details
bad.csv: the independent law must NOT be used paper's law not to be used: whole runs vary
5 full@site, 5 cut@site | 40 | 10 |
40 jumps are estimated

too few runs are told with the number that would do
$ diagnose three.csv --resamples 19
3 of the schedule with most runs: too few for a promise of 0.8, which takes 4 next
$ diagnose three.csv --resamples 19 --json
{"facts": null}

fits, tests and verdict are one object
$ diagnose good.csv --resamples 19 --json
{"usable": true, "runs": 40, "metric": "loss", "most_of_one_schedule": 40}
{"whole": {"start_correlation": null}}
{"behind": [{"model": "full", "first": true, "runs": 40}, {"model": "cut", "first": false, "runs": 40}]}
{"fits": [{"combination": "full"}, {"combination": "cut"}]}
{"switches": [{"from": "full", "to": "cut", "jumps": 40}]}
{"switches": [{"laws": [{"family": "student_t"}, {"family": "normal"}]}]}
{"promises": [{"nominal": 0.1}, {"nominal": 0.05}, {"nominal": 0.01}]}
$ diagnose good.csv --resamples 19 --by schedule --json
{"fits": [{"combination": "full / site / 5 full@site, 5 cut@site"}, {}]}

a promise that is kept is certified
$ certify f100-1.csv --target 1.5 --omega 0.95 --chosen-by used.csv
f100-1.csv: certified by 100 runs with confidence 0.95
- named
$ certify f100-1.csv --target 1.5 --omega 0.95 --chosen-by used.csv --json
{"certified": true, "verdict": "certified", "runs": 100, "target": 1.5, "level": 0.95, "confidence": 0.95}
{"exceedances": 1, "schedule": "8 net@site", "chosen_by": ["used.csv"]}
{"quantile": {"value": 0.999, "rank": 99}, "conformal": {"value": 0.996, "rank": 96}}

what is not said is taken from the instance that chose the plan, if it is one
$ certify f100-1.csv --chosen-by chose.json
taken: target 1.5 from chose.json, omega 0.95 from chose.json, metric loss from chose.json, plan from f100
$ certify f100-1.csv --chosen-by chose.json --chosen-by used.csv --omega 0.9 --json
{"target": 1.5, "level": 0.9, "taken": {"target": "chose.json", "metric": "chose.json", "plan": "f100-1.csv"}}
$ certify f100-1.csv --chosen-by used.csv
= 2
--target: is told by none of the instances that chose the plan; give it
$ certify f100-1.csv --omega 0.9 --chosen-by chose.json --chosen-by same.json
= 2
--target: is 1.5 and 6.5 in the instances that chose the plan; give it
$ certify f100-1.csv --plan other.json --chosen-by chose.json
= 2
--target: the plan was made for another instance, or at another target, than those that chose it
$ certify . --plan other.json --target 1 --omega 0.9 --chosen-by chose.json
= 2
--loss: say what the logs call it; those that chose the plan do not

what is not certified says what it takes
$ certify f5-0.csv --target 1.5 --omega 0.95 --json
= 3
{"quantile": {"value": null, "rank": null, "least_runs": 59}, "allowed": null}
{"conformal": {"value": null, "rank": null, "least_runs": 19}}
$ certify f20-0.csv --target 1.5 --omega 0.95
= 3
NOT certified: 20 runs are too few to tell with confidence 0.95
the runs used to choose the plan were not named
$ certify f20-0.csv --target 0.5 --omega 0.95 --confidence 0.9
= 3
NOT certified: 20 runs show with confidence 0.9 that the promise is broken
$ certify f20-3.csv --target 1.5 --omega 0.9
= 3
too often for a sample of any practical size
$ certify f20-1.csv --target 1.5 --omega 0.95
= 3
93 runs if no more than 1 exceed; as often as here is

runs of which some diverged exceed, and those that chose the plan do not pass as fresh ones
$ certify f20-1.csv --target 1.5 --omega 0.9 --diverged "f3, gone" --json
= 3
{"diverged": ["f3", "gone"], "exceedances": 3}
$ certify f30-0.csv --target 1.5 --omega 0.9 --chosen-by used.csv --chosen-by same.json
= 2
.run[36]: run 'f4' was used to choose the plan
$ certify f30-0.csv --target 1.5 --omega 0.9 --chosen-by used.csv --chosen-by instance.json
= 2
tiny carries no fingerprints of the runs that it was fitted to
"""


def drawn(runs, misses, prefix="f"):
    """Runs of 8 epochs that end at 1 or just below, or at 3 if they miss."""
    rng = np.random.default_rng([0, *prefix.encode()])
    rows = []
    for run in range(runs):
        losses = [4.0, *rng.uniform(1.6, 2, size=EPOCHS - 1), 3.0 if run < misses else 1 - run / 1000]
        rows += [(f"{prefix}{run}", epoch, "net", "site", loss) for epoch, loss in enumerate(losses)]
    return Traces(*map(np.array, zip(*rows, strict=True)), provenance=PLANNED)


def judged():
    """40 runs of the paper's law, five epochs of each of two models; and each stretched by its own factor."""
    good = draw_traces(["full"] * 5 + ["cut"] * 5, 40, np.random.default_rng(1))
    factor = np.random.default_rng(2).normal(1, 0.3, len(good.runs))
    loss = 10 + (good.loss - 10) * np.repeat(factor, np.diff(good.bounds))
    bad = Traces(good.run, good.epoch, good.model, good.cluster, loss)
    return {"good": good, "bad": bad, "three": good.select([0, 1, 2])}


@pytest.fixture(scope="module")
def samples(tiny, tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    counts = [(5, 0), (20, 0), (20, 1), (20, 3), (30, 0), (100, 1)]
    traces = judged() | {f"f{runs}-{misses}": drawn(runs, misses) for runs, misses in counts}
    for name, found in (traces | {"used": drawn(5, 0, "u")}).items():
        write_traces(folder / f"{name}.csv", found)
    same = tiny.replace(run_fingerprints=fingerprints(drawn(30, 0).select([4, 9])))
    known = fingerprints(drawn(5, 0, "u"))
    chose = tiny.replace(run_fingerprints=known, maximum_loss=1.5, quantile_level=0.95)
    other = {"format": "depl-plan", "version": 1, "instance": tiny.fingerprint}
    for name, text in (("same", same.to_json()), ("chose", chose.to_json()), ("other", json.dumps(other))):
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("lines", sessions(SESSIONS))
def test_what_is_typed_is_answered(follow, here, samples, lines):
    shutil.copytree(samples, here, dirs_exist_ok=True)
    follow(lines)


def test_figures_are_drawn_and_the_same_seed_gives_the_same_answer(ask, samples, tmp_path):
    words = ("diagnose", samples / "good.csv", "--resamples", 9, "--json", "--seed")
    code, out, err = ask(*words, 3, "--figure", tmp_path / "new.png")
    assert (code, "drawn in" in err) == (0, True)
    for name in ("verdict", "loss", "fits"):
        assert (tmp_path / f"new-{name}.png").stat().st_size > 1000
    assert out == ask(*words, 3)[1] != ask(*words, 4)[1]
    first = json.loads(out)["switches"][0]["laws"][0]
    assert sorted(first["parameters"]) == ["degrees_of_freedom", "location", "scale"]
    assert first["p_value"] == first["goodness"]["bootstrap_p_value"]
