"""One folder with a document of every kind that commands read, written once; tests get copies of it."""

import json
import shutil
from pathlib import Path

import pytest

import depl
from depl.commands import fit
from depl.instances.spent_promise import promised_plan, spent_promise
from depl.models.estimation import instance as fitted
from depl.models.problem.laws import Empirical
from depl.models.solving.observed_state import State
from depl.models.traces.files import write_traces
from tests.cases import policy_cases
from tests.cases.fit_cases import SETUP, drawn
from tests.cases.policy_files import by_hand


def two_models(level: float = 0.45) -> depl.Instance:
    """Two models on one cluster, with few losses: the large one is needed for 0.9."""
    return policy_cases.tiny(
        Empirical(values=(-0.1, 0.1, 0.3), weights=(1.0, 1.0, 2.0)),
        Empirical(values=(0.1, 0.4)),
        prices=(1.0, 2.1),
        maximum_loss=0.35,
        quantile_level=level,
        maximum_epochs=3,
    )


@pytest.fixture(scope="session")
def documents(tmp_path_factory: pytest.TempPathFactory, tiny, tiny_optimum) -> Path:
    """The folder; nobody writes to it."""
    folder = tmp_path_factory.mktemp("documents")
    texts = {
        "instance.json": tiny.to_json(),
        "plan.json": tiny_optimum.to_json(),
        "spent.json": spent_promise().to_json(),
        "promised.json": promised_plan().to_json(),
        "state.json": State(epoch=1, loss=2, model="full").to_json(),
        "setup.json": "// a comment\n" + json.dumps(SETUP),
        "items.txt": "3 10\n5 4\n4 3\n3 7\n",
        "mine.py": "",
        "two.json": two_models().to_json(),
        "policy.json": by_hand().to_json(),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    write_traces(folder / "runs.csv", drawn())
    return folder


@pytest.fixture
def here(documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the folder, in which commands are called; p-values of fits are of few resamples."""
    monkeypatch.setattr(fit, "_RESAMPLES", 19)
    monkeypatch.setattr(fitted, "_RESAMPLES", 9)
    shutil.copytree(documents, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path
