"""The tests in other surroundings: another order, one worker, no network, another user, another Python.

``python -m tests.checks.surroundings order no-home --tests tests/models/risk`` (or ``make surroundings
ONLY="order no-home"``) runs the default tests, or those named, once in each of `SURROUNDINGS`, in all of them
if none is named. A named check: each takes as long as ``make unit`` does. Exit code 0 if all pass, 1 if any
fails, and 2 for a wrong usage or where this machine cannot make the surroundings; that is said beforehand.

The order is that of a seed, which is told: files are shuffled, and tests within their file, so that fixtures
of a file are made once. ``--seed`` repeats it.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
_SEED = "TESTS_ORDER_SEED"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """As a plugin (``-p tests.checks.surroundings``): files in another order, and tests within their file."""
    rng = random.Random(os.environ.get(_SEED, "0"))
    by_file: dict[str, list[pytest.Item]] = {}
    for item in items:
        by_file.setdefault(item.nodeid.partition("::")[0], []).append(item)
    files = list(by_file)
    rng.shuffle(files)
    for name in files:
        rng.shuffle(by_file[name])
    items[:] = [item for name in files for item in by_file[name]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests in each of the surroundings; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.checks.surroundings", description=__doc__.split("\n")[0]
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(SURROUNDINGS)}; default: all"
    )
    parser.add_argument(
        "--seed", type=int, default=None, help="of the order; default: a fresh one, which is told"
    )
    parser.add_argument("--tests", nargs="+", default=[], metavar="PATH", help="default: all default tests")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(SURROUNDINGS)
    if unknown:
        parser.error(f"no surroundings {', '.join(sorted(unknown))}: choose of {', '.join(SURROUNDINGS)}")
    seed = random.SystemRandom().randrange(2**31) if options.seed is None else options.seed
    chosen = options.names or list(SURROUNDINGS)
    lacking = {name: why for name in chosen if (why := _lacking(name))}
    if lacking:
        parser.error("; ".join(f"{name}: {why}" for name, why in lacking.items()))
    failed = [name for name in chosen if not _passes(name, options.tests, seed)]
    passing = f"{len(chosen) - len(failed)} of {len(chosen)} pass"
    sys.stdout.write(passing + "".join(f"; fails: {name}" for name in failed) + "\n")
    return bool(failed)


def _passes(name: str, tests: Sequence[str], seed: int) -> bool:
    sys.stdout.write(f"--- {name}" + (f", seed {seed}\n" if name == "order" else "\n"))
    sys.stdout.flush()
    os.environ[_SEED] = str(seed)
    return SURROUNDINGS[name](list(tests)) == 0


def _lacking(name: str) -> str:
    """What this machine lacks for it; empty if nothing."""
    needs = {"offline": "unshare", "user": "setpriv"}
    program = name if name.startswith("python") else needs.get(name)
    if program and not shutil.which(program):
        return f"there is no program {program}"
    if name in needs and os.name == "posix" and os.getuid() != 0:
        return "only root may do that"
    if name == "user" and not all(
        folder.stat().st_mode & 1 for folder in Path(sys.executable).resolve().parents
    ):
        return "others may not enter the folders of this Python; make .venv with PYTHON=/usr/bin/python3, say"
    return ""


def _pytest(
    tests: Sequence[str],
    *options: str,
    before: Sequence[str] = (),
    python: str = sys.executable,
    folder: Path = ROOT,
    **process: Any,
) -> int:
    workers = () if "-n" in options else ("-n", "2", "--dist", "worksteal")
    command = [*before, python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *workers, *options, *tests]
    return subprocess.run(command, cwd=folder, check=False, **process).returncode


@contextmanager
def _copy() -> Iterator[Path]:
    """What is committed, in a folder that everybody may read."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder / "depl")], check=True)
        yield folder / "depl"


def _order(tests: Sequence[str]) -> int:
    return _pytest(tests, "-p", "tests.checks.surroundings")


def _one_worker(tests: Sequence[str]) -> int:
    return _pytest(tests, "-n", "0")


def _interrupts_ignored(tests: Sequence[str]) -> int:
    """As in a job that a script has put into the background."""
    return _pytest(tests, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))


def _offline(tests: Sequence[str]) -> int:
    """No network but the machine itself."""
    return _pytest(tests, before=("unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"))


def _no_home(tests: Sequence[str]) -> int:
    """A home that is no folder, so that nothing can be written into it."""
    return _pytest(tests, env={**os.environ, "HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null"})


def _other_user(tests: Sequence[str]) -> int:
    """A user who owns a copy of the project, and nothing else."""
    with _copy() as folder:
        home = folder.parent / "home"
        home.mkdir()
        subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(folder), str(home)], check=True)
        become = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
        env = {**os.environ, "HOME": str(home), "PYTHONPATH": str(folder)}
        return _pytest(tests, before=become, folder=folder, env=env)


def _other_python(program: str) -> Callable[[Sequence[str]], int]:
    """Another Python, with the packages of the lock."""

    def run(tests: Sequence[str]) -> int:
        with _copy() as folder:
            if subprocess.run(["make", "lint", f"PYTHON={program}"], cwd=folder, check=False).returncode:
                return 1
            return _pytest(tests, python=str(folder / ".venv" / "bin" / "python"), folder=folder)

    return run


SURROUNDINGS: dict[str, Callable[[Sequence[str]], int]] = {
    "order": _order,
    "one-worker": _one_worker,
    "interrupts-ignored": _interrupts_ignored,
    "offline": _offline,
    "no-home": _no_home,
    "user": _other_user,
    "python3.12": _other_python("python3.12"),
    "python3.13": _other_python("python3.13"),
}
"""By name: what runs the tests and returns the exit code. The newest packages: ``make newest``."""


if __name__ == "__main__":
    sys.exit(main())
