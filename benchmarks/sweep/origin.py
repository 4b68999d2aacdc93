"""On what an attempt is made: commit, versions and machine of a process, found out once."""

import functools
import platform
from typing import Any

import msgspec

from depl.benchmarks.runner.machine import Commit, Machine, describe_machine, library_versions, source_commit
from depl.benchmarks.sweep.attempt import Attempt


class Origin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The part of an attempt that is the same for all attempts of one process."""

    commit: Commit | None
    python: str
    versions: dict[str, str]
    machine: Machine

    @property
    def source(self) -> str:
        """The commit in one word, with a ``+`` if the code differed from it; empty if there is none."""
        return source_name(self.commit)


@functools.cache
def origin() -> Origin:
    """Where this process runs; as it was at the first call, which should come early."""
    return Origin(
        commit=source_commit(),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        versions=library_versions(),
        machine=describe_machine(),
    )


def origin_of(attempt: Attempt) -> Origin:
    """Where an attempt was made."""
    return Origin(attempt.commit, attempt.python, attempt.versions, attempt.machine)


def with_origin(attempt: Attempt, found: Origin) -> Attempt:
    """``attempt``, made there."""
    return msgspec.structs.replace(attempt, **_fields(found))


def source_name(commit: Commit | None) -> str:
    """A commit in one word, with a ``+`` if the code differed from it; empty for none."""
    return "" if commit is None else commit.id + ("+" if commit.dirty else "")


def _fields(found: Origin) -> dict[str, Any]:
    return {name: getattr(found, name) for name in Origin.__struct_fields__}
