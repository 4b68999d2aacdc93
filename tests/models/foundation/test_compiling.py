"""Compiled kernels start and answer wherever their results can or cannot be kept."""

import importlib
import importlib.util
import subprocess
import sys

import numba
import numpy as np
import pytest

from depl.models.foundation import compiling
from depl.models.foundation.deadline import LEEWAY, OutOfTimeError, deadline

KERNEL = """
from depl.models.foundation.compiling import kernel

@kernel(error_model="numpy")
def double(x: int) -> int:
    return 2 * x
"""
CALLER = """
from theirs import times
from depl.models.foundation.compiling import kernel

@kernel()
def double(x: int) -> int:
    return times(x)
"""
FULL = """
import resource
from depl.models.foundation import compiled, compiling
resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
import mine
double = compiling.kernel()(mine.double)
print(double(21), flush=True)
"""
"""Every write beyond 64 bytes fails, as on a full disk, for root, too."""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A folder with a module that has one kernel, and a home that is no folder, for root either."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "mine.py").write_text(KERNEL, encoding="utf-8")
    (tmp_path / "no-home").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "no-home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "no-home" / "cache"))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)  # whoever runs the tests may name a folder
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    return tmp_path


def unwritable(module):
    """A file where numba wants the folder beside the source."""
    (module / "source" / "__pycache__").touch()


@pytest.fixture
def call(module, monkeypatch, capsys):
    """Import the module as a fresh process would: what its kernel returns, hits on disk, and what is said."""

    def run():
        monkeypatch.setattr(compiling.METER, "in_vain", False)
        monkeypatch.setattr(compiling.METER, "_said", set())
        spec = importlib.util.spec_from_file_location("mine", module / "source" / "mine.py")
        mine = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(mine)
        found = mine.double(21)
        return found, sum(mine.double.dispatcher.stats.cache_hits.values()), capsys.readouterr().err

    return run


def test_where_nothing_is_writable_they_are_compiled_anew(call, module):
    unwritable(module)
    for _ in range(2):
        out, hits, said = call()
        assert (out, hits) == (42, 0)
        assert said.startswith("depl: compiling kernels, in every process, as they cannot be kept")
        assert said.count("\n") == 1


def test_a_full_disk_costs_no_answer(module):
    (module / "source" / "mine.py").write_text("def double(x):\n    return 2 * x\n", encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-c", FULL],
        cwd=module / "source",
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (ended.returncode, ended.stdout) == (0, "42\n")
    assert ended.stderr.count("depl: compiling kernels, in every process, as they cannot be kept") == 1


@pytest.mark.parametrize(
    ("before", "after"), [("FACTOR = 2", "FACTOR = 3"), ("return x * FACTOR", "return x * FACTOR + 21")]
)
def test_what_was_kept_is_made_again_when_what_it_calls_or_reads_has_changed(
    call, module, monkeypatch, before, after
):
    theirs = "from depl.models.foundation.compiling import kernel\n\nFACTOR = 2\n\n@kernel()\n"
    theirs += "def times(x):\n    return x * FACTOR\n"
    (module / "source" / "mine.py").write_text(CALLER, encoding="utf-8")
    monkeypatch.syspath_prepend(module / "source")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # which may not see a change within a second
    for text, found in ((theirs, 42), (theirs.replace(before, after), 63)):
        (module / "source" / "theirs.py").write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, "theirs", raising=False)
        importlib.invalidate_caches()
        assert call()[:2] == (found, 0)
        monkeypatch.delitem(sys.modules, "theirs")
        assert call()[:2] == (found, 1)


@pytest.mark.parametrize("kind", ["*.nbi", "*.nbc"])
def test_a_file_that_was_cut_is_made_again(call, module, kind):
    call()
    (file,) = (module / "source" / "__pycache__").glob(kind)
    file.write_bytes(file.read_bytes()[:-9])
    assert call() == (42, 0, "")
    assert call() == (42, 1, "")


INNER = """
import numpy as np
from depl.models.foundation.compiling import kernel

@kernel(interpreted=True)
def halved(values: object, place: int) -> float:
    return values[place] / 2

@kernel(interpreted=True)
def summed(values: object) -> tuple:
    total = 0.0
    for place in range(values.size):
        total += halved(values, place)
    return total, values.size

@kernel()
def outer(values: object) -> float:
    return summed(values)[0]
"""


@pytest.fixture
def theirs(module, monkeypatch):
    """Kernels that may be interpreted, imported anew."""
    (module / "source" / "inner.py").write_text(INNER, encoding="utf-8")
    monkeypatch.syspath_prepend(module / "source")
    monkeypatch.delitem(sys.modules, "inner", raising=False)
    importlib.invalidate_caches()
    return importlib.import_module("inner")


def test_a_kernel_is_interpreted_until_it_has_taken_its_seconds_and_compiled_then(theirs, monkeypatch):
    """A clock of its own thread, which stands still or jumps; the result is Python's both ways."""
    at = iter([0.0, 0.01, 0.01, 0.02, *[1.0] * 100])
    monkeypatch.setattr(compiling.time, "thread_time", lambda: next(at))
    values = np.array([1.0, 2.0, 4.0])
    assert theirs.halved(values, 2) == 2.0
    assert type(theirs.halved(values, 2)) is float
    assert not theirs.halved.overloads
    theirs.halved._spent = 0.05
    assert theirs.halved(values, place=2) == 2.0
    assert len(theirs.halved.overloads) == 1
    found = theirs.summed(values)
    assert (found, type(found[0])) == ((3.5, 3), float)
    assert not theirs.summed.overloads
    assert theirs.outer(values) == 3.5  # compiled at once, with the others inside
    assert len(theirs.summed.overloads) == len(theirs.halved.overloads) == 1


def test_no_kernel_is_compiled_that_would_outlast_the_time_of_a_solve(theirs):
    """One that may be interpreted goes on so; another, and a call too long for it, ends the solve."""
    values, many = np.array([1.0, 2.0, 4.0]), np.ones(compiling._INTERPRETED_NUMBERS)
    theirs.halved._spent = theirs.summed._spent = 0.05
    with deadline(lambda: LEEWAY - 1e-9):
        assert theirs.summed(values) == (3.5, 3)
        for call in (lambda: theirs.halved(many, 0), lambda: theirs.outer(values)):
            with pytest.raises(OutOfTimeError):
                call()
        assert not any(made.overloads for made in (theirs.halved, theirs.summed, theirs.outer))
    with deadline(lambda: -60.0):
        assert theirs.outer(values) == 3.5
    assert all(made.overloads for made in (theirs.halved, theirs.summed, theirs.outer))
