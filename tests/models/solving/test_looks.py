"""Every loop over pairs of models and epochs looks at the clock: looks are counted, and a late clock ends it.

A limit of 4 seconds took 10 to 24 CPU seconds where tables over M**2 K were filled without a look.
"""

import itertools
import math
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import depl
from depl.heuristics.paths.additive_problem import additive_problem
from depl.instances.heterogeneous import heterogeneous_instance
from depl.models.exact.choices import Choices
from depl.models.exact.law_problem import LawProblem, random_terms
from depl.models.exact.plan_classes import plan_classes
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation import deadline as clocks
from depl.models.foundation.deadline import LEEWAY, OutOfTimeError, deadline
from depl.models.policy.dynamic import lower, upper
from depl.models.policy.grid import Expectations, Grid
from depl.models.policy.process import process
from depl.models.problem.epochs import gain_moments, loss_step, switch_moments, switch_step, switch_steps
from depl.models.programs.attainable import attainable
from depl.models.programs.formulations import Price
from depl.models.scenarios import draws
from depl.models.scenarios.draws import draw_scenarios
from depl.models.solving.result import Termination
from depl.models.solving.solve import solve

MODELS, EPOCHS, SCENARIOS = 3, 4, 5
PAIRS = MODELS * (MODELS - 1)


@pytest.fixture(scope="module")
def instance():
    sizes = {"clusters": 2, "datasets": 2, "models": MODELS, "maximum_epochs": EPOCHS}
    drawn = heterogeneous_instance(np.random.default_rng(3), **sizes)
    return drawn.replace(maximum_time=None, round_deadline=1e9)  # policies watch no time


def _everything(instance):
    return frozenset(item.name for item in instance.datasets)


def _drawn(instance):
    return SampledProblem(instance, draw_scenarios(instance, SCENARIOS))


def _sampled(instance):
    """With its tables, which are lazy."""
    problem = _drawn(instance)
    assert problem.gains.size * problem.switch_losses.size * len(problem.loads)
    return problem


def _of_policies(best):
    chain = process(depl.load("tiny").replace(maximum_time=None, round_deadline=1e9))
    return partial(upper if best else lower, chain, Expectations(Grid.of(chain, 32), up=best), 1.0)


def _price(instance):
    problem = _sampled(instance)
    return partial(Price, problem, attainable(problem))


RUNS, BOTH = MODELS * EPOCHS, PAIRS + MODELS * EPOCHS
LOOPS = {
    "the laws of pairs": (lambda item: partial(switch_steps, item), PAIRS),
    "moments of epochs": (lambda item: partial(gain_moments, item, EPOCHS, [_everything(item)]), RUNS),
    "moments of both": (lambda item: lambda: LawProblem(item, 0).moments, BOTH),
    "random parts": (lambda item: lambda: random_terms(Choices(item)), BOTH),
    "drawn scenarios": (lambda item: partial(draw_scenarios, item, SCENARIOS), SCENARIOS + BOTH + PAIRS),
    "drawn switches": (lambda item: partial(getattr, _drawn(item), "switch_losses"), EPOCHS + PAIRS),
    "labels of expected losses": (
        lambda item: partial(additive_problem, item, _everything(item), item.clusters[0].name),
        BOTH,
    ),
    "what scenarios allow": (lambda item: partial(attainable, _sampled(item)), 3 * EPOCHS),
    "rows of a program": (_price, RUNS),
    "classes of plans": (
        lambda item: partial(
            plan_classes, item, {item.clusters[0].name: _everything(item)}, cutoff=math.inf, allowed=10**6
        ),
        (MODELS + 1) * RUNS + 4 * EPOCHS,
    ),
    "states of a policy": (lambda item: partial(process, item), MODELS**2 * (EPOCHS - 1)),
    "values of policies": (lambda _: _of_policies(True), MODELS * (EPOCHS - 1)),
    "bounds of policies": (lambda _: _of_policies(False), MODELS * (EPOCHS - 1)),
}


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_looks_at_the_clock_in_each_of_its_rounds_and_ends_when_it_is_late(loop, instance):
    prepare, least = LOOPS[loop]
    work, looks = prepare(instance), 0

    def counted():
        nonlocal looks
        looks += 1
        return -math.inf

    with deadline(counted):
        work()
    assert looks >= least
    work = prepare(instance)
    with pytest.raises(OutOfTimeError), deadline(lambda: LEEWAY):
        work()


def test_the_table_of_switches_is_what_whole_steps_add(instance):
    """At every epoch: a step with the switch less one without, whose laws are the oracle here."""
    names, everything = [model.name for model in instance.models], _everything(instance)
    table, moments = switch_steps(instance), switch_moments(instance)
    assert len(table) == PAIRS
    for (i, j), k in itertools.product(table, range(1, EPOCHS + 1)):
        whole = loss_step(instance, k, 0, names[i], names[j], everything)
        run = loss_step(instance, k, 0, names[j], names[j], everything)
        assert table[i, j].terms == whole.terms[len(run.terms) :]
        assert table[i, j].shift == whole.shift - run.shift
        assert table[i, j] == switch_step(instance, names[i], names[j])
        assert tuple(moments[:, i, j]) == table[i, j].moments()


def test_moments_of_epochs_are_those_of_their_steps(instance):
    subsets = [_everything(instance), frozenset([instance.datasets[0].name])]
    moments = gain_moments(instance, EPOCHS, subsets)
    for k, d, m in np.ndindex(EPOCHS, 2, MODELS):
        name = instance.models[m].name
        mean, variance = loss_step(instance, k + 1, 0, name, name, subsets[d]).moments()
        assert moments[:, k, d, m] == pytest.approx([-mean, variance], rel=1e-14)


@pytest.mark.parametrize("method", ["scenario-search", "milp"])
def test_drawing_scenarios_is_within_the_limit_of_a_solve(method, instance, monkeypatch):
    clock, keep = SimpleNamespace(now=100.0, perf_counter=lambda: clock.now), draws.keep_time

    def slow():
        clock.now += 1.0  # every scenario takes a second
        keep()

    monkeypatch.setattr(clocks, "time", clock)
    monkeypatch.setattr(draws, "keep_time", slow)
    result = solve(instance, method, scenarios=SCENARIOS, time_limit=2.0)
    assert (result.termination, result.plan) == (Termination.TIME_LIMIT, None)
    assert clock.now <= 100 + 2 + LEEWAY + 1
