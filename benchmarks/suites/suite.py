"""What a suite is: instances by name, configurations of methods, seeds; frozen.

A task of a sweep is one instance, one configuration and one seed. It is named by text alone, so that a worker
on another machine makes the same instance from the same code, and its fingerprint tells whether it did.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.solving.methods import Registered, find
from depl.models.solving.result import Result

SUITE_NAME = r"[a-z0-9]+(?:[-_.][a-z0-9]+)*"
"""Of names of suites, as a regular expression: files are called after them."""

Label = str | int | float | bool
Measure = Callable[["Draw", Instance, Result], Mapping[str, float | None]]
"""Further figures of one attempt, taken in the worker that solved it; they must not depend on time."""


@dataclass(frozen=True)
class Draw:
    """One instance of a suite.

    Attributes
    ----------
    name : str
        Unique in the suite, such as ``paper-alexnet-9``; names the instance in results for good.
    labels : mapping of str to str, int, float or bool
        What tables group by and figures have on their axes, such as ``family`` and ``target``.
    build : callable
        Makes the instance; the same one whenever and wherever it is called.
    """

    name: str
    labels: Mapping[str, Label]
    build: Callable[[], Instance] = field(repr=False, compare=False)


@dataclass(frozen=True)
class Configuration:
    """A method and how it is run.

    Attributes
    ----------
    method : str
        Name of a registered method.
    time_limit : float
        Wall seconds that the method may take; an attempt is killed some time after it.
    gap : float
        Certified relative gap that is good enough.
    scenarios : int or None
        For methods that count scenarios.
    options : mapping
        What the method takes besides.
    label : str
        Name in tables and figures; the method's own unless given.
    own : Registered or None
        The method itself, of a study that no other solve may ask for by its name.
    """

    method: str
    time_limit: float = 60.0
    gap: float = 0.0
    scenarios: int | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    label: str = ""
    own: Registered | None = None

    def __post_init__(self) -> None:
        if not self.time_limit > 0:
            raise InvalidInputError(
                f"configuration of {self.method!r}: time_limit must be positive, not {self.time_limit}"
            )
        object.__setattr__(self, "label", self.label or self.method)

    @property
    def solver(self) -> Registered:
        """The method that it runs."""
        return self.own or find(self.method)


@dataclass(frozen=True)
class Suite:
    """Instances, configurations and seeds; their product is what a sweep runs.

    Attributes
    ----------
    name : str
        Lower-case words joined by hyphens; names the files of results.
    summary : str
        One sentence on what is asked.
    draws : callable
        Returns the draws, in the order in which they are run. Must be quick: instances are built by workers.
    configurations : sequence of Configuration
        Their labels must differ.
    seeds : tuple of int
        Seeds of methods that draw; results of all are kept.
    measure : callable or None
        Takes further figures of an attempt that has a result.
    version : int
        Raised when the instances or configurations of a name change, so that old results are not mixed in.
    """

    name: str
    summary: str
    draws: Callable[[], Sequence[Draw]] = field(repr=False)
    configurations: tuple[Configuration, ...]
    seeds: tuple[int, ...] = (0,)
    measure: Measure | None = field(default=None, repr=False)
    version: int = 1

    def __post_init__(self) -> None:
        if not re.fullmatch(SUITE_NAME, self.name):
            raise InvalidInputError(
                f"suite name {self.name!r} is not usable; take lower-case words joined by hyphens"
            )
        labels = [item.label for item in self.configurations]
        if not labels or len(set(labels)) != len(labels):
            raise InvalidInputError(
                f"suite {self.name!r} needs configurations of different labels, not {labels}"
            )

    def draw(self, name: str) -> Draw:
        """The draw of that name.

        Raises
        ------
        InvalidInputError
            If the suite has none.
        """
        for item in self.draws():
            if item.name == name:
                return item
        raise InvalidInputError(f"suite {self.name!r} has no instance {name!r}")

    def configuration(self, label: str) -> Configuration:
        """The configuration of that label.

        Raises
        ------
        InvalidInputError
            If the suite has none; the message lists those it has.
        """
        for item in self.configurations:
            if item.label == label:
                return item
        known = ", ".join(item.label for item in self.configurations)
        raise InvalidInputError(f"suite {self.name!r} has no configuration {label!r}; it has: {known}")
