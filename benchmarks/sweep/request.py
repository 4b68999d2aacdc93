"""What a sweep was asked for, and the tasks that this makes: the same ones whenever it is asked again."""

import dataclasses
import fnmatch
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from depl.benchmarks.measure.attempt import Attempt, Task
from depl.benchmarks.measure.provenance import FIELDS, here
from depl.benchmarks.suites.suite import Configuration, Draw, Suite
from depl.benchmarks.sweep.defaults import GRACE
from depl.benchmarks.sweep.earlier import VERSION
from depl.benchmarks.sweep.imports import suites_with
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.solving.methods import find, registered
from depl.models.solving.result import Solution


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be run.

    Attributes
    ----------
    suites : tuple of str
        Names of suites.
    configurations : tuple of str
        Labels of configurations, or names of registered methods; all configurations of a suite if empty. A
        method that a suite does not have is run with the longest time limit that it has.
    instances : str
        Pattern for the names of instances, as for files: ``paper-alexnet-*``.
    limit : int or None
        At most so many instances of each suite, the first ones.
    seconds : float or None
        Time limit of every method, instead of those of the configurations [s].
    grace : float
        Seconds that an attempt has besides [s].
    imports : tuple of str
        Modules and files to import first; see `depl.models.foundation.users_code`.
    fresh : bool
        Whether every solve gets a process that nothing was solved in before.
    """

    suites: tuple[str, ...]
    configurations: tuple[str, ...] = ()
    instances: str = "*"
    limit: int | None = None
    seconds: float | None = None
    grace: float = GRACE
    imports: tuple[str, ...] = ()
    fresh: bool = False


class Job(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a worker receives: a task, what is known of its attempt beforehand, and how to run it.

    Attributes
    ----------
    blank : Attempt
        The task, its labels, its method and its settings; the rest is filled in where it is run.
    seconds : float or None
    grace : float
    imports : tuple of str
    fresh : bool
        As in `Request`.
    """

    blank: Attempt
    seconds: float | None = None
    grace: float = GRACE
    imports: tuple[str, ...] = ()
    fresh: bool = False

    @property
    def task(self) -> Task:
        """What is to be run."""
        return self.blank.task


def jobs_of(request: Request) -> list[Job]:
    """The jobs of a request: suite by suite, instances in their order, each by all configurations and seeds.

    Raises
    ------
    InvalidInputError
        If a suite, a configuration or a file is unknown, or nothing is left to run.
    """
    suites = suites_with(request.imports)
    chosen = [_suite(suites, name) for name in dict.fromkeys(request.suites)]
    labels = {item.label for suite in chosen for item in suite.configurations}
    for name in request.configurations:
        if name not in labels:
            _require_registered(name, labels)
    jobs = [job for suite in chosen for job in _jobs(suite, request)]
    if not jobs:
        names = ", ".join(request.suites)
        raise InvalidInputError(f"no instance of {names} is called like {request.instances!r}", "--instances")
    return jobs


def configuration_of(suite: Suite, label: str, seconds: float | None = None) -> Configuration:
    """The configuration of that label, or the method of that name under the suite's longest time limit.

    Raises
    ------
    InvalidInputError
        If there is neither.
    """
    if label in {item.label for item in suite.configurations}:
        found = suite.configuration(label)
    else:
        longest = max(item.time_limit for item in suite.configurations)
        found = Configuration(find(label).name, time_limit=longest)
    return found if seconds is None else dataclasses.replace(found, time_limit=seconds)


def job_of(task: Task, suites: Mapping[str, Suite], seconds: float | None, request: Request) -> Job:
    """The job of one task, under a time limit of its own.

    Raises
    ------
    InvalidInputError
        If today's suites do not have its suite in this version, its instance or its configuration.
    """
    suite = _suite(suites, task.suite)
    if suite.version != task.version:
        raise InvalidInputError(f"suite {suite.name!r} has version {suite.version} now, not {task.version}")
    return _job(
        suite,
        suite.draw(task.instance),
        configuration_of(suite, task.configuration, seconds),
        task.seed,
        msgspec.structs.replace(request, seconds=seconds),
    )


def _jobs(suite: Suite, request: Request) -> Iterator[Job]:
    named = [draw for draw in suite.draws() if fnmatch.fnmatchcase(draw.name, request.instances)]
    names = request.configurations or tuple(item.label for item in suite.configurations)
    configurations = [configuration_of(suite, name, request.seconds) for name in dict.fromkeys(names)]
    for draw in named[: request.limit]:
        for configuration in configurations:
            for seed in suite.seeds:
                yield _job(suite, draw, configuration, seed, request)


def _job(suite: Suite, draw: Draw, configuration: Configuration, seed: int, request: Request) -> Job:
    return Job(
        blank=_blank(suite, draw, configuration, seed),
        seconds=request.seconds,
        grace=request.grace,
        imports=request.imports,
        fresh=request.fresh,
    )


def _blank(suite: Suite, draw: Draw, configuration: Configuration, seed: int) -> Attempt:
    """An attempt of which no more is known than before it is made."""
    place = here()
    return Attempt(
        task=Task(
            suite=suite.name,
            version=suite.version,
            instance=draw.name,
            configuration=configuration.label,
            seed=seed,
        ),
        labels=dict(draw.labels),
        method=configuration.method,
        meaning=configuration.solver.meaning.value,
        settings=_settings(configuration),
        instance_hash="",
        ending="crashed",
        solution=Solution.NONE.value,
        cost=None,
        lower_bound=None,
        violation=None,
        epochs=None,
        epochs_by_model={},
        plan=None,
        measures={},
        reason=None,
        wall_seconds=None,
        cpu_seconds=None,
        build_seconds=None,
        total_seconds=0.0,
        peak_gibibytes=None,
        started="",
        **{name: getattr(place, name) for name in FIELDS},
    )


def _settings(configuration: Configuration) -> dict[str, Any]:
    try:
        options = msgspec.json.decode(msgspec.json.encode(dict(configuration.options)))
    except TypeError as error:
        raise InvalidInputError(
            f"the options of configuration {configuration.label!r} cannot be recorded ({error}); "
            "use plain values"
        ) from error
    version = configuration.solver.version
    return {
        "time_limit": configuration.time_limit,
        "gap": configuration.gap,
        "scenarios": configuration.scenarios,
        "options": options,
        **({VERSION: version} if version > 1 else {}),
    }


def _suite(suites: Mapping[str, Suite], name: str) -> Suite:
    if name not in suites:
        raise InvalidInputError(f"no suite is called {name!r}; {advice(name, suites)}")
    return suites[name]


def _require_registered(name: str, labels: Iterable[str]) -> None:
    methods = [method.name for method in registered()]
    if name not in methods:
        known = dict.fromkeys((*sorted(labels), *methods))
        raise InvalidInputError(
            f"no configuration of these suites and no registered method is called {name!r}; "
            f"{advice(name, known)}",
            "--methods",
        )
