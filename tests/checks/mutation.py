"""Mutation score: which share of small faults in a room do its tests notice?

``python -m tests.checks.mutation --room risk --mutants 300 --seed 1`` (or ``make mutation ROOM=risk SEED=1``)
draws faults (`tests.checks.mutation_operators`) from all that the files of a room allow, and runs its tests
with each until one fails: in a fork of a process that has collected them (`tests.checks.mutation_forks`), or,
where the fault is in compiled code or outside of functions, in a copy of the project.
A named check, which takes long; none of the default tests.

The tests of a room are those in files that import one of its modules, themselves or through a helper, the
nearest and quickest first, until they take `MOST_SECONDS`: a fault that none of them notices survives. That
can only lower the score: a fault counts as noticed if a test fails that passes without it (asked again at
once, as a busy machine lets some fail), or hangs. Faults that change nothing but effort are listed with the
reason in ``tests/checks/mutation_equivalent.txt``; they do not count. Every answer is a line in a file called
after room, seed, sources and tests: called again, the command goes on where it was stopped.
"""

import argparse
import contextlib
import hashlib
import itertools
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.checks.mutation_operators import Mutant, mutants, mutated
from tests.checks.rooms import LAYERS, ROOT, modules_named

FILES = {
    "allocation": ("models/**/allocation.py", "models/**/epoch_costs.py"),
    "search": ("models/exact/**/*.py",),
}
"""Of rooms that are not called after a folder."""
MOST_SECONDS = 20.0
"""Of the processor, for the tests of a mutant that survives: a room has dozens of them."""
SLOWER, LEAST_SECONDS = 2.0, 60.0
"""So many times the seconds without a fault is to hang, but at least twice of what compiling a file takes."""
MEMORY = 16 * 2**30
"""Bytes of addresses of a run: a fault may ask for any amount, and tests without one need far less."""
IDLE = 120.0
"""Seconds of the wall in which nothing of a run has asked for a processor: no test sleeps that long."""
IDLED, TOO_LONG, ITS_CHILD_TOO_LONG = HUNG = (-9, -signal.SIGXCPU, 256 - signal.SIGXCPU)
"""Exit codes."""

_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?::.+?|\S+)(?: - .*)?$", re.MULTILINE)
"""The name of a test that failed; names of parameters may have spaces."""
_GONE = re.compile(r"^ERROR: not found: ([^\[\n]+)", re.MULTILINE)
"""The path of a test that is there no more, up to its parameters."""
tell = partial(print, flush=True)


class Ending(NamedTuple):
    """Whether tests ``passed``, ``failed`` or ``hung``; which one failed; seconds of the wall."""

    how: str
    by: str
    wall: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw, run and tell."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    options = parser().parse_args(words)
    name = f"{options.room}-{options.seed}-{fingerprint(files_of(options.room))}.jsonl"
    out = options.out or ROOT / "build" / "mutation" / name
    out.parent.mkdir(parents=True, exist_ok=True)
    drawn = chosen(options)
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        measure(out, drawn, [*words, "--out", str(out.resolve())], Path(folder, "base"))
    tell(summary(drawn, known(out, "mutant")))


def parser() -> argparse.ArgumentParser:
    """Of the options of this command, and of its part in forks."""
    found = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    found.add_argument("--room", required=True, help="a folder, or one of " + ", ".join(FILES))
    found.add_argument("--mutants", type=int, default=300, help="how many are drawn; default: 300")
    found.add_argument("--seed", type=int, default=1, help="default: 1")
    found.add_argument("--only", metavar="TEXT", help="instead of a draw: all whose name contains it")
    found.add_argument("--out", type=Path, metavar="FILE", help="lines of JSON; continued if it exists")
    return found


def files_of(room: str) -> list[str]:
    """The source files of a room."""
    patterns = FILES.get(room) or [f"{layer}/{room}/**/*.py" for layer in ("depl", *LAYERS)]
    return sorted({str(path.relative_to(ROOT)) for pattern in patterns for path in ROOT.glob(pattern)})


def chosen(options: argparse.Namespace) -> list[Mutant]:
    """The first mutants of a seed, so that fewer are the first of more; or those with a text in the name."""
    sources = {name: (ROOT / name).read_text(encoding="utf-8") for name in files_of(options.room)}
    every = [one for name, source in sources.items() for one in mutants(name, source)]
    if options.only is None:
        order = np.random.default_rng(options.seed).permutation(len(every))
        found = [every[place] for place in order[: max(0, options.mutants)]]
    else:
        found = [mutant for mutant in every if options.only in mutant.name]
    if not found:
        parser().error("no mutant is asked for, or none has such a name")
    return found


def fingerprint(files: Sequence[str]) -> str:
    """Of source files and of their tests; answers hold for these alone."""
    contents = [name.encode() + (ROOT / name).read_bytes() for name in [*files, *files_testing(ROOT, files)]]
    return hashlib.sha256(b"\0".join(contents)).hexdigest()[:16]


def add(log: Path, row: Mapping[str, object]) -> None:
    """Append a line of JSON; what is stopped while writing is one line that cannot be read."""
    with log.open("a", encoding="utf-8") as file:
        file.write("\n" + json.dumps(row))


def known(log: Path, kind: str) -> dict[str, dict[str, Any]]:
    """The lines of each ``test`` without a fault, or ``mutant``, by name."""
    found = {}
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else ():
        with contextlib.suppress(ValueError):
            row = json.loads(line)
            found |= {row[kind]: row} if kind in row else {}
    return found


def answer(log: Path, mutant: Mutant, ending: Ending) -> None:
    """Keep what the tests say of a mutant, and tell it."""
    add(log, {"mutant": mutant.name, "line": mutant.line, **ending._asdict()})
    tell(f"{ending.how} in {ending.wall:.1f} s: {mutant.name}")


def measure(log: Path, drawn: Sequence[Mutant], words: Sequence[str], base: Path) -> None:
    """Run the tests with every mutant that has no answer yet: in forks, and what cannot be in copies."""
    made = shutil.ignore_patterns(".git", ".venv*", ".*_cache", ".hypothesis", "build", "demo", "dist")
    shutil.copytree(ROOT, base, symlinks=True, ignore=made)
    command = (sys.executable, "-m", "tests.checks.mutation_forks", *words)
    environment = {**os.environ, "PYTHONPATH": str(base), "PYTHONDONTWRITEBYTECODE": "1"}
    if code := subprocess.run(command, cwd=base, env=environment, check=False).returncode:
        parser().error(f"the process that judges in forks ended with {code}")
    seconds = {name: row["processor"] for name, row in known(log, "test").items()}
    done = known(log, "mutant")
    for mutant in drawn:
        if mutant.name not in done:
            answer(log, mutant, _in_a_copy(mutant, base, seconds))


def _in_a_copy(mutant: Mutant, base: Path, seconds: Mapping[str, float]) -> Ending:
    """What the tests of the room say of a mutant, in a copy of its own."""
    names = in_order(seconds, mutant.path, set(files_testing(base, [mutant.path])))
    limit = max(LEAST_SECONDS, SLOWER * sum(seconds[name] for name in names))
    copy = base.with_name("copy")
    shutil.copytree(base, copy, symlinks=True)
    try:
        source = (base / mutant.path).read_text(encoding="utf-8")
        put_in(copy, mutant.path, mutated(source, mutant.index))
        return confirmed(lambda fault, some: run(copy if fault else base, some, limit), names)[0]
    finally:
        shutil.rmtree(copy)


def confirmed(judged: Callable[[bool, list[str]], Any], names: Sequence[str]) -> tuple[Any, list[str]]:
    """What tests say of a fault, and those that fail without it, too, which are not believed."""
    unreliable: list[str] = []
    while True:
        ending = judged(True, [name for name in names if name not in unreliable])
        if ending is None or ending.by not in names or judged(False, [ending.by]).how == "passed":
            return ending, unreliable
        unreliable.append(ending.by)


def in_order(seconds: Mapping[str, float], path: str, near: set[str]) -> list[str]:
    """The tests to run, file by file, the nearest and quickest first, up to `MOST_SECONDS`; at least one."""
    file = {name: name.partition("::")[0] for name in seconds}
    whole = {name: sum(seconds[one] for one in seconds if file[one] == name) for name in set(file.values())}
    places = {name: (distance(file[name], path, near), whole[file[name]], file[name]) for name in seconds}
    order = sorted(seconds, key=lambda name: (*places[name], seconds[name]))
    sums = itertools.accumulate(seconds[name] for name in order)
    return [name for name, total in zip(order, sums, strict=True) if total <= MOST_SECONDS] or order[:1]


def distance(test: str, path: str, near: set[str]) -> int:
    """How far a test file is from a source file: its mirror, in its room, importing it, or none of these."""
    mirror = Path("tests", path).with_name(f"test_{Path(path).stem}")
    if test.startswith(str(mirror)):
        return 0
    return 3 if test not in near else 1 if Path(test).parent == mirror.parent else 2


def equivalent() -> dict[str, str]:
    """The reasons of the mutants that change nothing that can be seen, by name."""
    text = Path(__file__).with_name("mutation_equivalent.txt").read_text(encoding="utf-8")
    return dict(re.findall(r"(?m)^([^#].*?) \| (.+)$", text))


def summary(drawn: Sequence[Mutant], known: Mapping[str, Mapping[str, Any]]) -> str:
    """The mutants that no test notices, and the score."""
    found = {mutant.name: known[mutant.name] for mutant in drawn if mutant.name in known}
    passed = {name: f"{name} (line {row['line']})" for name, row in found.items() if row["how"] == "passed"}
    same = {name: why for name, why in equivalent().items() if name in passed}
    lines = [f"equivalent ({why}): {passed.pop(name)}" for name, why in same.items()]
    noticed, hung = len(found) - len(same) - len(passed), sum(row["how"] == "hung" for row in found.values())
    told = f"{len(found)} mutants, {len(same)} equivalent, {noticed} noticed ({hung} hung), "
    told += f"{len(passed)} survived: score {noticed / max(1, noticed + len(passed)):.1%}"
    return "\n".join([*lines, *(f"survived: {name}" for name in passed.values()), told])


def put_in(copy: Path, path: str, source: str) -> None:
    """Write a changed source file into a copy, and drop what was compiled elsewhere with kernels of it."""
    (copy / path).write_text(source, encoding="utf-8")
    for other in reaching(copy, LAYERS, [path]) if "@kernel" in source else ():
        for kept in (copy / other).parent.glob(f"__pycache__/{Path(other).stem}.*.nb[ci]"):
            kept.unlink()


def files_testing(root: Path, paths: Iterable[str]) -> list[str]:
    """The test files that import one of these source files, themselves or through a helper of the tests."""
    found = reaching(root, ("tests",), paths)
    return sorted(path for path in found if Path(path).name.startswith("test_"))


def reaching(root: Path, folders: tuple[str, ...], paths: Iterable[str]) -> set[str]:
    """The files in these folders whose imports lead to one of these files."""
    found = (path for folder in folders for path in (root / folder).rglob("*.py"))
    files = {str(path.relative_to(root)): modules_named(path) for path in found}
    reached, modules = set[str](), set(map(module_of, paths))
    while new := {name for name, imports in files.items() if name not in reached and imports & modules}:
        reached |= new
        modules = set(map(module_of, new))
    return reached


def module_of(path: str) -> str:
    """The import name of a file of the four folders or the tests."""
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return name if name.startswith("tests.") else f"depl.{name}"


def run(copy: Path, names: Sequence[str], seconds: float) -> Ending:
    """Run tests in a copy until one fails."""
    words = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider", *names]
    settings = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}

    def start(writing: int) -> int:
        return subprocess.run(words, cwd=copy, env=settings, stdout=writing, stderr=writing).returncode

    code, said, ending = forked(start, seconds)
    if gone := set(_GONE.findall(said)) if code == 4 else set():  # as their parameters are named otherwise
        left = [name for name in names if str(copy / name.partition("[")[0]) not in gone]
        return run(copy, left, seconds) if left else ending._replace(how="passed", by="")
    broken = code == 4 and "found no collectors" in said  # of a file that cannot be imported any more
    if code in (3, 4, 5) and not broken:  # pytest's own errors, a wrong usage, no test
        parser().error(f"pytest ended with {code}:\n{said[-2000:]}")
    failed = _FAILED.search(said)
    return ending._replace(by=failed.group(1) if failed else "")


def forked(action: Callable[[int], int], seconds: float) -> tuple[int, str, Ending]:
    """Exit code (the value) of an action in a fork, what it wrote to its descriptor, and its end."""
    started = time.perf_counter()
    with tempfile.TemporaryFile() as file:
        if (child := os.fork()) == 0:
            try:
                os.setsid()  # so that all that it starts can be ended with it
                signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
                resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 5))
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
                os._exit(action(file.fileno()) % 256)
            finally:
                os._exit(1)
        try:
            code = awaited(child)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)
        file.seek(0)
        said = file.read().decode(errors="replace")
    how = "passed" if code == 0 else "hung" if code in HUNG else "failed"
    return code, said, Ending(how, said, round(time.perf_counter() - started, 2))


def awaited(child: int, idle: float = IDLE, look: float = 0.5) -> int:
    """The exit code of the leader of a session, or `IDLED` where nothing of it was busy for so long."""
    pause, busy = 0.001, time.monotonic()
    while not (found := os.waitpid(child, os.WNOHANG))[0]:
        time.sleep(pause)
        pause = min(1.5 * pause, look)
        if _is_busy(child):
            busy = time.monotonic()
        elif time.monotonic() - busy > idle:
            return IDLED
    return os.waitstatus_to_exitcode(found[1])


def _is_busy(session: int) -> bool:
    """Whether a process of a session runs, or waits for a processor or a disk."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            state, _, _, of, *_ = path.read_text(encoding="utf-8").rpartition(")")[2].split()
            if int(of) == session and state in "RD":
                return True
    return False


if __name__ == "__main__":
    main()
