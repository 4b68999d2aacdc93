"""``depl front``: the cost of certified plans against a budget, each with its own proof."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from depl.commands import options as given
from depl.commands.answer import Answer, ExitCode
from depl.commands.inputs import drawn, figure_files, kept, make_folder, read_instance, require_outputs
from depl.commands.options import COUNT, NUMBER, Choice, Options, command, option
from depl.models.foundation.errors import InvalidInputError
from depl.models.solving.defaults import FRONT_POINTS, FRONTS_AGAINST

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from depl.models.solving.front_points import Front

_PARAMETERS = ("between", "points", "method", "gap", "time_limit", "seed")
"""Parameters of `depl.models.solving.front.front` that are options here."""


@command(
    examples="""\
depl front tiny --against probability --points 5 --plans plans
depl front tiny --against loss --out front.json    # the same line again goes on where it stopped
"""
)
@given.instance
@option("--against", "the budget that varies: l_max, T_max or omega", Choice(FRONTS_AGAINST), required=True)
@option(
    "--points N", "evenly spaced budgets; for omega, 0.9, 0.95 and 0.99 besides", COUNT, default=FRONT_POINTS
)
@option(
    "--between LOW HIGH",
    "the budgets; default: from the loosest to the tightest that a plan is found for, and the instance's",
    NUMBER,
    nargs=2,
)
@given.method
@given.gap
@given.time_limit
@given.seed
@option(
    "--out FILE",
    "write the front to this file, JSON or CSV; .json is updated after every point, and gone on with",
)
@option("--plans DIR", "write the plan of every point, and the instance with its budget")
@given.figure("it")
@given.as_json("the front")
def front(options: Options) -> Answer:
    """Find the cost of certified plans against l_max, T_max or omega.

    Each point is a plan that 'depl check' accepts at its budget, with a proved lower bound of the cost of any
    plan there; budgets that no plan keeps are proved infeasible.
    """
    require_outputs([options.out, *figure_files(options.figure)], [options.instance])
    folder = None if options.plans is None else make_folder(options.plans)
    found = _found(options)
    code, aside = kept(
        _exit_code(found),
        lambda: _front_written(found, options),
        lambda: "" if folder is None else _plans_written(found, folder, [options.instance, options.out]),
        lambda: drawn(options.figure, "point", _drawing(found) if found.points else None),
    )
    return Answer(str(found), code, found.to_json().rstrip(), aside)


def _front_written(found: Front, options: Options) -> str:
    from depl.models.foundation.documents import write_text

    if options.out and not _resumable(options):
        write_text(options.out, _csv(found))
    return f"front written to {options.out}" if options.out else ""


def _drawing(found: Front) -> Callable[[], Axes]:
    from depl.plot.front import front as draw

    return lambda: draw(found)


def _resumable(options: Options) -> bool:
    """Whether the front is kept in a form that can be gone on with."""
    return options.out is not None and options.out.endswith(".json")


def _found(options: Options) -> Front:
    from depl.commands.progress import Bar
    from depl.models.foundation.wording import counted
    from depl.models.solving.front import front

    instance = read_instance(options)
    asked = {name: getattr(options, name) for name in _PARAMETERS}
    with Bar("range", options.points) as bar:

        def tell(so_far: Front) -> None:
            bar.step(f"{len(so_far)} of {counted(so_far.asked, 'point')}", so_far.asked)

        try:
            return front(
                instance,
                options.against,
                **asked,
                file=options.out if _resumable(options) else None,
                on_point=tell,
            )
        except InvalidInputError as error:
            if error.path not in _PARAMETERS:
                raise
            place = f"--{error.path.replace('_', '-')}"
            raise type(error)(error.message, place) from error


def _plans_written(found: Front, folder: Path, taken: list[str | None]) -> str:
    """Write the plan of every point with its instance, and say how to check one."""
    from depl.models.foundation.documents import write_text
    from depl.models.foundation.wording import counted

    named = ""
    kept = [point for point in found if point.plan is not None]
    for point in kept:
        stem = f"{found.against.value}-{point.budget:.12g}"
        files = folder / f"{stem}.instance.json", folder / f"{stem}.plan.json"
        require_outputs(map(str, files), taken)
        write_text(files[0], found.instance_at(point.budget).to_json())
        write_text(files[1], "" if point.plan is None else point.plan.to_json())
        named = f"; to check one: depl check {files[0]} {files[1]}"
    return f"{counted(len(kept), 'plan')} written to {folder}{named}"


def _csv(found: Front) -> str:
    import csv
    import io

    from depl.models.foundation.csv_cells import shown
    from depl.models.solving.front_points import COLUMNS

    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in found.rows():
        writer.writerow(map(shown, row.values()))
    return page.getvalue()


def _exit_code(found: Front) -> ExitCode:
    if found.points and all(point.infeasible for point in found):
        return ExitCode.INFEASIBLE
    if all(point.plan is None for point in found):
        return ExitCode.NOTHING
    return ExitCode.ANSWERED if found.complete else ExitCode.STOPPED
