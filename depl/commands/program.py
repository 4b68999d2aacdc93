"""``depl program``: the problem with counted scenarios as a mathematical program, in a file."""

from __future__ import annotations

import math
from typing import Any

from depl.commands import options as given
from depl.commands.answer import Answer, ExitCode
from depl.commands.inputs import read_instance, require_outputs
from depl.commands.options import NUMBER, SEED, Options, command, count_or_file, option
from depl.commands.printable import as_json, fields
from depl.models.solving.defaults import DEFAULT_SCENARIOS

_GAP = "ask your solver for a relative gap of 0"
_ASK = {"cone": f"{_GAP} and a feasibility tolerance of 1e-8"}


@command(
    examples="""\
depl program tiny --scenarios 50 --out tiny.lp           # its optimum, 28, for any solver
depl program tiny --relaxation --out tiny.mps
"""
)
@given.instance
@option("--out FILE", "the file; its ending, .lp, .mps or .nl, says the format", required=True)
@option(
    "--form price|cone",
    "price of time, or resources as variables and cones (.lp, .nl; not for HiGHS)",
    default="price",
)
@option(
    "--scenarios S|FILE.npz",
    f"how many scenarios to draw, or a file of them; default: {DEFAULT_SCENARIOS}",
    count_or_file,
)
@option("--seed N", "of the scenarios", SEED, default=0)
@option("--relaxation", "do not solve: the optimum is then a lower bound")
@option("--time-limit S", "seconds for solving; default: none", NUMBER)
@given.as_json("what the file holds")
def program(options: Options) -> Answer:
    """Write the problem as a mathematical program for any solver, with its optimum.

    The scenarios are counted, and the optimum of the file is the least cost of a plan on them: the problem is
    solved first, and the rows that the proof needed are put into the program. With --relaxation nothing is
    solved, and the optimum is a lower bound; the first line of the file says which of the two it is.
    """
    from depl.models.programs.export import export, require_format
    from depl.models.programs.finished import program as made
    from depl.models.programs.notes import note_of
    from depl.models.scenarios.files import load_scenarios

    scenarios = options.scenarios
    file = scenarios if isinstance(scenarios, str) else None
    require_outputs([options.out], [options.instance, file])
    require_format(options.out, cones=options.form == "cone")
    instance = read_instance(options)
    if file is not None:
        scenarios = load_scenarios(file, instance)
    model = made(
        instance,
        scenarios,
        options.form,
        not options.relaxation,
        seed=options.seed,
        time_limit=options.time_limit,
    )
    content = _content(model, options.form)
    path = export(model, options.out)
    rows = [(str(path), _said(note_of(model), bool(content["relaxation"])))]
    if content["optimum"] is not None:
        rows.append(("optimum", f"{content['optimum']:.12g}; {_ASK.get(options.form, _GAP)}"))
    rows += [(name, str(content[name])) for name in ("form", "scenarios", "binaries")]
    return Answer(fields(rows), ExitCode.ANSWERED, as_json({"file": str(path), **content}))


def _content(model: Any, form: str) -> dict[str, Any]:
    """What the file holds."""
    import pyomo.environ as pyo

    from depl.models.programs.notes import is_linear, note_of

    note = note_of(model)
    optimum = None if note is None or math.isinf(note["optimum"]) else note["optimum"]
    return {
        "form": form,
        "finished": note is not None,
        "relaxation": note is None and is_linear(model),
        "optimum": optimum,
        "scenarios": len(model.scenarios),
        "binaries": sum(item.is_binary() for item in model.component_data_objects(pyo.Var)),
        "note": None if note is None else {**note, "optimum": optimum},
    }


def _said(note: dict[str, Any] | None, relaxation: bool) -> str:
    """What the optimum of the file is."""
    if relaxation:
        return "a relaxation: its optimum is a lower bound of the cost"
    if note is None:
        return "exact as it is; not solved"
    if math.isinf(note["optimum"]):
        return "finished, and infeasible: no plan meets the target on these scenarios"
    return "finished: its optimum is the least cost of a plan on these scenarios"
