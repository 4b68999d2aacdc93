"""``depl certify``: verdict, numbers, exit codes, JSON, and what it refuses."""

import json

import numpy as np
import pytest

from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.traces.files import read_traces, write_traces
from depl.models.traces.fingerprints import fingerprints
from depl.models.traces.planned import PLAN, plan_text
from depl.models.traces.table import Traces

EPOCHS = 8
PLANNED = {PLAN: plan_text((("net", "site"),) * EPOCHS)}


def drawn(runs: int, misses: int, prefix: str, short: int = 0, seed: int = 0) -> Traces:
    """Runs of 8 epochs that end at 1 or just below, or at 3 if they miss; the last ``short`` end before."""
    rng = np.random.default_rng([seed, *prefix.encode()])
    rows = []
    for run in range(runs):
        end = 3.0 if run < misses else 1 - run / 1000
        losses = [4.0, *rng.uniform(1.6, 2, size=EPOCHS - 1), end]
        kept = losses if run < runs - short else losses[:-1]
        rows += [(f"{prefix}{run}", epoch, "net", "site", loss) for epoch, loss in enumerate(kept)]
    return Traces(*map(np.array, zip(*rows, strict=True)), provenance=PLANNED)


def altered(traces: Traces, loss=None, prefix: str = "", keep=None, provenance=None) -> Traces:
    """The same runs under names with a prefix, with other losses or with some rows alone."""
    rows = np.ones(traces.rows, dtype=bool) if keep is None else keep
    return Traces(
        np.array([f"{prefix}{name}" for name in traces.run])[rows],
        traces.epoch[rows],
        traces.model[rows],
        traces.cluster[rows],
        (traces.loss if loss is None else loss)[rows],
        provenance=PLANNED if provenance is None else provenance,
    )


@pytest.fixture
def written(tmp_path):
    def write(name: str, *arguments) -> str:
        write_traces(tmp_path / name, drawn(*arguments))
        return str(tmp_path / name)

    return write


ASKED = ("--target", 1.5, "--omega", 0.95)


def test_a_promise_that_is_kept_is_certified_and_json_holds_the_certificate(ask, written) -> None:
    path, used = written("fresh.csv", 100, 1, "f"), written("used.csv.gz", 5, 0, "u")
    words = ("certify", path, *ASKED, "--chosen-by", used)
    code, text, err = ask(*words)
    assert (code, err) == (0, "")
    assert text.splitlines()[0] == f"{path}: certified by 100 runs with confidence 0.95"
    assert "the 0.95-quantile is at most 0.999 with confidence 0.95 (rank 99 of 100)" in text
    assert "it is at most 0.996 with probability 0.95, averaged over such samples (rank 96 of 100)" in text
    assert "needed" not in text
    content = json.loads(ask(*words, "--confidence", 0.9, "--json")[1])
    assert (content["certified"], content["verdict"], content["runs"]) == (True, "certified", 100)
    assert (content["target"], content["level"], content["confidence"]) == (1.5, 0.95, 0.9)
    assert (content["exceedances"], content["schedule"], content["chosen_by"]) == (1, "8 net@site", [used])
    few = json.loads(ask("certify", written("few.csv", 5, 0, "f"), *ASKED, "--json")[1])
    assert few["quantile"] == {"value": None, "rank": None, "least_runs": 59}
    assert few["conformal"] == {"value": None, "rank": None, "least_runs": 19}
    assert few["allowed"] is None


VERDICTS = {
    "too few": (
        (20, 0, ()),
        "NOT certified: 20 runs are too few to tell with confidence 0.95",
        "59 runs if no more than 0 exceed; 59 to certify nine times in ten if they exceed as often",
    ),
    "one": ((1, 0, ()), "NOT certified: 1 run is too few to tell", "no bound, which takes 59 runs"),
    "broken": (
        (20, 0, ("--target", 0.5, "--confidence", 0.9)),
        "NOT certified: 20 runs show with confidence 0.9 that the promise is broken",
        "another plan, or a lower promise",
    ),
    "too often": (
        (20, 3, ("--omega", 0.9)),
        "too few to tell",
        "too often for a sample of any practical size",
    ),
    # 0.05 is above 1 / 20 in floating point, 1 - 0.95 even farther
    "just too often": (
        (20, 1, ()),
        "too few to tell",
        "93 runs if no more than 1 exceed; as often as here is",
    ),
}


@pytest.mark.parametrize("kind", VERDICTS)
def test_what_is_not_certified_has_exit_code_3_and_says_what_it_takes(ask, written, kind: str) -> None:
    (runs, misses, more), verdict, needed = VERDICTS[kind]
    code, text, err = ask("certify", written("f.csv", runs, misses, "f"), *ASKED, *more)
    assert (code, verdict in text, needed in text) == (3, True, True), text
    assert "the runs used to choose the plan were not named" in err


def test_runs_that_ended_early_diverged_or_are_flat_exceed_and_are_told(ask, written, tmp_path) -> None:
    words = ("certify", written("short.csv", 62, 0, "f", 2), *ASKED, "--omega", 0.9, "--diverged", "f3, gone")
    code, text, _ = ask(*words)
    assert code == 3
    assert "4 of 63 exceed the target" in text
    assert "2 of them because they ended before the plan ('f60', ...)" in text
    assert "2 of them because they diverged or were lost ('f3', ...)" in text
    assert "no bound, because too many runs have no final value (rank 61 of 63)" in text
    content = json.loads(ask(*words, "--json")[1])
    assert (content["stopped"], content["diverged"]) == (["f60", "f61"], ["f3", "gone"])
    flat = Traces(["flat"] * 9, np.arange(9), ["net"] * 9, ["site"] * 9, np.full(9, 0.7))
    write_traces(tmp_path / "flat.csv", joined_by_hand([drawn(30, 0, "f"), flat]))
    words = ("certify", tmp_path / "flat.csv", *ASKED, "--omega", 0.9)
    assert "1 of them because they are too flat to be told from others ('flat')" in ask(*words)[1]
    assert json.loads(ask(*words, "--json")[1])["flat"] == ["flat"]


def joined_by_hand(parts) -> Traces:
    columns = ("run", "epoch", "model", "cluster", "loss")
    every = [np.concatenate([getattr(part, name) for part in parts]) for name in columns]
    return Traces(*every, provenance=PLANNED)


def test_what_cannot_certify_is_refused(ask, written, tmp_path) -> None:
    path = written("fresh.csv", 30, 0, "f")
    torn = altered(read_traces(path), provenance={PLAN: "[]]"})
    write_traces(tmp_path / "torn.csv", torn)
    one, rng = drawn(1, 0, "u"), np.random.default_rng(0)
    copies = [altered(one, one.loss + 1e-9 * rng.normal(size=9), f"{index}-") for index in range(60)]
    write_traces(tmp_path / "copies.csv", joined_by_hand(copies))
    for words, told in (
        ((path, "--chosen-by", path), ".run[0]: run 'f0' was used to choose the plan"),
        ((path, "--omega", 1.2), "--omega"),
        ((path, "--confidence", 1), "--confidence"),
        ((path, "--plan", "none"), "none"),
        ((path, "--target", "nan"), "--target"),
        ((path, "--metric", "error_rate"), "--metric"),
        (("digits-alexnet",), "--plan: say what the runs were to train (--plan)"),
        ((tmp_path / "torn.csv",), ".provenance.plan: must be stages"),
        ((tmp_path / "copies.csv",), "run '1-u0' is run '0-u0' of the same file once more"),
    ):
        code, _, err = ask("certify", *words[:1], *ASKED, *words[1:])
        assert (code, told.lstrip("-") in err) == (2, True), (words, err)


def test_several_files_and_instances_may_have_chosen_the_plan(ask, written, tiny, tmp_path) -> None:
    path, used = written("fresh.csv", 30, 0, "f"), written("used.csv", 5, 0, "u")
    prints = {
        "other": fingerprints(drawn(3, 0, "v")),
        "same": fingerprints(drawn(30, 0, "f").select([4, 9])),
        "bare": (),
    }
    found = {}
    for name, of_runs in prints.items():
        made = tiny.replace(run_fingerprints=of_runs) if of_runs else tiny
        (tmp_path / f"{name}.json").write_text(made.to_json(), encoding="utf-8")
        words = (*ASKED, "--omega", 0.9, "--chosen-by", used, "--chosen-by", tmp_path / f"{name}.json")
        found[name] = ask("certify", path, *words)
    assert found["other"][::2] == (0, "")
    assert (found["same"][0], found["bare"][0]) == (2, 2)
    assert ".run[36]: run 'f4' was used to choose the plan" in found["same"][2]
    assert "so are those of 1 other run" in found["same"][2]
    assert "tiny carries no fingerprints of the runs that it was fitted to" in found["bare"][2]


USED = drawn(60, 0, "u")


@pytest.mark.parametrize("source", ["traces", "instance"])
def test_runs_that_chose_the_plan_do_not_pass_as_fresh_ones(ask, tiny, tmp_path, source: str) -> None:
    """Sixty old runs under new names would certify a promise of 0.95 without anything being trained."""
    write_traces(tmp_path / "fresh.csv", altered(USED, np.round(USED.loss, 4), "fresh-"))
    write_traces(tmp_path / "traces.csv", USED)
    (tmp_path / "instance.json").write_text(
        tiny.replace(run_fingerprints=fingerprints(USED)).to_json(), encoding="utf-8"
    )
    chosen_by = tmp_path / {"traces": "traces.csv", "instance": "instance.json"}[source]
    words = ("certify", tmp_path / "fresh.csv", "--target", 1.5, "--omega", 0.95)
    code, _, err = ask(*words, "--chosen-by", chosen_by)
    assert code == 2
    assert "run 'fresh-u0' was used to choose the plan" in err
    assert "so are those of 59 other runs" in err


def test_runs_that_were_all_cut_do_not_pass_for_runs_of_a_shorter_plan(ask, tmp_path) -> None:
    """Where they end at epoch 7 of 8 before a loss that rises, they would all be below the target."""
    risen = altered(USED, np.where(USED.epoch == 8, 3.0, USED.loss), keep=USED.epoch < 8, provenance={})
    write_traces(tmp_path / "cut.csv", risen)
    words = ("certify", tmp_path / "cut.csv", "--target", 2.5, "--omega", 0.95)
    code, _, err = ask(*words)
    assert code == 2
    assert "say what the runs were to train (--plan)" in err
    plan = Plan(
        data=(ClusterData(cluster="site", datasets=("d",)),),
        epochs=(PlannedEpoch(model="net", cluster="site", resources=1.0),) * EPOCHS,
    )
    (tmp_path / "plan.json").write_text(plan.to_json(), encoding="utf-8")
    code, text, _ = ask(*words, "--plan", tmp_path / "plan.json")
    assert code == 3
    assert "60 of 60 exceed the target; 60 of them because they ended before the plan" in text


def test_runs_that_chose_the_plan_and_cannot_be_known_again_are_noted(ask, written, tmp_path) -> None:
    path = written("fresh.csv", 60, 0, "f")
    write_traces(tmp_path / "used.csv", altered(USED, keep=USED.epoch < 4))
    code, _, err = ask(
        "certify", path, "--target", 1.5, "--omega", 0.95, "--chosen-by", tmp_path / "used.csv"
    )
    assert code == 0
    assert "too short or too flat to be known again: 60 runs that chose the plan ('u0', ...)" in err
