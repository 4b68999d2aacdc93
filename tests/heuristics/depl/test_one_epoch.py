"""How far the loop may be above its bound: one epoch, where that is a theorem."""

import itertools

import numpy as np
import pytest

import depl
from depl.models.problem.epoch_costs import price
from depl.models.problem.epochs import load
from depl.models.problem.learning import InverseSqrtImprovement
from depl.models.solving.result import Termination
from tests.cases.loop_cases import plain
from tests.problems import SURE, model, site


def without_a_second_row(rng):
    """Nothing random, one dataset, no transfers, free switches, gains that do not rise, no T_max."""
    models = []
    for m in range(int(rng.integers(1, 4))):
        size, demand, scale, offset = rng.uniform((0, 1, 0.5, 0), (0.4, 8, 2, 9)).tolist()
        fading = InverseSqrtImprovement(scale=scale, offset=offset, noise=SURE)
        models.append(model(f"m{m}", fading if rng.random() < 0.6 else scale / 5, demand, size))
    ends = (0.5, 0.5), (2, 3)
    places = [site(f"c{n}", 30, *rng.uniform(*ends).tolist()) for n in range(int(rng.integers(1, 3)))]
    bare = plain(maximum_time=None, round_deadline=1.5, epochs=int(rng.integers(5, 30)))
    return bare.replace(
        models=tuple(models), clusters=tuple(places), maximum_loss=10 - float(rng.uniform(0.3, 3))
    )


@pytest.mark.parametrize("seed", range(4))
def test_with_one_row_the_loop_costs_less_than_its_bound_and_one_epoch(seed):
    """A theorem of docs/loop.rst, up to the 1e-5 to which the dual is solved."""
    instance = without_a_second_row(np.random.default_rng([6, 12, seed]))
    result = depl.solve(instance, "depl")
    if result.plan is None:
        assert result.termination is Termination.INFEASIBLE
        return
    assert result.cost <= result.lower_bound * (1 + 2e-5) + dearest_epoch(instance) * (1 + 1e-9)


def dearest_epoch(instance):
    """The most that one of these epochs costs, whatever trains where: each takes its round deadline."""
    pairs = itertools.product(instance.models, instance.clusters)
    loads = [load(instance, 1, net.name, place.name, frozenset({"data"})) for net, place in pairs]
    return max(price(each, 0.0, instance.target.round_deadline) for each in loads)


def test_the_epochs_of_the_optimum_may_all_be_cheaper_than_what_it_is_above_the_bound():
    limits = {"wait": 0.0, "epochs": 90, "maximum_time": None, "round_deadline": 1.0}
    bare = plain((100.0, 1.0), (90.0, 1.0), clusters=((1.0, 100.0),), **limits)
    instance = bare.replace(initial_loss=100.0, maximum_loss=20.0)
    result = depl.solve(instance, "depl")
    assert result.cost == pytest.approx(80)
    assert 72 * (1 - 1e-5) < result.lower_bound < 73
    assert dearest_epoch(instance) == pytest.approx(90)
