"""Scenarios: quantiles of atoms, the stream is as documented, edges are exact."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from depl.instances.generator import random_instances, random_plan
from depl.models.evaluation import in_scenarios as steps_module
from depl.models.evaluation.evaluate import final_loss
from depl.models.evaluation.in_scenarios import epoch_gains, switch_losses
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.instance import ConstantImprovement, InverseSqrtImprovement, Model
from depl.models.problem.laws import Deterministic, Empirical, InverseGamma, Normal
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.scenarios import draws as draws_module
from depl.models.scenarios.draws import (
    allowed_misses,
    count_misses,
    draw_scenarios,
    given_scenarios,
    scenario_losses,
)
from depl.models.solving.solve import solve
from tests.problems import student

# ---- quantiles ----


@given(
    atoms=st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 6)), min_size=1, max_size=6),
    u=st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=1000),
)
def test_the_quantile_of_atoms_is_the_least_value_that_reaches_the_probability(atoms, u):
    law = Empirical(values=tuple(float(v) for v, _ in atoms), weights=tuple(float(w) for _, w in atoms))
    total = sum(weight for _, weight in atoms)
    reached = [
        value
        for value, _ in atoms
        if sum(weight for other, weight in atoms if other <= value) >= u * total * (1 + Fraction(1, 10**12))
    ]
    exact = any(sum(w for o, w in atoms if o <= v) == u * total for v, _ in atoms)
    found = float(law.inverse_cdf(np.array([float(u)]))[0])
    if not exact:  # at a jump the last digit of u decides
        assert found == min(reached)
    assert found in law.values


# ---- the stream ----


def test_the_smaller_sample_is_the_beginning_of_the_larger(tiny):
    small, large = draw_scenarios(tiny, 20, seed=4), draw_scenarios(tiny, 50, seed=4)
    assert np.array_equal(small.improvements, large.improvements[:20])
    assert np.array_equal(small.switch_losses, large.switch_losses[:20])


def test_the_digest_covers_numbers_rounding_and_origin(bell):
    scenarios = draw_scenarios(bell, 10, seed=1)
    nudged = scenarios.improvements.copy()
    nudged[3, 1, 0] = np.nextafter(nudged[3, 1, 0], np.inf)
    others = [
        dataclasses.replace(scenarios, improvements=nudged),
        dataclasses.replace(scenarios, decimals=2),
        dataclasses.replace(scenarios, seed=None),
        draw_scenarios(bell, 11, seed=1),
    ]
    assert len({item.digest for item in (scenarios, *others)}) == 5
    assert all(len(item.digest) == 64 for item in others)


def test_the_stream_is_the_documented_one(bell):
    """Per scenario and epoch: one number per model, then one per ordered pair (previous, following)."""
    models = (
        Model(name="a", size=1, improvement=ConstantImprovement(noise=Normal(mean=2, variance=4))),
        Model(
            name="b",
            size=1,
            improvement=InverseSqrtImprovement(scale=3, noise=InverseGamma(shape=3.5, scale=2.0)),
        ),
        Model(name="c", size=1, improvement=ConstantImprovement(noise=Deterministic(value=1))),
    )
    switch = student(3, 0.2, 0.1)
    instance = bell.replace(models=models, other_switches=switch, maximum_epochs=4)
    scenarios = draw_scenarios(instance, 30, seed=9)
    numbers = np.random.default_rng(9).random(30 * 4 * (3 + 9)).reshape(30, 4, 12)
    normal = stats.norm(2, 2).ppf(numbers[:, :, 0])
    gamma = stats.invgamma(3.5, scale=2.0).ppf(numbers[:, :, 1])
    np.testing.assert_allclose(scenarios.improvements[:, :, 0], normal, rtol=1e-12, atol=0)
    np.testing.assert_allclose(scenarios.improvements[:, :, 1], gamma, rtol=1e-12, atol=0)
    assert not scenarios.improvements[:, :, 2].any()  # drawn, but certain
    for first in range(3):
        for second in range(3):
            expected = stats.t(3, 0.2, 0.1).ppf(numbers[:, :, 3 + 3 * first + second])
            found = scenarios.switch_losses[:, :, first, second]
            np.testing.assert_allclose(found, expected if first != second else 0, rtol=1e-12, atol=0)


def test_a_number_of_zero_becomes_the_smallest_and_stays_finite(bell, monkeypatch):
    class Zeros:
        def random(self, shape):
            return np.zeros(shape)

    monkeypatch.setattr(draws_module.np.random, "default_rng", lambda seed: Zeros())
    scenarios = draw_scenarios(bell, 2)
    assert scenarios.improvements == pytest.approx(stats.norm(2, 1).ppf(2.0**-54), rel=1e-12)


def test_rounding_to_decimals_makes_sums_and_ties_exact(bell):
    """In tenths the gains are whole numbers, and a sum of them is compared as a whole number would be."""
    instance = bell.replace(maximum_loss=6.0)
    drawn = draw_scenarios(instance, 2000, seed=1, decimals=1)
    gains = [epoch_gains(instance, drawn, k, "net", frozenset(["data"])) for k in (1, 2)]
    tenths = [np.round(10 * gain).astype(int) for gain in gains]
    assert all(np.array_equal(gain, whole / 10) for gain, whole in zip(gains, tenths, strict=True))
    losses = scenario_losses(instance, drawn, two_epochs())
    assert count_misses(instance, losses) == int((sum(tenths) < 40).sum())
    assert (sum(tenths) == 40).sum() > 20  # ties are what the rounding is for


def two_epochs() -> Plan:
    epoch = PlannedEpoch(model="net", cluster="site", resources=4.0)
    return Plan(data=(ClusterData(cluster="site", datasets=("data",)),), epochs=(epoch, epoch))


def test_ties_are_met_however_the_sum_rounds(bell):
    """Gains 0.1 and 0.2 are one last digit off 0.3 in floating point; the target needs exactly 0.3."""
    instance = bell.replace(initial_loss=1.0, maximum_loss=0.7)
    scenarios = given_scenarios(instance, [[[0.1], [0.2], [0]], [[0.2], [0.1], [0]], [[0.1], [0.1], [0]]])
    assert count_misses(instance, scenario_losses(instance, scenarios, two_epochs())) == 1


# ---- losses ----


def test_losses_are_the_sum_of_the_increments_of_the_plan(tiny, tiny_optimum):
    scenarios = draw_scenarios(tiny, 40, seed=2)
    everything, sensors = frozenset(["archive", "sensors"]), frozenset(["sensors"])
    expected = (
        tiny.target.initial_loss
        - epoch_gains(tiny, scenarios, 1, "full", everything)
        - epoch_gains(tiny, scenarios, 2, "full", everything)
        - epoch_gains(tiny, scenarios, 3, "pruned", sensors)
        + switch_losses(tiny, scenarios, 3, 0, 1)
    )
    np.testing.assert_allclose(scenario_losses(tiny, scenarios, tiny_optimum), expected, rtol=1e-15)


def test_a_model_does_not_switch_to_itself(tiny):
    assert not switch_losses(tiny, draw_scenarios(tiny, 5), 2, 1, 1).any()


def test_the_losses_of_many_scenarios_have_the_mean_of_the_law():
    rng = np.random.default_rng(3)
    for instance in random_instances(rng, 3, maximum_epochs=(3, 5)):
        plan = random_plan(rng, instance)
        losses = scenario_losses(instance, draw_scenarios(instance, 20_000, seed=1), plan)
        mean = final_loss(instance, plan).mean()
        assert abs(losses.mean() - mean) < 5 * losses.std() / np.sqrt(20_000) + 1e-12


# ---- how many may miss ----


@pytest.mark.parametrize(
    ("level", "size", "allowed"),
    [
        (0.95, 200, 10),
        (0.95, 199, 9),
        (0.9, 50, 5),
        (0.9, 49, 4),
        (0.99, 100, 1),
        (0.99, 99, 0),
        (0.999, 1000, 1),
        (0.7, 10, 3),
        (0.8, 5, 1),
        (0.3, 10, 7),
        (0.95, 1, 0),
    ],
)
def test_the_allowed_misses_at_integer_edges_are_exact(bell, level, size, allowed):
    assert allowed_misses(bell.replace(quantile_level=level), size) == allowed


# ---- what is refused ----


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"size": 0}, "at least one"),
        ({"size": 3, "seed": -1}, "seed"),
        ({"size": 3, "decimals": 9}, "decimals"),
    ],
)
def test_impossible_draws_are_refused(bell, options, words):
    with pytest.raises(InvalidInputError, match=words):
        draw_scenarios(bell, **options)


@pytest.mark.parametrize(
    ("improvements", "switch_losses", "path", "words"),
    [
        (np.zeros((4, 3)), None, "", r"\(S, 3, 1\)"),
        (np.zeros((0, 3, 1)), None, "", r"\(S, 3, 1\)"),
        (np.zeros((4, 2, 1)), None, "", r"\(S, 3, 1\)"),
        (np.zeros((4, 3, 1)), np.zeros((3, 3, 1, 1)), "", r"switch_losses need the shape \(4, 3, 1, 1\)"),
        (np.array([[[0.0], [np.nan], [0.0]]]), None, ".improvements[0, 1, 0]", "is nan"),
        (np.zeros((1, 3, 1)), np.full((1, 3, 1, 1), np.inf), ".switch_losses[0, 0, 0, 0]", "is inf"),
        ([[[0.0], [1.0]], [[2.0]]], None, ".improvements", "no array of numbers"),
        ("many", None, ".improvements", "no array of numbers"),
        (np.zeros((1, 3, 1)), [None, "x"], ".switch_losses", "no array of numbers"),
    ],
)
def test_scenarios_that_do_not_fit_are_refused_with_place(bell, improvements, switch_losses, path, words):
    with pytest.raises(InvalidInputError, match=words) as caught:
        given_scenarios(bell, improvements, switch_losses)
    assert caught.value.path == path


def test_given_scenarios_without_switches_lose_nothing_by_them(tiny):
    scenarios = given_scenarios(tiny, np.ones((2, 3, 2)))
    assert scenarios.seed is None
    assert not scenarios.switch_losses.any()


@pytest.mark.parametrize("method", ["milp", "scenario-search"])
@pytest.mark.parametrize("epochs", [2, 4])
def test_scenarios_of_another_number_of_epochs_or_models_are_refused(tiny, steady, method, epochs):
    with pytest.raises(InvalidInputError, match=f"of 2 models and {epochs} epochs.* allows 3 epochs"):
        solve(tiny, method, scenarios=draw_scenarios(tiny.replace(maximum_epochs=epochs), 5))
    with pytest.raises(InvalidInputError, match="of 1 model and 3 epochs, the instance has 2 models"):
        solve(tiny, method, scenarios=draw_scenarios(steady, 5))


def test_a_method_that_works_under_the_law_takes_no_scenarios(tiny):
    with pytest.raises(InvalidInputError, match="takes no scenarios"):
        solve(tiny, "enumerate", scenarios=10)


@pytest.mark.parametrize("scenarios", [2.5, True, "many", [1, 2], np.ones(3)])
def test_what_is_neither_a_number_of_scenarios_nor_scenarios_is_refused(tiny, scenarios):
    with pytest.raises(InvalidInputError, match="must be a whole number or Scenarios") as caught:
        solve(tiny, "scenario-search", scenarios=scenarios)
    assert caught.value.path == "scenarios"


def test_a_number_of_scenarios_may_be_of_numpy(tiny):
    assert solve(tiny, "scenario-search", scenarios=np.int64(7)).scenarios.size == 7


def test_losses_with_memory_are_refused(bell, monkeypatch):
    right = steps_module.loss_step

    def remembering(*arguments):
        return dataclasses.replace(right(*arguments), retention=0.9)

    monkeypatch.setattr(steps_module, "loss_step", remembering)
    with pytest.raises(NotCoveredError, match="memory"):
        draw_scenarios(bell, 2)
