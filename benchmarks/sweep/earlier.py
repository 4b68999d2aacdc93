"""What attempts meant when they were made, where a method's name means another thing today.

A method that is changed so that its old attempts are no longer its own gets a higher version where it is
registered (`depl.models.solving.methods.Registered.version`). Attempts keep the version in their settings;
those without one were made by the first. They are read under a name of their own, so that no table mixes
them.
"""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from depl.benchmarks.measure.attempt import Attempt

VERSION = "method_version"
"""Key of an attempt's settings."""

FIRST: Mapping[str, tuple[str, Mapping[str, Any]]] = MappingProxyType(
    {
        # before it took the paper's own references for stages 1 and 3
        "depl-paper": ("depl-paper-certified", {"data": "certified", "placement": "rounding"}),
    }
)
"""By method: the name that attempts of its first version are read under, and the options that they had."""

Reader = Callable[[str | Path], list[Attempt]]


def as_meant(attempt: Attempt) -> Attempt:
    """The attempt, under the name that says what it was; itself where that is what it has."""
    if attempt.method not in FIRST or VERSION in attempt.settings:
        return attempt
    name, options = FIRST[attempt.method]
    label = attempt.task.configuration
    settings = dict(attempt.settings)
    settings["options"] = {**options, **settings.get("options", {})}
    own = label.startswith(attempt.method)
    renamed = name + label.removeprefix(attempt.method) if own else f"{label}-{name}"
    task = msgspec.structs.replace(attempt.task, configuration=renamed)
    return msgspec.structs.replace(attempt, task=task, method=name, settings=settings)


def read_as_meant(reader: Reader) -> Reader:
    """A reader of attempts whose attempts are all `as_meant`."""

    @functools.wraps(reader)
    def read(path: str | Path) -> list[Attempt]:
        return [as_meant(attempt) for attempt in reader(path)]

    return read
