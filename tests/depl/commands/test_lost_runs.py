"""Runs that were lost, by commands: from logs, from traces, fitted and certified, counted or left out."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from depl.commands import fit
from depl.instances.library import load
from depl.models.estimation import instance as fitted
from depl.models.evaluation.traced_loss import end_law
from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.files import read_traces, write_traces
from depl.models.traces.table import Traces, joined
from tests.cases.fit_cases import SETUP
from tests.cases.lost_run_cases import EPOCHS, LOST, PLAN, TARGET, write

ASK = Callable[..., tuple[int, str, str]]
STAGES = ("--loss", "val_loss", "--stages", "net@edge")
FIT = ("--template", "setup.json", "--out", "mine.json")
PROMISE = ("--target", TARGET, "--omega", 0.9, "--plan", "plan.json")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder but for a setup and a plan; p-values of fits are of few resamples."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fit, "_RESAMPLES", 19)
    monkeypatch.setattr(fitted, "_RESAMPLES", 9)
    document = SETUP | {
        "clusters": SETUP["clusters"][:1],
        "models": [{"name": "net", "size": 1}],
        "target": {
            "maximum_loss": TARGET,
            "quantile_level": 0.75,
            "maximum_epochs": EPOCHS,
            "maximum_time": 90,
        },
        "transfers": [],
    }
    (tmp_path / "setup.json").write_text(json.dumps(document), encoding="utf-8")
    plan = {
        "format": "depl-plan",
        "version": 1,
        "data": [{"cluster": "edge", "datasets": ["all"]}],
        "epochs": [{"model": "net", "cluster": "edge", "resources": 1.0}] * EPOCHS,
    }
    (tmp_path / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    return tmp_path


def promised() -> float:
    """By the instance that was fitted, of nine epochs."""
    law = load("mine.json").traced_law
    assert law is not None
    return 1 - end_law(law, PLAN).violation(TARGET).upper


def test_fit_of_a_folder_counts_what_import_and_fit_count(ask: ASK, here: Path) -> None:
    write("keras-history", "nan", here / "logs")
    code, _, err = ask("fit", "logs", *STAGES, *FIT)
    assert (code, "--on-missing (on_missing) may be end or drop" in err) == (2, True)
    assert ask("fit", "logs", *STAGES, "--on-missing", "end", *FIT)[0] == 0
    alone = promised()
    assert ask("traces", "import", "logs", *STAGES, "--on-missing", "end", "--out", "runs.csv")[0] == 0
    code, text, _ = ask("fit", "runs.csv", *FIT)
    assert code == 0
    assert "16 runs, each counted as a miss of every plan" in text
    assert "seed" in text.partition("plan never run: ")[2]
    assert promised() == alone == pytest.approx(64 / 81)
    assert "rests on" in ask("solve", "mine.json")[1]
    code, text, _ = ask("certify", "runs.csv", *PROMISE)
    assert (code, "NOT certified" in text, "16 of 80 exceed the target" in text) == (3, True, True)


def test_logs_without_the_key_are_refused_until_they_are_counted_or_left_out(ask: ASK, here: Path) -> None:
    write("keras-history", "key", here / "logs")
    code, _, err = ask("fit", "logs", *STAGES, *FIT)
    assert code == 2
    assert "16 runs went wrong: " in err
    assert "and 11 others" in err
    code, _, err = ask("fit", "logs", *STAGES, *FIT, "--diverged", 3)
    assert (code, "the traces know of 16" in err, "--diverged 16 or more" in err) == (2, True, True)
    assert ask("fit", "logs", *STAGES, *FIT, "--diverged", LOST)[0] == 0
    assert promised() == pytest.approx(64 / 81)
    words = ("traces", "import", "logs", *STAGES, "--out", "runs.csv")
    assert ask(*words, "--diverged", "seed0*,seed1[0-5].json")[0] == 0
    code, text, _ = ask("certify", "runs.csv", *PROMISE)
    assert (code, "16 of them because they diverged or were lost" in text) == (3, True)
    out = [word for run in range(LOST) for word in ("--leave-out", f"seed{run:02}")]
    assert ask(*words, *out)[0] == 0
    code, text, _ = ask("certify", "runs.csv", *PROMISE)
    assert (code, "left out   16 runs, as told: " in text) == (0, True)
    text = ask("fit", "runs.csv", *FIT)[1]
    assert "left out         16, as told: " in text
    notes = [row.note for row in load("mine.json").provenance]
    assert any("seed03.json" in note and "--leave-out seed03" in note for note in notes)


def histories(folder: Path, whole: int, short: int, epochs: int = 4) -> None:
    """Keras histories of runs that end well, some after fewer epochs."""
    rng = np.random.default_rng(1)
    folder.mkdir()
    for run in range(whole + short):
        ends = rng.uniform(0.5, 0.69)
        losses = [float(ends + 0.6**k) for k in range(1, EPOCHS)] + [float(ends)]
        content = {"val_loss": losses[: epochs if run >= whole else EPOCHS]}
        name = f"{'whole' if run < whole else 'short'}{run:02}.json"
        (folder / name).write_text(json.dumps(content), encoding="utf-8")


def test_short_runs_are_misses_unless_their_length_or_their_end_is_told(ask: ASK, here: Path) -> None:
    histories(here / "logs", 64, 16)
    code, text, _ = ask("fit", "logs", *STAGES, *FIT)
    assert code == 0
    assert "short64 (ends at epoch 4, others of its schedule go on); " in text
    assert promised() == pytest.approx(64 / 81)
    for planned in ((), ("--stages", "short*=net@edge:4")):
        words = ("traces", "import", "logs", *STAGES, *planned, "--out", "runs.csv.gz")
        assert ("lost" in ask(*words)[1]) == (not planned)
        assert ask("fit", "runs.csv.gz", *FIT)[0] == 0
        assert promised() == pytest.approx(64 / 65 if planned else 64 / 81)
    told = ("--cut-at-random", "short*")
    ask("traces", "import", "logs", *STAGES, "--out", "runs.csv")
    for words in (("logs", *STAGES), ("runs.csv",)):
        text = ask("fit", *words, *told, *FIT)[1]
        assert "cut at random    16, as told: short64 (as told); " in text
        assert promised() == pytest.approx(64 / 65)
        text = ask("solve", "mine.json")[1]
        assert "that 16 runs ended early for reasons unlike their losses was said" in text
        assert ask("solve", "mine.json", "--out", "found.json")[0] == 0
        assert ask("check", "mine.json", "found.json")[0] == 0


def test_runs_that_end_before_they_were_planned_to_are_lost_though_no_other_trained_the_same(
    ask: ASK, here: Path
) -> None:
    histories(here / "logs", 20, 2)
    stages = [word for run in (20, 21) for word in ("--stages", f"short{run}=net@edge:2,net@far:7")]
    text = ask("traces", "import", "logs", *STAGES, *stages)[1]
    assert (
        "lost             2, which fit and certify count as misses: short20 (ends at epoch 4 of 9 planned)"
        in text
    )


def told(name: str, epochs: int, seed: int = 0) -> Traces:
    rng = np.random.default_rng(seed)
    return Traces(
        [name] * epochs, np.arange(1, epochs + 1), ["net"] * epochs, ["edge"] * epochs, 1 + rng.random(epochs)
    )


def test_what_is_said_of_single_runs_of_traces(ask: ASK, here: Path) -> None:
    write_traces(here / "runs.csv", joined([told(f"r{k}", EPOCHS if k else 3, k) for k in range(12)]))
    for words, lost in (
        ((), 1),
        (("--diverged", "2"), 2),
        (("--diverged", "r3,gone"), 3),
        (("--leave-out", "r0"), 0),
        (("--leave-out", "r[1-3]"), 1),
        (("--cut-at-random", "r0"), 0),
    ):
        assert ask("fit", "runs.csv", *FIT, *words)[0] == 0
        assert load("mine.json").traced_law.diverged == lost, words
    for words, message in (
        (("--diverged", "0"), "0 runs were lost as is told, but the traces know of 1: r0 (ends at epoch 3"),
        (("--leave-out", "s*"), "--leave-out: no run and no file is called 's*'"),
        (("--leave-out", "*"), "--leave-out: leaves out every run"),
        (("--cut-at-random", "r1"), "--cut-at-random: no run and no file is called 'r1'"),
        (("--law", "independent"), "or leave them out, --leave-out NAME, as are known of these traces: r0 ("),
    ):
        code, _, err = ask("fit", "runs.csv", *FIT, *words)
        assert (code, message in err) == (2, True), err


def test_a_run_that_diverged_did_not_end_at_random(ask: ASK, here: Path) -> None:
    write("jsonl", "nan", here / "logs")
    words = ("traces", "import", "logs", *STAGES, "--on-missing", "end", "--cut-at-random", "seed03")
    code, _, err = ask(*words)
    assert (code, "--cut-at-random: run 'seed03' diverged and is ended" in err) == (2, True)


def test_a_ledger_in_another_form_is_refused(here: Path) -> None:
    traces = told("a", 3).with_provenance({"lost runs": "b, c"})
    write_traces(here / "runs.csv", traces)
    with pytest.raises(InvalidInputError, match="must be names and reasons") as caught:
        read_traces("runs.csv").lost  # noqa: B018 - read when it is first needed
    assert caught.value.path == ".provenance.lost runs"


def test_joined_traces_keep_what_was_lost_of_each() -> None:
    parts = [told(name, 3).with_provenance({"lost runs": json.dumps({f"{name}2": "gone"})}) for name in "ab"]
    assert joined(parts).lost == {"a2": "gone", "b2": "gone"}
