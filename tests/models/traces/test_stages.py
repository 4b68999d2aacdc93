"""Stages: the plan inside the provenance, and how many runs stand behind each, counted by hand."""

import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.stages import PLAN, StageRuns, plan_text, planned, stage_runs
from depl.models.traces.table import Traces

SCHEDULE = (("full", "edge"),) * 2 + (('cut, "small"', "far: off"),) + (("full", "edge"),)


@pytest.mark.parametrize("schedule", [(), SCHEDULE, SCHEDULE[:1]])
def test_a_plan_reads_back(schedule) -> None:
    assert planned({PLAN: plan_text(schedule)}) == schedule


def test_traces_of_other_tools_have_none() -> None:
    assert planned({"schedule": "of the family"}) is None


TORN = (
    "",
    "[",
    "{}",
    '[["a", "b"]]',
    '[["a", "b", 0]]',
    '[["a", "b", -1]]',
    '[["a", "b", 1.5]]',
    '[[1, "b", 1]]',
    '[["a", "b", 1000000000000]]',
    "[" * 10**5,
)


@pytest.mark.parametrize("text", TORN)
def test_a_torn_one_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(InvalidInputError, match="must be stages") as error:
        planned({PLAN: text})
    assert error.value.path == ".provenance.plan"


def traces(*schedules: str) -> Traces:
    """Runs given by the models of their epochs, one letter each; capital letters train on ``far``."""
    rows = [(run, epoch, name) for run, names in enumerate(schedules) for epoch, name in enumerate(names, 1)]
    return Traces(
        run=[str(run) for run, _, _ in rows],
        epoch=[epoch for _, epoch, _ in rows],
        model=[name.lower() for _, _, name in rows],
        cluster=["far" if name.isupper() else "edge" for _, _, name in rows],
        loss=[1.0] * len(rows),
    )


def test_stages_are_counted_by_place_and_by_what_came_before():
    assert stage_runs(traces("aaB", "aB", "aB", "cBBB", "B")) == (
        StageRuns("a", "edge", True, (), 3, (0, 0), 2),
        StageRuns("b", "far", True, (), 1, (0, 0), 1),
        StageRuns("c", "edge", True, (), 1, (0, 0), 1),
        StageRuns("b", "far", False, ("a@edge", "c@edge"), 4, (1, 2), 3),
    )


def test_a_run_that_comes_back_to_a_stage_counts_once():
    first, middle, again = stage_runs(traces("aBaBB"))
    assert (first.first, first.runs) == (True, 1)
    assert (middle.model, middle.runs, middle.starts, middle.epochs) == ("a", 1, (2, 2), 1)
    assert (again.model, again.runs, again.starts, again.epochs) == ("b", 1, (1, 3), 2)
