"""The same program with and without compiled kernels."""

import contextlib
import io
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from depl.models.foundation.compiling import compiled_at_once
from depl.models.solving.methods import Outcome

ROOT = Path(__file__).resolve().parents[2]


def compiled_and_plain(program: str) -> tuple[str, str]:
    """What a Python program prints with compiled kernels, in this process, and what without, in another."""
    compiled = io.StringIO()
    with contextlib.redirect_stdout(compiled), compiled_at_once():
        exec(compile(program, "compiled", "exec"), {"__name__": "compiled"})
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program]
    plain = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
    return compiled.getvalue(), plain.stdout


def record(outcome: Outcome) -> str:
    """One line on an outcome, for `require_same_outcomes`."""
    plan = None if outcome.plan is None else [[e.model, e.cluster, e.resources] for e in outcome.plan.epochs]
    dual = None if outcome.dual is None else outcome.dual.bound
    return json.dumps([outcome.termination.value, outcome.lower_bound, dual, plan])


def require_same_outcomes(program: str, at_least: int) -> None:
    """The program prints a `record` per outcome: the same plans both ways, and bounds equal to 1e-12.

    At least so many of them must be proved optimal, so that something is compared.
    """
    compiled, plain = (
        [json.loads(line) for line in text.splitlines()] for text in compiled_and_plain(program)
    )
    assert sum(one[0] == "optimal" for one in compiled) >= at_least
    for one, other in zip(compiled, plain, strict=True):
        assert one[0] == other[0]
        assert math.isinf(one[1]) or one[1] == pytest.approx(other[1], rel=1e-12)
        assert math.isinf(one[1]) == math.isinf(other[1])
        assert one[2] == (None if other[2] is None else pytest.approx(other[2], rel=1e-12))
        assert one[3] == other[3]
