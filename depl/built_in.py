"""The methods that come with the toolkit, and their registration.

`depl` lets that wait until a method is asked for: all of them together take a second to import.
"""

from depl.heuristics.auto.in_hand import with_plan_in_hand
from depl.heuristics.auto.method import auto
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
from depl.models.exact.enumeration import enumerate_plans
from depl.models.exact.law_search import exact
from depl.models.exact.scenario_search import scenario_search
from depl.models.programs.methods import milp, milp_resource
from depl.models.solving.methods import Meaning, register

_IN_HAND = {method: with_plan_in_hand(method) for method in (depl, exact)}
"""Made once, as registering another object under a name is refused."""


def register_all() -> None:
    """Register each of them under its name; again is no harm."""
    register("enumerate", enumerate_plans, memory=True)
    register("expected-greedy", expected_greedy)
    register("expected-cost", expected_cost)
    register("graph", graph, options=OPTIONS)
    register("auto", auto, memory=True)
    register("depl", _IN_HAND[depl])
    register("depl-paper", depl_paper, options=PAPER_OPTIONS, version=2)
    register("density-greedy", density_greedy)
    register("annealing", annealing, options=ANNEALING_OPTIONS)
    register("fastest-cluster", fastest_cluster)
    register("random", random_drafts, options=RANDOM_OPTIONS)
    register("one-pass", one_pass, options=ONE_PASS_OPTIONS)
    register("exact", _IN_HAND[exact])
    register("milp", milp, meaning=Meaning.SCENARIOS)
    register("milp-resource", milp_resource, meaning=Meaning.SCENARIOS)
    register("scenario-search", scenario_search, meaning=Meaning.SCENARIOS, memory=True)
