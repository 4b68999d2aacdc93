"""``depl front``: the cost of certified plans against a budget, each with its own proof."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import depl
from depl.commands import options as given
from depl.commands.answer import Answer, ExitCode
from depl.models.solving.defaults import FRONT_POINTS, FRONTS_AGAINST

_PARAMETERS = ("between", "points", "method", "gap", "time_limit", "seed")
"""Parameters of `depl.front` that are options here."""


@given.command("""\
depl front tiny --against probability --points 5 --plans plans
depl front tiny --against loss --out front.json    # the same line again goes on where it stopped
""")
@given.instance
@given.option(
    "--against", "the budget that varies: l_max, T_max or omega", given.Choice(FRONTS_AGAINST), required=True
)
@given.option(
    "--points N",
    "evenly spaced budgets; for omega, 0.9, 0.95 and 0.99 besides",
    given.COUNT,
    default=FRONT_POINTS,
)
@given.option(
    "--between LOW HIGH",
    "the budgets; default: from the loosest to the tightest that a plan is found for, and the instance's",
    given.NUMBER,
    nargs=2,
)
@given.method
@given.gap
@given.time_limit
@given.seed
@given.option(
    "--out FILE",
    "write the front to this file, JSON or CSV; .json is updated after every point, and gone on with",
    given.to_write,
)
@given.option("--plans DIR", "write the plan of every point, and the instance with its budget")
@given.figure("it")
@given.as_json("the front")
def front(options: given.Options) -> Answer:
    """Find the cost of certified plans against l_max, T_max or omega.

    Each point is a plan that 'depl check' accepts at its budget, with a proved lower bound of the cost of any
    plan there; budgets that no plan keeps are proved infeasible.
    """
    folder = None if options.plans is None else given.make_folder(options.plans)
    found = _found(options)
    return given.answer(
        found,
        _code(found),
        options,
        "",
        lambda: _front_written(found, options.out),
        lambda: "" if folder is None else _plans_written(found, folder, [options.instance, options.out]),
        lambda: given.drawn(options.figure, "point", found.points and (lambda: depl.plot.front(found))),
    )


def _found(options: given.Options) -> depl.Front:
    from depl.commands.progress import Bar
    from depl.models.foundation.wording import counted

    instance = given.read_instance(options)
    asked = {name: getattr(options, name) for name in _PARAMETERS}
    file = options.out if (options.out or "").endswith(".json") else None  # a form that can be gone on with
    with Bar("range", options.points) as bar, given.inside("", _PARAMETERS):

        def tell(so_far: depl.Front) -> None:
            bar.step(f"{len(so_far)} of {counted(so_far.asked, 'point')}", so_far.asked)

        return depl.front(instance, options.against, **asked, file=file, on_point=tell)


def _front_written(found: depl.Front, path: str | None) -> str:
    """Write the front as CSV; as JSON it is there already."""
    from depl.models.foundation.tables import shown
    from depl.models.solving.front import COLUMNS

    if path is None or path.endswith(".json"):
        return f"front written to {path}" if path else ""
    page = io.StringIO()
    csv.writer(page, lineterminator="\n").writerows(
        [COLUMNS, *(map(shown, row.values()) for row in found.rows())]
    )
    return given.written(path, "front", page.getvalue())


def _plans_written(found: depl.Front, folder: Path, taken: list[str | None]) -> str:
    """Write the plan of every point with its instance, and say how to check one."""
    from depl.models.foundation.wording import counted

    named, kept = "", [point for point in found if point.plan is not None]
    for point in kept:
        stem = f"{found.against.value}-{point.budget:.12g}"
        files = [str(folder / f"{stem}.{kind}.json") for kind in ("instance", "plan")]
        given.require_outputs(files, taken)
        given.written(files[0], "instance", found.instance_at(point.budget))
        given.written(files[1], "plan", point.plan)
        named = f"; to check one: depl check {files[0]} {files[1]}"
    return f"{counted(len(kept), 'plan')} written to {folder}{named}"


def _code(found: depl.Front) -> ExitCode:
    if found.points and all(point.infeasible for point in found):
        return ExitCode.INFEASIBLE
    if all(point.plan is None for point in found):
        return ExitCode.NOTHING
    return ExitCode.ANSWERED if found.complete else ExitCode.STOPPED
