"""Which files of a folder are logs, which are refused by name, and that lost runs make nothing bolder."""

import contextlib
import json
import os
from pathlib import Path

import pytest

from depl.models.estimation import instance as fitted
from depl.models.estimation.certificate import certificate, held_out
from depl.models.estimation.instance import fit_instance
from depl.models.evaluation.traced_loss import end_law
from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs import folders
from depl.models.traces.files import read_traces, write_traces
from depl.models.traces.lost import LEFT_OUT, LOST, ledger
from tests.cases import lost_run_cases, tool_log_cases
from tests.cases.fit_cases import setup
from tests.cases.lost_run_cases import EXPRESSED, PLAN, TARGET, write
from tests.cases.tool_log_cases import put

WHOLE = '{"val_loss": [1, 0.9]}'


def read(folder, **choices):
    return tool_log_cases.read(folder, loss="val_loss", **choices)


def refusal(folder, **choices):
    return tool_log_cases.refusal(folder, loss="val_loss", **choices)


def rows_of(table):
    """Names of files, what they hold, and what is said of them, with the reason as identifier."""
    rows = ([cell.strip() for cell in line.split("|")] for line in table.strip().splitlines())
    return pytest.mark.parametrize(
        ("name", "content", "why"), [pytest.param(*told, id=reason) for reason, *told in rows]
    )


def unescaped(content):
    return content.encode().decode("unicode_escape").encode("latin-1")


LOST_FILES = r"""
cut, with the key | c.json | {"val_loss": [1, 0. | holds 'val_loss', but is no JSON
cut before the key, with a list that others have | c.json | {"loss": [1, 0.9], "va | holds 'loss'
cut at once, of a like name | a2.json |  | is named like the logs that were read
figures in another form | c.json | {"best": {"val_loss": [1, 2]}} | holds 'val_loss'
one figure in each of several | c.json | {"x": [{"val_loss": 1}, {"val_loss": 2}]} | holds 'val_loss'
a like name | a17.json | {"x": 3} | is named like
text of JSON Lines | c.txt | {"epoch": 1, "val_loss": 1}\n{"epoch": 2, "val_lo | holds 'val_loss'
a table in a text | c.txt | epoch\tval_loss\n1\t2\n2\t1\n | holds 'val_loss'
a pickle of a like name | a2.pkl | \x80\x04 | is named like the logs that were read, but is a pickle
a log that lacks the key | c.json | {"loss": [1, 0.9]} | holds no 'val_loss'
a table that lacks the key | a1.csv | epoch,loss\n1,2\n | holds no 'val_loss'
a table cut within a number | c.csv | epoch,val_loss\n1,1.0234\n2,0.9122\n3,0 | which seems to be cut
a table without a line | c.csv | epoch,val_loss\n | holds 'val_loss'
"""


@rows_of(LOST_FILES)
def test_a_run_that_went_wrong_is_refused_by_name_until_it_is_counted_or_left_out(
    name, content, why, tmp_path
):
    put(tmp_path, {"a1.json": '{"val_loss": [1, 0.9], "loss": [1, 0.8]}', name: unescaped(content)})
    refused = refusal(tmp_path)
    assert all(words in refused for words in (name, why, f"--diverged {name}"))
    for pattern in (name, Path(name).stem):
        counted = read(tmp_path, diverged=(pattern,)).traces
        assert [Path(run).name for run in ledger(counted.provenance, LOST)] == [name]
        assert counted.runs == ("a1",)
    left = read(tmp_path, leave_out=(name,)).traces
    assert not left.lost
    assert [Path(run).name for run in ledger(left.provenance, LEFT_OUT)] == [name]


HONEST = r"""
settings | settings.json | {"monitor": "val_loss", "lr": 0.1} | is no log that is known
single figures | all_results.json | {"val_loss": 0.5, "epoch": 3} | is no log that is known
settings cut | conf.json | {"lr": 0. | is no JSON
a lock | .lock.json |  | is no JSON
notes | notes.txt | val_loss fell to 3 | is of no kind that is read
a program | train.py | stop = Early("val_loss")\n | is of no kind that is read
a summary of one line | best.txt | run,val_loss\nx,3\n | is of no kind that is read
labels | labels.jsonl | {"image": "a", "label": 3}\n | holds no 'val_loss'
words | vocabulary.json | [{"word": "a"}, {"word": "b"}] | holds no 'val_loss'
lists of something else | curve.json | {"threshold": [0.1, 0.2]} | holds no 'val_loss'
weights | a1.pt | \x00\x01 | is a pickle
an empty store | runs.db |  | is of no kind that is read
a hidden folder | .ipynb_checkpoints/a1.json | {"val_loss": [1, 0.9]} | a hidden folder
runs that were deleted | .trash/x/meta.yaml | run_id: x\n | runs that were deleted
a deleted run | 0/x/meta.yaml | run_id: x\nlifecycle_stage: deleted\n | a run that was deleted
"""


@rows_of(HONEST)
def test_what_is_no_log_is_listed_and_punishes_nobody(name, content, why, tmp_path):
    put(tmp_path, {"a1.json": WHOLE, "a2.json": WHOLE, name: unescaped(content)})
    found = read(tmp_path)
    assert len(found.traces.runs) == 2
    assert not found.traces.lost
    ((path, told),) = found.log.unread.items()
    assert (tmp_path / name).is_relative_to(path)
    assert why in told
    assert f"({told})" in dict(found.facts)["files not read"]


def test_linked_runs_are_read_and_those_that_are_there_twice_are_named(tmp_path):
    put(tmp_path / "far", {"seed1/log.json": WHOLE})
    put(tmp_path / "near", {"seed2/log.json": WHOLE})
    for name, target in {"seed1": "../far/seed1", "latest": "seed2", "around": "..", "nowhere": "x"}.items():
        (tmp_path / "near" / name).symlink_to(target)
    (tmp_path / "near" / "copy.json").symlink_to("seed2/log.json")
    found = read(tmp_path / "near")
    assert found.traces.runs == ("seed1", "seed2")
    told = {Path(path).name: why for path, why in found.log.unread.items()}
    same = "a link to what is read where it stands"
    assert told == {"latest": same, "around": same, "copy.json": same, "nowhere": "a link that leads nowhere"}


def test_what_cannot_be_opened_is_named_and_a_pipe_is_not_waited_for(tmp_path, monkeypatch):
    put(tmp_path, {"a.json": WHOLE, "shut/b.json": WHOLE})
    os.mkfifo(tmp_path / "c.json")
    scan = os.scandir

    def refusing(path):
        if Path(path).name == "shut":
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(folders.os, "scandir", refusing)
    assert read(tmp_path).log.unread == {
        str(tmp_path / "shut"): "cannot be read (Permission denied)",
        str(tmp_path / "c.json"): "no regular file",
    }


def test_a_pattern_leaves_out_what_is_called_so_inside_alone_and_is_a_slip_if_nothing_is(tmp_path):
    tmp_path /= "of 2013"
    put(tmp_path, {"seed1.json": WHOLE, "seed2.json": WHOLE, "old/seed3.json": WHOLE})
    assert "--leave-out: no run and no file is called 'seed4'" in refusal(tmp_path, leave_out=("seed4",))
    assert read(tmp_path, leave_out=("seed1", "old")).traces.runs == ("seed2",)
    for pattern in ("seed[13]*", "*[13]*", f"{tmp_path}/*[13].json"):
        assert read(tmp_path, leave_out=(pattern,)).traces.runs == ("seed2",)


NOTHING = {"null": None, "empty": "", "n/a": "n/a", "list": [0.5], "true": True, "nan": float("nan")}
FORMS = [(form, kind) for form in ("a.jsonl", "a.json", "a.csv") for kind in NOTHING]


@pytest.mark.parametrize(("form", "kind"), [pair for pair in FORMS if pair not in FORMS[-3:-1]])
def test_what_is_no_number_is_a_missing_loss_like_nan(form, kind, tmp_path):
    losses = [1, 0.9, NOTHING[kind]]
    cells = [f"{k},3,{'' if loss is None else loss}\n" for k, loss in enumerate(losses, start=1)]
    rows = [json.dumps({"epoch": k, "val_loss": loss}) for k, loss in enumerate(losses, start=1)]
    texts = {
        "a.csv": "".join(["epoch,train_loss,val_loss\n", *cells]),
        "a.json": json.dumps({"loss": [1] * 3, "val_loss": losses}),
        "a.jsonl": "\n".join(rows),
    }
    put(tmp_path, {form: texts[form]})
    message = "run 'a' has no loss in epoch 3; --on-missing (on_missing) may be end or drop"
    assert message in refusal(tmp_path)
    found = read(tmp_path, on_missing="end")
    assert found.traces.loss.tolist() == [1, 0.9]
    assert found.diverged == (("a",) if kind == "nan" else ())


def test_a_run_without_any_loss_is_lost(tmp_path):
    put(tmp_path, {"a.json": WHOLE, "b.json": '{"val_loss": [null, null]}'})
    assert "b (has no value of 'val_loss')" in refusal(tmp_path)
    for choice in ({"on_missing": "end"}, {"on_missing": "drop"}, {"diverged": ("b",)}):
        assert read(tmp_path, **choice).traces.lost == {"b": "has no value of 'val_loss'"}


def test_a_loss_that_is_missing_needs_no_model_and_its_run_is_lost_unless_it_was_cut(tmp_path):
    rows = [{"epoch": k, "val_loss": 1 / k, "model": "m", "cluster": "c"} for k in (1, 2)]
    text = "\n".join(map(json.dumps, [*rows, {"epoch": 3, "val_loss": None}]))
    put(tmp_path, {"a.jsonl": text})
    found = read(tmp_path, on_missing="end", stages=()).traces
    assert found.lost == {"a": "stopped and is ended: no loss in epoch 3 (row 3)"}
    assert not read(tmp_path, on_missing="end", stages=(), cut_at_random=("a",)).traces.lost


def test_logs_of_another_tool_than_was_said_are_no_lost_runs(tmp_path):
    put(tmp_path, {"a.json": WHOLE, "a.csv": "epoch,val_loss\n1,1\n2,0.9\n"})
    assert "are of several tools" in refusal(tmp_path)
    found = read(tmp_path, tool="csv")
    assert not found.traces.lost
    assert found.log.unread == {str(tmp_path / "a.json"): "is no log of csv"}


@pytest.mark.parametrize(
    "left", [{}, {"hparams.yaml": "lr: 0.1\n"}, {"output.log": "out of memory"}], ids=str
)
def test_the_folder_of_a_run_that_was_killed_before_it_logged_anything(left, tmp_path):
    put(tmp_path, {f"version_{run}/metrics.csv": "epoch,step,val_loss\n0,9,1\n1,19,0.9\n" for run in (0, 1)})
    put(tmp_path, {"checkpoints/last.ckpt": b"\0", "version_0/checkpoints/1/a.ckpt": b"\0"})
    assert len(read(tmp_path).traces.runs) == 2
    (tmp_path / "version_7").mkdir()
    put(tmp_path / "version_7", left)
    assert "version_7 (is named like the folders of runs, but holds no log)" in refusal(tmp_path)
    assert len(read(tmp_path, diverged=("version_7",)).traces.lost) == 1
    assert not read(tmp_path, leave_out=("version_7",)).traces.lost


# --- 20 runs of which 4 are lost ------------------------------------------------------------------------


RUNS, MISSED = 20, 4
SETUP = setup(
    clusters=[{"name": "edge", "capacity": 10, "bandwidth": 5, "unit_cost": 2}],
    models=[{"name": "net", "size": 1}],
    transfers=[],
    target={"maximum_loss": TARGET, "quantile_level": 0.8, "maximum_epochs": 9, "maximum_time": 90},
)
WAYS_OUT = (
    {},
    {"on_missing": "end"},
    {"on_missing": "end", "diverged": ("*",)},
    {"on_missing": "drop", "diverged": ("*",)},
)
"""What somebody may say who wants to go on: all runs are counted, none is left out."""
PROMISED = {}
"""Promises by what the traces hold of losses, as many formats hold the same."""


@pytest.fixture(autouse=True)
def few_runs_and_resamples(monkeypatch):
    monkeypatch.setattr(fitted, "_RESAMPLES", 9)
    monkeypatch.setattr(lost_run_cases, "RUNS", RUNS)
    monkeypatch.setattr(lost_run_cases, "LOST", MISSED)


def readings(folder, told):
    """What is read in each way out that is not refused."""
    found = []
    for choices in WAYS_OUT:
        with contextlib.suppress(InvalidInputError):
            found.append(tool_log_cases.read(folder, **told, **choices).traces)
    return found


def promised(traces):
    held = (*map(tuple, (traces.epoch, traces.model, traces.cluster, traces.loss)), len(traces.lost))
    if held not in PROMISED:
        law = fit_instance(traces, SETUP).traced_law
        PROMISED[held] = 1 - end_law(law, PLAN).violation(TARGET).lower
    return PROMISED[held]


@pytest.mark.parametrize(("form", "way"), EXPRESSED)
def test_lost_runs_never_make_a_promise_bolder(form, way, tmp_path):
    told = write(form, way, tmp_path / "logs")
    found = readings(tmp_path / "logs", told)
    assert found
    for traces in {tuple(item.lost.items()): item for item in found}.values():
        assert len(traces.lost) == MISSED
        write_traces(tmp_path / "runs.csv.gz", traces)
        again = read_traces(tmp_path / "runs.csv.gz")
        assert again.lost == traces.lost
        share = (RUNS - MISSED) / RUNS
        assert 0.75 < promised(again) <= share
        found = certificate(held_out(again, (), PLAN), TARGET, share + 0.01, 0.5)
        assert (found.runs, found.exceedances) == (RUNS, MISSED)
        assert not found.certified
