"""What ``depl program`` does; `depl.arguments.program` declares its options.

Pyomo is imported when a program is written, not before.
"""

import argparse
import math
from typing import Any

from depl.commands.answer import Answer, ExitCode
from depl.commands.json_text import as_json
from depl.commands.options import read_instance, require_outputs
from depl.commands.table import fields
from depl.models.scenarios.files import load_scenarios

_GAP = "ask your solver for a relative gap of 0"
_ASK = {"cone": f"{_GAP} and a feasibility tolerance of 1e-8"}


def run(options: argparse.Namespace) -> Answer:
    """Write the program down, finished unless a relaxation is asked for."""
    from depl.models.programs.export import export, require_format
    from depl.models.programs.finished import program
    from depl.models.programs.notes import note_of

    scenarios = options.scenarios
    given = scenarios if isinstance(scenarios, str) else None
    require_outputs([options.out], [options.instance, given])
    require_format(options.out, cones=options.form == "cone")
    instance = read_instance(options)
    if given is not None:
        scenarios = load_scenarios(given, instance)
    model = program(
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
