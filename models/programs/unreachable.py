"""Why no plan meets the target, in the user's words: the nearest quantile, and the time that would be needed.

Two auxiliary programs on the same frame answer: the greatest gain that all but floor((1 - omega) S) scenarios
reach within the time limits, and the least total time, with full resources, of a plan that meets the target.
"""

import time
from typing import Any

import numpy as np
import pyomo.environ as pyo

from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.foundation.wording import counted, probability
from depl.models.problem.site_rules import why_not_idle
from depl.models.programs.attainable import Attainable, attainable, shortest_durations
from depl.models.programs.common import plan_frame, usable_keys
from depl.models.programs.components import linear
from depl.models.programs.highs import Answer, Session, Status
from depl.models.programs.sequences import read_choices

LONGEST_EXPLANATION = 20.0
"""Seconds that an explanation may take."""


def why_infeasible(problem: SampledProblem, time_limit: float | None = None) -> str:
    """A sentence on an infeasible problem: the stage that fails, and the nearest value that can be reached.

    Parameters
    ----------
    time_limit : float, optional
        Wall seconds; at most `LONGEST_EXPLANATION` in any case.
    """
    ends = time.perf_counter() + min(
        LONGEST_EXPLANATION, LONGEST_EXPLANATION if time_limit is None else time_limit
    )
    target = problem.instance.target
    if not target.maximum_epochs:
        return f"models: maximum_epochs is 0, and {why_not_idle(problem.instance)}"
    if barred := problem.instance.rules.obstacle():
        return barred
    free = attainable(problem, meet_target=False)
    if not free.possible:
        return _no_epoch(problem, free)
    text = (
        f"models: target {target.maximum_loss:g} "
        f"at omega {probability(target.quantile_level)} unreachable within "
        f"{counted(target.maximum_epochs, 'epoch')} and the time limits: best quantile over "
        f"{counted(len(problem.scenarios), 'scenario')} {_best_quantile(problem, free, ends)}"
    )
    needed = _fastest_time(problem, ends) if target.maximum_time is not None else None
    if needed is None:
        return text
    return f"{text}; the fastest plan that meets it takes {needed}, maximum_time is {target.maximum_time:.6g}"


def _no_epoch(problem: SampledProblem, free: Attainable) -> str:
    fastest = float(shortest_durations(problem)[0].min())
    if free.usable[0].any() and not problem.may_end.all():
        return "models: no plan that keeps the time limits ends with a model that may be the last one"
    if free.usable[0].any():
        initial = problem.instance.target.initial_model
        return f"models: none that keeps the time limits may follow the initial model {initial!r}"
    return f"resources: no epoch keeps the time limits; the fastest takes {fastest:.6g}"


def _best_quantile(problem: SampledProblem, free: Attainable, ends: float) -> str:
    """The least omega-quantile of the final loss over the plans that keep the time limits."""
    initial, allowed = problem.instance.target.initial_loss, problem.allowed
    model = plan_frame(problem, free, meet_target=False)
    _add_time(model, problem, free, limited=True)
    model.eq2_cost = pyo.Objective(expr=-model.reached)
    answer, session = _solved(model, ends)
    best = 0.0 if problem.ends_well(()) else -np.inf  # without an epoch
    if answer.objective is not None:
        best = max(best, float(np.sort(problem.gain(read_choices(session.model, problem)))[allowed]))
    if answer.proved:
        return f"{initial - best:.6g}"
    possible = float(np.sort(free.greatest_gain)[allowed])
    if np.isfinite(answer.bound):
        possible = min(possible, -answer.bound)
    return f"between {initial - max(possible, best):.6g} and {initial - best:.6g}"


def _fastest_time(problem: SampledProblem, ends: float) -> str | None:
    """Least time of a plan that meets the target but for T_max; None if there is none."""
    bounds = attainable(problem, within_time=False)
    if not bounds.possible:
        return None
    model = plan_frame(problem, bounds)
    _add_time(model, problem, bounds, limited=False)
    model.eq2_cost = pyo.Objective(expr=model.fastest)
    answer, session = _solved(model, ends)
    if answer.objective is None:
        return None
    choices = read_choices(session.model, problem)
    if problem.misses(choices) > problem.allowed:
        return None
    found = f"{problem.allocation(choices).fastest_time:.6g}"
    return found if answer.proved else f"at most {found}"


def _add_time(model: Any, problem: SampledProblem, bounds: Attainable, limited: bool) -> None:
    durations = shortest_durations(problem)
    position = {g: index for index, g in enumerate(problem.configurations)}
    keys = usable_keys(problem, bounds)
    shares = [float(durations[key[0] - 1, position[g]]) for key, g in keys.items()]
    model.fastest = pyo.Expression(expr=linear(shares, [model.w[key] for key in keys]))
    maximum = problem.instance.target.maximum_time
    if limited and maximum is not None:
        model.eq4_time = pyo.Constraint(expr=model.fastest / maximum <= 1 + TIME_TOLERANCE)


def _solved(model: Any, ends: float) -> tuple[Answer, Session]:
    session = Session(model)
    answer = session.solve(max(ends - time.perf_counter(), 0.1))
    if answer.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return answer, session
