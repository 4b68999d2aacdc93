"""Files that a reader may trip over: each is read, or refused in words, within a second."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.importing import Choices, import_logs
from depl.models.tool_logs.points import LoggedRun, TrippedError, runs_of
from tests.cases.hostile_logs import CASES


@pytest.mark.parametrize("name", CASES)
def test_hostile_logs_are_read_or_refused_soon(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    path = case.make(tmp_path)
    choices = Choices(**{"loss": "loss", "stages": ("net@edge",)} | dict(case.choices))
    started = time.process_time()
    if isinstance(case.answer, str):
        with pytest.raises(InvalidInputError) as caught:
            import_logs([str(path)], choices)
        assert case.answer in str(caught.value)
        assert type(caught.value) is InvalidInputError
    else:
        assert import_logs([str(path)], choices).traces.loss.tolist() == case.answer
    assert time.process_time() - started < 60  # none takes a second: what is quadratic or worse takes minutes


@pytest.mark.parametrize(
    ("error", "message", "kind"),
    [
        (KeyError("x"), "cannot be read as a log (KeyError: 'x'); leave it out", TrippedError),
        (OSError(5, "Input/output error"), "cannot be read (Input/output error)", InvalidInputError),
        (RecursionError(), "is nested too deeply", InvalidInputError),
        (MemoryError(), "does not fit into the memory", InvalidInputError),
        (InvalidInputError("is odd"), "is odd", InvalidInputError),
    ],
)
def test_whatever_a_reader_trips_over_becomes_a_refusal_with_the_file(
    error: Exception, message: str, kind: type
) -> None:
    def trips(path: Path) -> Iterator[LoggedRun]:
        raise error

    with pytest.raises(InvalidInputError) as caught:
        runs_of(trips, Path("a.json"))
    assert (type(caught.value), caught.value.path) == (kind, "a.json")
    assert message in caught.value.message
