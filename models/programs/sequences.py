"""What a sequence of configurations is in a program: its names, values of its variables, rows about it."""

from collections.abc import Sequence
from typing import Any

import pyomo.environ as pyo

from depl.models.exact.choices import Configuration
from depl.models.exact.sampled import SampledProblem
from depl.models.programs.components import linear


def labels(problem: SampledProblem, chosen: Configuration) -> tuple[str, str, str]:
    """Names of cluster, datasets and model; a + in the name of a dataset is written with a backslash."""
    instance = problem.instance
    names = [item.name for item in instance.datasets if item.name in chosen.datasets]
    held = "+".join(name.replace("\\", "\\\\").replace("+", "\\+") for name in names)
    return instance.clusters[chosen.cluster].name, held, instance.models[chosen.model].name


def read_choices(model: pyo.ConcreteModel, problem: SampledProblem) -> list[Configuration]:
    """The sequence of configurations that the values of w describe, rounded."""
    by_labels = {labels(problem, g): g for g in problem.configurations}
    chosen = [key for key in model.w if (model.w[key].value or 0.0) > 0.5]
    return [by_labels[key[1:]] for key in sorted(chosen)]


def write_choices(
    model: pyo.ConcreteModel, problem: SampledProblem, choices: Sequence[Configuration]
) -> bool:
    """Set w, q, v, stop and z to a plan, as a start; False if the program has no room for it."""
    named = [labels(problem, g) for g in choices]
    wanted = {(k, *row) for k, row in enumerate(named, start=1)}
    if not all(key in model.w for key in wanted):
        return False
    for key in model.w:
        model.w[key].set_value(float(key in wanted))
    for place, held in model.q:
        model.q[place, held].set_value(float(any(row[:2] == (place, held) for row in named)))
    if model.find_component("charged") is not None:
        for k, place, held in model.charged:
            model.charged[k, place, held].set_value(model.q[place, held].value * (k <= len(named)))
    before = [problem.instance.target.initial_model, *(row[2] for row in named)]
    for k, first, second in model.v:
        model.v[k, first, second].set_value(
            float(k <= len(named) and before[k - 1] == first and before[k] == second)
        )
    for k, last in model.stop:
        model.stop[k, last].set_value(float(k == len(named) + 1 and before[k - 1] == last))
    gains = problem.gain(choices)
    for s in model.undecided:
        model.z[s].set_value(float(gains[s - 1] < problem.needed))
    return True


def add_cost_row(
    model: pyo.ConcreteModel, problem: SampledProblem, choices: Sequence[Configuration], cost: float
) -> Any:
    """Say that one sequence costs at least ``cost``, in the units of the objective; holds for all others.

    The optimality cut of the integer L-shaped method: with K epochs, of which n are as in the sequence, and
    less 1 if it goes on, the cost is at least ``cost`` (n - K + 1), which for every other sequence is at
    most 0. No coefficient is larger than the cost, as those of cuts at high prices of time are.
    """
    named = [labels(problem, g) for g in choices]
    terms = [model.w[k, *row] for k, row in enumerate(named, start=1)]
    onward = [model.w[key] for key in model.w if key[0] == len(named) + 1]
    same = linear(
        [cost] * len(terms) + [-cost] * len(onward), terms + onward, constant=cost * (1 - len(named))
    )
    return model.cost_rows.add(model.eq2_cost.expr - same >= 0)


def add_no_good(
    model: pyo.ConcreteModel, problem: SampledProblem, choices: Sequence[Configuration], same_gain: bool
) -> Any:
    """Exclude one sequence; with ``same_gain`` also those that only use other clusters.

    A sequence of K epochs is another one iff some of its first K epochs differs, or it goes on.
    """
    named = [labels(problem, g) for g in choices]
    terms: list[Any] = []
    for k, row in enumerate(named, start=1):
        start = 1 if same_gain else 0
        terms += [model.w[key] for key in model.w if key[0] == k and key[1 + start :] == row[start:]]
    onward = [model.w[key] for key in model.w if key[0] == len(named) + 1]
    expression = linear([1.0] * len(terms) + [-1.0] * len(onward), terms + onward)
    return model.no_goods.add(expression <= len(named) - 1)
