"""20 runs of which 4 are lost, in every format and way: nothing promises or certifies more than 16 of 20."""

import contextlib
from pathlib import Path

import pytest

from depl.models.estimation import instance as fitted
from depl.models.estimation.certificate import certificate, held_out
from depl.models.estimation.instance import fit_instance
from depl.models.estimation.setup import Setup
from depl.models.evaluation.traced_loss import end_law
from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.files import read_traces, write_traces
from depl.models.traces.table import Traces
from tests.cases import lost_run_cases
from tests.cases.fit_cases import setup
from tests.cases.lost_run_cases import EXPRESSED, PLAN, TARGET, write
from tests.cases.tool_log_cases import read

RUNS, LOST = 20, 4
SETUP: Setup = setup(
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
PROMISED: dict[tuple[object, ...], float] = {}
"""Promises by what the traces hold of losses, as many formats hold the same."""


@pytest.fixture(autouse=True)
def few_runs_and_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitted, "_RESAMPLES", 9)
    monkeypatch.setattr(lost_run_cases, "RUNS", RUNS)
    monkeypatch.setattr(lost_run_cases, "LOST", LOST)


def readings(folder: Path, told: dict[str, str]) -> list[Traces]:
    """What is read in each way out that is not refused."""
    found = []
    for choices in WAYS_OUT:
        with contextlib.suppress(InvalidInputError):
            found.append(read(folder, **told, **choices).traces)
    return found


def promised(traces: Traces) -> float:
    held = (*map(tuple, (traces.epoch, traces.model, traces.cluster, traces.loss)), len(traces.lost))
    if held not in PROMISED:
        law = fit_instance(traces, SETUP).traced_law
        assert law is not None
        PROMISED[held] = 1 - end_law(law, PLAN).violation(TARGET).lower
    return PROMISED[held]


@pytest.mark.parametrize(("form", "way"), EXPRESSED)
def test_lost_runs_never_make_a_promise_bolder(form, way, tmp_path):
    told = write(form, way, tmp_path / "logs")
    found = readings(tmp_path / "logs", told)
    assert found
    for traces in {tuple(item.lost.items()): item for item in found}.values():
        assert len(traces.lost) == LOST
        write_traces(tmp_path / "runs.csv.gz", traces)
        again = read_traces(tmp_path / "runs.csv.gz")
        assert again.lost == traces.lost
        share = (RUNS - LOST) / RUNS
        assert 0.75 < promised(again) <= share
        found = certificate(held_out(again, (), PLAN), TARGET, share + 0.01, 0.5)
        assert (found.runs, found.exceedances) == (RUNS, LOST)
        assert not found.certified
