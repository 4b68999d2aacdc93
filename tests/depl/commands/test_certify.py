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


def test_a_promise_that_is_kept_is_certified(ask, written) -> None:
    path, used = written("fresh.csv", 100, 1, "f"), written("used.csv.gz", 5, 0, "u")
    code, text, err = ask("certify", path, "--target", 1.5, "--omega", 0.95, "--chosen-by", used)
    assert (code, err) == (0, "")
    assert text.splitlines()[0] == f"{path}: certified by 100 runs with confidence 0.95"
    assert "1 of 100 exceed the target; at most 1 may" in text
    assert "8 net@site" in text
    assert "the 0.95-quantile is at most 0.999 with confidence 0.95 (rank 99 of 100)" in text
    assert "it is at most 0.996 with probability 0.95, averaged over such samples (rank 96 of 100)" in text
    assert "needed" not in text


def test_too_few_runs_and_a_broken_promise_have_the_exit_code_of_a_check_that_fails(ask, written) -> None:
    few = written("few.csv", 20, 0, "f")
    code, text, err = ask("certify", few, "--target", 1.5, "--omega", 0.95)
    assert code == 3
    assert "the runs used to choose the plan were not named" in err
    assert text.startswith(f"{few}: NOT certified: 20 runs are too few to tell with confidence 0.95\n")
    assert "so few runs certify nothing" in text
    one = ask("certify", written("one.csv", 1, 0, "o"), "--target", 1.5, "--omega", 0.95)[1]
    assert "NOT certified: 1 run is too few to tell with confidence 0.95" in one
    assert "no bound, which takes 59 runs" in text
    assert "59 runs if no more than 0 exceed; 59 to certify nine times in ten if they exceed as often" in text
    code, text, _ = ask("certify", few, "--target", 0.5, "--omega", 0.95, "--confidence", 0.9)
    assert code == 3
    assert text.startswith(
        f"{few}: NOT certified: 20 runs show with confidence 0.9 that the promise is broken\n"
    )
    assert "another plan, or a lower promise" in text


def test_runs_that_ended_early_or_diverged_are_told(ask, written) -> None:
    path = written("short.csv", 62, 0, "f", 2)
    words = ("certify", path, "--target", 1.5, "--omega", 0.9, "--diverged", "f3, gone")
    code, text, _ = ask(*words)
    assert code == 3
    assert "4 of 63 exceed the target" in text
    assert "2 of them because they ended before the plan ('f60', ...)" in text
    assert "2 of them because they diverged or were lost ('f3', ...)" in text
    assert "no bound, because too many runs have no final value (rank 61 of 63)" in text
    assert "89 runs if no more than 4 exceed" in text
    content = json.loads(ask(*words, "--json")[1])
    assert (content["stopped"], content["diverged"]) == (["f60", "f61"], ["f3", "gone"])


def test_runs_too_flat_to_be_told_exceed_and_are_told(ask, tmp_path) -> None:
    flat = Traces(["flat"] * 9, np.arange(9), ["net"] * 9, ["site"] * 9, np.full(9, 0.7))
    both = [
        np.concatenate([getattr(part, name) for part in (drawn(30, 0, "f"), flat)])
        for name in ("run", "epoch", "model", "cluster", "loss")
    ]
    write_traces(tmp_path / "flat.csv", Traces(*both, provenance=PLANNED))
    words = ("certify", tmp_path / "flat.csv", "--target", 1.5, "--omega", 0.9)
    assert "1 of them because they are too flat to be told from others ('flat')" in ask(*words)[1]
    assert json.loads(ask(*words, "--json")[1])["flat"] == ["flat"]


def test_json_holds_the_certificate(ask, written) -> None:
    path, used = written("fresh.csv", 100, 1, "f"), written("used.csv", 5, 0, "u")
    code, text, _ = ask(
        "certify", path, "--target", 1.5, "--omega", 0.95, "--confidence", 0.9, "--chosen-by", used, "--json"
    )
    content = json.loads(text)
    assert code == 0
    assert (content["certified"], content["verdict"], content["runs"]) == (True, "certified", 100)
    assert (content["target"], content["level"], content["confidence"]) == (1.5, 0.95, 0.9)
    assert (content["exceedances"], content["schedule"], content["chosen_by"]) == (1, "8 net@site", [used])
    few = written("few.csv", 5, 0, "f")
    content = json.loads(ask("certify", few, "--target", 1.5, "--omega", 0.95, "--json")[1])
    assert content["quantile"] == {"value": None, "rank": None, "least_runs": 59}
    assert content["conformal"] == {"value": None, "rank": None, "least_runs": 19}
    assert content["allowed"] is None


def test_what_cannot_certify_is_refused(ask, written) -> None:
    path = written("fresh.csv", 30, 0, "f")
    code, _, err = ask("certify", path, "--target", 1.5, "--omega", 0.9, "--chosen-by", path)
    assert code == 2
    assert ".run[0]: run 'f0' was used to choose the plan" in err
    for words in (("--omega", 1.2), ("--omega", 0.9, "--confidence", 1), ("--omega", 0.9, "--plan", "none")):
        assert ask("certify", path, "--target", 1.5, *words)[0] == 2
    assert ask("certify", path, "--target", "nan", "--omega", 0.9)[0] == 2
    assert ask("certify", path, "--target", 1, "--omega", 0.9, "--metric", "error_rate")[0] == 2
    code, _, err = ask("certify", "digits-alexnet", "--target", 1, "--omega", 0.9)
    assert code == 2
    assert "--plan: say what the runs were to train (--plan)" in err


def test_several_files_and_instances_may_have_chosen_the_plan(ask, written, tiny, tmp_path) -> None:
    path, used = written("fresh.csv", 30, 0, "f"), written("used.csv", 5, 0, "u")
    other, same = tmp_path / "other.json", tmp_path / "same.json"
    of_others, of_these = fingerprints(drawn(3, 0, "v")), fingerprints(drawn(30, 0, "f").select([4, 9]))
    other.write_text(tiny.replace(run_fingerprints=of_others).to_json(), encoding="utf-8")
    same.write_text(tiny.replace(run_fingerprints=of_these).to_json(), encoding="utf-8")
    words = ("certify", path, "--target", 1.5, "--omega", 0.9, "--chosen-by", used, "--chosen-by")
    code, _, err = ask(*words, other)
    assert (code, err) == (0, "")
    code, _, err = ask(*words, same)
    assert code == 2
    assert ".run[36]: run 'f4' was used to choose the plan" in err
    assert "so are those of 1 other run" in err
    (tmp_path / "bare.json").write_text(tiny.to_json(), encoding="utf-8")
    code, _, err = ask(*words, tmp_path / "bare.json")
    assert code == 2
    assert "tiny carries no fingerprints of the runs that it was fitted to" in err


USED = drawn(60, 0, "u")
SELECTED = {
    "single precision": lambda: altered(USED, USED.loss.astype(np.float32).astype(float), "fresh-"),
    "four decimals": lambda: altered(USED, np.round(USED.loss, 4), "fresh-"),
    "one loss altered": lambda: altered(
        USED, np.where(USED.epoch == 7, 1.2 * USED.loss, USED.loss), "fresh-"
    ),
    "without epoch 0": lambda: altered(USED, prefix="fresh-", keep=USED.epoch > 0),
}


@pytest.mark.parametrize("how", SELECTED)
@pytest.mark.parametrize("source", ["traces", "instance"])
def test_runs_that_chose_the_plan_do_not_pass_as_fresh_ones(
    ask, tiny, tmp_path, how: str, source: str
) -> None:
    """Sixty old runs under new names would certify a promise of 0.95 without anything being trained."""
    write_traces(tmp_path / "fresh.csv", SELECTED[how]())
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


def test_fresh_runs_may_have_the_names_of_those_that_chose_the_plan(ask, tiny, tmp_path) -> None:
    fresh = drawn(60, 0, "u", 0, 1)
    assert fresh.runs == USED.runs
    write_traces(tmp_path / "fresh.csv", fresh)
    (tmp_path / "instance.json").write_text(
        tiny.replace(run_fingerprints=fingerprints(USED)).to_json(), encoding="utf-8"
    )
    words = ("--target", 1.5, "--omega", 0.95, "--chosen-by", tmp_path / "instance.json")
    assert ask("certify", tmp_path / "fresh.csv", *words)[::2] == (0, "")


def test_one_run_written_down_sixty_times_is_no_sample(ask, tmp_path) -> None:
    one, rng = drawn(1, 0, "u"), np.random.default_rng(0)
    copies = [altered(one, one.loss + 1e-9 * rng.normal(size=9), f"{index}-") for index in range(60)]
    columns = ("run", "epoch", "model", "cluster", "loss")
    every = [np.concatenate([getattr(copy, name) for copy in copies]) for name in columns]
    write_traces(tmp_path / "copies.csv", Traces(*every, provenance=PLANNED))
    code, _, err = ask("certify", tmp_path / "copies.csv", "--target", 1.5, "--omega", 0.95)
    assert code == 2
    assert "run '1-u0' is run '0-u0' of the same file once more" in err


def test_runs_that_chose_the_plan_and_cannot_be_known_again_are_noted(ask, written, tmp_path) -> None:
    path = written("fresh.csv", 60, 0, "f")
    write_traces(tmp_path / "used.csv", altered(USED, keep=USED.epoch < 4))
    code, _, err = ask(
        "certify", path, "--target", 1.5, "--omega", 0.95, "--chosen-by", tmp_path / "used.csv"
    )
    assert code == 0
    assert "too short or too flat to be known again: 60 runs that chose the plan ('u0', ...)" in err


def test_a_torn_plan_in_the_traces_is_refused(ask, written, tmp_path) -> None:
    torn = altered(read_traces(written("fresh.csv", 30, 0, "f")), provenance={PLAN: "[]]"})
    write_traces(tmp_path / "torn.csv", torn)
    code, _, err = ask("certify", tmp_path / "torn.csv", "--target", 1.5, "--omega", 0.9)
    assert code == 2
    assert ".provenance.plan: must be stages" in err


def test_a_share_of_exceedances_beyond_the_promise_is_told(ask, written) -> None:
    text = ask("certify", written("f.csv", 20, 3, "f"), "--target", 1.5, "--omega", 0.9)[1]
    assert "too few to tell" in text
    assert "as often as here is too often for a sample of any practical size" in text
    # 0.05 is above 1 / 20 in floating point, 1 - 0.95 even farther
    code, text, _ = ask("certify", written("g.csv", 20, 1, "g"), "--target", 1.5, "--omega", 0.95)
    assert code == 3
    assert "93 runs if no more than 1 exceed; as often as here is too often" in text
