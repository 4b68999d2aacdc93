"""Logs as the tools themselves wrote them: what is read from each, and that all agree."""

import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from depl.cli import parsed
from depl.commands.traces import TOOLS as DECLARED
from depl.commands.traces import choices_of
from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.finding import read_logs
from depl.models.tool_logs.importing import Imported, import_logs
from depl.models.tool_logs.points import TOOLS
from depl.models.traces.table import Traces
from tests.cases.tool_log_cases import DENSE, EVERY, LOGS, Logged, unpacked

ALIKE = ("wandb-offline", "wandb-inspect", "wandb", "wandb-history", "mlflow-files", "mlflow", "transformers")


def read(logged: Logged, folder: Path, *more: str) -> Imported:
    path = str(unpacked(logged, folder))
    _, options = parsed(["traces", "import", path, *logged.options, *more])
    return import_logs(options.paths, choices_of(options))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Imported]:
    """What is read of a log, once."""
    return functools.cache(lambda name: read(EVERY[name], tmp_path_factory.mktemp(name)))


def by_name(traces: Traces) -> dict[str, list[object]]:
    starts = zip(traces.runs, traces.bounds[:-1], traces.bounds[1:], strict=True)
    columns = (traces.epoch, traces.model, traces.cluster, traces.loss)
    return {name: [column[a:b].tolist() for column in columns] for name, a, b in starts}


def test_the_tools_of_the_options_are_those_that_are_read():
    assert DECLARED == TOOLS
    assert {logged.tool for logged in EVERY.values()} == set(TOOLS)


@pytest.mark.parametrize("name", EVERY)
def test_every_log_is_recognised_and_has_all_runs_and_epochs(name, found, tmp_path):
    log, traces = found(name).log, found(name).traces
    assert log.tool == EVERY[name].tool
    assert log.why
    assert len(traces.runs) == 24
    assert set(traces.last_epochs.tolist()) == {16}
    assert traces.epoch.min() == (0 if name.startswith("flower") else 1)
    assert not found(name).notes
    said = read(EVERY[name], tmp_path, "--from", EVERY[name].tool)
    assert by_name(said.traces) == by_name(traces)
    assert not said.log.why


@pytest.mark.parametrize("name", [*ALIKE, "tensorboard", "csv"])
def test_logs_of_the_same_runs_agree_to_their_last_digits(name, found):
    these, exact = (by_name(found(item).traces) for item in (name, "jsonl"))
    assert these.keys() == exact.keys()
    near, share = {"tensorboard": (1e-7, 1e-7), "csv": (5.1e-7, 0)}.get(name, (0, 0))
    for run, (*names, losses) in exact.items():
        assert these[run][:3] == names
        assert np.allclose(these[run][3], losses, rtol=share, atol=near)


def test_what_lightning_logged_is_its_validation_loss_epoch_by_epoch(found):
    """By the standard library: the last column of the lines that have one."""
    traces = found("lightning").traces
    runs = by_name(traces)
    for version in ("version_0", "version_10"):
        lines = (LOGS / "lightning/lightning_logs" / version / "metrics.csv").read_text().split()[1:]
        losses = [float(line.split(",")[3]) for line in lines if line.split(",")[3]]
        assert runs[version][3] == losses
    assert list(runs)[:3] == ["version_0", "version_1", "version_2"]
    assert [len(runs) for runs in traces.by_schedule().values()] == [12, 12]


def test_what_clients_evaluated_has_no_round_before_training():
    found = read(EVERY["flower-result"]._replace(options=("--loss", "eval_loss", *DENSE)), LOGS)
    assert found.traces.epoch.min() == 1
    assert found.facts[0] == ("loss", "distributed/eval_loss")


def test_a_pickle_is_never_opened_and_a_folder_without_logs_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("loss 3", encoding="utf-8")
    (file,) = (LOGS / "flower").glob("*.pkl")
    for asked, words in (
        (([file],), r"\.pkl.*write JSON instead.*json.dumps\(vars\(history\)\)"),
        (([tmp_path],), "holds no log of lightning, keras"),
        (([tmp_path / "nowhere"],), "cannot be read"),
        (([tmp_path], "kera"), "did you mean 'keras'"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            read_logs(*asked)
