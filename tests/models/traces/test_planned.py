"""The plan inside the provenance of traces: written as stages, read back, refused where torn."""

import numpy as np
import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.files import read_traces, write_traces
from depl.models.traces.stages import PLAN, plan_text, planned
from depl.models.traces.table import Traces

SCHEDULE = (("full", "edge"),) * 2 + (('cut, "small"', "far: off"),) + (("full", "edge"),)


@pytest.mark.parametrize("schedule", [(), SCHEDULE, SCHEDULE[:1]])
def test_a_plan_reads_back(schedule) -> None:
    assert planned({PLAN: plan_text(schedule)}) == schedule


def test_it_is_a_list_of_stages() -> None:
    assert plan_text(SCHEDULE[:2]) == '[["full", "edge", 2]]'


@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
def test_files_keep_it(tmp_path, suffix: str) -> None:
    traces = Traces(["a"], np.array([1]), ["full"], ["edge"], [1.0], provenance={PLAN: plan_text(SCHEDULE)})
    write_traces(tmp_path / f"runs.{suffix}", traces)
    assert planned(read_traces(tmp_path / f"runs.{suffix}").provenance) == SCHEDULE


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
