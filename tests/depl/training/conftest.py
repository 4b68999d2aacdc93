"""The adapters, imported with fakes in the place of their frameworks."""

import importlib
import json
import sys

import pytest

from depl.models.policy.controller import Controller
from tests.cases import fake_frameworks
from tests.cases.policy_files import digits_policy


@pytest.fixture
def adapter(monkeypatch):
    """Imports ``depl.training.NAME`` with the fakes; it is forgotten afterwards."""
    names = [f"depl.training.{name}" for name in ("keras", "lightning", "flower")]
    for name, module in fake_frameworks.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield lambda name: importlib.import_module(f"depl.training.{name}")
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture
def controller(tmp_path):
    """Makes the controller of the policy by hand, as a program does that is started again."""
    return lambda: Controller.resume(json.dumps(digits_policy()), tmp_path / "run.jsonl")


@pytest.fixture
def forgetful():
    """Makes one of a policy that trains the first epoch whatever l(0) is, as those of ordinary logs do."""
    policy = digits_policy()
    policy["nodes"][0]["trainings"][0]["retention"] = 0.0
    return lambda: Controller(json.dumps(policy))
