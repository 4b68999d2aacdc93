"""What the options that several commands share stand for: instances, plans, scenarios, files of the user."""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from depl.commands.options import FigureFiles, Options
from depl.instances.library import load
from depl.models.foundation.documents import found_there, read_text, reason_of
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.users_code import import_source, resolved
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.scenarios.draws import Scenarios, draw_scenarios
from depl.models.scenarios.files import load_scenarios
from depl.models.solving.methods import default_method, find, registered, require_counting
from depl.models.solving.options import read_options

_LAST_DIGITS = 1e-9  # quantile functions of two machines differ by less, relatively


def sources(options: Any) -> tuple[str, ...]:
    """What ``--import`` names, so that workers elsewhere in the file system find it."""
    return tuple(dict.fromkeys(map(resolved, options.imports)))


def import_users_code(options: Options) -> None:
    """Import what ``--import`` names.

    Raises
    ------
    InvalidInputError
        As `depl.models.foundation.users_code.import_source`.
    """
    for source in options.imports:
        import_source(resolved(source))


def further_options(options: Options, instance: Instance) -> dict[str, object]:
    """What `depl.commands.options.solving` declares and only some methods take, where it is given.

    Raises
    ------
    InvalidInputError
        If the method does not take an option, or not with this value, or one is given twice.
    """
    method = find(options.method or default_method(instance))
    if not method.options:
        _refuse_options(method.name, options)
    texts: dict[str, str] = {}
    if options.eta is not None:
        texts["eta"] = str(options.eta)
    for name, value in options.options:
        if name in texts:
            raise InvalidInputError("is given twice; keep one", f"--option {name}")
        texts[name] = value
    try:
        return read_options(method.name, method.options, texts)
    except InvalidInputError as error:
        place = f"--option {error.path}" if error.path else ""
        raise InvalidInputError(error.message, place) from error


def _refuse_options(method: str, options: Options) -> None:
    """Refuse options where the method takes none, and name the methods that take the first one."""
    given = [*([] if options.eta is None else ["eta"]), *(name for name, _ in options.options)]
    for name in given:
        able = [other.name for other in registered() if name in [item.name for item in other.options]]
        hint = f"; of --method {' or '.join(able)} it is one" if able else "; it takes none"
        raise InvalidInputError(f"method {method!r} takes no option {name!r}{hint}")


def read_instance(options: Options) -> Instance:
    """The instance that INSTANCE and ``--target`` name.

    Raises
    ------
    InvalidInputError
        As `depl.instances.library.load`, with the file in front of the place inside it.
    """
    with inside(options.instance):
        return load(options.instance, options.target)


def read_plan(path: str) -> Plan:
    """The plan in a file.

    Raises
    ------
    InvalidInputError
        With the file in front of the place inside it.
    """
    with inside(path):
        return Plan.from_json(read_text(path))


@contextmanager
def inside(source: str) -> Iterator[None]:
    """Name the file in errors that only know the place inside it (``$.clusters[1]``)."""
    try:
        yield
    except InvalidInputError as error:
        if not error.path.startswith("$"):
            raise
        raise type(error)(error.message, f"{source}: {error.path}") from error


@contextmanager
def of_runs(traces: str, told: Iterable[str], setup: str | None = None) -> Iterator[None]:
    """Name the file, or the option, in errors that only know the place inside the runs or their setup.

    ``told`` are the parameters that an option of the same name gives.
    """
    try:
        yield
    except InvalidInputError as error:
        if error.path and not error.path.startswith("."):
            raise
        name = error.path.removeprefix(".")
        if name in told:
            place = f"--{name.replace('_', '-')}"
        elif setup is not None and name.startswith(("models[", "clusters[", "target")):
            place = f"{setup}: ${error.path}"
        else:
            place = f"{traces}: ${error.path}" if name else traces
        raise type(error)(error.message, place) from error


def require_outputs(outputs: Iterable[str | None], inputs: Iterable[str | None] = ()) -> None:
    """Refuse files that could not be written, or would replace what is read, before the work that they hold.

    Parameters
    ----------
    outputs, inputs : iterable of str or None
        What a command writes and reads; None for an option that is not given. An input may be a name of
        something shipped.

    Raises
    ------
    InvalidInputError
        If an output is a folder, lies in one that is missing or closed to this user, or is the same file as
        an input or another output, by whatever names.
    """
    read = list(filter(None, inputs))
    written: list[str] = []
    for path in filter(None, outputs):
        _require_writable(path)
        for others, what in ((read, "read"), (written, "written, too")):
            for other in others:
                if same_file(path, other):
                    raise InvalidInputError(f"is the file {other}, which is {what}; name another one", path)
        written.append(path)


def same_file(path: str | Path, other: str | Path) -> bool:
    """Whether two names lead to one regular file, or would to one new file; pipes and devices are none."""
    try:
        return os.path.samefile(path, other) and os.path.isfile(path)
    except (OSError, ValueError):  # at least one of them is not there
        there = os.path.exists(path) or os.path.exists(other)
        return not there and os.path.realpath(path) == os.path.realpath(other)


def _require_writable(path: str) -> None:
    folder = Path(os.path.realpath(path) if os.path.islink(path) else path).parent
    if os.path.isdir(path):
        raise InvalidInputError("is a folder; name a file in it", path)
    if not os.path.isdir(folder):
        raise InvalidInputError(f"there is no folder {str(folder)!r}; make it first", path)
    try:
        found = found_there(path)
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"cannot be written ({reason_of(error)})", path) from error
    if found is not None and not stat.S_ISREG(found.st_mode):  # it is written to and not replaced
        if not os.access(path, os.W_OK):
            raise InvalidInputError("cannot be written to", path)
    elif not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInputError(f"the folder {str(folder)!r} cannot be written to", path)


def figure_files(target: FigureFiles | None, part: str = "") -> tuple[str, ...]:
    """The files of a figure, or of one part of several, none for None."""
    return () if target is None else target.paths(part)


def make_folder(path: str) -> Path:
    """The folder of that name, made with its parents where there is none.

    Raises
    ------
    InvalidInputError
        If it cannot be made or written to.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"cannot be made ({error.strerror or error})", path) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInputError("cannot be written to", path)
    return folder


def read_scenarios(options: Options, instance: Instance) -> int | Scenarios | None:
    """The scenarios that ``--scenarios`` names: how many, or those of a file.

    Raises
    ------
    InvalidInputError
        As `depl.models.scenarios.files.load_scenarios`, and if the method counts no scenarios.
    """
    given: int | str | None = options.scenarios
    if not isinstance(given, str):
        return given
    require_counting(options.method or default_method(instance))
    scenarios = load_scenarios(given, instance)
    if scenarios.seed is not None:
        drawn = draw_scenarios(instance, len(scenarios), scenarios.seed, scenarios.decimals)
        for numbers, stream in (
            (scenarios.improvements, drawn.improvements),
            (scenarios.switch_losses, drawn.switch_losses),
        ):
            if not np.allclose(numbers, stream, rtol=_LAST_DIGITS, atol=0.0):
                raise InvalidInputError(
                    f"is {scenarios.seed}, whose stream has other numbers; leave the seed out of the file",
                    f"{given}: seed",
                )
    return scenarios
