"""Finds studies: those that are shipped, by their files alone, and those of a user's modules and files."""

import dataclasses
import functools
import importlib.util
import pkgutil
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

import depl.benchmarks.studies
from depl.benchmarks.measure.registry import Draw, Study
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.foundation.removed import removed
from depl.models.foundation.users_code import import_source

_SWEEPS = ("depl.benchmarks.studies.sweeps", "depl.benchmarks.studies.behaviour")


@functools.cache
def all_studies(package: ModuleType = depl.benchmarks.studies) -> dict[str, Study]:
    """Every study of a package by name: each module gives its ``STUDY``, or several as ``STUDIES``.

    Rooms inside the package hold helpers and are left out.

    Raises
    ------
    InvalidInputError
        If a module defines no study, or two define studies of one name.
    """
    modules = pkgutil.iter_modules(package.__path__, prefix=f"{package.__name__}.")
    return _defined_in(module.name for module in modules if not module.ispkg)


@functools.cache
def all_suites() -> dict[str, Study]:
    """The shipped studies that sweep, by name, without importing all others."""
    return _defined_in(_SWEEPS)


@functools.cache
def draws_of(name: str, sources: tuple[str, ...] = ()) -> dict[str, Draw]:
    """The draws of a study by their names."""
    return {draw.name: draw for draw in having([name], sources)[name].instances()}


def having(names: Iterable[str], sources: Sequence[str] = ()) -> dict[str, Study]:
    """Studies, and those of these names among them if they exist; all are imported only if that is needed.

    Most studies have a module of their name; ``sources`` are as in `with_imports`.
    """
    names, found = set(names), dict[str, Study]()
    for name in names:
        module = f"{depl.benchmarks.studies.__name__}.{name.replace('-', '_')}"
        if "." not in name and importlib.util.find_spec(module) is not None:
            found |= _defined_in([module])
    if not found.keys() >= names:
        found = with_imports({**all_suites(), **found}, sources)
    return found if found.keys() >= names else with_imports(all_studies(), sources)


def chosen(names: Iterable[str], studies: Mapping[str, Study]) -> list[Study]:
    """The studies of these names, each once, in the order asked for.

    Raises
    ------
    InvalidInputError
        If a name is unknown; the message lists the known ones.
    """
    for name in names:
        if name not in studies:
            gone = removed(f"study {name}")
            raise InvalidInputError(gone or f"no study is called {name!r}; {advice(name, studies)}")
    return [studies[name] for name in dict.fromkeys(names)]


def with_imports(studies: Mapping[str, Study], sources: Sequence[str] = ()) -> dict[str, Study]:
    """Studies, and the ``STUDY`` of each of these modules and files that defines one.

    Raises
    ------
    InvalidInputError
        If one cannot be imported, what it defines is no study, or its name is taken.
    """
    found = dict(studies)
    for source in sources:
        module = import_source(source)
        study = getattr(module, "STUDY", None)
        if study is None and hasattr(module, "SUITE"):
            message = "SUITE was removed: define STUDY = depl.benchmarks.measure.registry.Study(...)"
            raise InvalidInputError(message, source)
        if study is None:
            continue
        if not isinstance(study, Study):
            raise InvalidInputError("its STUDY must be a depl.benchmarks.measure.registry.Study", source)
        if study.name in found:
            raise InvalidInputError(f"a study {study.name!r} exists already; choose another name", source)
        if study.sweeps:
            study = dataclasses.replace(study, draws=functools.partial(_usable_draws, study, source))
        found[study.name] = study
    return found


def _defined_in(modules: Iterable[str]) -> dict[str, Study]:
    found: dict[str, Study] = {}
    for name in modules:
        module = importlib.import_module(name)
        for study in getattr(module, "STUDIES", (getattr(module, "STUDY", None),)):
            if not isinstance(study, Study):
                raise InvalidInputError(
                    f"{name} defines no STUDY; set STUDY = Study(...) there or move the file"
                )
            if study.name in found:
                raise InvalidInputError(
                    f"{name}: another file already defines the study {study.name!r}; rename one"
                )
            found[study.name] = study
    return dict(sorted(found.items()))


def _usable_draws(study: Study, source: str) -> Sequence[Draw]:
    """The draws of a user's study, refused if they cannot be made, told apart or recorded."""
    place = f"{source}: draws of study {study.name!r}"
    try:
        draws: list[Any] = list(study.instances())
    except (Exception, SystemExit) as error:  # a user's code may fail with anything
        raise InvalidInputError(f"cannot be made: {type(error).__name__}: {error}", place) from error
    names = set[str]()
    for draw in draws:
        if not isinstance(draw, Draw):
            raise InvalidInputError(f"must be depl.benchmarks.measure.registry.Draw, not {draw!r}", place)
        labels: Mapping[str, Any] = draw.labels
        for name, value in labels.items():
            if not isinstance(value, str | int | float):
                kind = f"{type(value).__name__} instead of text or number"
                raise InvalidInputError(f"label {name!r} of {draw.name!r} is {kind}", place)
        if draw.name in names:
            raise InvalidInputError(f"the name {draw.name!r} is given twice; names tell results apart", place)
        names.add(draw.name)
    return draws
