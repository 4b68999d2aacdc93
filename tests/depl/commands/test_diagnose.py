"""``depl diagnose`` and ``depl certify``: verdicts with their numbers, for people and as objects."""

import json
import shutil

import numpy as np
import pytest

from depl.models.problem.instance import Instance
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.traces.files import write_traces
from depl.models.traces.fingerprints import fingerprints
from depl.models.traces.stages import PLAN, plan_text
from depl.models.traces.table import Traces
from tests.cases.drawn_traces import draw_traces
from tests.depl.commands.conftest import sessions

EPOCHS = 8
PLANNED = {PLAN: plan_text((("net", "site"),) * EPOCHS)}
SESSIONS = """
the verdict, its reason, what runs carry and what comes next come first, the rest with details
$ diagnose good.csv --resamples 19
good.csv: the independent law may be used paper's law may be used: whole runs vary
a promise of 0.95 that is right on average, and 0.9 with confidence 0.95 next depl fit good.csv --template
depl fit good.csv --template setup.json --out mine.json --law independent
depl diagnose good.csv --details
- must not be used
- whole runs | 40 | 10 |
$ diagnose bad.csv --resamples 49 --details
bad.csv: the independent law must NOT be used paper's law not to be used: whole runs vary
next depl fit bad.csv --template setup.json --out mine.json #
5 full@site, 5 cut@site | 40 | 10 |
whole runs | 40 | 10 |
40 jumps are estimated

too few runs are told with the number that would do
$ diagnose three.csv --resamples 19
3 of the schedule with most runs: too few for a promise of 0.8, which takes 4 next
a promise of 0.8 takes 4, 0.9 takes 9, 0.95 takes 19, 0.99 takes 99 of them
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
the 0.95-quantile is at most 0.999 with confidence 0.95 (rank 99 of 100)
it is at most 0.996 with probability 0.95, averaged over such samples (rank 96 of 100)
- needed
- named
$ certify f100-1.csv --target 1.5 --omega 0.95 --chosen-by used.csv --confidence 0.9 --json
{"certified": true, "verdict": "certified", "runs": 100, "target": 1.5, "level": 0.95, "confidence": 0.9}
{"exceedances": 1, "schedule": "8 net@site", "chosen_by": ["used.csv"]}

what is not certified says what it takes
$ certify f5-0.csv --target 1.5 --omega 0.95 --json
= 3
{"quantile": {"value": null, "rank": null, "least_runs": 59}, "allowed": null}
{"conformal": {"value": null, "rank": null, "least_runs": 19}}
$ certify f20-0.csv --target 1.5 --omega 0.95
= 3
NOT certified: 20 runs are too few to tell with confidence 0.95
59 runs if no more than 0 exceed; 59 to certify nine times in ten if they exceed as often
the runs used to choose the plan were not named
$ certify f20-0.csv --target 0.5 --omega 0.95 --confidence 0.9
= 3
NOT certified: 20 runs show with confidence 0.9 that the promise is broken
another plan, or a lower promise
$ certify f20-3.csv --target 1.5 --omega 0.9
= 3
too often for a sample of any practical size
$ certify f20-1.csv --target 1.5 --omega 0.95
= 3
93 runs if no more than 1 exceed; as often as here is

runs that ended early or diverged exceed
$ certify short.csv --target 1.5 --omega 0.9 --diverged "f3, gone"
= 3
4 of 63 exceed the target
2 of them because they ended before the plan ('f60', ...)
2 of them because they diverged or were lost ('f3', ...)
no bound, because too many runs have no final value (rank 61 of 63)
$ certify short.csv --target 1.5 --omega 0.9 --diverged "f3, gone" --json
= 3
{"stopped": ["f60", "f61"], "diverged": ["f3", "gone"]}

several files and instances may have chosen the plan, and runs of them do not pass as fresh ones
$ certify f30-0.csv --target 1.5 --omega 0.9 --chosen-by used.csv --chosen-by other.json
- named
$ certify f30-0.csv --target 1.5 --omega 0.9 --chosen-by used.csv --chosen-by same.json
= 2
.run[36]: run 'f4' was used to choose the plan
so are those of 1 other run
$ certify f30-0.csv --target 1.5 --omega 0.9 --chosen-by used.csv --chosen-by instance.json
= 2
tiny carries no fingerprints of the runs that it was fitted to
$ certify renamed.csv --target 1.5 --omega 0.95 --chosen-by all.json
= 2
run 'fresh-u0' was used to choose the plan
$ certify f100-1.csv --target 1.5 --omega 0.95 --chosen-by begun.csv
too short or too flat to be known again: 60 runs that chose the plan ('u0', ...)

runs that were all cut do not pass for runs of a shorter plan, before a loss that rises
$ certify cut.csv --target 2.5 --omega 0.95
= 2
say what the runs were to train (--plan)
$ certify cut.csv --target 2.5 --omega 0.95 --plan eight.json
= 3
60 of 60 exceed the target; 60 of them because they ended before the plan
"""


def drawn(runs: int, misses: int, prefix: str = "f", short: int = 0) -> Traces:
    """Runs of 8 epochs that end at 1 or just below, or at 3 if they miss; the last ``short`` end before."""
    rng = np.random.default_rng([0, *prefix.encode()])
    rows = []
    for run in range(runs):
        end = 3.0 if run < misses else 1 - run / 1000
        losses = [4.0, *rng.uniform(1.6, 2, size=EPOCHS - 1), end]
        kept = losses if run < runs - short else losses[:-1]
        rows += [(f"{prefix}{run}", epoch, "net", "site", loss) for epoch, loss in enumerate(kept)]
    return Traces(*map(np.array, zip(*rows, strict=True)), provenance=PLANNED)


def altered(traces: Traces, loss=None, prefix: str = "", keep=slice(None), provenance=PLANNED) -> Traces:
    """The same runs under names with a prefix, with other losses or with some rows alone."""
    columns = (traces.epoch, traces.model, traces.cluster, traces.loss if loss is None else loss)
    run = np.array([f"{prefix}{name}" for name in traces.run])
    return Traces(*(column[keep] for column in (run, *columns)), provenance=provenance)


def judged() -> dict[str, Traces]:
    """40 runs of the paper's law, five epochs of each of two models; and each stretched by its own factor."""
    good = draw_traces(["full"] * 5 + ["cut"] * 5, 40, np.random.default_rng(1))
    factor = np.random.default_rng(2).normal(1, 0.3, len(good.runs))
    loss = 10 + (good.loss - 10) * np.repeat(factor, np.diff(good.bounds))
    bad = Traces(good.run, good.epoch, good.model, good.cluster, loss)
    return {"good": good, "bad": bad, "three": good.select([0, 1, 2])}


@pytest.fixture(scope="module")
def samples(tiny: Instance, tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("samples")
    used = drawn(60, 0, "u")
    traces = judged() | {
        **{f"f{runs}-{misses}": drawn(runs, misses) for runs in (1, 5, 20, 30) for misses in (0, 1, 3)},
        "f100-1": drawn(100, 1),
        "short": drawn(62, 0, short=2),
        "used": drawn(5, 0, "u"),
        "all": used,
        "renamed": altered(used, loss=np.round(used.loss, 4), prefix="fresh-"),
        "begun": altered(used, keep=used.epoch < 4),
        "cut": altered(used, keep=used.epoch < 8, provenance={}),
    }
    for name, found in traces.items():
        write_traces(folder / f"{name}.csv", found)
    epoch = PlannedEpoch(model="net", cluster="site", resources=1.0)
    eight = Plan(data=(ClusterData(cluster="site", datasets=("d",)),), epochs=(epoch,) * EPOCHS)
    (folder / "eight.json").write_text(eight.to_json(), encoding="utf-8")
    same = drawn(30, 0).select([4, 9])
    for name, runs in (("other", drawn(3, 0, "v")), ("same", same), ("all", used)):
        fitted = tiny.replace(run_fingerprints=fingerprints(runs))
        (folder / f"{name}.json").write_text(fitted.to_json(), encoding="utf-8")
    return folder


@pytest.mark.parametrize("lines", sessions(SESSIONS))
def test_what_is_typed_is_answered(follow, here, samples, lines) -> None:
    shutil.copytree(samples, here, dirs_exist_ok=True)
    follow(lines)


def test_figures_are_drawn_and_the_same_seed_gives_the_same_answer(ask, samples, tmp_path) -> None:
    words = ("diagnose", samples / "good.csv", "--resamples", 9, "--json", "--seed")
    code, out, err = ask(*words, 3, "--figure", tmp_path / "new.png")
    assert (code, "drawn in" in err) == (0, True)
    for name in ("verdict", "loss", "fits"):
        assert (tmp_path / f"new-{name}.png").stat().st_size > 1000
    assert out == ask(*words, 3)[1] != ask(*words, 4)[1]
    first = json.loads(out)["switches"][0]["laws"][0]
    assert sorted(first["parameters"]) == ["degrees_of_freedom", "location", "scale"]
    assert first["p_value"] == first["goodness"]["bootstrap_p_value"]
