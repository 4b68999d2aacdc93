"""The looks of all objects that show themselves, registered at the first need and imported at the first use.

Every module named here has, for every stem named here, two functions of one object: ``STEM_brief`` gives a
line, ``STEM_sections`` the parts of the text and of the page. That of instances has ``instance_frames``, too.
"""

import importlib
from collections.abc import Callable
from typing import Any

from depl.models.foundation.showing import Look, register_look
from depl.showing.parts import page_of, text_of

LOOKS = {
    "depl.models.estimation.diagnosis.Diagnosis": ("depl.showing.diagnoses", "diagnosis"),
    "depl.models.evaluation.evaluate.Evaluation": ("depl.showing.evaluations", "evaluation"),
    "depl.models.policy.result.PolicyResult": ("depl.showing.policies", "policy_result"),
    "depl.models.problem.instance.Instance": ("depl.showing.instances", "instance"),
    "depl.models.problem.plan.Plan": ("depl.showing.plans", "plan"),
    "depl.models.problem.policy.Policy": ("depl.showing.policies", "policy"),
    "depl.models.solving.front_points.Front": ("depl.showing.fronts", "front"),
    "depl.models.solving.replanning.Replanning": ("depl.showing.replannings", "replanning"),
    "depl.models.solving.result.Result": ("depl.showing.results", "result"),
    "depl.models.verifier.verify.Report": ("depl.showing.reports", "report"),
}
"""Module and stem of every class; to print an instance imports no method, no fit and no verifier."""


def register_all() -> None:
    """Register them; again is no harm."""
    for kind, (module, stem) in LOOKS.items():
        register_look(kind, _look(module, stem))


def _look(module: str, stem: str) -> Look:
    def part(name: str) -> Callable[[Any], Any]:
        found: Callable[[Any], Any] = getattr(importlib.import_module(module), f"{stem}_{name}")
        return found

    return Look(
        brief=lambda thing: str(part("brief")(thing)),
        text=lambda thing: text_of(part("sections")(thing)),
        page=lambda thing: page_of(part("sections")(thing)),
        frames=lambda thing: dict(part("frames")(thing)),
    )
