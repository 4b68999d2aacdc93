"""What options stand for: instances, plans, scenarios, and the files that are written and drawn."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from depl.commands.answer import ExitCode
from depl.commands.options import FigureFiles, Options
from depl.models.foundation.errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from depl.models.problem.instance import Instance
    from depl.models.problem.plan import Plan
    from depl.models.scenarios.draws import Scenarios
    from depl.models.solving.result import Result

_LAST_DIGITS = 1e-9  # quantile functions of two machines differ by less, relatively


def sources(options: Any) -> tuple[str, ...]:
    """What ``--import`` names, so that workers elsewhere in the file system find it."""
    from depl.models.foundation.users_code import resolved

    return tuple(dict.fromkeys(map(resolved, options.imports)))


def read_instance(options: Options) -> Instance:
    """The instance that INSTANCE and ``--target`` name; errors have the file in front of the place."""
    from depl.instances.library import load

    with inside(options.instance):
        return load(options.instance, options.target)


def read_plan(path: str) -> Plan:
    """The plan in a file; errors have the file in front of the place."""
    from depl.models.foundation.documents import read_text
    from depl.models.problem.plan import Plan

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
    from depl.models.foundation.documents import found_there, reason_of

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


def kept(code: ExitCode, *steps: Callable[[], str]) -> tuple[ExitCode, str]:
    """Write and draw what is asked for, and say so; an answer is worth showing even if that fails."""
    said = []
    for step in steps:
        try:
            said.append(step())
        except InvalidInputError as error:
            code = ExitCode.INVALID
            said.append(f"depl: {error}")
    return code, "\n\n".join(filter(None, said))


def written(path: str | None, what: str, document: Any) -> str:
    """Write a document to the file that is named for it, and say so; or that there is none."""
    from depl.models.foundation.documents import write_text

    if path is None:
        return ""
    if document is None:
        return f"{path} not written: there is no {what}"
    write_text(path, document.to_json())
    return f"{what} written to {path}"


def figure_files(target: FigureFiles | None, part: str = "") -> tuple[str, ...]:
    """The files of a figure, or of one part of several, none for None."""
    return () if target is None else target.paths(part)


def drawn(target: FigureFiles | None, what: str, draw: Callable[[], Axes] | None) -> str:
    """Draw what is asked for, and say where; or that there is nothing to be drawn."""
    if target is None:
        return ""
    if draw is None:
        return f"{target.name} not drawn: there is no {what}"
    figure = draw().get_figure(root=True)
    return "" if figure is None else f"drawn in {' and '.join(saved(figure, target))}"


def plan_figure(target: FigureFiles | None, instance: Instance | None, plan: Plan | None) -> str:
    """The same of a plan, None where a command has found none."""
    if target is None or instance is None or plan is None:
        return drawn(target, "plan", None)
    from depl.plot.plan import plan as draw

    return drawn(target, "plan", lambda: draw(instance, plan)[0])


def saved(figure: Figure, target: FigureFiles, part: str = "") -> list[str]:
    """Write a figure, or one part of several, and return its files."""
    from depl.benchmarks.figures.style import save

    place = Path(f"{target.name}{part}")
    return [str(path) for path in save(figure, place.parent, place.name, target.formats)]


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


def further_options(options: Options, instance: Instance) -> dict[str, object]:
    """What `depl.commands.options.solving` declares and only some methods take, where it is given.

    Raises
    ------
    InvalidInputError
        If the method does not take an option, or not with this value, or one is given twice.
    """
    from depl.models.solving.methods import default_method, find
    from depl.models.solving.options import read_options

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


@contextmanager
def asked_of_solver(options: Options, instance: Instance) -> Iterator[dict[str, Any]]:
    """What `depl.commands.options.solving` declares, as keywords; meanwhile a line shows how far it is."""
    from depl.commands.progress import Watched
    from depl.models.solving.methods import default_method

    asked = {name: getattr(options, name) for name in ("method", "gap", "time_limit", "seed")}
    asked["options"] = further_options(options, instance)
    with Watched(options.method or default_method(instance), instance.units) as watched:
        yield asked | {"progress": watched.progress, "on_phase": watched.on_phase}


def explanation(result: Result, instance: Instance | None, plan: Plan | None, details: bool) -> str:
    """How a plan came about, and its numbers in the equations; of an infeasible instance, why."""
    from depl.models.solving.decisions import told
    from depl.models.solving.explain import explain

    parts = [f"Decisions of {result.method}\n{told(result.decisions, details)}"] if result.decisions else []
    if instance is not None and (plan is not None or (instance.declares_laws and _is_infeasible(result))):
        parts.append(explain(instance, plan))
    return "\n\n".join(parts)


def _is_infeasible(result: Result) -> bool:
    return result.termination.value == "infeasible"


def _refuse_options(method: str, options: Options) -> None:
    """Refuse options where the method takes none, and name the methods that take the first one."""
    from depl.models.solving.methods import registered

    given = [*([] if options.eta is None else ["eta"]), *(name for name, _ in options.options)]
    for name in given:
        able = [other.name for other in registered() if name in [item.name for item in other.options]]
        hint = f"; of --method {' or '.join(able)} it is one" if able else "; it takes none"
        raise InvalidInputError(f"method {method!r} takes no option {name!r}{hint}")


def read_scenarios(options: Options, instance: Instance) -> int | Scenarios | None:
    """The scenarios that ``--scenarios`` names: how many, or those of a file.

    Raises
    ------
    InvalidInputError
        As `depl.models.scenarios.files.load_scenarios`, and if the method counts no scenarios.
    """
    import numpy as np

    from depl.models.scenarios.draws import draw_scenarios
    from depl.models.scenarios.files import load_scenarios
    from depl.models.solving.methods import default_method, require_counting

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
