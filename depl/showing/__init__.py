"""One view and one set of facts for each kind of object: text, notebooks and ``--json`` take these.

For every stem below its module has ``STEM_facts`` (what ``--json`` prints, labelled), ``STEM_sections`` (of
the text and the page) and ``STEM_brief`` (a line). They are imported with the first object of their kind: to
print an instance imports no method, no fit and no verifier.
"""

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from depl.commands.json_text import as_json
from depl.showing.parts import Fact, View

KINDS = {
    "depl.models.estimation.certificate.Certificate": "certificates.certificate",
    "depl.models.estimation.diagnosis.Diagnosis": "diagnoses.diagnosis",
    "depl.models.evaluation.evaluate.Evaluation": "plans.evaluation",
    "depl.models.policy.replay.Replay": "reports.replay",
    "depl.models.policy.result.PolicyResult": "policies.policy_result",
    "depl.models.policy.simulation.Simulation": "reports.simulation",
    "depl.models.problem.instance.Instance": "instances.instance",
    "depl.models.problem.plan.Plan": "plans.plan",
    "depl.models.problem.policy.Policy": "policies.policy",
    "depl.models.solving.front_points.Front": "outcomes.front",
    "depl.models.solving.replanning.Replanning": "outcomes.replanning",
    "depl.models.solving.result.Result": "results.result",
    "depl.models.verifier.policies.PolicyReport": "reports.policy_report",
    "depl.models.verifier.verify.Report": "reports.report",
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
    sections = partial(_part(thing, "sections"), thing, **told)
    return View(partial(_part(thing, "brief"), thing), sections, lambda: _part(thing, "frames")(thing))


def facts(thing: object, **told: Any) -> dict[str, Fact]:
    """What ``--json`` prints of an object, with labels, units and directions of rounding.

    Raises
    ------
    LookupError
        If objects of its class have no view.
    """
    found: dict[str, Fact] = _part(thing, "facts")(thing, **told)
    return found


def json_of(thing: object, **told: Any) -> str:
    """The same as one JSON object on a line."""
    return as_json({name: fact.value for name, fact in facts(thing, **told).items()})


def _part(thing: object, part: str) -> Callable[..., Any]:
    for kind in type(thing).__mro__:
        if name := KINDS.get(f"{kind.__module__}.{kind.__qualname__}"):
            module, _, stem = name.partition(".")
            found: Callable[..., Any] = getattr(
                importlib.import_module(f"depl.showing.{module}"), f"{stem}_{part}"
            )
            return found
    raise LookupError(f"no view is known of {type(thing).__name__}")
