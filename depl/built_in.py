"""The methods that come with the toolkit.

`depl` lets their registration wait until a method is asked for, and each is imported when it first runs: all
of them together take a second to import, and most solves run one or two.
"""

import functools
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from depl.models.foundation.later import Deferred
from depl.models.solving.methods import Meaning, Method, Proof, Registered, ship
from depl.models.solving.options import Option

if TYPE_CHECKING:  # they come with numpy and scipy
    from depl.models.problem.instance import Instance
    from depl.models.problem.plan import Plan
    from depl.models.solving.limits import Limits
    from depl.models.solving.result import Outcome


def register_all() -> None:
    """Register each of them under its name."""
    ship(BUILT_IN)


def _with_fallback(method: Deferred) -> Method:
    """The method, which under a time limit returns a greedy plan where it ends without one."""

    @functools.wraps(method)
    def run(instance: "Instance", limits: "Limits") -> "Outcome | Plan | None":
        from depl.heuristics.auto.greedy_fallback import with_greedy_fallback

        return with_greedy_fallback(method)(instance, limits)

    return run


def _options(module: str) -> Callable[[], tuple[Option, ...]]:
    """The options of a method, which its module lists."""
    return lambda: tuple(importlib.import_module(module).OPTIONS)


BUILT_IN = (
    Registered(
        "enumerate",
        Deferred("depl.models.exact.listing", "enumerate_plans"),
        "Cheapest plan by a list of all;"
        " proves optimality, and infeasibility (inside the support of traces).",
        memory=True,
        proof=Proof.OPTIMUM,
        shipped=True,
    ),
    Registered(
        "expected-greedy",
        Deferred("depl.heuristics.baselines.best_expected", "expected_greedy"),
        "Fewest epochs of the sequence with the lowest expected loss"
        " whose certified quantile meets the target.",
        proof=Proof.NOTHING,
        needs="one cluster and one dataset",
        shipped=True,
    ),
    Registered(
        "expected-cost",
        Deferred("depl.heuristics.baselines.best_expected", "expected_cost"),
        "Cheapest plan under a target for the expected loss, tightened until the certified quantile holds.",
        proof=Proof.NOTHING,
        needs="one cluster and one dataset",
        shipped=True,
    ),
    Registered(
        "auto",
        Deferred("depl.heuristics.auto.method", "auto"),
        "Exact search, a greedy plan and the loop in turn; the cheapest plan, and the best proved bound.",
        memory=True,
        proof=Proof.OPTIMUM,
        shipped=True,
    ),
    Registered(
        "depl",
        _with_fallback(Deferred("depl.heuristics.depl.method", "depl")),
        "Data, models and resources in turn, each ranked by a bound;"
        " certified plans, a proved gap, any size.",
        proof=Proof.BOUND,
        shipped=True,
    ),
    Registered(
        "depl-paper",
        Deferred("depl.heuristics.paper.loop", "depl_paper"),
        "DepL as printed: data, models and resources one after the other, with blacklists and ways back.",
        listed=_options("depl.heuristics.paper.loop"),
        version=2,
        proof=Proof.NOTHING,
        needs="cvxpy",
        shipped=True,
    ),
    Registered(
        "density-greedy",
        Deferred("depl.heuristics.baselines.density", "density_greedy"),
        "The knapsack heuristic by value density: expected fall of the loss per priced cost, then repaired.",
        proof=Proof.NOTHING,
        shipped=True,
    ),
    Registered(
        "fastest-cluster",
        Deferred("depl.heuristics.baselines.peers", "fastest_cluster"),
        "One model with all data on the cluster where it is fastest, in the fewest certified epochs.",
        proof=Proof.NOTHING,
        shipped=True,
    ),
    Registered(
        "random",
        Deferred("depl.heuristics.baselines.peers", "random_drafts"),
        "The best of many random plans, each with as few epochs as are certified and the cheapest resources.",
        listed=_options("depl.heuristics.baselines.peers"),
        proof=Proof.NOTHING,
        shipped=True,
    ),
    Registered(
        "exact",
        _with_fallback(Deferred("depl.models.exact.law", "exact")),
        "Cheapest plan under the law by exact search; proves optimality and infeasibility.",
        proof=Proof.OPTIMUM,
        shipped=True,
    ),
    Registered(
        "milp",
        Deferred("depl.models.programs.methods", "milp"),
        "Cheapest plan under scenarios by a mixed-integer program, HiGHS or SCIP; proves it.",
        meaning=Meaning.SCENARIOS,
        listed=_options("depl.models.programs.methods"),
        proof=Proof.OPTIMUM,
        needs="Pyomo and HiGHS",
        rows=True,
        shipped=True,
    ),
    Registered(
        "scenario-search",
        Deferred("depl.models.exact.counted", "scenario_search"),
        "Cheapest plan under scenarios by exact search; proves optimality and infeasibility.",
        meaning=Meaning.SCENARIOS,
        memory=True,
        proof=Proof.OPTIMUM,
        shipped=True,
    ),
)
"""Each with the first line of its docstring."""
