"""Runs that were lost, by commands: from logs, from traces, fitted and certified, counted or left out."""

import json
from pathlib import Path

import numpy as np
import pytest

from depl.instances.library import load
from depl.models.evaluation.traced_loss import end_law
from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.files import read_traces, write_traces
from depl.models.traces.table import Traces, joined
from tests.cases.fit_cases import SETUP
from tests.cases.lost_run_cases import EPOCHS, LOST, PLAN, TARGET, write

STAGES = ("--loss", "val_loss", "--stages", "net@edge")
FIT = ("--template", "setup.json", "--out", "mine.json")
PROMISE = ("--target", TARGET, "--omega", 0.9, "--plan", "plan.json")
ALL_KEPT, LOST_MISS = pytest.approx(64 / 65), pytest.approx(64 / 81)


@pytest.fixture(autouse=True)
def mine(here: Path) -> Path:
    """A setup and a plan of one model on one cluster, and nothing else."""
    for path in here.iterdir():
        path.unlink()
    target = {"maximum_loss": TARGET, "quantile_level": 0.75, "maximum_epochs": EPOCHS, "maximum_time": 90}
    sites = {"clusters": SETUP["clusters"][:1], "models": [{"name": "net", "size": 1}], "transfers": []}
    (here / "setup.json").write_text(json.dumps(SETUP | sites | {"target": target}), encoding="utf-8")
    plan = {
        "format": "depl-plan",
        "version": 1,
        "data": [{"cluster": "edge", "datasets": ["all"]}],
        "epochs": [{"model": "net", "cluster": "edge", "resources": 1.0}] * EPOCHS,
    }
    (here / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    return here


@pytest.fixture
def promised(ask):
    """What is printed by a fit, and the probability that is promised then, of nine epochs."""

    def fit(*words):
        code, text, err = ask("fit", *words, *FIT)
        assert code == 0, err
        law = load("mine.json").traced_law
        assert law is not None
        return " ".join(text.split()), 1 - end_law(law, PLAN).violation(TARGET).upper

    return fit


@pytest.fixture
def refused(ask):
    def told(*words):
        code, _, err = ask(*words)
        assert code == 2
        return err

    return told


def certified(ask):
    code, text, _ = ask("certify", "runs.csv", *PROMISE)
    return code, " ".join(text.split())


def test_fit_of_a_folder_counts_what_import_and_fit_count(ask, mine, promised, refused) -> None:
    write("keras-history", "nan", mine / "logs")
    assert "--on-missing (on_missing) may be end or drop" in refused("fit", "logs", *STAGES, *FIT)
    ended = ("logs", *STAGES, "--on-missing", "end")
    assert promised(*ended)[1] == LOST_MISS
    assert ask("traces", "import", *ended, "--out", "runs.csv")[0] == 0
    text, kept = promised("runs.csv")
    assert kept == LOST_MISS
    assert "16 runs, each counted as a miss of every plan" in text
    assert "seed" in text.partition("plan never run: ")[2]
    assert "rests on" in ask("solve", "mine.json")[1]
    code, text = certified(ask)
    assert (code, "NOT certified" in text, "16 of 80 exceed the target" in text) == (3, True, True)
    told = ("--on-missing", "end", "--cut-at-random", "seed03")
    said = "--cut-at-random: run 'seed03' diverged and is ended"
    assert said in refused("traces", "import", "logs", *STAGES, *told)


def test_logs_without_the_key_are_refused_until_they_are_counted_or_left_out(
    ask, mine, promised, refused
) -> None:
    write("keras-history", "key", mine / "logs")
    err = refused("fit", "logs", *STAGES, *FIT)
    assert ("16 runs went wrong: " in err, "and 11 others" in err) == (True, True)
    err = refused("fit", "logs", *STAGES, *FIT, "--diverged", 3)
    assert ("the traces know of 16" in err, "--diverged 16 or more" in err) == (True, True)
    assert promised("logs", *STAGES, "--diverged", LOST)[1] == LOST_MISS
    words = ("traces", "import", "logs", *STAGES, "--out", "runs.csv")
    assert ask(*words, "--diverged", "seed0*,seed1[0-5].json")[0] == 0
    code, text = certified(ask)
    assert (code, "16 of them because they diverged or were lost" in text) == (3, True)
    out = [word for run in range(LOST) for word in ("--leave-out", f"seed{run:02}")]
    assert ask(*words, *out)[0] == 0
    code, text = certified(ask)
    assert (code, "left out 16 runs, as told: " in text) == (0, True)
    assert "left out 16, as told: " in promised("runs.csv")[0]
    notes = [row.note for row in load("mine.json").provenance]
    assert any("seed03.json" in note and "--leave-out seed03" in note for note in notes)


def histories(folder: Path, whole: int, short: int) -> None:
    """Keras histories of runs that end well, some after four epochs."""
    rng = np.random.default_rng(1)
    folder.mkdir()
    for run in range(whole + short):
        ends = rng.uniform(0.5, 0.69)
        losses = [float(ends + 0.6**k) for k in range(1, EPOCHS)] + [float(ends)]
        content = {"val_loss": losses[: 4 if run >= whole else EPOCHS]}
        name = f"{'whole' if run < whole else 'short'}{run:02}.json"
        (folder / name).write_text(json.dumps(content), encoding="utf-8")


def test_short_runs_are_misses_unless_their_length_or_their_end_is_told(ask, mine, promised) -> None:
    histories(mine / "logs", 64, 16)
    text, kept = promised("logs", *STAGES)
    assert kept == LOST_MISS
    assert "short64 (ends at epoch 4, others of its schedule go on); " in text
    for planned, wanted in (((), LOST_MISS), (("--stages", "short*=net@edge:4"), ALL_KEPT)):
        words = ("traces", "import", "logs", *STAGES, *planned, "--out", "runs.csv.gz")
        assert ("lost" in ask(*words)[1]) == (not planned)
        assert promised("runs.csv.gz")[1] == wanted
    ask("traces", "import", "logs", *STAGES, "--out", "runs.csv")
    for words in (("logs", *STAGES), ("runs.csv",)):
        text, kept = promised(*words, "--cut-at-random", "short*")
        assert kept == ALL_KEPT
        assert "cut at random 16, as told: short64 (as told); " in text
        text = ask("solve", "mine.json", "--out", "found.json")[1]
        assert "that 16 runs ended early for reasons unlike their losses was said" in text
        assert ask("check", "mine.json", "found.json")[0] == 0


def test_runs_that_end_before_they_were_planned_to_are_lost_though_no_other_trained_the_same(
    ask, mine
) -> None:
    histories(mine / "logs", 20, 2)
    stages = [word for run in (20, 21) for word in ("--stages", f"short{run}=net@edge:2,net@far:7")]
    text = " ".join(ask("traces", "import", "logs", *STAGES, *stages)[1].split())
    assert "lost 2, which fit and certify count as misses: short20 (ends at epoch 4 of 9 planned)" in text


def told(name: str, epochs: int, seed: int = 0) -> Traces:
    rng = np.random.default_rng(seed)
    columns = ([name] * epochs, np.arange(1, epochs + 1), ["net"] * epochs, ["edge"] * epochs)
    return Traces(*columns, 1 + rng.random(epochs))


COUNTED = {
    "": 1,
    "--diverged 2": 2,
    "--diverged r3,gone": 3,
    "--leave-out r0": 0,
    "--leave-out r[1-3]": 1,
    "--cut-at-random r0": 0,
    "--diverged 0": "0 runs were lost as is told, but the traces know of 1: r0 (ends at epoch 3",
    "--leave-out s*": "--leave-out: no run and no file is called 's*'",
    "--leave-out *": "--leave-out: leaves out every run",
    "--cut-at-random r1": "--cut-at-random: no run and no file is called 'r1'",
    "--law independent": "or leave them out, --leave-out NAME, as are known of these traces: r0 (",
}


@pytest.mark.parametrize("words", COUNTED)
def test_what_is_said_of_single_runs_of_traces(ask, mine, words) -> None:
    write_traces(mine / "runs.csv", joined([told(f"r{k}", EPOCHS if k else 3, k) for k in range(12)]))
    code, _, err = ask("fit", "runs.csv", *FIT, *words.split())
    if isinstance(said := COUNTED[words], str):
        assert (code, said in err) == (2, True), err
    else:
        assert (code, load("mine.json").traced_law.diverged) == (0, said)


def test_the_ledger_of_traces_has_one_form_and_is_kept_when_they_are_joined(mine) -> None:
    write_traces(mine / "runs.csv", told("a", 3).with_provenance({"lost runs": "b, c"}))
    with pytest.raises(InvalidInputError, match="must be names and reasons") as caught:
        read_traces("runs.csv").lost  # noqa: B018 - read when it is first needed
    assert caught.value.path == ".provenance.lost runs"
    parts = [told(name, 3).with_provenance({"lost runs": json.dumps({f"{name}2": "gone"})}) for name in "ab"]
    assert joined(parts).lost == {"a2": "gone", "b2": "gone"}
