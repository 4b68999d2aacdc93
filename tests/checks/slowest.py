"""Which tests take more than a second of the processor, and is there a reason?

``python -m tests.checks.slowest`` (or ``make slowest``) runs the tests, counts the CPU seconds of each with
its child processes (`tests.checks.cpu_seconds`), and compares those above `MOST` with the list of exceptions,
``tests/checks/slowest.txt``. A named check and no test of its own: how long something takes is noise on a
busy machine. Kernels have to be compiled before (any run of the tests does that). Exit code 0: all that are
slow are on the list with a reason; 1: some are not, or the list names what is quick or gone; 2: the tests
failed, or a wrong usage.

Words after ``--`` are given to pytest, for instance files: then nothing is said of what was not run.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXCEPTIONS = Path(__file__).with_name("slowest.txt")
MOST = 1.0
"""CPU seconds that a test may take without a reason."""

QUICK = 0.5
"""CPU seconds below which an exception is called needless: between the two, a machine may be fast."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, compare and tell; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.checks.slowest", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--workers", type=int, default=2, help="processes that run tests; default: 2")
    parser.add_argument("--read", type=Path, metavar="FILE", help="judge what `--cpu-seconds` wrote earlier")
    parser.add_argument("words", nargs="*", metavar="-- WORD", help="for pytest; default: all default tests")
    options = parser.parse_args(arguments)
    if options.read is not None:
        seconds = json.loads(options.read.read_text(encoding="utf-8"))
    else:
        code, seconds = measured(options.workers, options.words)
        if code != 0:
            return 2
    exceptions = reasons(EXCEPTIONS.read_text(encoding="utf-8"))
    told = [*unexplained(seconds, exceptions), *needless(seconds, exceptions, whole=not options.words)]
    for line in [summary(seconds), *told]:
        sys.stdout.write(f"{line}\n")
    return 1 if told else 0


def measured(workers: int, words: Sequence[str]) -> tuple[int, dict[str, float]]:
    """Exit code of pytest, and the CPU seconds of every test."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "seconds.json")
        plugin = ("-p", "tests.checks.cpu_seconds", "--cpu-seconds", str(path))
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-n",
            str(workers),
            "--dist",
            "worksteal",
            *plugin,
            *words,
        ]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        return code, json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def reasons(text: str) -> dict[str, str]:
    """The exceptions, a line ``name: reason`` each; a name without ``[...]`` stands for all parameters."""
    rows = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return {name: reason.strip() for name, _, reason in (row.partition(": ") for row in rows)}


def unexplained(seconds: Mapping[str, float], exceptions: Mapping[str, str]) -> Iterator[str]:
    """A line for each test above `MOST` that no exception names, the slowest first."""
    for name, spent in sorted(seconds.items(), key=lambda item: -item[1]):
        if spent > MOST and not {name, without_parameters(name)} & exceptions.keys():
            yield f"{spent:5.1f} s, no reason: {name}"


def needless(seconds: Mapping[str, float], exceptions: Mapping[str, str], whole: bool) -> Iterator[str]:
    """A line for each exception that is quick now, or (after a ``whole`` run) names no test."""
    greatest: dict[str, float] = {}
    for name, spent in seconds.items():
        for key in (name, without_parameters(name)):
            greatest[key] = max(greatest.get(key, 0.0), spent)
    for name in exceptions:
        if name in greatest and greatest[name] < QUICK:
            yield f"{greatest[name]:5.1f} s, needs no reason: {name}"
        elif whole and name not in greatest:
            yield f"is no test that was run: {name}"


def without_parameters(name: str) -> str:
    """The name of a test or fixture for all its parameters."""
    return name.partition("[")[0]


def summary(seconds: Mapping[str, float]) -> str:
    """How many tests there are, how long they take, and how much of that is slow ones."""
    slow = [spent for spent in seconds.values() if spent > MOST]
    return (
        f"{len(seconds)} tests and shared fixtures, {sum(seconds.values()):.0f} CPU seconds; "
        f"{len(slow)} above {MOST:g} s, {sum(slow):.0f} s together"
    )


if __name__ == "__main__":
    sys.exit(main())
