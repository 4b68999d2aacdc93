"""Mathematical programming for dependable distributed training.

Plans which data, which model at which epoch and which cluster to train on, so that the final loss meets a
target with a target probability at minimum cost, and proves how good its plans are.

>>> import depl
>>> instance = depl.load("tiny")
>>> result = depl.solve(instance)
>>> round(result.cost, 6), result.method, result.lower_bound <= result.cost
(28.0, 'auto', True)
>>> depl.solve(instance, "exact").solution.value
'proven_optimal'
>>> depl.check(instance, result.plan).ok
True
"""

import importlib
from typing import TYPE_CHECKING, Any

# isort: off
from depl import starting  # noqa: F401 - before all else: from here on Ctrl-C is handled
from depl import linked  # noqa: F401 - and this says what to do where the folders are not found

# isort: on
from depl.models.foundation.later import METHODS
from depl.models.foundation.removed import removed
from depl.models.foundation.showing import show_by

if TYPE_CHECKING:
    from depl import plot, risk, submodular
    from depl.certifying import certify
    from depl.fitting import fit
    from depl.instances.library import load
    from depl.method_table import methods
    from depl.models.evaluation.evaluate import Evaluation, evaluate
    from depl.models.foundation.errors import DeplError, InvalidInputError, NotCoveredError
    from depl.models.policy.controller import Controller
    from depl.models.policy.decisions import Continue, Stop, Switch
    from depl.models.policy.replay import replay
    from depl.models.policy.result import PolicyResult
    from depl.models.policy.rollout import Rollout
    from depl.models.policy.simulation import simulate
    from depl.models.policy.solve import solve_policy
    from depl.models.problem.instance import Instance
    from depl.models.problem.laws import Law, register_law
    from depl.models.problem.plan import Plan
    from depl.models.problem.policy import Policy
    from depl.models.programs.finished import program
    from depl.models.solving.explain import explain
    from depl.models.solving.front import front
    from depl.models.solving.front_points import Front
    from depl.models.solving.methods import Limits, Outcome, register
    from depl.models.solving.observed_state import State
    from depl.models.solving.replanning import Replanning, replan
    from depl.models.solving.result import Result, Solution, Termination
    from depl.models.solving.solve import VerificationError, solve
    from depl.models.verifier.policies import PolicyReport
    from depl.models.verifier.policies import verify_policy as evaluate_policy
    from depl.models.verifier.verify import Report
    from depl.models.verifier.verify import verify as check
    from depl.reporting.page import report

    __version__: str

_HOMES = {
    "Continue": "models.policy.decisions",
    "Controller": "models.policy.controller",
    "DeplError": "models.foundation.errors",
    "Evaluation": "models.evaluation.evaluate",
    "Front": "models.solving.front_points",
    "Instance": "models.problem.instance",
    "InvalidInputError": "models.foundation.errors",
    "Law": "models.problem.laws",
    "Limits": "models.solving.methods",
    "NotCoveredError": "models.foundation.errors",
    "Outcome": "models.solving.methods",
    "Plan": "models.problem.plan",
    "Policy": "models.problem.policy",
    "PolicyReport": "models.verifier.policies",
    "PolicyResult": "models.policy.result",
    "Replanning": "models.solving.replanning",
    "Report": "models.verifier.verify",
    "Result": "models.solving.result",
    "Rollout": "models.policy.rollout",
    "Solution": "models.solving.result",
    "State": "models.solving.observed_state",
    "Stop": "models.policy.decisions",
    "Switch": "models.policy.decisions",
    "Termination": "models.solving.result",
    "VerificationError": "models.solving.solve",
    "certify": "certifying",
    "check": "models.verifier.verify:verify",
    "evaluate": "models.evaluation.evaluate",
    "evaluate_policy": "models.verifier.policies:verify_policy",
    "explain": "models.solving.explain",
    "fit": "fitting",
    "front": "models.solving.front",
    "load": "instances.library",
    "methods": "method_table",
    "program": "models.programs.finished",
    "register": "models.solving.methods",
    "register_law": "models.problem.laws",
    "replan": "models.solving.replanning",
    "replay": "models.policy.replay",
    "report": "reporting.page",
    "simulate": "models.policy.simulation",
    "solve": "models.solving.solve",
    "solve_policy": "models.policy.solve",
}
"""The module of each public name, and its name there where that is another one.

They are imported when they are first used: all of them, with SciPy and numba, take a second or more."""


_ROOMS = ("plot", "risk", "submodular")
"""Public names that are modules with functions of their own."""


def _version() -> str:
    """The version of the installed package, or of a source tree that was not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("depl")
    except PackageNotFoundError:
        return "0.1.0"


if not TYPE_CHECKING:  # or every name would pass for one of this module

    def __getattr__(name: str) -> Any:
        """Import a public name at its first use."""
        if name == "__version__":
            value = _version()
        elif name in _ROOMS:
            value = importlib.import_module(f"depl.{name}")
        elif name in _HOMES:
            module, _, original = _HOMES[name].partition(":")
            value = getattr(importlib.import_module(f"depl.{module}"), original or name)
        elif gone := removed(f"depl.{name}"):
            raise ImportError(gone)  # "from depl import name" shows no AttributeError
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """The public names, whether they were used or not; what the module itself imports is not among them."""
    return sorted(__all__)


METHODS.add(lambda: importlib.import_module("depl.built_in").register_all())
show_by(lambda thing: importlib.import_module("depl.showing").view(thing))

__all__ = [
    "Continue",
    "Controller",
    "DeplError",
    "Evaluation",
    "Front",
    "Instance",
    "InvalidInputError",
    "Law",
    "Limits",
    "NotCoveredError",
    "Outcome",
    "Plan",
    "Policy",
    "PolicyReport",
    "PolicyResult",
    "Replanning",
    "Report",
    "Result",
    "Rollout",
    "Solution",
    "State",
    "Stop",
    "Switch",
    "Termination",
    "VerificationError",
    "__version__",
    "certify",
    "check",
    "evaluate",
    "evaluate_policy",
    "explain",
    "fit",
    "front",
    "load",
    "methods",
    "plot",
    "program",
    "register",
    "register_law",
    "replan",
    "replay",
    "report",
    "risk",
    "simulate",
    "solve",
    "solve_policy",
    "submodular",
]
