"""Fuzz: files of all kinds, corrupted in many ways: each is accepted, or refused in words, soon.

``python -m tests.checks.fuzz`` (or ``make fuzz``) draws a new seed, prints it, and ends with exit code 1 and
the names of the mutants that did anything else: another exception than `InvalidInputError` (or one that is a
`TrippedError`), a warning, more
than `SECONDS` of the processor or `MEMORY` bytes. A name, ``loader:seed:index``, makes the mutant again:
``python -m tests.checks.fuzz --again NAME``. Names of mutants that once failed stay in
``tests/checks/fuzz_failed.txt``, which the tests read.
"""

import argparse
import contextlib
import resource
import secrets
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import numpy as np

from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.points import TrippedError
from tests.checks.fuzz_loaders import loaders

FAILED = Path(__file__).with_name("fuzz_failed.txt")
SECONDS = 10.0
"""Of the processor for one mutant; good files of the same size take milliseconds."""
MEMORY = 2 * 2**30
"""Bytes of addresses beyond those that the process has before the first mutant: twice
`depl.models.foundation.documents.LARGEST_FILE`."""


class Mutant(NamedTuple):
    """One spoilt file by its name."""

    loader: str
    seed: int
    index: int

    @classmethod
    def named(cls, name: str) -> "Mutant":
        """The mutant of a name."""
        loader, seed, index = name.split(":")
        return cls(loader, int(seed), int(index))

    def __str__(self) -> str:
        return f"{self.loader}:{self.seed}:{self.index}"

    def content(self) -> bytes:
        """The spoilt file."""
        rng = np.random.default_rng([self.seed, self.index])
        loader = loaders()[self.loader]
        good = loader.good[int(rng.integers(len(loader.good)))]
        return loader.spoil[int(rng.integers(len(loader.spoil)))](rng, good)


class TooLongError(BaseException):
    """A mutant took more than `SECONDS` of the processor; no handler of errors catches it."""


def outcome(mutant: Mutant, folder: Path) -> tuple[str, str]:
    """``accepted`` or ``refused``; or ``failed`` with what happened."""
    loader = loaders()[mutant.loader]
    content = mutant.content()
    path = folder / f"mutant{loader.suffix}"
    path.write_bytes(content)
    try:
        with warnings.catch_warnings(), within_seconds():
            warnings.simplefilter("error")
            loader.read(path)
    except InvalidInputError as error:
        if not isinstance(error, TrippedError):
            return "refused", ""
        return "failed", f"{type(error.__cause__).__name__}: {error!s:.1000}\n"
    except (Exception, TooLongError) as error:  # noqa: BLE001 - all that is not documented
        trace = "".join(traceback.format_tb(error.__traceback__)[-4:])
        return "failed", f"{type(error).__name__}: {error!s:.1000}\n{trace}"
    return "accepted", ""


@contextlib.contextmanager
def within_seconds(seconds: float = SECONDS) -> Iterator[None]:
    """Stop what takes longer, by the clock of this process alone: a busy machine makes no mutant fail."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLongError(f"more than {seconds:g} CPU-seconds")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def drawn(seed: int, count: int, names: Sequence[str]) -> Iterator[Mutant]:
    """Mutants of a seed, the loaders in turn."""
    return (Mutant(names[index % len(names)], seed, index) for index in range(count))


def once_failed() -> list[Mutant]:
    """The mutants of the committed list; what follows a name in its line says what was wrong."""
    lines = FAILED.read_text(encoding="utf-8").splitlines()
    return [Mutant.named(line.split()[0]) for line in lines if line and not line.startswith("#")]


def judge(mutants: Iterator[Mutant] | Sequence[Mutant]) -> tuple[Counter[tuple[str, str]], list[str]]:
    """How many of each loader ended how, and what went wrong."""
    counts: Counter[tuple[str, str]] = Counter()
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for mutant in mutants:
            how, why = outcome(mutant, Path(folder))
            counts[mutant.loader, how] += 1
            if how == "failed":
                failures.append(f"{mutant}  {why}")
    return counts, failures


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw, judge and tell."""
    parser = argparse.ArgumentParser(prog="python -m tests.checks.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, help="default: a new one")
    parser.add_argument("--mutants", type=int, default=20_000, help="default: 20000")
    parser.add_argument("--loaders", default=",".join(loaders()), help="names, with commas; default: all")
    parser.add_argument("--again", metavar="NAME", nargs="+", help="these mutants alone")
    options = parser.parse_args(arguments)
    seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    in_use = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    mutants = drawn(seed, options.mutants, options.loaders.split(","))
    if options.again:
        mutants = iter([Mutant.named(name) for name in options.again])
    else:
        tell(f"seed {seed}")
    started = time.process_time()
    counts, failures = judge(mutants)
    for name in sorted({loader for loader, _ in counts}):
        ends = [f"{how} {counts[name, how]}" for how in ("accepted", "refused", "failed")]
        tell(f"{name:17} {', '.join(ends)}")
    seconds = time.process_time() - started
    tell(
        "\n".join([*failures, f"{counts.total()} mutants, {len(failures)} failed, {seconds:.0f} CPU-seconds"])
    )
    return 1 if failures else 0


def tell(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
