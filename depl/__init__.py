"""Mathematical programming for dependable distributed training.

Plans which data, which model at which epoch and which cluster to train on, so that the final loss meets a
target with a target probability at minimum cost, and proves how good its plans are.

>>> import depl
>>> instance = depl.load("tiny")
>>> result = depl.solve(instance)
>>> round(result.cost, 6), result.method, result.lower_bound <= result.cost
(28.0, 'depl', True)
>>> depl.solve(instance, "exact").solution.value
'proven_optimal'
>>> depl.check(instance, result.plan).ok
True
"""

from importlib.metadata import PackageNotFoundError, version

# isort: off
from depl import starting  # noqa: F401 - before all else: from here on Ctrl-C is handled
from depl import linked  # noqa: F401 - and this says what to do where the folders are not found

# isort: on
from depl.heuristics.baselines.annealing import OPTIONS as ANNEALING_OPTIONS
from depl.heuristics.baselines.annealing import annealing
from depl.heuristics.baselines.best_expected import expected_cost, expected_greedy
from depl.heuristics.baselines.density import density_greedy
from depl.heuristics.baselines.graph_method import OPTIONS, graph
from depl.heuristics.baselines.one_pass import OPTIONS as ONE_PASS_OPTIONS
from depl.heuristics.baselines.one_pass import one_pass
from depl.heuristics.baselines.paper_method import OPTIONS as PAPER_OPTIONS
from depl.heuristics.baselines.paper_method import depl_paper
from depl.heuristics.baselines.peers import RANDOM_OPTIONS, fastest_cluster, random_drafts
from depl.heuristics.depl.method import depl
from depl.instances.library import load
from depl.models.evaluation.evaluate import Evaluation, evaluate
from depl.models.exact.enumeration import enumerate_plans
from depl.models.exact.law_search import exact
from depl.models.exact.scenario_search import scenario_search
from depl.models.foundation.errors import DeplError, InvalidInputError, NotCoveredError
from depl.models.problem.instance import Instance
from depl.models.problem.laws import Law, register_law
from depl.models.problem.plan import Plan
from depl.models.programs.methods import milp, milp_resource
from depl.models.solving.explain import explain
from depl.models.solving.methods import Limits, Meaning, Outcome, register
from depl.models.solving.methods import registered as methods
from depl.models.solving.observed_state import State
from depl.models.solving.replanning import Replanning, replan
from depl.models.solving.result import Result, Solution, Termination
from depl.models.solving.solve import VerificationError, solve
from depl.models.verifier.verify import Report
from depl.models.verifier.verify import verify as check

try:
    __version__ = version("depl")
except PackageNotFoundError:  # a source tree that was not installed
    __version__ = "0.1.0"

register("enumerate", enumerate_plans, memory=True)
register("expected-greedy", expected_greedy)
register("expected-cost", expected_cost)
register("graph", graph, options=OPTIONS)
register("depl", depl)
register("depl-paper", depl_paper, options=PAPER_OPTIONS, version=2)
register("density-greedy", density_greedy)
register("annealing", annealing, options=ANNEALING_OPTIONS)
register("fastest-cluster", fastest_cluster)
register("random", random_drafts, options=RANDOM_OPTIONS)
register("one-pass", one_pass, options=ONE_PASS_OPTIONS)
register("exact", exact)
register("milp", milp, meaning=Meaning.SCENARIOS)
register("milp-resource", milp_resource, meaning=Meaning.SCENARIOS)
register("scenario-search", scenario_search, meaning=Meaning.SCENARIOS, memory=True)

__all__ = [
    "DeplError",
    "Evaluation",
    "Instance",
    "InvalidInputError",
    "Law",
    "Limits",
    "NotCoveredError",
    "Outcome",
    "Plan",
    "Replanning",
    "Report",
    "Result",
    "Solution",
    "State",
    "Termination",
    "VerificationError",
    "__version__",
    "check",
    "evaluate",
    "explain",
    "load",
    "methods",
    "register",
    "register_law",
    "replan",
    "solve",
]
