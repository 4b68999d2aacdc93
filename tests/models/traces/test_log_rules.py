"""Missing losses, repeats and gaps in a CSV file: what is refused, ended or dropped, and what is noted."""

from pathlib import Path

import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.importing import Choices, Imported, import_logs
from depl.models.traces.log_rules import What

LONG = """\
seed,epoch,val/loss,acc,time
a,0,2.5,10,1
a,1,1.5,50,2
a,2,1.25,75,3
b,0,2.25,12.5,1
b,1,1.75,50,2
"""
STOPPED = LONG.replace("a,2,1.25", "a,2,")
DIVERGED = LONG.replace("a,1,1.5", "a,1,inf").replace("a,2,1.25", "a,2,NaN")
GAP = LONG.replace("a,1,1.5", "a,1,nan")


def long(folder: Path, text: str, **options: object) -> Imported:
    path = folder / "log.csv"
    path.write_text(text, encoding="utf-8")
    told = {"loss": "val/loss", "run": "seed", "first": 1, "stages": ("net@site",)}
    return import_logs([str(path)], Choices(**(told | options)))  # type: ignore[arg-type]


def noted(found: Imported) -> list[tuple[What, str, int | None]]:
    return [(note.what, note.run, note.row) for note in found.notes]


def test_losses_and_accuracies_of_runs_are_read_by_their_columns(tmp_path: Path) -> None:
    traces = long(tmp_path, LONG, accuracy="acc", percent=True).traces
    assert traces.runs == ("a", "b")
    assert traces.epoch.tolist() == [0, 1, 2, 0, 1]
    assert traces.loss.tolist() == [2.5, 1.5, 1.25, 2.25, 1.75]
    assert traces.target("error_rate").tolist() == [0.9, 0.5, 0.25, 0.875, 0.5]


@pytest.mark.parametrize(
    ("text", "row", "way"), [(STOPPED, 4, "end or drop"), (DIVERGED, 3, "end or"), (GAP, 3, "drop alone; ")]
)
def test_a_missing_loss_is_refused_with_its_row_unless_said_otherwise(
    tmp_path: Path, text: str, row: int, way: str
) -> None:
    message = f"run 'a' has no loss in epoch .; --on-missing .on_missing. may be {way}"
    with pytest.raises(InvalidInputError, match=message) as caught:
        long(tmp_path, text)
    assert caught.value.path.endswith(f"log.csv, row {row}, column val/loss")


def test_a_run_that_stopped_or_diverged_is_ended_before_it(tmp_path: Path) -> None:
    stopped = long(tmp_path, STOPPED, on_missing="end")
    assert stopped.traces.last_epochs.tolist() == [1, 1]
    assert noted(stopped) == [(What.STOPPED, "a", 4)]
    assert stopped.diverged == ()
    diverged = long(tmp_path, DIVERGED, on_missing="end")
    assert diverged.traces.last_epochs.tolist() == [0, 1]
    assert noted(diverged) == [(What.DIVERGED, "a", 3)]
    assert diverged.diverged == ("a",)
    assert diverged.notes[0].text == "run 'a' diverged and is ended: no loss in epoch 1 (row 3)"


def test_a_gap_is_refused_or_the_run_is_dropped_and_still_named_as_diverged(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="a gap cannot be guessed"):
        long(tmp_path, GAP, on_missing="end")
    for text, diverged in ((GAP, ("a",)), (STOPPED, ()), (DIVERGED, ("a",))):
        found = long(tmp_path, text, on_missing="drop")
        assert found.traces.runs == ("b",)
        assert found.dropped == ("a",)
        assert found.diverged == diverged


def test_a_run_without_any_loss_is_dropped_and_a_file_without_any_run_refused(tmp_path: Path) -> None:
    text = LONG.replace("b,0,2.25", "b,0,nan").replace("b,1,1.75", "b,1,nan")
    assert long(tmp_path, text, on_missing="end").dropped == ("b",)
    with pytest.raises(InvalidInputError, match="no run is left"):
        long(tmp_path, "seed,epoch,val/loss\na,1,nan\n", on_missing="drop")


def test_lines_of_training_without_the_loss_of_evaluation_are_passed_over(tmp_path: Path) -> None:
    text = "seed,epoch,val/loss,train\na,1,,3\na,1,2,\na,2,1,\na,2,,4\n"
    assert long(tmp_path, text).traces.loss.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        (LONG.replace("1.25", "low"), "must be a number, not 'low'", "row 4, val/loss"),
        (LONG.replace("a,1,", "a,x,"), "number", "row 3, epoch"),
        (LONG.replace("1.5,50", "1.5,"), "must be logged with every loss", "row 3, acc"),
        (LONG.replace("a,2,1.25,75", "a,2,1.25,750"), r"share in \[0, 1\], not 7.5", "column accuracy"),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(
    tmp_path: Path, text: str, message: str, place: str
) -> None:
    with pytest.raises(InvalidInputError, match=message) as caught:
        long(tmp_path, text, accuracy="acc", percent=True)
    assert caught.value.path.endswith(place)


@pytest.mark.parametrize(("name", "known"), [("on_missing", "end, drop"), ("on_repeated", "last, first")])
def test_rules_that_there_are_none_of_are_refused(tmp_path: Path, name: str, known: str) -> None:
    with pytest.raises(InvalidInputError, match=f"must be one of refuse, {known}, not 'guess'"):
        long(tmp_path, LONG, **{name: "guess"})
