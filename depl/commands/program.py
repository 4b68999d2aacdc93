"""``depl program``: the problem with counted scenarios as a mathematical program, in a file."""

import math
from typing import Any

import depl
from depl.commands import options as given
from depl.commands.answer import Answer
from depl.commands.printable import as_json, fields
from depl.models.solving.defaults import DEFAULT_SCENARIOS

_ASK = {"price": "", "cone": " and a feasibility tolerance of 1e-8"}


@given.command("""\
depl program tiny --scenarios 50 --out tiny.lp           # its optimum, 28, for any solver
depl program tiny --relaxation --out tiny.mps
""")
@given.instance
@given.option(
    "--out FILE", "the file; its ending, .lp, .mps or .nl, says the format", given.to_write, required=True
)
@given.option(
    "--form price|cone",
    "price of time, or resources as variables and cones (.lp, .nl; not for HiGHS)",
    default="price",
)
@given.option(
    "--scenarios S|FILE.npz",
    f"how many scenarios to draw, or a file of them; default: {DEFAULT_SCENARIOS}",
    given.count_or_file,
)
@given.option("--seed N", "of the scenarios", given.SEED, default=0)
@given.option("--relaxation", "do not solve: the optimum is then a lower bound")
@given.option("--time-limit S", "seconds for solving; default: none", given.NUMBER)
@given.as_json("what the file holds")
def program(options: given.Options) -> Answer:
    """Write the problem as a mathematical program for any solver, with its optimum.

    The scenarios are counted, and the optimum of the file is the least cost of a plan on them: the problem is
    solved first, and the rows that the proof needed are put into the program. With --relaxation nothing is
    solved, and the optimum is a lower bound; the first line of the file says which of the two it is.
    """
    from depl.models.programs.export import export, require_format
    from depl.models.scenarios.draws import load_scenarios

    require_format(options.out, cones=options.form == "cone")
    instance, scenarios = given.read_instance(options), options.scenarios
    if isinstance(scenarios, str):
        scenarios = load_scenarios(scenarios, instance)
    asked = {"seed": options.seed, "time_limit": options.time_limit}
    model = depl.program(instance, scenarios, options.form, not options.relaxation, **asked)
    content = _content(model, options.form)
    path = str(export(model, options.out))
    rows = [(path, _said(content))]
    if content["optimum"] is not None:
        asked_for = f"ask your solver for a relative gap of 0{_ASK[options.form]}"
        rows.append(("optimum", f"{content['optimum']:.12g}; {asked_for}"))
    rows += [(name, str(content[name])) for name in ("form", "scenarios", "binaries")]
    return Answer(fields(rows), json=as_json({"file": path, **content}))


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


def _said(content: dict[str, Any]) -> str:
    """What the optimum of the file is."""
    if content["relaxation"]:
        return "a relaxation: its optimum is a lower bound of the cost"
    if not content["finished"]:
        return "exact as it is; not solved"
    if content["optimum"] is None:
        return "finished, and infeasible: no plan meets the target on these scenarios"
    return "finished: its optimum is the least cost of a plan on these scenarios"
