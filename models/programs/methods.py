"""The method ``milp``; Pyomo and HiGHS are imported when it runs, not before."""

from typing import TYPE_CHECKING

from depl.models.exact.sampled import SampledProblem
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.scenarios.draws import draw_scenarios
from depl.models.solving.defaults import DEFAULT_SCENARIOS
from depl.models.solving.methods import Limits, Outcome
from depl.models.solving.result import DualBound, Termination

if TYPE_CHECKING:
    from depl.models.programs.cutting import ProgramSolution

_PROVED = (Termination.OPTIMAL, Termination.INFEASIBLE)


def milp(instance: Instance, limits: Limits) -> Outcome:
    """Cheapest plan under scenarios by a mixed-integer program in the form ``price`` and HiGHS; proves it.

    The dual bound that comes with a plan (`depl.models.exact.root_bounds`) has no part in the proof of an
    optimum; where the solver was stopped, the lower bound is the greater one of HiGHS's and the dual bound.

    Parameters
    ----------
    limits : Limits
        Gap, time limit, seed (of the solver, and of scenarios if none are given), scenarios and progress.

    Raises
    ------
    NotCoveredError
        If the program would be larger than `depl.models.programs.cutting` accepts.
    """
    from depl.models.programs.cutting import solve_sampled

    scenarios = limits.scenarios or draw_scenarios(instance, DEFAULT_SCENARIOS, limits.seed)
    problem = SampledProblem(instance, scenarios)
    found = solve_sampled(problem, limits)
    plan = dual = None
    bound = found.lower_bound
    if found.choices is not None:
        plan = problem.plan(found.choices) if found.choices else Plan(instance=instance.fingerprint)
        dual = _certificate(problem, found, limits)
    if dual is not None and found.termination not in _PROVED:
        bound = max(bound, min(dual.bound, found.cost))
    return Outcome(
        found.termination,
        plan,
        bound,
        found.reason,
        dual,
        found.build_seconds,
        tolerances=_tolerances(found),
        rows=found.rows,
    )


def _tolerances(found: "ProgramSolution") -> dict[str, float]:
    """The options of the solver by which its bounds may be wrong."""
    return {
        name: float(value) for name, value in found.options.items() if name.endswith(("_tolerance", "_gap"))
    }


def _certificate(problem: SampledProblem, found: "ProgramSolution", limits: Limits) -> DualBound | None:
    """The bound that can be proved again; None if there was no time for it."""
    from depl.models.exact.root_bounds import certificate_in_time

    multiplier = problem.allocation(found.choices or []).multiplier
    return certificate_in_time(problem, multiplier, found.cost, limits, found.termination)
