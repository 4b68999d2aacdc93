"""One view and one set of facts for each kind of object: text, notebooks and ``--json`` take these.

For every stem below its module has ``STEM_sections``, the parts of the text and the page. ``STEM_content``
is what ``--json`` prints, where that is not the document of the object, and ``STEM_brief`` a line, where it
is not the beginning of the text. Modules are imported with the first object of their kind: to print an
instance imports no method, no fit and no verifier.
"""

import importlib
import json
from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import Any

from depl.commands.printable import as_json
from depl.models.problem.units import NO_UNITS, Units
from depl.showing.parts import NAMES, Fact, View, finite, labelled

KINDS = {
    "depl.models.estimation.certificate.Certificate": "depl.showing.certificates:certificate",
    "depl.models.estimation.diagnosis.Diagnosis": "depl.showing.diagnoses:diagnosis",
    "depl.models.evaluation.evaluate.Evaluation": "depl.showing.plans:evaluation",
    "depl.models.policy.replay.Replay": "depl.showing.reports:replay",
    "depl.models.policy.result.PolicyResult": "depl.showing.policies:policy_result",
    "depl.models.policy.simulation.Simulation": "depl.showing.reports:simulation",
    "depl.models.problem.instance.Instance": "depl.showing.instances:instance",
    "depl.models.problem.plan.Plan": "depl.showing.plans:plan",
    "depl.models.problem.policy.Policy": "depl.showing.policies:policy",
    "depl.models.solving.front_points.Front": "depl.showing.outcomes:front",
    "depl.models.solving.replanning.Replanning": "depl.showing.outcomes:replanning",
    "depl.models.solving.result.Result": "depl.showing.results:result",
    "depl.models.tool_logs.importing.Imported": "depl.showing.runs:imported",
    "depl.models.verifier.policies.PolicyReport": "depl.showing.reports:policy_report",
    "depl.models.verifier.verify.Report": "depl.showing.reports:report",
    "depl.showing.runs.Fitted": "depl.showing.runs:fitted",
}
"""Module and stem of every class."""


def view(thing: object, **told: Any) -> View:
    """What people see of an object.

    Parameters
    ----------
    thing : object
        Of one of the `KINDS`.
    **told
        What else its sections can be told; see there.

    Raises
    ------
    LookupError
        If objects of its class have no view.
    """
    module, stem = _place(thing)
    sections = partial(getattr(module, f"{stem}_sections"), thing, **told)
    brief: Callable[[object], str] | None = getattr(module, f"{stem}_brief", None)
    line = None if brief is None else partial(brief, thing)
    frames = getattr(module, f"{stem}_frames", None)
    return View(type(thing).__name__, sections, line, None if frames is None else partial(frames, thing))


def facts(thing: object, **told: Any) -> dict[str, Fact]:
    """What ``--json`` prints of an object, with labels, units and directions of rounding.

    Raises
    ------
    LookupError
        If objects of its class have no view.
    """
    module, stem = _place(thing)
    content: Callable[..., Mapping[str, Any]] = getattr(module, f"{stem}_content", _document)
    return labelled(finite(content(thing, **told)), _units(thing), getattr(module, "NAMES", NAMES))


def json_of(thing: object, **told: Any) -> str:
    """The same as one JSON object on a line."""
    return as_json({name: fact.value for name, fact in facts(thing, **told).items()})


def _document(thing: Any) -> Mapping[str, Any]:
    found: Mapping[str, Any] = thing.to_dict() if hasattr(thing, "to_dict") else json.loads(thing.to_json())
    return found


def _units(thing: object) -> Units:
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
