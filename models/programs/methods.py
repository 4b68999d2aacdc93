"""Methods ``milp`` and ``milp-resource``; Pyomo and HiGHS are imported when one of them runs, not before."""

from depl.models.methods import DEFAULT_SCENARIOS, Limits, Outcome
from depl.models.plan import Plan
from depl.models.problem import Instance
from depl.models.scenarios.draws import draw_scenarios
from depl.models.scenarios.sampled import SampledProblem


def milp(instance: Instance, limits: Limits) -> Outcome:
    """Cheapest plan under scenarios by a mixed-integer program in price space (F2) and HiGHS; proves it.

    Parameters
    ----------
    limits : Limits
        Gap, time limit, seed (of the solver, and of scenarios if none are given), scenarios and progress.

    Raises
    ------
    NotCoveredError
        If the program would be larger than `depl.models.programs.cutting` accepts.
    """
    from depl.models.programs.price_space import PriceSpace

    return _solve(instance, limits, PriceSpace)


def milp_resource(instance: Instance, limits: Limits) -> Outcome:
    """Cheapest plan under scenarios by a mixed-integer program in resource space (F1) and HiGHS; proves it.

    Parameters and errors are those of `milp`.
    """
    from depl.models.programs.resource_space import ResourceSpace

    return _solve(instance, limits, ResourceSpace)


def _solve(instance: Instance, limits: Limits, formulation: type) -> Outcome:
    from depl.models.programs.cutting import solve_sampled

    scenarios = limits.scenarios or draw_scenarios(instance, DEFAULT_SCENARIOS, limits.seed)
    problem = SampledProblem(instance, scenarios)
    found = solve_sampled(problem, formulation, limits)
    plan = None
    if found.choices is not None:
        plan = problem.plan(found.choices) if found.choices else Plan(instance=instance.fingerprint)
    return Outcome(
        found.termination, plan, found.lower_bound, found.reason, build_seconds=found.build_seconds
    )
