"""Epochs, stages and runs of logs, and what every refusal says to do."""

import json
from pathlib import Path

import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.importing import Choices, Imported, import_logs
from depl.models.tool_logs.json_text import read_flat
from depl.models.tool_logs.stages import read_stages, schedule_of, stages_by_pattern, stages_for, told

STAGES = ("net@edge",)


def lines(path: Path, rows: list[dict[str, object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def table(path: Path, *rows: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def read(*paths: Path, **choices: object) -> Imported:
    return import_logs([str(path) for path in paths], Choices(**{"loss": "loss", "stages": STAGES} | choices))


def refusal(*paths: Path, **choices: object) -> InvalidInputError:
    with pytest.raises(InvalidInputError) as caught:
        read(*paths, **choices)
    return caught.value


def epochs(found: Imported) -> list[int]:
    return found.traces.epoch.tolist()


# --- epochs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "wanted"),
    [
        ([100, 200, 300], [1, 2, 3]),
        ([99, 199, 299], [1, 2, 3]),
        ([0, 100, 200, 300], [0, 1, 2, 3]),
        ([0, 99, 199], [0, 1, 2]),
        ([2, 4], [1, 2]),
    ],
)
def test_global_steps_become_epochs(steps: list[int], wanted: list[int], tmp_path: Path) -> None:
    found = read(lines(tmp_path / "a.jsonl", [{"step": step, "loss": 1.0} for step in steps]))
    assert epochs(found) == wanted
    assert "steps an epoch" in dict(found.facts)["epochs told by"]


def test_steps_that_tell_no_epochs_are_refused_with_the_option_that_helps(tmp_path: Path) -> None:
    uneven = lines(tmp_path / "a.jsonl", [{"step": step, "loss": 1.0} for step in (100, 200, 350)])
    assert "not evenly apart: say with --steps-per-epoch" in refusal(uneven).message
    assert "step 350 is not the end of an epoch of 100 steps" in refusal(uneven, steps_per_epoch=100).message
    single = lines(tmp_path / "b.jsonl", [{"step": 500, "loss": 1.0}])
    assert "say --steps-per-epoch N" in refusal(single).message
    assert epochs(read(single, steps_per_epoch=500)) == [1]


def test_epochs_that_begin_at_0_are_not_guessed(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", [{"epoch": k, "loss": 1.0} for k in range(3)])
    assert "say --first 0 if that is the first trained epoch, or --first 1" in refusal(path).message
    assert epochs(read(path, first=0)) == [1, 2, 3]
    assert epochs(read(path, first=1)) == [0, 1, 2]


def test_a_run_that_begins_late_or_has_a_gap_is_refused(tmp_path: Path) -> None:
    late = lines(tmp_path / "a.jsonl", [{"epoch": k, "loss": 1.0} for k in (3, 4)])
    assert "its first loss is of epoch 3" in refusal(late).message
    gap = lines(tmp_path / "b.jsonl", [{"epoch": k, "loss": 1.0} for k in (1, 2, 4)])
    assert "has no loss of epoch 3, but of later ones" in refusal(gap).message
    far = lines(tmp_path / "c.jsonl", [{"epoch": k, "loss": 1.0} for k in (1, 10**15)])
    assert "has no loss of epoch 2" in refusal(far).message


def test_the_key_of_epochs_is_told_or_known(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", [{"Zeit": k, "loss": 1.0, "half": k / 2} for k in (1, 2)])
    assert "no key tells the epoch" in refusal(path).message
    assert epochs(read(path, epoch="Zeit")) == [1, 2]
    assert "'zeit' is not logged; logged are Zeit, half, loss" in refusal(path, epoch="zeit").message
    assert "must be a whole number below 2^53, not 0.5" in refusal(path, epoch="half").message


def test_before_training_no_model_has_to_be_named_as_in_the_log_of_a_controller(tmp_path: Path) -> None:
    rows = [{"epoch": k, "loss": 3.0 - k, "model": f"m{k}", "cluster": "c"} for k in range(3)]
    del rows[0]["model"], rows[0]["cluster"]
    path = lines(tmp_path / "run.jsonl", rows)
    found = read(path, first=1, stages=()).traces
    assert found.epoch.tolist() == [0, 1, 2]
    assert found.schedules == ((("m1", "c"), ("m2", "c")),)
    del rows[1]["model"]
    lines(path, rows)
    assert "must be logged with every loss" in refusal(path, first=1, stages=()).message


def test_lightning_that_was_evaluated_before_it_fitted_has_an_epoch_0(tmp_path: Path) -> None:
    rows = ["epoch,step,train_loss,val_loss", "0,0,,3.0", "0,9,2.5,", "0,9,,2.0", "1,19,,1.5"]
    found = read(table(tmp_path / "version_0/metrics.csv", *rows), loss="val_loss")
    assert epochs(found) == [0, 1, 2]
    assert found.traces.loss.tolist() == [3, 2, 1.5]


def test_epochs_logged_again_are_refused_or_the_last_one_counts(tmp_path: Path) -> None:
    rows = [{"epoch": k, "loss": loss} for k, loss in ((1, 3.0), (2, 2.0), (2, 1.5), (3, 1.0))]
    path = lines(tmp_path / "a.jsonl", rows)
    error = refusal(path)
    assert "--on-repeated last" in error.message
    assert error.path == f"{path}, row 3"
    found = read(path, on_repeated="last")
    assert found.traces.loss.tolist() == [3, 1.5, 1]


def losses_of(found: Imported) -> dict[str, list[float]]:
    bounds = zip(found.traces.runs, found.traces.bounds[:-1], found.traces.bounds[1:], strict=True)
    return {name: found.traces.loss[start:end].tolist() for name, start, end in bounds}


def test_a_restart_drops_what_was_not_trained_on_it_and_needs_no_stages_for_that(tmp_path: Path) -> None:
    rows = [{"epoch": k, "loss": k / 10, "model": "m", "cluster": "c"} for k in (1, 2, 3, 4, 5, 6, 7)]
    rows += [{"epoch": k, "loss": k / 100, "model": "m", "cluster": "c"} for k in (5, 6)]
    path = lines(tmp_path / "a.jsonl", rows)
    assert "a restart, which went back to it from epoch 7" in refusal(path).message
    for stages in (("net@edge:6",), ()):
        found = read(path, on_repeated="last", stages=stages)
        assert losses_of(found) == {"a": [0.1, 0.2, 0.3, 0.4, 0.05, 0.06]}


def test_a_second_training_in_a_file_is_a_run_of_its_own(tmp_path: Path) -> None:
    both = [*zip(range(1, 6), (2.0, 1.5, 1.0, 0.8, 0.7), strict=True), (1, 2.9), (2, 2.8), (3, 2.7)]
    path = lines(tmp_path / "a.jsonl", [{"epoch": k, "loss": loss} for k, loss in both])
    found = read(path, on_repeated="last")
    assert losses_of(found) == {"a": [2, 1.5, 1, 0.8, 0.7], "a (training 2)": [2.9, 2.8, 2.7]}
    assert found.notes[0].text.startswith("run 'a' begins again in row 6")


def test_the_best_model_evaluated_at_the_end_is_not_the_loss_of_the_last_epoch(tmp_path: Path) -> None:
    rows = [{"epoch": k, "eval_loss": loss} for k, loss in ((1, 0.9), (2, 0.6), (3, 0.7), (3, 0.6))]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    assert "a repeat; --on-repeated first keeps the earlier one" in refusal(path, loss="eval_loss").message
    assert losses_of(read(path, loss="eval_loss", on_repeated="first")) == {"a": [0.9, 0.6, 0.7]}


def test_lines_that_a_text_tells_apart_are_not_taken_for_repeats(tmp_path: Path) -> None:
    """One line per metric, in turn or one metric after the other; and a run that went on elsewhere."""
    rows = [{"epoch": k, "key": key, "loss": 1 / k + len(key)} for k in (1, 2) for key in ("train", "val")]
    for ordered in (rows, [*rows[::2], *rows[1::2]]):
        error = refusal(lines(tmp_path / "a.jsonl", ordered), on_repeated="last")
        assert "say which lines are meant (--where key=" in error.message
    moved = [(1, "x", 0.3), (2, "x", 0.2), (2, "y", 0.1), (3, "y", 0.0)]
    path = lines(tmp_path / "b.jsonl", [{"epoch": k, "host": host, "loss": loss} for k, host, loss in moved])
    assert losses_of(read(path, on_repeated="last")) == {"b": [0.3, 0.1, 0]}


# --- losses -----------------------------------------------------------------------------------------------


def test_runs_that_diverged_are_refused_ended_or_dropped_and_counted(tmp_path: Path) -> None:
    good = lines(tmp_path / "a.jsonl", [{"epoch": k, "loss": 1.0} for k in (1, 2, 3)])
    bad = lines(
        tmp_path / "b.jsonl", [{"epoch": k, "loss": loss} for k, loss in ((1, 2.0), (2, float("nan")))]
    )
    error = refusal(good, bad)
    assert "--on-missing (on_missing) may be end or drop" in error.message
    assert "it then counts as a miss" in error.message
    for way, runs in (("end", ("a", "b")), ("drop", ("a",))):
        found = read(good, bad, on_missing=way)
        assert found.traces.runs == runs
        assert found.diverged == ("b",)


def test_the_loss_is_found_by_its_key_or_by_the_only_one_that_ends_so(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", [{"epoch": 1, "val": {"loss": 1.0}, "test": {"loss": 2.0, "f1": 0.5}}])
    assert "'loss' may be 'val/loss' or 'test/loss': say which by --loss" in refusal(path).message
    assert read(path, loss="val/loss").traces.loss.tolist() == [1]
    assert read(path, loss="f1").traces.loss.tolist() == [0.5]
    error = refusal(path, loss="val_loss")
    assert "nothing is logged under 'val_loss'" in error.message
    assert "choose with --loss" in error.message


def test_one_line_per_metric_is_read_by_its_key(tmp_path: Path) -> None:
    rows = [{"epoch": k, "key": key, "value": k / 2} for k in (1, 2) for key in ("train", "val")]
    path = lines(tmp_path / "a.jsonl", rows)
    assert "--where KEY=VALUE" in refusal(path, loss="value").message
    assert read(path, loss="value", where={"key": "val"}).traces.loss.tolist() == [0.5, 1]
    assert "nothing that --where lets through" in refusal(path, loss="value", where={"key": "v"}).message


def test_an_accuracy_is_kept_beside_the_loss(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", [{"epoch": 1, "loss": 1.0, "val": {"acc": 90}}])
    assert read(path, accuracy="acc", percent=True).traces.metrics["accuracy"].tolist() == [0.9]
    assert "nothing is logged under 'accuracy'" in refusal(path, accuracy="accuracy").message
    wrong = lines(tmp_path / "b.jsonl", [{"epoch": 1, "loss": 1.0, "acc": "high"}])
    assert "must be a number, not 'high'" in refusal(wrong, accuracy="acc").message


def test_extremes_of_an_exported_chart_are_no_runs_and_two_metrics_are_told_apart(tmp_path: Path) -> None:
    header = '"Step","a - loss","a - loss__MIN","a - loss__MAX","b - loss","b - loss__MIN","b - loss__MAX"'
    one = table(tmp_path / "one.csv", header, "1,3,3,3,6,6,6", "2,2,1,3,5,5,5")
    assert read(one).traces.runs == ("a", "b")
    assert read(one).traces.loss.tolist() == [3, 2, 6, 5]
    assert dict(read(one).facts)["no runs"].startswith("4 columns: a - loss__MIN, ")
    two = table(tmp_path / "two.csv", '"Step","a - loss","a - loss__MIN","a - acc"', "1,3,3,0.5", "2,2,1,0.6")
    assert read(two).traces.loss.tolist() == [3, 2]
    assert read(two, loss="acc").traces.loss.tolist() == [0.5, 0.6]


# --- runs -------------------------------------------------------------------------------------------------


def test_files_of_one_name_are_called_by_their_folders(tmp_path: Path) -> None:
    for seed in (2, 10):
        lines(tmp_path / f"logs/seed{seed}/out/log.jsonl", [{"epoch": 1, "loss": 1.0}])
    assert read(tmp_path / "logs").traces.runs == ("seed2/out", "seed10/out")


def test_runs_of_one_file_are_told_apart_by_a_key(tmp_path: Path) -> None:
    rows = [{"Name": name, "epoch": k, "loss": 1.0} for name in ("x", "y") for k in (1, 2)]
    path = lines(tmp_path / "a.jsonl", rows)
    assert read(path, run="Name").traces.runs == ("x", "y")
    assert "--run KEY tells them apart" in refusal(path).message
    assert "choose one of Name, epoch, loss with --run" in refusal(path, run="name").message


def test_a_run_in_two_files_is_refused(tmp_path: Path) -> None:
    paths = [lines(tmp_path / f"{name}.jsonl", [{"run": "x", "epoch": 1, "loss": 1.0}]) for name in "ab"]
    assert "run 'x' is also in" in refusal(*paths).message


def test_runs_of_one_file_without_the_loss_are_lost(tmp_path: Path) -> None:
    rows = [{"run": "a", "epoch": 1, "loss": 1.0}, {"run": "b", "epoch": 1, "other": 1.0}]
    path = lines(tmp_path / "log.jsonl", rows)
    assert "b (holds no 'loss')" in refusal(path).message
    assert read(path, diverged=("b",)).traces.lost == {"b": "holds no 'loss'"}
    left = read(path, leave_out=("b",))
    assert dict(left.facts)["left out"] == "1: b (--leave-out b)"


# --- stages -----------------------------------------------------------------------------------------------


def test_stages_of_all_runs_and_of_some_that_match() -> None:
    found = stages_by_pattern(["a@e:2,b@f", "seed1*=a@e:1,b@f:3", "seed13=c@g"])
    for run, epochs, wanted in (
        ("other", 5, "a@e:2,b@f:3"),
        ("seed12", 5, "a@e:1,b@f:3"),
        ("seed13", 5, "c@g:5"),
        ("other", 1, "a@e:1"),
    ):
        assert told(schedule_of(stages_for(run, found), epochs)) == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", "must be MODEL@CLUSTER:EPOCHS,MODEL@CLUSTER, not 'a'"),
        ("a@e,b@f", "needs its number of epochs, as another stage follows: a@e:10"),
        ("a@e:0", "must be MODEL@CLUSTER"),
        ("", "must be MODEL@CLUSTER"),
    ],
)
def test_stages_of_another_form_are_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        read_stages(text)


def test_stages_that_leave_open_what_a_run_trained_are_refused(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", [{"epoch": k, "loss": 1.0} for k in (1, 2, 3)])
    assert "has 3 epochs, its stages 2" in refusal(path, stages=("a@e:2",)).message
    assert '--stages "p50@edge:17,p75@far-edge" says' in refusal(path, stages=()).message
    assert "matches 'a*' and '*a'" in refusal(path, stages=("a*=x@e", "*a=y@e")).message
    assert "for all runs twice" in refusal(path, stages=("x@e", "y@e")).message
    assert (
        "has no hyperparameter 'stages'; there are none"
        in refusal(path, stages=(), stages_from="hparams").message
    )


def test_model_and_cluster_of_every_epoch_may_be_logged(tmp_path: Path) -> None:
    rows = [{"epoch": k, "loss": 1.0, "net": "p50" if k < 3 else "p75", "site": "edge"} for k in (1, 2, 3)]
    path = lines(tmp_path / "a.jsonl", rows)
    found = read(path, stages=(), model="net", cluster="site")
    assert told(found.traces.schedules[0]) == "p50@edge:2,p75@edge:1"
    del rows[1]["site"]
    path = lines(tmp_path / "b.jsonl", rows)
    assert "must be logged with every loss" in refusal(path, stages=(), model="net", cluster="site").message


def test_hyperparameters_of_lightning_are_the_flat_lines_of_its_yaml(tmp_path: Path) -> None:
    path = table(
        tmp_path / "hparams.yaml", "lr: 0.2", "name: 'it''s'", "list:", "- 1", "deep: {a: 1}", "stages: a@e"
    )
    assert read_flat(path) == {"lr": "0.2", "name": "it's", "stages": "a@e"}


def test_files_that_are_no_logs_say_where(tmp_path: Path) -> None:
    broken = table(tmp_path / "a.jsonl", '{"epoch": 1}', "{")
    assert refusal(broken).path == f"{broken}, row 2"
    assert "must be a JSON object, not list" in refusal(table(tmp_path / "b.jsonl", "[1]")).message
    assert "holds no line" in refusal(table(tmp_path / "c.jsonl", "")).message
    other = table(tmp_path / "d.json", '{"a": 1}')
    assert "json.dumps(history.history) at Keras" in refusal(other).message
    history = table(tmp_path / "e.json", '{"loss": [1, "high"]}')
    assert "loss must hold numbers, not 'high'" in refusal(history).message
