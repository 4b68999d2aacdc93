"""``depl warm-up`` solves small instances by the methods that are named, and says what that compiled."""

import json
import os
import subprocess
import sys

import pytest


def test_named_methods_are_prepared_once_each(ask, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "depl.solve",
        lambda instance, method, time_limit: asked.append((instance.name, method)),
    )
    spent = iter([0.0, 3.0, 3.0, 3.0])
    monkeypatch.setattr("depl.models.foundation.compiling.compiling_seconds", lambda: next(spent))
    code, out, err = ask("warm-up", "--method", "exact", "--method", "depl", "--method", "exact")
    assert (code, err) == (0, "")
    assert asked == [(name, method) for method in ("exact", "depl") for name in ("tiny", "paper-alexnet-9")]
    cells = [[cell.strip() for cell in line.split("|")[:2]] for line in out.splitlines()[2:4]]
    assert cells == [["exact", "3.0 s"], ["depl", "0.0 s"]]
    assert out.splitlines()[-1] == "kernels compiled in 3.0 s and kept"


def test_once_all_is_compiled_nothing_is(ask):
    ask("warm-up", "--method", "fastest-cluster")
    code, out, _ = ask("warm-up", "--method", "fastest-cluster", "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["compiling_seconds"] == 0
    assert [row["method"] for row in answer["methods"]] == ["fastest-cluster"]


def test_an_unknown_method_is_refused_before_anything_is_compiled(ask, monkeypatch):
    monkeypatch.setattr("depl.solve", lambda *_, **__: pytest.fail("solved"))
    code, out, err = ask("warm-up", "--method", "exact", "--method", "exakt")
    assert (code, out) == (2, "")
    assert "exakt" in err


@pytest.mark.slow
def test_a_solve_after_it_compiles_nothing(tmp_path):
    """In processes of their own, with a cache that was empty."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    words = [sys.executable, "-m", "depl"]
    first = subprocess.run([*words, "warm-up", "--json"], env=environment, check=True, capture_output=True)
    assert json.loads(first.stdout)["compiling_seconds"] > 1
    again = subprocess.run([*words, "warm-up", "--json"], env=environment, check=True, capture_output=True)
    assert json.loads(again.stdout)["compiling_seconds"] == 0
