"""Recording: resumable, whole at any time, and not mixed with other traces."""

import pytest

from depl.instances.training import recording
from depl.instances.training.recording import CHUNK, record
from depl.instances.training.runs import Epoch
from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.files import read_traces
from tests.cases.training_cases import small_family

FAMILY = small_family()
SHORT = (Epoch(0.5, "edge"), Epoch(0.75, "far-edge"))


def recorded(path, seeds, **options):
    return record(FAMILY, seeds, path, schedule=SHORT, **options)


@pytest.mark.parametrize("name", ["traces.csv.gz", "traces.csv"])
def test_runs_that_are_there_are_not_trained_again(tmp_path, name):
    steps = []
    first = recorded(tmp_path / name, range(2, 4), step=steps.append)
    again = recorded(tmp_path / name, range(5), step=steps.append)
    assert (first.trained, first.kept) == (2, 0)
    assert (again.trained, again.kept) == (3, 2)
    assert steps == ["2", "3", "2", "3", "0", "1", "4"]
    assert read_traces(tmp_path / name).runs == ("0", "1", "2", "3", "4")
    nothing = recorded(tmp_path / name, range(5), step=steps.append)
    assert (nothing.trained, nothing.kept, steps[7:]) == (0, 5, list("01234"))


@pytest.mark.parametrize(("where", "left"), [("step", 1), ("write_traces", 3), ("train_run", 0)])
def test_an_interrupt_keeps_every_run_that_was_finished(tmp_path, monkeypatch, where, left):
    """While runs are trained, while the file is written, and before there is one."""
    path, real = tmp_path / "traces.csv.gz", getattr(recording, where, None)

    def once(*arguments):
        monkeypatch.undo()
        raise KeyboardInterrupt

    if real:
        monkeypatch.setattr(recording, where, once)
    done = recorded(path, range(3), **({} if real else {"step": once}))
    assert done.interrupted
    assert done.trained == left
    assert (read_traces(path).runs if path.exists() else ()) == tuple("012"[:left])
    assert recorded(path, range(3)).trained == 3 - left


def test_a_process_that_is_killed_loses_the_runs_since_the_last_writing_at_most(tmp_path):
    held = []

    def look(done):
        path = tmp_path / "traces.csv.gz"
        held.append(len(read_traces(path).runs) if path.exists() else 0)

    recorded(tmp_path / "traces.csv.gz", range(CHUNK + 2), step=look)
    assert held == [0] * CHUNK + [CHUNK] * 2


@pytest.mark.parametrize(
    ("family", "schedule", "named"),
    [
        (small_family("others"), SHORT, "family is 'points'"),
        (small_family(rate=0.2), SHORT, "setup is "),
        (FAMILY, SHORT[:1], "schedule is "),
        (FAMILY, None, "schedule is "),
    ],
)
def test_other_runs_are_not_added_to_a_file(tmp_path, family, schedule, named):
    """Nor to traces of other tools: that is a row of the refusals of commands."""
    path = tmp_path / "traces.csv.gz"
    recorded(path, [0])
    before = path.read_bytes()
    with pytest.raises(InvalidInputError, match=f"its {named}.*; choose another file"):
        record(family, [1], path, schedule=schedule)
    assert path.read_bytes() == before
