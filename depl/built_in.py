"""The methods that come with the toolkit.

`depl` lets their registration wait until a method is asked for, and each is imported when it first runs: all
of them together take a second to import, and most solves run one or two.
"""

import functools
import importlib
from typing import TYPE_CHECKING, Any

from depl.models.foundation.later import Deferred
from depl.models.solving.methods import Meaning, Method, Proof, Registered, ship

if TYPE_CHECKING:  # they come with numpy and scipy
    from depl.models.problem.instance import Instance
    from depl.models.problem.plan import Plan
    from depl.models.solving.limits import Limits
    from depl.models.solving.result import Outcome


def register_all() -> None:
    """Register each of them under its name."""
    ship(BUILT_IN)


def _method(
    name: str,
    deferred: Deferred,
    summary: str,
    proof: Proof = Proof.NOTHING,
    *,
    fallback: bool = False,
    options: bool = False,
    **more: Any,
) -> Registered:
    """A method of another module, which with ``options`` lists them."""
    method: Method = _with_fallback(deferred) if fallback else deferred
    if options:
        more["listed"] = lambda: tuple(importlib.import_module(deferred.module).OPTIONS)
    return Registered(name, method, summary, proof=proof, shipped=True, **more)


def _with_fallback(method: Deferred) -> Method:
    """The method, which under a time limit returns a greedy plan where it ends without one."""

    @functools.wraps(method)
    def run(instance: "Instance", limits: "Limits") -> "Outcome | Plan | None":
        from depl.heuristics.auto.greedy_fallback import with_greedy_fallback

        return with_greedy_fallback(method)(instance, limits)

    return run


_SINGLE = "one cluster and one dataset"

BUILT_IN = (
    _method(
        "enumerate",
        Deferred("depl.models.exact.listing", "enumerate_plans"),
        "Cheapest plan by a list of all;"
        " proves optimality, and infeasibility (inside the support of traces).",
        Proof.OPTIMUM,
        memory=True,
    ),
    _method(
        "expected-greedy",
        Deferred("depl.heuristics.baselines.best_expected", "expected_greedy"),
        "Fewest epochs of the sequence with the lowest expected loss"
        " whose certified quantile meets the target.",
        needs=_SINGLE,
    ),
    _method(
        "expected-cost",
        Deferred("depl.heuristics.baselines.best_expected", "expected_cost"),
        "Cheapest plan under a target for the expected loss, tightened until the certified quantile holds.",
        needs=_SINGLE,
    ),
    _method(
        "auto",
        Deferred("depl.heuristics.auto.method", "auto"),
        "Exact search, a greedy plan and the loop in turn; the cheapest plan, and the best proved bound.",
        Proof.OPTIMUM,
        memory=True,
    ),
    _method(
        "depl",
        Deferred("depl.heuristics.depl.method", "depl"),
        "Data, models and resources in turn, each ranked by a bound;"
        " certified plans, a proved gap, any size.",
        Proof.BOUND,
        fallback=True,
    ),
    _method(
        "depl-paper",
        Deferred("depl.heuristics.paper.loop", "depl_paper"),
        "DepL as printed: data, models and resources one after the other, with blacklists and ways back.",
        options=True,
        version=2,
        needs="cvxpy",
    ),
    _method(
        "density-greedy",
        Deferred("depl.heuristics.baselines.density", "density_greedy"),
        "The knapsack heuristic by value density: expected fall of the loss per priced cost, then repaired.",
    ),
    _method(
        "fastest-cluster",
        Deferred("depl.heuristics.baselines.peers", "fastest_cluster"),
        "One model with all data on the cluster where it is fastest, in the fewest certified epochs.",
    ),
    _method(
        "random",
        Deferred("depl.heuristics.baselines.peers", "random_drafts"),
        "The best of many random plans, each with as few epochs as are certified and the cheapest resources.",
        options=True,
    ),
    _method(
        "exact",
        Deferred("depl.models.exact.law", "exact"),
        "Cheapest plan under the law by exact search; proves optimality and infeasibility.",
        Proof.OPTIMUM,
        fallback=True,
    ),
    _method(
        "milp",
        Deferred("depl.models.programs.methods", "milp"),
        "Cheapest plan under scenarios by a mixed-integer program, HiGHS or SCIP; proves it.",
        Proof.OPTIMUM,
        options=True,
        meaning=Meaning.SCENARIOS,
        needs="Pyomo and HiGHS",
        rows=True,
    ),
    _method(
        "scenario-search",
        Deferred("depl.models.exact.counted", "scenario_search"),
        "Cheapest plan under scenarios by exact search; proves optimality and infeasibility.",
        Proof.OPTIMUM,
        meaning=Meaning.SCENARIOS,
        memory=True,
    ),
)
"""Each with the first line of its docstring."""
