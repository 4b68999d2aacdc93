"""The instances behind attempts, made again from their suites and checked by their fingerprints."""

from collections.abc import Sequence

import msgspec

from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.suites.catalogue import find_suite
from depl.instances.library import load
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan

Task = tuple[str, str]
"""Suite and name of the draw."""


class Instances:
    """Instances of attempts by suite and name; each is made once.

    Attributes
    ----------
    missing : list of str
        Sentences on what could not be made again.
    """

    def __init__(self) -> None:
        self.missing: list[str] = []
        self._known: dict[Task, Instance | None] = {}

    def of(self, attempt: Attempt) -> Instance | None:
        """The instance that was solved; None if this code makes another one, or none, of that name."""
        key = attempt.task.suite, attempt.task.instance
        if key not in self._known:
            self._known[key] = self._made(attempt)
        return self._known[key]

    def _made(self, attempt: Attempt) -> Instance | None:
        task = attempt.task
        try:
            found = _build(task.suite, task.instance)
        except InvalidInputError as error:
            self.missing.append(f"{task.instance} of suite {task.suite} cannot be made again: {error}")
            return None
        if attempt.instance_hash and found.fingerprint != attempt.instance_hash:
            self.missing.append(
                f"{task.instance} of suite {task.suite} has changed since it was solved "
                f"({attempt.instance_hash:.12}, now {found.fingerprint:.12})"
            )
            return None
        return found


def _build(suite: str, name: str) -> Instance:
    """The draw of the suite; without that suite the shipped instance, which its fingerprint will confirm."""
    try:
        known = find_suite(suite)
    except InvalidInputError:
        return load(name)
    return known.draw(name).build()


def plan_of(attempt: Attempt) -> Plan | None:
    """The plan that an attempt holds."""
    return None if attempt.plan is None else Plan.from_json(msgspec.json.encode(attempt.plan))


def first_of_each(attempts: Sequence[Attempt]) -> list[Attempt]:
    """One attempt for every instance and configuration: that of the lowest seed, where there are several."""
    kept: dict[tuple[str, str, str], Attempt] = {}
    for attempt in attempts:
        key = attempt.task.suite, attempt.task.instance, attempt.task.configuration
        if key not in kept or attempt.task.seed < kept[key].task.seed:
            kept[key] = attempt
    return list(kept.values())
