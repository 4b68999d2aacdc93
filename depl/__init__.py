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

if TYPE_CHECKING:  # for type checkers and editors; a test compares it with _NAMES
    from depl import plot as plot
    from depl import risk as risk
    from depl import submodular as submodular
    from depl import testing as testing
    from depl.advising import advise as advise
    from depl.instances.library import load as load
    from depl.method_table import methods as methods
    from depl.models.evaluation.evaluate import Evaluation as Evaluation
    from depl.models.evaluation.evaluate import evaluate as evaluate
    from depl.models.foundation.errors import DeplError as DeplError
    from depl.models.foundation.errors import InvalidInputError as InvalidInputError
    from depl.models.foundation.errors import NotCoveredError as NotCoveredError
    from depl.models.policy.controller import Controller as Controller
    from depl.models.policy.decisions import Continue as Continue
    from depl.models.policy.decisions import Stop as Stop
    from depl.models.policy.decisions import Switch as Switch
    from depl.models.policy.follow import replay as replay
    from depl.models.policy.follow import simulate as simulate
    from depl.models.policy.planning import solve_policy as solve_policy
    from depl.models.policy.result import PolicyResult as PolicyResult
    from depl.models.problem.instance import Instance as Instance
    from depl.models.problem.laws import Law as Law
    from depl.models.problem.laws import register_law as register_law
    from depl.models.problem.plan import Plan as Plan
    from depl.models.problem.policy import Policy as Policy
    from depl.models.programs.finished import program as program
    from depl.models.solving.front import Front as Front
    from depl.models.solving.front import front as front
    from depl.models.solving.limits import Limits as Limits
    from depl.models.solving.methods import register as register
    from depl.models.solving.replanning import Replanning as Replanning
    from depl.models.solving.replanning import State as State
    from depl.models.solving.replanning import replan as replan
    from depl.models.solving.result import Outcome as Outcome
    from depl.models.solving.result import Result as Result
    from depl.models.solving.result import Solution as Solution
    from depl.models.solving.result import Termination as Termination
    from depl.models.solving.solve import VerificationError as VerificationError
    from depl.models.solving.solve import solve as solve
    from depl.models.traces.table import Traces as Traces
    from depl.models.verifier.policies import PolicyReport as PolicyReport
    from depl.models.verifier.policies import verify_policy
    from depl.models.verifier.verify import Report as Report
    from depl.models.verifier.verify import verify
    from depl.reporting.page import report as report
    from depl.runs import certify as certify
    from depl.runs import diagnose as diagnose
    from depl.runs import fit as fit
    from depl.runs import read_logs as read_logs
    from depl.showing.explain import explain as explain

    __version__: str
    check, evaluate_policy = verify, verify_policy

_NAMES = {
    "advising": "advise",
    "instances.library": "load",
    "method_table": "methods",
    "models.evaluation.evaluate": "Evaluation evaluate",
    "models.foundation.errors": "DeplError InvalidInputError NotCoveredError",
    "models.policy.controller": "Controller",
    "models.policy.decisions": "Continue Stop Switch",
    "models.policy.result": "PolicyResult",
    "models.policy.follow": "replay simulate",
    "models.policy.planning": "solve_policy",
    "models.problem.instance": "Instance",
    "models.problem.laws": "Law register_law",
    "models.problem.plan": "Plan",
    "models.problem.policy": "Policy",
    "models.programs.finished": "program",
    "models.solving.front": "Front front",
    "models.solving.limits": "Limits",
    "models.solving.methods": "register",
    "models.solving.replanning": "Replanning State replan",
    "models.solving.result": "Outcome Result Solution Termination",
    "models.solving.solve": "VerificationError solve",
    "models.traces.table": "Traces",
    "models.verifier.policies": "PolicyReport",
    "models.verifier.verify": "Report",
    "reporting.page": "report",
    "runs": "certify diagnose fit read_logs",
    "showing.explain": "explain",
}
"""The public names of each module.

They are imported when they are first used: all of them, with SciPy and numba, take a second or more."""

_HOMES = {name: (module, name) for module, names in _NAMES.items() for name in names.split()} | {
    "check": ("models.verifier.verify", "verify"),
    "evaluate_policy": ("models.verifier.policies", "verify_policy"),
}
"""Module of each public name, and its name there."""

_ROOMS = ("plot", "risk", "submodular", "testing")
"""Public names that are modules with functions of their own."""

__all__ = sorted([*_HOMES, *_ROOMS, "__version__"])


if not TYPE_CHECKING:  # or every name would pass for one of this module

    def __getattr__(name: str) -> Any:
        """Import a public name at its first use."""
        if name == "__version__":
            from importlib.metadata import PackageNotFoundError, version

            try:
                value = version("depl")
            except PackageNotFoundError:  # a source tree that was not installed
                value = "0.1.0"
        elif name in _HOMES:
            module, original = _HOMES[name]
            value = getattr(importlib.import_module(f"depl.{module}"), original)
        elif name in _ROOMS:
            value = importlib.import_module(f"depl.{name}")
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
