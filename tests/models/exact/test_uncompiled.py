"""The searches give the same answers with and without compiled kernels."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from depl.models.exact.counted import scenario_search
from depl.models.exact.law import exact
from depl.models.foundation.compiling import compiled_at_once
from depl.models.solving.limits import Limits
from tests.cases.law_search_cases import AWKWARD
from tests.oracles.search import tiny_problems

ROOT = Path(__file__).resolve().parents[3]
PLAIN = f"import json; from {__name__} import outcomes; print(json.dumps(outcomes()))"


def outcomes():
    """Ending, plan, and bounds of each."""
    names = ("an initial model", "switches that gain")
    found = [exact(AWKWARD[name].replace(maximum_epochs=3), Limits()) for name in names]
    counted = tiny_problems(6, 3)
    found += [scenario_search(each.instance, Limits(scenarios=each.scenarios)) for each in counted]
    return [
        [
            outcome.termination.value,
            outcome.plan and [[row.model, row.cluster, row.resources] for row in outcome.plan.epochs],
            [outcome.lower_bound, *([outcome.dual.bound] if outcome.dual else [])],
        ]
        for outcome in found
    ]


def test_the_searches_give_the_same_answers_without_compiling():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    options = {"env": environment, "capture_output": True, "text": True, "check": True, "timeout": 120}
    child = subprocess.run([sys.executable, "-c", PLAIN], **options)
    with compiled_at_once():
        compiled = outcomes()
    assert sum(ending == "optimal" for ending, *_ in compiled) >= 4
    for (ending, plan, bounds), other in zip(compiled, json.loads(child.stdout), strict=True):
        assert [ending, plan, pytest.approx(bounds, rel=1e-12)] == other
