"""What was asked for as jobs: the same ones whenever it is asked again, and of a recorded attempt its own."""

import dataclasses
import fnmatch
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
import numpy as np

from depl.benchmarks.measure.attempt import VERSION, Attempt, Job, Request, Task
from depl.benchmarks.measure.catalogue import chosen, draws_of, having
from depl.benchmarks.measure.provenance import here, place_of
from depl.benchmarks.measure.registry import ANSWERED, Configuration, Draw, Study, plain
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.solving.methods import find, registered


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
    _require_known(request.configurations, labels)
    jobs = [job for study in studies for job in _sweeping(study, request)]
    if not jobs:
        names = ", ".join(request.suites)
        raise InvalidInputError(f"no instance of {names} is called like {request.instances!r}", "--instances")
    return jobs


def again(row: Attempt, request: Request) -> Job:
    """The job of a recorded attempt, under its own time limit.

    Raises
    ------
    InvalidInputError
        If today's studies do not have its study in this version, its instance or its configuration.
    """
    (study,) = chosen([row.task.suite], having([row.task.suite], request.imports))
    if study.version != row.task.version:
        raise InvalidInputError(
            f"study {study.name!r} has version {study.version} now, not {row.task.version}"
        )
    if row.ending == ANSWERED:
        return _measured(study, row.labels, request)
    draw = draws_of(study.name, request.imports).get(row.task.instance)
    if draw is None:
        raise InvalidInputError(f"study {study.name!r} has no instance {row.task.instance!r}")
    seconds = row.settings.get("time_limit")
    if "looks" not in row.settings and not (isinstance(seconds, int | float) and seconds > 0):
        raise InvalidInputError(f"its settings.time_limit is {seconds!r} instead of positive seconds")
    limit = None if "looks" in row.settings else seconds
    configuration = configuration_of(study, row.task.configuration, limit)
    return _solved(study, draw, configuration, row.task.seed, request)


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


def _measuring(study: Study, request: Request) -> list[Job]:
    rows = [] if study.tasks is None else study.tasks(np.random.default_rng(request.draw), False)
    jobs = [_measured(study, plain(study.name, row), request) for row in rows]
    if not jobs:
        raise InvalidInputError(f"study {study.name!r} has no tasks")
    if len({job.task for job in jobs}) < len(jobs):
        raise InvalidInputError(f"two tasks of study {study.name!r} have the same parameters")
    return jobs


def _sweeping(study: Study, request: Request) -> Iterator[Job]:
    named = [draw for draw in study.instances() if fnmatch.fnmatchcase(draw.name, request.instances)]
    names = request.configurations or tuple(item.label for item in study.configurations)
    configurations = [configuration_of(study, name, request.seconds) for name in dict.fromkeys(names)]
    for draw, configuration, seed in study.questions(named[: request.limit], configurations):
        yield _solved(study, draw, configuration, seed, request)


def _measured(study: Study, parameters: Mapping[str, Any], request: Request) -> Job:
    spelled = " ".join(f"{name}={value}" for name, value in parameters.items())
    task = Task(suite=study.name, version=study.version, instance=spelled)
    asked = msgspec.structs.replace(request, fresh=study.fresh, grace=0.0)
    return _job(task, parameters, asked, method="", meaning="", settings={"time_limit": study.seconds})


def _solved(study: Study, draw: Draw, asked: Configuration, seed: int, request: Request) -> Job:
    task = Task(
        suite=study.name, version=study.version, instance=draw.name, configuration=asked.label, seed=seed
    )
    meaning, settings = asked.solver.meaning.value, _settings(asked)
    return _job(task, draw.labels, request, method=asked.method, meaning=meaning, settings=settings)


def _job(task: Task, labels: Mapping[str, Any], request: Request, **told: Any) -> Job:
    known: dict[str, Any] = {"task": task, "labels": dict(labels), "ending": "crashed", "total_seconds": 0.0}
    return Job(Attempt(**known, **told, **place_of(here())), request)


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


def _require_known(names: Iterable[str], labels: Iterable[str]) -> None:
    known = dict.fromkeys((*sorted(labels), *(method.name for method in registered())))
    for name in names:
        if name not in known:
            raise InvalidInputError(
                f"no configuration of these studies and no registered method is called {name!r}; "
                f"{advice(name, known)}",
                "--methods",
            )
