"""A copy of the sources without symbolic links says what to do, instead of naming a module that is there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from depl import linked

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def copy(tmp_path):
    """The folders as git leaves them where core.symlinks is false: a link is a file that holds its target."""
    for layer in linked.LAYERS:
        shutil.copytree(
            ROOT / layer, tmp_path / layer, ignore=shutil.ignore_patterns("__pycache__", "data", "results")
        )
    (tmp_path / "depl").mkdir()
    for path in (ROOT / "depl").iterdir():
        if path.is_symlink():
            (tmp_path / "depl" / path.name).write_text(os.readlink(path), encoding="utf-8")
        elif path.suffix == ".py":
            shutil.copy(path, tmp_path / "depl")
    return tmp_path


@pytest.mark.parametrize("words", [["-m", "depl", "demo"], ["-c", "import depl"]])
def test_a_copy_without_links_says_what_to_do(copy, words):
    # without site-packages (-S), so that no installed depl helps out
    done = subprocess.run(
        [sys.executable, "-S", *words], cwd=copy, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: this copy of the sources was made without symbolic links")
    assert "git config core.symlinks true" in last
    assert "pip install ." in last
    assert "No module named" not in done.stderr


def test_a_whole_copy_lacks_nothing():
    assert linked.missing() == ()
