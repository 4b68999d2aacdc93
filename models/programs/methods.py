"""The method ``milp``; Pyomo and its solvers are imported when it runs, not before."""

from depl.models.exact.sampled import SampledProblem
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.scenarios.draws import draw_scenarios
from depl.models.solving.defaults import DEFAULT_SCENARIOS
from depl.models.solving.limits import Limits
from depl.models.solving.options import Option
from depl.models.solving.result import Outcome

FORM = Option("form", ("price", "cone"), "linear, for HiGHS, or the program as the paper prints it, for SCIP")
OPTIONS = (FORM,)


def milp(instance: Instance, limits: Limits) -> Outcome:
    """Cheapest plan under scenarios by a mixed-integer program, HiGHS or SCIP; proves it.

    The dual bound that comes with a plan (`depl.models.exact.root_bounds`) has no part in the proof of an
    optimum; where the solver was stopped, the lower bound is the greater one of the solver's and the dual
    bound.

    Parameters
    ----------
    limits : Limits
        Gap, time limit, seed (of the solver, and of scenarios if none are given), scenarios, progress, rows
        and the option `FORM`.

    Raises
    ------
    NotCoveredError
        If the program would be larger than `depl.models.programs.loop` accepts.
    InvalidInputError
        If SCIP is asked for and not installed.
    """
    from depl.models.exact.root_bounds import certificate_in_time
    from depl.models.programs.loop import PROVED, solve_sampled

    scenarios = limits.scenarios or draw_scenarios(instance, DEFAULT_SCENARIOS, limits.seed)
    problem = SampledProblem(instance, scenarios)
    found = solve_sampled(problem, limits, form=FORM.among(limits.options, "price"))
    plan = dual = None
    if found.choices is not None:
        plan = problem.plan(found.choices) if found.choices else Plan(instance=instance.fingerprint)
        multiplier = problem.allocation(found.choices).multiplier
        dual = certificate_in_time(problem, multiplier, found.cost, limits, found.termination)
    if dual is not None and found.termination not in PROVED:
        found.lower_bound = max(found.lower_bound, min(dual.bound, found.cost))
    return Outcome(
        found.termination,
        plan,
        found.lower_bound,
        found.reason,
        dual,
        found.build_seconds,
        tolerances=found.tolerances,
        rows=tuple(dict.fromkeys(item.parent_component().name for item in found.own)),
    )
