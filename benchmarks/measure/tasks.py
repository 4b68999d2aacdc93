"""What a sweep was asked for, and the jobs that this makes: the same ones whenever it is asked again."""

import dataclasses
import fnmatch
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np

from depl.benchmarks.measure.attempt import VERSION, Attempt, Task
from depl.benchmarks.measure.catalogue import chosen, having
from depl.benchmarks.measure.provenance import FIELDS, here
from depl.benchmarks.measure.registry import Configuration, Draw, Study, plain
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.solving.methods import find, registered

GRACE = 60.0
"""Seconds beyond the time limit of a method that an attempt has for its instance and the verification."""


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be run.

    Attributes
    ----------
    suites : tuple of str
        Names of studies that sweep, or one of a study that measures; only the last three options are of that.
    configurations : tuple of str
        Labels of configurations, or names of registered methods; all configurations of a study if empty. A
        method that a study does not have is run with the longest time limit that it has.
    instances : str
        Pattern for the names of instances, as for files: ``paper-alexnet-*``.
    limit : int or None
        At most so many instances of each study, the first ones.
    seconds : float or None
        Time limit of every method, instead of those of the configurations [s].
    grace : float
        Seconds that an attempt has besides [s].
    imports : tuple of str
        Modules and files to import first; see `depl.models.foundation.users_code`.
    fresh : bool
        Whether every solve gets a process that nothing was solved in before.
    draw : int or None
        Seed that a study that measures names its tasks by.
    """

    suites: tuple[str, ...]
    configurations: tuple[str, ...] = ()
    instances: str = "*"
    limit: int | None = None
    seconds: float | None = None
    grace: float = GRACE
    imports: tuple[str, ...] = ()
    fresh: bool = False
    draw: int | None = None


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker receives: a task, what is known of its attempt beforehand, and how to run it.

    ``blank`` holds the task, its labels, its method and its settings; the rest is filled in where it is run.
    ``seconds``, ``grace``, ``imports`` and ``fresh`` are as in `Request`.
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
    """The jobs of a request: study by study, instances in their order, each by all configurations and seeds.

    Raises
    ------
    InvalidInputError
        If a study, a configuration or a file is unknown, or nothing is left to run.
    """
    studies = chosen(request.suites, having(request.suites, request.imports))
    if request.draw is not None:
        return _measuring(studies[0], request)
    labels = {item.label for study in studies for item in study.configurations}
    for name in request.configurations:
        if name not in labels:
            _require_registered(name, labels)
    jobs = [job for study in studies for job in _jobs(study, request)]
    if not jobs:
        names = ", ".join(request.suites)
        raise InvalidInputError(f"no instance of {names} is called like {request.instances!r}", "--instances")
    return jobs


def configuration_of(study: Study, label: str, seconds: float | None = None) -> Configuration:
    """The configuration of that label, or the method of that name under the study's longest time limit.

    Raises
    ------
    InvalidInputError
        If there is neither.
    """
    known = {item.label: item for item in study.configurations}
    if label not in known:
        longest = max(item.time_limit for item in study.configurations)
        known[label] = Configuration(find(label).name, time_limit=longest)
    return known[label] if seconds is None else dataclasses.replace(known[label], time_limit=seconds)


def job_of(
    task: Task,
    studies: Mapping[str, Study],
    seconds: float | None,
    request: Request,
    parameters: Mapping[str, Any] = MappingProxyType({}),
) -> Job:
    """The job of one task, under a time limit of its own; ``parameters`` are of a study that measures.

    Raises
    ------
    InvalidInputError
        If today's studies do not have its study in this version, its instance or its configuration.
    """
    (study,) = chosen([task.suite], studies)
    if study.version != task.version:
        raise InvalidInputError(f"study {study.name!r} has version {study.version} now, not {task.version}")
    asked = msgspec.structs.replace(request, seconds=seconds)
    if not study.sweeps:
        return _task(study, task, parameters, asked)
    configuration = configuration_of(study, task.configuration, seconds)
    return _job(study, study.drawn(task.instance), configuration, task.seed, asked)


def _jobs(study: Study, request: Request) -> Iterator[Job]:
    named = [draw for draw in study.instances() if fnmatch.fnmatchcase(draw.name, request.instances)]
    names = request.configurations or tuple(item.label for item in study.configurations)
    configurations = [configuration_of(study, name, request.seconds) for name in dict.fromkeys(names)]
    for draw, configuration, seed in study.questions(named[: request.limit], configurations):
        yield _job(study, draw, configuration, seed, request)


def _job(study: Study, draw: Draw, configuration: Configuration, seed: int, request: Request) -> Job:
    place = here()
    blank = Attempt(
        task=Task(
            suite=study.name,
            version=study.version,
            instance=draw.name,
            configuration=configuration.label,
            seed=seed,
        ),
        labels=dict(draw.labels),
        method=configuration.method,
        meaning=configuration.solver.meaning.value,
        settings=_settings(configuration),
        ending="crashed",
        total_seconds=0.0,
        **{name: getattr(place, name) for name in FIELDS},
    )
    return Job(
        blank=blank,
        seconds=request.seconds,
        grace=request.grace,
        imports=request.imports,
        fresh=request.fresh,
    )


def _measuring(study: Study, request: Request) -> list[Job]:
    if study.tasks is None:
        raise InvalidInputError(f"study {study.name!r} has no tasks")
    rows = [plain(study.name, row) for row in study.tasks(np.random.default_rng(request.draw), False)]
    tasks = [Task(suite=study.name, version=study.version, instance=_spelled(row)) for row in rows]
    if len(set(tasks)) < len(tasks):
        raise InvalidInputError(f"two tasks of study {study.name!r} have the same parameters")
    return [_task(study, task, row, request) for task, row in zip(tasks, rows, strict=True)]


def _spelled(parameters: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in parameters.items())


def _task(study: Study, task: Task, parameters: Mapping[str, Any], request: Request) -> Job:
    place = here()
    blank = Attempt(
        task=task,
        labels=dict(parameters),
        method="",
        meaning="",
        settings={"time_limit": study.seconds},
        ending="crashed",
        total_seconds=0.0,
        **{name: getattr(place, name) for name in FIELDS},
    )
    return Job(blank=blank, grace=0.0, imports=request.imports, fresh=study.fresh)


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
        **({"looks": configuration.looks} if configuration.looks else {}),
        **({VERSION: version} if version > 1 else {}),
    }


def _require_registered(name: str, labels: Iterable[str]) -> None:
    methods = [method.name for method in registered()]
    if name not in methods:
        known = dict.fromkeys((*sorted(labels), *methods))
        raise InvalidInputError(
            f"no configuration of these studies and no registered method is called {name!r}; "
            f"{advice(name, known)}",
            "--methods",
        )
