"""The methods that come with the toolkit, and their registration.

`depl` lets that wait until a method is asked for: all of them together take a second to import.
"""

import functools

from depl.heuristics.auto.greedy_fallback import with_greedy_fallback
from depl.heuristics.auto.method import auto
from depl.heuristics.baselines.best_expected import expected_cost, expected_greedy
from depl.heuristics.baselines.density import density_greedy
from depl.heuristics.baselines.peers import DRAWS, fastest_cluster, random_drafts
from depl.heuristics.depl.method import depl
from depl.heuristics.paper.loop import OPTIONS, depl_paper
from depl.models.exact.counted import scenario_search
from depl.models.exact.law import exact
from depl.models.exact.listing import enumerate_plans
from depl.models.programs.methods import FORM, milp
from depl.models.solving.methods import Meaning, Proof
from depl.models.solving.methods import register as register_method

_WITH_FALLBACK = {method: with_greedy_fallback(method) for method in (depl, exact)}
"""Made once, as registering another object under a name is refused."""


def register_all() -> None:
    """Register each of them under its name; again is no harm."""
    register = functools.partial(register_method, shipped=True)
    optimum, bound, nothing = Proof.OPTIMUM, Proof.BOUND, Proof.NOTHING
    sampled, programs = Meaning.SCENARIOS, "Pyomo and HiGHS"
    given = "one cluster and one dataset"
    register("enumerate", enumerate_plans, memory=True, proof=optimum)
    register("expected-greedy", expected_greedy, proof=nothing, needs=given)
    register("expected-cost", expected_cost, proof=nothing, needs=given)
    register("auto", auto, memory=True, proof=optimum)
    register("depl", _WITH_FALLBACK[depl], proof=bound)
    register("depl-paper", depl_paper, options=OPTIONS, version=2, proof=nothing, needs="cvxpy")
    register("density-greedy", density_greedy, proof=nothing)
    register("fastest-cluster", fastest_cluster, proof=nothing)
    register("random", random_drafts, options=(DRAWS,), proof=nothing)
    register("exact", _WITH_FALLBACK[exact], proof=optimum)
    register("milp", milp, meaning=sampled, options=(FORM,), proof=optimum, needs=programs, rows=True)
    register("scenario-search", scenario_search, meaning=sampled, memory=True, proof=optimum)
