"""Every sequence of configurations of a tiny sampled problem, one by one, for the tests of the programs."""

import math

import numpy as np
import pyomo.environ as pyo

from depl.instances.generator import random_instance, random_instances
from depl.models.evaluation.evaluate import INTENT
from depl.models.exact.sampled import SampledProblem
from depl.models.programs.attainable import attainable
from depl.models.programs.formulations import Price, labels
from depl.models.scenarios.draws import draw_scenarios
from tests.oracles.search import sampled, sequences, with_negative_switches

HARD_OPTIMUM = 28.968559573246672
"""Of `hard_problem`, proved by two programs in a longer run."""


def hard_problem(scenarios=100):
    """Twelve epochs, three models and 100 scenarios, of which HiGHS needs many seconds."""
    rng = np.random.default_rng(7)
    sizes = {"models": (3, 3), "clusters": (1, 1), "datasets": (1, 1), "maximum_epochs": (12, 12)}
    instance = random_instance(rng, **sizes)
    return SampledProblem(instance, draw_scenarios(instance, scenarios, seed=1))


def drawn_problems(seed, count):
    """Of two models and ten scenarios; some with an initial model, half with switches that win."""
    sizes = {"models": (2, 2), "clusters": (1, 2), "datasets": (1, 2), "maximum_epochs": (2, 3)}
    found = []
    for place, item in enumerate(random_instances(np.random.default_rng(seed), count, **sizes)):
        instance = item.replace(initial_model="m2") if place % 4 == 1 else item
        problem = sampled(instance, 10, place)
        found.append(problem if place % 2 else with_negative_switches(problem))
    return found


def price_space(problem):
    """The program of the form ``price`` with its first cuts: a relaxation."""
    return Price(problem, attainable(problem)).model


def meets_all(problem, choices):
    """Whether a sequence meets the target often enough and can keep the time limits."""
    return problem.misses(choices) <= problem.allowed and problem.allocation(choices).feasible


def cheapest(
    problem,
    reading=INTENT,
    allowed=lambda _: True,
):
    """Least cost under a reading of all sequences that are allowed; infinite if nothing is feasible."""
    if problem.misses([]) <= problem.allowed:
        return 0.0
    rows = (row for row in sequences(problem) if allowed(row) and meets_all(problem, row))
    return min((cost(problem, row, reading) for row in rows), default=math.inf)


def cost(problem, choices, reading=INTENT):
    """Cost of a sequence under a reading; infinite where the letter of (6) forbids it."""
    if reading.data_requires_every_epoch and len({g.cluster for g in choices}) > 1:
        return math.inf
    charges = len(choices) if reading.transfer_every_epoch else 1
    return charges * problem.transfers(choices) + problem.allocation(choices).cost


def write_choices(model, problem, choices):
    """Set the variables to a plan with its cheapest resources; False if the program has no room for it."""
    named = [labels(problem, g) for g in choices]
    wanted = {(k, *row) for k, row in enumerate(named, start=1)}
    if not all(key in model.w for key in wanted):
        return False
    held = {row[:2] for row in named}
    before = [problem.instance.target.initial_model, *(row[2] for row in named)]
    steps = {(k, *before[k - 1 : k + 1]) for k in range(1, len(named) + 1)}
    values = {
        "w": lambda key: key in wanted,
        "q": lambda pair: pair in held,
        "charged": lambda key: key[1:] in held and key[0] <= len(named),
        "v": lambda step: step in steps,
        "stop": lambda end: end == (len(named) + 1, before[-1]),
    }
    for name, value in values.items():
        variables = model.find_component(name)
        for index in variables if variables is not None else ():
            variables[index].set_value(float(value(index)))
    gains = problem.gain(choices)
    for s in model.undecided:
        model.z[s].set_value(float(gains[s - 1] < problem.needed))
    if model.find_component("theta") is not None:
        model.theta.set_value(problem.allocation(choices).cost)
    else:
        _write_resources(model, problem, choices, named)
    return True


def _write_resources(
    model,
    problem,
    choices,
    named,
):
    """Set x, t and the roots of the form ``cone``."""
    for variables in (model.x, model.t, model.root):
        for place in variables:
            variables[place].set_value(0.0)
    by_name = {labels(problem, g): index for index, g in enumerate(problem.configurations)}
    for k, (row, x) in enumerate(zip(named, problem.allocation(choices).resources, strict=True), start=1):
        there = [key for key in model.w if key[:2] == (k, row[0])]
        greatest = max(problem.loads[k - 1][by_name[key[1:]]].work for key in there)
        work = problem.loads[k - 1][by_name[row]].work
        model.x[k, row[0]].set_value(x)
        model.t[k, row[0]].set_value(work / x)
        model.root[k, row[0]].set_value((work / greatest) ** 0.5)


def violations(model, most=1e-9):
    """Components of the rows that the values of the variables break by more than that."""
    rows = model.component_data_objects(pyo.Constraint, active=True)
    return {row.parent_component().name for row in rows if violation(row) > most}


def violation(row):
    """By how much the values of the variables break a row."""
    return max(0.0, -min(row.lslack(), row.uslack()))
