"""Where something was measured: commit, versions and machine, without host names and paths.

Records and attempts extend `Provenance`, so that these fields lie beside their own in a file.
"""

import contextlib
import datetime
import functools
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import msgspec

_LIBRARIES = ("depl", "numpy", "scipy", "msgspec", "matplotlib", "python-flint", "cvxpy")


class Machine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The parts of a machine that decide how fast it is."""

    cpu: str | None
    cores: int
    memory_gib: float | None
    system: str


class Commit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The state of the source: the commit, and whether anything but the records differed from it."""

    id: str
    dirty: bool


class Provenance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where something was measured; the same for all that one process measures.

    The commit is None where the code was no git checkout; ``versions`` are of those libraries that
    were installed; records may not name the machine.
    """

    commit: Commit | None
    python: str
    versions: dict[str, str]
    machine: Machine | None

    @property
    def source(self) -> str:
        """The commit in one word, with a ``+`` if the code differed from it; empty if there is none."""
        return "" if self.commit is None else self.commit.id + ("+" if self.commit.dirty else "")

    @property
    def source_words(self) -> str:
        """The commit for a reader: the beginning of its name, and whether the code differed from it."""
        if self.commit is None:
            return "no commit known"
        changes = " with uncommitted changes" if self.commit.dirty else ""
        return f"commit {self.commit.id[:10]}{changes}"

    @property
    def machine_words(self) -> str:
        """Processor, cores and memory, for a reader."""
        found = self.machine
        if found is None:
            return "unknown machine"
        memory = "" if found.memory_gib is None else f", {found.memory_gib:.0f} GiB"
        return f"{found.cpu or 'unknown processor'}, {found.cores} cores{memory}"


@functools.cache
def here() -> Provenance:
    """Where this process runs; as it was at the first call, which should come early."""
    versions = {}
    for name in _LIBRARIES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return Provenance(
        commit=source_commit(),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        versions=versions,
        machine=Machine(cpu=_cpu_model(), cores=_usable_cores(), memory_gib=_memory_gib(), system=_system()),
    )


def place_of(record: Provenance) -> dict[str, Any]:
    """Where a record was made: these fields of it alone."""
    return {name: getattr(record, name) for name in Provenance.__struct_fields__}


def now() -> str:
    """Date and time, UTC, ISO 8601."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def source_commit() -> Commit | None:
    """Return the commit of the source that is running, or None if it is not a git checkout."""
    root = Path(__file__).resolve().parents[2]
    # An installed copy may lie inside somebody else's repository: only a top level counts.
    if _output("git", "-C", str(root), "rev-parse", "--show-prefix") != "":
        return None
    commit = _output("git", "-C", str(root), "rev-parse", "HEAD")
    # Records are what a run writes: they do not make the code that it ran a different one.
    changes = _output(
        "git", "-C", str(root), "status", "--porcelain", "--", ".", ":(exclude)benchmarks/results"
    )
    return Commit(id=commit, dirty=changes != "") if commit else None


def _output(*command: str) -> str | None:
    """Return what a command prints, or None if it is missing or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _cpu_model() -> str | None:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    if platform.system() == "Darwin":
        return _output("sysctl", "-n", "machdep.cpu.brand_string") or None
    return platform.processor() or platform.machine() or None


def _usable_cores() -> int:
    # A container or a job may be bound to fewer cores than the machine has.
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _memory_gib() -> float | None:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
    return round(total / 2**30, 1)


def _system() -> str:
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        name = f"{platform.system()} {platform.release()}"
    return f"{name}, {platform.machine()}"
