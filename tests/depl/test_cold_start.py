"""``depl solve tiny`` answers whatever it finds: a cold cache, two processes at once, no home, no TMPDIR."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("depl", "models", "heuristics", "instances", "benchmarks")
PATIENCE = 600.0
"""Seconds; compiling takes 10 of CPU time, on a machine that may do other work."""


def started(folder: Path, **environment: str) -> subprocess.Popen[str]:
    """``depl solve tiny`` of the sources in a folder."""
    kept = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    return subprocess.Popen(
        [sys.executable, "-m", "depl", "solve", "tiny"],
        env={**kept, "PYTHONPATH": str(folder), **environment},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def errors(processes: Iterable[subprocess.Popen[str]]) -> list[str]:
    """What each of them said on standard error, once all have proved the plan."""
    ended = [(process, *process.communicate(timeout=PATIENCE)) for process in processes]
    for process, out, error in ended:
        assert process.returncode == 0, error
        assert "proved cheapest" in out
        assert "Traceback" not in error
    return [error for _, _, error in ended]


@pytest.fixture
def no_home(tmp_path: Path) -> dict[str, str]:
    """A home that nothing can be written to, by root either: it is a file."""
    (tmp_path / "no-home").touch()
    return {"HOME": str(tmp_path / "no-home"), "XDG_CACHE_HOME": str(tmp_path / "no-home" / "cache")}


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    """A copy of the sources beside which no kernel can be kept."""
    for layer in LAYERS:
        shutil.copytree(
            ROOT / layer,
            tmp_path / "sealed" / layer,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__", "attempts"),
        )
    for package in (tmp_path / "sealed").rglob("__init__.py"):
        (package.parent / "__pycache__").touch()
    return tmp_path / "sealed"


def test_without_a_home_and_with_a_missing_folder_for_temporary_files(tmp_path, no_home):
    (error,) = errors([started(ROOT, TMPDIR=str(tmp_path / "missing"), **no_home)])
    assert error == ""


@pytest.mark.slow
def test_two_processes_at_once_share_a_cache_that_was_empty(tmp_path):
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert errors([started(ROOT, **cache), started(ROOT, **cache)]) == ["", ""]
    assert errors([started(ROOT, **cache)]) == [""]
    assert list((tmp_path / "cache").rglob("*.nbc"))


@pytest.mark.slow
def test_where_sources_and_home_cannot_be_written_a_temporary_folder_is_used_and_named_once(
    tmp_path, sealed, no_home
):
    (tmp_path / "temporary").mkdir()
    place = {"TMPDIR": str(tmp_path / "temporary"), **no_home}
    for _ in range(2):
        (error,) = errors([started(sealed, **place)])
        assert error.startswith("depl: compiled kernels are kept in ")
        assert error.count("\n") == 1
    assert list((tmp_path / "temporary").rglob("*.nbc"))
