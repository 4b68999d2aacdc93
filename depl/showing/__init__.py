"""One view and one set of facts for each kind of object: text, notebooks and ``--json`` take these.

For every stem below its module has ``STEM_sections``, the parts of the text and the page. ``STEM_content``
is what ``--json`` prints, where that is not the document of the object, ``STEM_names`` its labels, and
``STEM_brief`` a line, where it is not the beginning of the text. Modules are imported with the first object
of their kind: to print an instance imports no method, no fit and no verifier.
"""

import importlib
import json
import math
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any, cast

from depl.commands.printable import as_json
from depl.models.problem.units import NO_UNITS, Units
from depl.showing.parts import NAMES, Fact, View, fact

KINDS = {
    "depl.models.estimation.advice.Advice": "depl.showing.runs:advice",
    "depl.models.estimation.certificate.Certificate": "depl.showing.runs:certificate",
    "depl.models.estimation.diagnosis.Diagnosis": "depl.showing.runs:diagnosis",
    "depl.models.evaluation.evaluate.Evaluation": "depl.showing.plans:evaluation",
    "depl.models.policy.result.PolicyResult": "depl.showing.policies:policy_result",
    "depl.models.policy.follow.Simulation": "depl.showing.policies:simulation",
    "depl.models.problem.instance.Instance": "depl.showing.instances:instance",
    "depl.models.problem.plan.Plan": "depl.showing.plans:plan",
    "depl.models.problem.policy.Policy": "depl.showing.policies:policy",
    "depl.models.solving.front.Front": "depl.showing.results:front",
    "depl.models.solving.replanning.Replanning": "depl.showing.results:replanning",
    "depl.models.solving.result.Result": "depl.showing.results:result",
    "depl.models.tool_logs.importing.Imported": "depl.showing.runs:imported",
    "depl.models.traces.table.Traces": "depl.showing.runs:traces",
    "depl.models.verifier.policies.PolicyReport": "depl.showing.policies:policy_report",
    "depl.models.verifier.verify.Report": "depl.showing.plans:report",
    "depl.showing.runs.Fitted": "depl.showing.runs:fitted",
}
"""Module and stem of every class."""


def view(thing: object, **told: Any) -> View:
    """What people see of an object of one of the `KINDS`, and what else its sections can be told; see there.

    Raises
    ------
    LookupError
        If objects of its class have no view.
    """
    module, stem = _place(thing)
    brief: Callable[[object], str] | None = getattr(module, f"{stem}_brief", None)
    sections = partial(getattr(module, f"{stem}_sections"), thing, **told)
    return View(type(thing).__name__, sections, brief and partial(brief, thing))


def facts(thing: object, **told: Any) -> dict[str, Fact]:
    """What ``--json`` prints of an object, with labels, units and directions of rounding.

    Raises
    ------
    LookupError
        If objects of its class have no view.
    """
    import msgspec

    module, stem = _place(thing)
    own: Callable[..., Any] | None = getattr(module, f"{stem}_content", None)
    document = getattr(thing, "to_dict", lambda: json.loads(cast("Any", thing).to_json()))
    content = document() if own is None else own(thing, **told)
    names, units = getattr(module, f"{stem}_names", NAMES), units_of(thing)
    found = msgspec.to_builtins(content, enc_hook=dict).items()  # read-only mappings are no dict
    unknown = [name for name, value in found if isinstance(value, float) and not math.isfinite(value)]
    return {name: fact(name, None if name in unknown else value, units, names) for name, value in found}


def json_of(thing: object, **told: Any) -> str:
    """The same as one JSON object on a line."""
    return as_json({name: fact.value for name, fact in facts(thing, **told).items()})


def units_of(thing: object) -> Units:
    """Those of the instance that an object is, or belongs to."""
    for owner in (thing, getattr(thing, "problem", None), getattr(thing, "instance", None)):
        if isinstance(units := getattr(owner, "units", None), Units):
            return units
    return NO_UNITS


def _place(thing: object) -> tuple[ModuleType, str]:
    for kind in type(thing).__mro__:
        if name := KINDS.get(f"{kind.__module__}.{kind.__qualname__}"):
            module, _, stem = name.partition(":")
            return importlib.import_module(module), stem
    raise LookupError(f"no view is known of {type(thing).__name__}")
