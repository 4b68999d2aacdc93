"""Scenarios: the stream is as documented, edges are exact, and what does not fit is refused."""

import dataclasses
import itertools

import numpy as np
import pytest
from scipy import stats

from depl.instances.generator import random_instances, random_plan
from depl.models.evaluation.evaluate import evaluate
from depl.models.evaluation.in_scenarios import epoch_gains, switch_losses
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import InverseSqrtImprovement
from depl.models.problem.laws import InverseGamma, Normal
from depl.models.scenarios import draws as draws_module
from depl.models.scenarios.draws import (
    allowed_misses,
    count_misses,
    draw_scenarios,
    given_scenarios,
    scenario_evidence,
    scenario_losses,
)
from depl.models.solving.solve import solve
from tests.problems import instance as made
from tests.problems import model, student

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


def test_the_stream_is_the_documented_one():
    """Per scenario and epoch: one number per model, then one per ordered pair (previous, following)."""
    falling = InverseSqrtImprovement(scale=3, noise=InverseGamma(shape=3.5, scale=2.0))
    models = (model("a", Normal(mean=2, variance=4)), model("b", falling), model("c", 1))
    instance = made(*models, other_switches=student(3, 0.2, 0.1), maximum_epochs=4)
    scenarios = draw_scenarios(instance, 30, seed=9)
    numbers = np.random.default_rng(9).random(30 * 4 * (3 + 9)).reshape(30, 4, 12)
    normal = stats.norm(2, 2).ppf(numbers[:, :, 0])
    gamma = stats.invgamma(3.5, scale=2.0).ppf(numbers[:, :, 1])
    np.testing.assert_allclose(scenarios.improvements[:, :, 0], normal, rtol=1e-12, atol=0)
    np.testing.assert_allclose(scenarios.improvements[:, :, 1], gamma, rtol=1e-12, atol=0)
    assert not scenarios.improvements[:, :, 2].any()  # drawn, but certain
    for first, second in itertools.product(range(3), repeat=2):
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


def test_rounding_to_decimals_makes_sums_and_ties_exact(bell, steady_plan):
    """In tenths the gains are whole numbers, and a sum of them is compared as a whole number would be."""
    instance = bell.replace(maximum_loss=6.0)
    drawn = draw_scenarios(instance, 2000, seed=1, decimals=1)
    gains = [epoch_gains(instance, drawn, k, "net", frozenset(["data"])) for k in (1, 2)]
    tenths = [np.round(10 * gain).astype(int) for gain in gains]
    assert all(np.array_equal(gain, whole / 10) for gain, whole in zip(gains, tenths, strict=True))
    losses = scenario_losses(instance, drawn, steady_plan)
    assert count_misses(instance, losses) == int((sum(tenths) < 40).sum())
    assert (sum(tenths) == 40).sum() > 20  # ties are what the rounding is for


def test_ties_are_met_however_the_sum_rounds(bell, steady_plan):
    """Gains 0.1 and 0.2 are one last digit off 0.3 in floating point; the target needs exactly 0.3."""
    instance = bell.replace(initial_loss=1.0, maximum_loss=0.7)
    scenarios = given_scenarios(instance, [[[0.1], [0.2], [0]], [[0.2], [0.1], [0]], [[0.1], [0.1], [0]]])
    assert scenarios.seed is None
    assert not scenarios.switch_losses.any()
    assert count_misses(instance, scenario_losses(instance, scenarios, steady_plan)) == 1


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
    assert not switch_losses(tiny, scenarios, 2, 1, 1).any()  # a model does not switch to itself


def test_the_allowed_misses_at_integer_edges_are_exact(bell):
    edges = {0.95: {1: 0, 199: 9, 200: 10}, 0.9: {49: 4, 50: 5}, 0.99: {99: 0, 100: 1}, 0.999: {1000: 1}}
    for level, allowed in (edges | {0.7: {10: 3}, 0.8: {5: 1}, 0.3: {10: 7}}).items():
        instance = bell.replace(quantile_level=level)
        assert {size: allowed_misses(instance, size) for size in allowed} == allowed


# ---- what is refused ----


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


@pytest.mark.parametrize(
    ("method", "scenarios", "words"),
    [
        (
            "milp",
            lambda tiny: draw_scenarios(tiny.replace(maximum_epochs=2), 5),
            "of 2 models and 2 epochs.* allows 3 epochs",
        ),
        (
            "scenario-search",
            lambda _: draw_scenarios(made(model("net", 2)), 5),
            "of 1 model and 3 epochs, the instance has 2",
        ),
        ("enumerate", lambda _: 10, "takes no scenarios"),
        *(
            ("scenario-search", lambda _, what=what: what, "scenarios: must be a whole number or Scenarios")
            for what in (2.5, True, "many", [1, 2], np.ones(3))
        ),
    ],
)
def test_scenarios_that_a_method_cannot_use_are_refused(tiny, method, scenarios, words):
    with pytest.raises(InvalidInputError, match=words):
        solve(tiny, method, scenarios=scenarios(tiny))


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


# ---- what a sample proves ----


def test_the_fresh_interval_contains_the_certified_probability():
    """At confidence 0.99 each; of 15 fixed seeds at most one may fail by chance."""
    rng = np.random.default_rng(12)
    missed, inside = 0, 0
    for instance in random_instances(rng, 25, maximum_epochs=(3, 6))[:15]:
        plan = random_plan(rng, instance)
        scenarios = draw_scenarios(instance, 30)
        fresh = scenario_evidence(instance, scenarios, plan, np.random.default_rng(1), 4000).fresh
        found = evaluate(instance, plan, quantile=False).violation
        missed += not (fresh.lower <= found.upper and found.lower <= fresh.upper)
        inside += 0.01 < float(found.lower) < 0.99
    assert missed <= 1
    assert inside >= 3


def test_evidence_counts_what_the_sample_says(bell, steady_plan):
    scenarios = draw_scenarios(bell, 50, seed=3, decimals=2)
    evidence = scenario_evidence(bell, scenarios, steady_plan, np.random.default_rng(0), 100)
    losses = scenario_losses(bell, scenarios, steady_plan)
    assert (evidence.size, evidence.misses) == (50, count_misses(bell, losses))
    assert evidence.allowed == allowed_misses(bell, 50) == 5
    assert (evidence.seed, evidence.decimals, evidence.digest) == (3, 2, scenarios.digest)
    assert evidence.fresh.samples == 100
