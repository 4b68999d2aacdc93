"""Mutation score: which share of small faults in a room do its tests notice?

``python -m tests.checks.mutation --room risk --mutants 300 --seed 1`` (or ``make mutation ROOM=risk SEED=1``)
draws faults (`tests.checks.mutation_operators` lists the kinds) from all that the files of a room allow, and
runs the tests of the room with each until one fails: in a fork of a process that has collected the tests
(`tests.checks.mutation_forks`), or, where the fault is in compiled code or outside of functions, in a copy of
the project of its own. A named check, which takes long; none of the default tests.

The tests of a room are those in test files that import one of its modules, themselves or through a helper;
the file that mirrors the changed one comes first, then those of its room that import it, then others that do,
the quickest first, until they take `MOST_SECONDS` together: a fault that none of them notices survives. Which
pass without a fault, their seconds, and what each calls is measured once; in forks only tests that call the
changed function are run. All of this is to save time and can only lower the score: a fault counts as noticed
if a test fails that passes without it (once more at once, as a busy machine lets some fail), or if a run
hangs, which is to take `SLOWER` times as much of the processor as without a fault, or to do nothing at all.

Every answer is a line of JSON in ``build/mutation/ROOM-SEED.jsonl``, or the file named with ``--out``; called
again, the command goes on where it was stopped, unless the sources or the tests have changed since. Faults
that change nothing that can be seen but effort are listed by name, with the reason, in
``tests/checks/mutation_equivalent.txt``; they do not count. Exit code 0: all was measured; 2: a wrong usage.
"""

import argparse
import hashlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.checks.mutation_copies import BrokenRunError, Ending, copied, files_testing, module_of, put_in, run
from tests.checks.mutation_operators import Mutant, mutants, mutated

ROOT = Path(__file__).resolve().parents[2]
EQUIVALENT = Path(__file__).with_name("mutation_equivalent.txt")
ROOMS = {
    "risk": ("models/risk/**/*.py",),
    "verifier": ("models/verifier/**/*.py",),
    "allocation": ("models/**/allocation.py", "models/**/epoch_costs.py"),
    "search": ("models/exact/**/*.py",),
    "submodular": ("heuristics/submodular/**/*.py",),
    "placement": ("heuristics/placement/**/*.py",),
    "paths": ("heuristics/paths/**/*.py",),
    "policy": ("models/policy/**/*.py",),
    "tool_logs": ("models/tool_logs/**/*.py",),
    "estimation": ("models/estimation/**/*.py",),
}
"""Files of each room."""

MOST_SECONDS = 20.0
"""Of the processor, for the tests of a mutant that survives: a room has dozens of them."""

SLOWER = 2.0
LEAST_SECONDS = 60.0
"""Of the processor, before a run counts as hung: compiling the kernels of a file takes half of that."""


class UsageError(Exception):
    """A wrong usage."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw, run and tell; returns the exit code."""
    options = _parser().parse_args(arguments)
    seed, room = options.seed, options.room
    out = options.out or ROOT / "build" / "mutation" / f"{room}-{seed}.jsonl"
    try:
        drawn = chosen(room, seed, options.mutants, options.only)
        measure(Log(out, {"room": room, "seed": seed, "sources": fingerprint(room)}), drawn, room)
        tell(summary(drawn, Log.rows(out)))
    except (UsageError, BrokenRunError) as error:
        sys.stderr.write(f"tests.checks.mutation: {error}\n")
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.checks.mutation", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--room", choices=ROOMS, required=True)
    parser.add_argument("--mutants", type=int, default=300, help="how many are drawn; default: 300")
    parser.add_argument("--seed", type=int, default=1, help="default: 1")
    parser.add_argument("--only", metavar="TEXT", help="instead of a draw: all whose name contains it")
    parser.add_argument("--out", type=Path, metavar="FILE", help="lines of JSON; continued if it exists")
    return parser


def files_of(room: str, root: Path = ROOT) -> list[str]:
    """The source files of a room."""
    found = {path for pattern in ROOMS[room] for path in root.glob(pattern)}
    return sorted(str(path.relative_to(root)) for path in found)


def every_mutant(room: str) -> list[Mutant]:
    """All that the files of a room allow."""
    return [
        mutant
        for name in files_of(room)
        for mutant in mutants(name, (ROOT / name).read_text(encoding="utf-8"))
    ]


def chosen_by_name(room: str, names: Sequence[str]) -> list[Mutant]:
    """The mutants of these names, in this order."""
    known = {mutant.name: mutant for mutant in every_mutant(room)}
    return [known[name] for name in names]


def chosen(room: str, seed: int, count: int, only: str | None = None) -> list[Mutant]:
    """The first mutants of a seed; fewer mutants are the first of more."""
    every = every_mutant(room)
    if only is not None:
        found = [mutant for mutant in every if only in mutant.name]
        if not found:
            raise UsageError(f"no mutant of room {room!r} has {only!r} in its name")
        return found
    if count < 1:
        raise UsageError(f"--mutants must be at least 1, not {count}")
    return [every[place] for place in np.random.default_rng(seed).permutation(len(every))[:count]]


def fingerprint(room: str) -> str:
    """Of the files of a room and of its tests; answers hold for these alone."""
    names = [*files_of(room), *files_testing(ROOT, map(module_of, files_of(room)))]
    found = hashlib.sha256()
    for name in names:
        found.update(name.encode() + b"\0" + (ROOT / name).read_bytes() + b"\0")
    return found.hexdigest()[:16]


class Log:
    """Lines of JSON: what was measured on, the tests without a fault, then one line for each mutant."""

    def __init__(self, path: Path, about: dict[str, object] | None = None) -> None:
        self.path, self.about = path, about
        path.parent.mkdir(parents=True, exist_ok=True)
        if about is not None and not path.exists():
            self.add({"about": about})
        first, *self.known = self.rows(path)
        if about is not None and first.get("about") != about:
            raise UsageError(
                f"{path.name} was measured on other sources or tests; name another file by --out"
            )

    def add(self, row: dict[str, object]) -> None:
        """Append one line; what is stopped while writing is one line that cannot be read."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    @staticmethod
    def rows(path: Path) -> list[dict[str, Any]]:
        """The lines that can be read."""
        found = []
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
        if not found:
            raise UsageError(f"{path.name} holds no line of JSON; remove it")
        return found


def measure(log: Log, drawn: Sequence[Mutant], room: str) -> None:
    """Run the tests with every mutant that has no answer yet."""
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        base = Path(folder, "base")
        copied(base)
        _in_forks(base, room, log.path, _waiting(drawn, log.path))
        rows = Log.rows(log.path)
        tests = {row["test"]: row for row in rows if "test" in row}
        if not any(row["how"] == "passed" for row in tests.values()):
            raise BrokenRunError(f"no test of room {room!r} passes without a fault")
        waiting = _waiting(drawn, log.path)
        for number, mutant in enumerate(waiting, start=1):
            ending = judged(mutant, base, Path(folder, "copy"), tests)
            log.add({"mutant": mutant.name, "line": mutant.line, **ending._asdict()})
            tell(f"{number} of {len(waiting)} in copies: {ending.how} in {ending.wall:.0f} s: {mutant.name}")


def _waiting(drawn: Sequence[Mutant], log: Path) -> list[Mutant]:
    done = {row["mutant"] for row in Log.rows(log) if "mutant" in row}
    return [mutant for mutant in drawn if mutant.name not in done]


def _in_forks(base: Path, room: str, log: Path, waiting: Sequence[Mutant]) -> None:
    """Judge in forks of one process what can be judged so."""
    names = base / "mutants.json"
    names.write_text(json.dumps([mutant.name for mutant in waiting]), encoding="utf-8")
    command = (sys.executable, "-m", "tests.checks.mutation_forks", room, str(names), str(log.resolve()))
    environment = {**os.environ, "PYTHONPATH": str(base), "PYTHONDONTWRITEBYTECODE": "1"}
    code = subprocess.run(command, cwd=base, env=environment, check=False).returncode
    names.unlink()
    if code:
        raise BrokenRunError(f"the process that judges in forks ended with {code}")


def judged(mutant: Mutant, base: Path, copy: Path, tests: Mapping[str, Mapping[str, Any]]) -> Ending:
    """What the tests of the room say of a mutant, in a copy of its own."""
    seconds: dict[str, float] = defaultdict(float)
    for name, row in tests.items():
        seconds[name.partition("::")[0]] += row["processor"]
    left_out = [
        f"--deselect={name}" for name, row in tests.items() if row["how"] not in ("passed", "skipped")
    ]
    copied(copy, base)
    try:
        put_in(
            copy, base, mutant.path, mutated((ROOT / mutant.path).read_text(encoding="utf-8"), mutant.index)
        )
        files = in_order(seconds, mutant.path, set(files_testing(base, [module_of(mutant.path)])))
        limit = max(LEAST_SECONDS, SLOWER * sum(seconds[name] for name in files))
        while True:
            ending = run(copy, [*files, *left_out], limit)
            if ending.how != "failed" or not ending.by or run(base, [ending.by], limit).how == "passed":
                return ending
            left_out.append(f"--deselect={ending.by}")
    finally:
        shutil.rmtree(copy)


def in_order(seconds: Mapping[str, float], path: str, near: set[str]) -> list[str]:
    """The test files to run in the order of `distance`, up to `MOST_SECONDS`; at least one."""
    order = sorted(seconds, key=lambda name: (distance(name, path, near), seconds[name], name))
    spent = itertools.accumulate(seconds[name] for name in order)
    return [name for name, total in zip(order, spent, strict=True) if total <= MOST_SECONDS] or order[:1]


def distance(test: str, path: str, near: set[str]) -> int:
    """How far a test file is from a source file: its mirror, in its room, importing it, or none of these."""
    mirror = Path("tests", path).with_name(f"test_{Path(path).stem}")
    if test.startswith(str(mirror)):
        return 0
    if test in near:
        return 1 if Path(test).parent == mirror.parent else 2
    return 3


def equivalent() -> dict[str, str]:
    """The reasons of the mutants that change nothing that can be seen, by name."""
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines()
    rows = (line.split(" | ", 1) for line in lines if line and not line.startswith("#"))
    return dict(rows)


def summary(drawn: Sequence[Mutant], rows: Sequence[dict[str, Any]]) -> str:
    """The score, and the mutants that no test notices."""
    known = {row["mutant"]: row for row in rows if "mutant" in row}
    found = [known[mutant.name] for mutant in drawn if mutant.name in known]
    same = equivalent()
    survivors = [row for row in found if row["how"] == "passed"]
    counted = [row for row in found if row["mutant"] not in same or row["how"] != "passed"]
    noticed = len(found) - len(survivors)
    return "\n".join(_told(survivors, same, noticed, counted, found))


def _told(
    survivors: list[dict[str, Any]],
    same: dict[str, str],
    noticed: int,
    counted: list[dict[str, Any]],
    found: list[dict[str, Any]],
) -> Iterator[str]:
    for row in survivors:
        word = f"equivalent ({same[row['mutant']]})" if row["mutant"] in same else "survived"
        yield f"{word}: {row['mutant']} (line {row['line']})"
    hung = sum(row["how"] == "hung" for row in found)
    seconds = sum(row["wall"] for row in found) / max(1, len(found))
    yield (
        f"{len(found)} mutants, {len(found) - len(counted)} equivalent, {noticed} noticed ({hung} hung), "
        f"{len(counted) - noticed} survived: score {noticed / max(1, len(counted)):.1%}; {seconds:.1f} s each"
    )


def tell(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
