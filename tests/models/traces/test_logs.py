"""Files of loggers: every rule for what they hold besides a clean table, and the report of it."""

import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.logs import What, read_files, read_long, read_wide

LONG = """\
seed,step,val/loss,acc,time
a,0,2.5,10,1
a,1,1.5,50,2
a,2,1.25,75,3
b,0,2.25,12.5,1
b,1,1.75,50,2
"""
NAMES = {"run": "seed", "epoch": "step", "loss": "val/loss", "accuracy": "acc"}


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "log.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def long(path, **options):
    return read_long(path, NAMES, **({"model": "net", "cluster": "site", "percent": True} | options))


def wide(path, runs_in="columns", **options):
    return read_wide(path, runs_in, **({"model": "net", "cluster": "site"} | options))


def noted(reading):
    return [(note.what, note.run, note.row) for note in reading.notes]


def test_columns_of_other_names_are_read_and_the_rest_is_noted(file):
    reading = long(file(LONG))
    traces = reading.traces
    assert traces.runs == ("a", "b")
    assert traces.epoch.tolist() == [0, 1, 2, 0, 1]
    assert traces.loss.tolist() == [2.5, 1.5, 1.25, 2.25, 1.75]
    assert traces.target("error_rate").tolist() == [0.9, 0.5, 0.25, 0.875, 0.5]
    assert set(traces.model) == {"net"}
    assert noted(reading) == [(What.PASSED_OVER, "", None), (What.SHORTER, "b", 6)]
    assert reading.report() == (
        "column 'time' is passed over\nrun 'b' ends at epoch 1, the longest at 2; kept"
    )


def test_a_file_of_one_run_is_named_after_the_file(file):
    reading = read_long(file("epoch,loss\n1,2\n2,1\n"), model="net", cluster="site")
    assert reading.traces.runs == ("log",)
    assert reading.notes == ()


def test_models_and_clusters_may_change_on_the_way(file):
    reading = long(file(LONG), model=["big", "small"], cluster=["edge", "far"])
    assert reading.traces.schedules == ((("big", "edge"), ("small", "far")), (("big", "edge"),))
    assert reading.traces.model[0] == "big"
    with pytest.raises(InvalidInputError, match="no model for epoch 2; 1 are given") as caught:
        long(file(LONG), model=["big"])
    assert caught.value.path.endswith("log.csv, row 4")


def test_columns_of_models_and_clusters_are_read_where_they_are(file):
    text = "epoch,loss,net,cluster\n1,2,big,edge\n2,1,small,far\n"
    reading = read_long(file(text), {"model": "net"})
    assert reading.traces.schedules == ((("big", "edge"), ("small", "far")),)
    with pytest.raises(InvalidInputError, match="must be a name") as caught:
        read_long(file(text.replace("small", "")), {"model": "net"})
    assert caught.value.path.endswith("row 3, column model")


@pytest.mark.parametrize(("first", "epochs"), [(1, [0, 1, 2]), (0, [1, 2, 3])])
def test_epochs_may_be_counted_from_zero(file, first, epochs):
    reading = long(file("\n".join(LONG.splitlines()[:4])), first=first)
    assert reading.traces.epoch.tolist() == epochs


STOPPED = LONG.replace("a,2,1.25", "a,2,")
DIVERGED = LONG.replace("a,1,1.5", "a,1,inf").replace("a,2,1.25", "a,2,NaN")
GAP = LONG.replace("a,1,1.5", "a,1,nan")


@pytest.mark.parametrize(
    ("text", "row", "way"), [(STOPPED, 4, "end or drop"), (DIVERGED, 3, "end or"), (GAP, 3, "drop alone; ")]
)
def test_a_missing_loss_is_refused_with_its_row_unless_said_otherwise(file, text, row, way):
    with pytest.raises(
        InvalidInputError, match=f"run 'a' has no loss in epoch .; --on-missing .on_missing. may be {way}"
    ) as e:
        long(file(text))
    assert e.value.path.endswith(f"log.csv, row {row}, column val/loss")


def test_a_run_that_stopped_or_diverged_is_ended_before_it(file):
    stopped = long(file(STOPPED), on_missing="end")
    assert stopped.traces.last_epochs.tolist() == [1, 1]
    assert noted(stopped)[1:] == [(What.STOPPED, "a", 4)]
    assert stopped.diverged == ()
    diverged = long(file(DIVERGED), on_missing="end")
    assert diverged.traces.last_epochs.tolist() == [0, 1]
    assert noted(diverged)[1:] == [(What.DIVERGED, "a", 3), (What.SHORTER, "a", 2)]
    assert diverged.diverged == ("a",)
    assert "run 'a' diverged and is ended: no loss in epoch 1 (row 3)" in diverged.report()


def test_a_gap_is_refused_or_the_run_is_dropped_and_still_named_as_diverged(file):
    with pytest.raises(InvalidInputError, match="a gap cannot be guessed"):
        long(file(GAP), on_missing="end")
    for text, diverged in ((GAP, ("a",)), (STOPPED, ()), (DIVERGED, ("a",))):
        reading = long(file(text), on_missing="drop")
        assert reading.traces.runs == ("b",)
        assert reading.dropped == ("a",)
        assert reading.diverged == diverged


def test_a_run_without_any_loss_is_dropped_and_a_file_without_any_run_refused(file):
    text = LONG.replace("b,0,2.25", "b,0,nan").replace("b,1,1.75", "b,1,nan")
    reading = long(file(text), on_missing="end")
    assert reading.dropped == ("b",)
    with pytest.raises(InvalidInputError, match="no run is left"):
        read_long(file("epoch,loss\n1,nan\n"), model="m", cluster="c", on_missing="drop")


def test_a_repeated_epoch_is_refused_or_the_last_counts(file):
    text = LONG + "a,1,9,90,9\n"
    with pytest.raises(InvalidInputError, match="epoch 1 of run 'a' stands in row 3 already") as caught:
        long(file(text))
    assert caught.value.path.endswith("row 7")
    reading = long(file(text), on_repeated="last", order="time")
    assert reading.traces.loss[1] == 9
    assert (What.REPEATED, "a", 3) in noted(reading)


REPEATED = """\
run,epoch,key,value,when
a,1,train/loss,1.9,2026-01-31T09:30:00
a,1,val/loss,2.5,2026-01-31T09:30:00
a,2,val/loss,1.5,2026-01-31T10:00:00
a,2,train/loss,0.9,2026-01-31T10:00:00
b,1,val/loss,2.25,2026-01-31T11:00:00
b,1,val/loss,2.0,2026-01-31T12:00:00
b,2,val/loss,1.75,2026-01-31T12:30:00
"""


def shuffled(text):
    """The same file with its lines in another order."""
    head, *lines = text.splitlines()
    return "\n".join([head, *reversed(lines)])


@pytest.mark.parametrize("arranged", [str, shuffled])
def test_lines_of_several_metrics_are_never_mixed_and_the_order_of_the_lines_does_not_matter(file, arranged):
    path = file(arranged(REPEATED))

    def read(**more):
        names = {"loss": "value"}
        return read_long(path, names, model="m", cluster="c", on_repeated="last", **more)

    with pytest.raises(InvalidInputError, match=r"say which lines are meant \(--where (key|when)="):
        read()
    with pytest.raises(InvalidInputError, match=r"'(train|val)/loss' in place of '(train|val)/loss'"):
        read(order="when")  # two metrics were logged at the same time
    with pytest.raises(InvalidInputError, match=r"column when: epoch 1 of run 'b'.*by order='when'"):
        read(where={"key": "val/loss"})
    reading = read(where={"key": "val/loss"}, order="when")
    losses = dict(zip(reading.traces.run.tolist(), reading.traces.loss.tolist(), strict=True))
    assert sorted(reading.traces.loss.tolist()) == [1.5, 1.75, 2.0, 2.5]
    assert losses == {"a": 1.5, "b": 1.75}
    assert "2 lines are passed over: 'val/loss' in column 'key' is elsewhere" in reading.report()


def test_the_place_in_the_file_counts_only_where_nothing_else_tells_lines_apart(file):
    text = "epoch,loss,host\n1,3,x\n1,2,x\n2,1,x\n"
    reading = read_long(file(text), model="m", cluster="c", on_repeated="last")
    assert reading.traces.loss.tolist() == [2, 1]
    assert [(note.what, note.row) for note in reading.notes if note.run] == [(What.REPEATED, 2)]
    same = text.replace("1,2,x", "1,3,y")  # whichever counts, the loss is the same
    assert read_long(file(same), model="m", cluster="c", on_repeated="last").traces.loss.tolist() == [3, 1]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"order": "key"}, "must be a number or a time such as"),
        ({"order": "epoch"}, "order must be a column that is not read otherwise; there are key, when"),
        ({"where": {"key": "test/loss"}}, "no line has 'test/loss' in column 'key'"),
        ({"where": {"kind": "x"}}, "there is no column 'kind'; there are run"),
    ],
)
def test_an_order_or_a_choice_of_lines_that_cannot_be_is_refused(file, more, message):
    with pytest.raises(InvalidInputError, match=message):
        read_long(file(REPEATED), {"loss": "value"}, model="m", cluster="c", on_repeated="last", **more)


def test_lines_of_training_without_the_loss_of_evaluation_are_passed_over(file):
    text = "epoch,loss,train\n1,,3\n1,2,\n2,1,\n2,,4\n"
    reading = read_long(file(text), model="m", cluster="c")
    assert reading.traces.loss.tolist() == [2, 1]
    assert [note.row for note in reading.notes if note.run] == [2, 5]


def test_an_epoch_that_is_not_there_at_all_is_refused(file):
    with pytest.raises(InvalidInputError, match="3 follows on 1") as caught:
        long(file(LONG.replace("a,2,", "a,3,")))
    assert caught.value.path.endswith("row 4, column epoch")


@pytest.mark.parametrize(
    ("text", "options", "message", "place"),
    [
        (LONG.replace("1.25", "low"), {}, "must be a number, not 'low'", "row 4, column val/loss"),
        (LONG.replace("a,1,", "a,x,"), {}, "whole number, not 'x'", "row 3, column step"),
        (LONG.replace("1.5,50", "1.5,"), {}, "not empty where there is a loss", "row 3, column acc"),
        (LONG, {"percent": False}, r"share in \[0, 1\], not 10", "row 2, column accuracy"),
        (LONG, {"model": None}, "there is no column 'model'; give model", "row 1"),
        (LONG.replace("step", "steps"), {}, "there is no column 'step'; there are seed", "row 1"),
        (LONG, {"on_missing": "guess"}, "must be one of refuse, end, drop", ".on_missing"),
        (LONG, {"on_repeated": "guess"}, "must be one of refuse, last, first", ".on_repeated"),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(file, text, options, message, place):
    with pytest.raises(InvalidInputError, match=message) as caught:
        long(file(text), **options)
    assert caught.value.path.endswith(place)


def test_an_unknown_column_of_ours_is_refused(file):
    with pytest.raises(InvalidInputError, match="must be one of run, epoch"):
        read_long(file(LONG), {"speed": "time"}, model="m", cluster="c")


COLUMNS = "step,a,b,c\n0,2.5,2.25,2\n1,1.5,,1.5\n2,1.25,,nan\n"
ROWS = "run,0,1,2\na,2.5,1.5,1.25\nb,2.25,,\nc,2,1.5,nan\n"


@pytest.mark.parametrize(("text", "runs_in", "row"), [(COLUMNS, "columns", 4), (ROWS, "rows", 4)])
def test_wide_files_hold_runs_in_columns_or_rows(file, text, runs_in, row):
    with pytest.raises(InvalidInputError, match="run 'c' has no loss in epoch 2") as caught:
        wide(file(text), runs_in)
    assert caught.value.path.endswith(f"row {row}, column {'c' if runs_in == 'columns' else '2'}")
    reading = wide(file(text), runs_in, on_missing="end")
    traces = reading.traces
    assert traces.runs == ("a", "b", "c")
    assert traces.last_epochs.tolist() == [2, 0, 1]
    assert traces.loss.tolist() == [2.5, 1.5, 1.25, 2.25, 2, 1.5]
    assert [(note.what, note.run) for note in reading.notes] == [
        (What.DIVERGED, "c"),
        (What.SHORTER, "b"),
        (What.SHORTER, "c"),
    ]


def test_the_column_of_labels_need_not_be_the_first(file):
    reading = wide(file("a,epoch\n2,1\n1,2\n"), label="epoch")
    assert (reading.traces.runs, reading.traces.loss.tolist()) == (("a",), [2, 1])


def test_models_and_clusters_of_a_wide_file_may_change_on_the_way(file):
    reading = wide(file("epoch,a\n0,3\n1,2\n2,1\n"), model=["big", "small"])
    assert reading.traces.model.tolist() == ["big", "big", "small"]
    with pytest.raises(InvalidInputError, match="no cluster for epoch 2; 1 are given") as caught:
        wide(file("epoch,a\n1,2\n2,1\n"), cluster=["edge"])
    assert caught.value.path.endswith("row 3")


def test_a_wide_file_needs_names_and_numbers_of_epochs(file):
    with pytest.raises(InvalidInputError, match="names no model"):
        read_wide(file(COLUMNS), cluster="site")
    with pytest.raises(InvalidInputError, match="whole number, not 'a'") as caught:
        wide(file(ROWS))
    assert caught.value.path.endswith("row 2, column run")
    with pytest.raises(InvalidInputError, match="whole number, not 'a'") as caught:
        wide(file(COLUMNS), "rows")
    assert caught.value.path.endswith("row 1, column a")


# --- what well-known tools write ------------------------------------------------------------------------


def test_a_log_of_keras_is_read(file):
    text = "epoch,accuracy,loss,val_accuracy,val_loss\n0,0.3,2.1,0.4,1.9\n1,0.5,1.6,0.55,1.5\n"
    names = {"loss": "val_loss", "accuracy": "val_accuracy"}
    reading = read_long(file(text), names, model="net", cluster="site", first=0)
    assert reading.traces.epoch.tolist() == [1, 2]
    assert reading.traces.loss.tolist() == [1.9, 1.5]
    assert reading.report() == "column 'accuracy' is passed over\ncolumn 'loss' is passed over"


def test_a_log_of_lightning_with_lines_of_training_between_is_read(file):
    text = "epoch,step,train_loss,val_loss\n0,9,2.2,\n0,9,,1.9\n1,19,1.7,\n1,19,,1.5\n"
    reading = read_long(file(text), {"loss": "val_loss"}, model="net", cluster="site", first=0)
    assert reading.traces.loss.tolist() == [1.9, 1.5]
    assert [note.row for note in reading.notes][2:] == [2, 4]


def test_an_export_of_a_chart_with_extremes_beside_every_run_is_read(file):
    text = '"Step","a - loss","a - loss__MIN","b - loss"\n"1","2.5","2.5","2.25"\n"2","1.5","1.5",""\n'
    reading = wide(file(text), runs=["a - loss", "b - loss"])
    assert reading.traces.runs == ("a - loss", "b - loss")
    assert reading.traces.last_epochs.tolist() == [2, 1]
    assert "column 'a - loss__MIN' is passed over" in reading.report()
    with pytest.raises(InvalidInputError, match="there is no run 'c'; there are a - loss"):
        wide(file(text), runs=["c"])


def exported(runs, metrics):
    """A chart of Weights & Biases: for every run and metric its value, its extremes and its clock."""
    ends = ("", "__MIN", "__MAX")
    names = [f"{run} - {name}{end}" for run in runs for name in ("_step", *metrics) for end in ends]
    rows = [[str(epoch), *(str(3.0 - epoch / 4) for _ in names)] for epoch in (1, 2)]
    return "\n".join(",".join(f'"{cell}"' for cell in row) for row in [["Step", *names], *rows])


def test_extremes_and_clocks_of_an_export_are_never_runs_of_their_own(file):
    runs = [f"run-{number}" for number in range(51)]
    reading = wide(file(exported(runs, ["val/loss"])))
    assert reading.traces.runs == tuple(f"{run} - val/loss" for run in runs)
    assert reading.report().count("is passed over") == 51 * 5
    for name in ("run-0 - val/loss__MIN", "run-0 - _step"):
        with pytest.raises(InvalidInputError, match="there is no run"):
            wide(file(exported(runs, ["val/loss"])), runs=[name])


def test_a_run_is_not_counted_twice_where_an_export_holds_two_metrics(file):
    text = exported(["a", "b"], ["train/loss", "val/loss"])
    with pytest.raises(
        InvalidInputError, match="is of the same run as 'a - train/loss'; name the col"
    ) as caught:
        wide(file(text))
    assert caught.value.path.endswith("row 1, column a - val/loss")
    chosen = ["a - val/loss", "b - val/loss"]
    assert wide(file(text), runs=chosen).traces.runs == tuple(chosen)


def test_a_run_may_be_called_like_an_extreme_where_there_is_nothing_that_it_could_be_one_of(file):
    assert wide(file("step,a__MIN,b - x,b - y\n1,2,3,4\n")).traces.runs == ("a__MIN", "b - x", "b - y")


def test_a_folder_with_one_file_per_run_is_read(tmp_path):
    for name, losses in (("b", (3, 2)), ("a", (2.5, "nan"))):
        lines = [f"17.5,{step},{loss}" for step, loss in enumerate(losses, start=1)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["Wall time,Step,Value", *lines]), encoding="utf-8")

    def read(path):
        names = {"epoch": "Step", "loss": "Value"}
        return read_long(path, names, model="net", cluster="site", on_missing="end")

    paths = sorted(tmp_path.glob("*.csv"))
    reading = read_files(paths, read)
    assert reading.traces.runs == ("a", "b")
    assert reading.diverged == ("a",)
    assert f"{paths[0]}: run 'a' diverged" in reading.report()
    with pytest.raises(InvalidInputError, match="run 'a' is in two of the tables"):
        read_files([paths[0], paths[0]], read)
    with pytest.raises(InvalidInputError, match="nothing to join"):
        read_files([], read)
