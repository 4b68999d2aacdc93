"""The quick parts of the lower bounds may only exclude; what is open is said to be open."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import depl
from depl.models.problem.instance import ConstantImprovement, Model
from depl.models.problem.laws import Deterministic, Empirical
from depl.models.scenarios.draws import draw_scenarios
from depl.models.verifier import requirements as verifier_requirements
from depl.models.verifier.laws import Bracket
from depl.models.verifier.reading import LossFacts
from depl.models.verifier.requirements import CountRequirement, LawRequirement
from depl.models.verifier.sample import given_sample
from depl.models.verifier.scenarios import Count

SIZE = 4


@pytest.fixture(scope="module")
def counting(tiny):
    """One of four scenarios may be missed."""
    drawn = draw_scenarios(tiny, SIZE, seed=2)
    return CountRequirement(tiny, given_sample((drawn.improvements, drawn.switch_losses), None), 1)


@pytest.fixture(scope="module")
def needed(tiny):
    return tiny.target.initial_loss - tiny.target.maximum_loss


@pytest.mark.parametrize(
    ("lower", "upper", "short", "possible"),
    [
        (0.0, 0.0, 4, True),
        (-5e-10, -5e-10, 4, True),  # within the atom tolerance
        (-1e-6, -1e-6, 1, True),
        (-1e-6, -1e-6, 2, False),
        (-1.0, 1.0, 4, True),  # rounding leaves it open
    ],
)
def test_a_sequence_is_excluded_only_if_too_many_scenarios_certainly_miss(
    counting, needed, lower, upper, short, possible
):
    sums = np.full((1, 2 * SIZE), needed + 1.0)
    sums[0, :short], sums[0, SIZE : SIZE + short] = needed + lower, needed + upper
    assert counting.possible(sums).tolist() == [possible]


def test_a_loss_between_1_and_2_lowers_the_gain_by_2_at_most_and_1_at_least(counting, monkeypatch):
    ends = SimpleNamespace(lower=np.full(SIZE, 1.0), upper=np.full(SIZE, 2.0))
    monkeypatch.setattr(verifier_requirements, "switch_losses", lambda *_: ends)
    assert counting.switch(2, 0, 1).tolist() == [-2.0] * SIZE + [-1.0] * SIZE


def test_a_count_that_is_open_may_meet_and_is_not_certain_to(counting, monkeypatch, tiny_optimum):
    monkeypatch.setattr(verifier_requirements, "counted", lambda *_: Count(certain=1, possible=2, allowed=1))
    assert counting.verdict(tiny_optimum) == (True, False)


def test_a_probability_that_is_open_may_meet_and_is_not_certain_to(tiny, monkeypatch, tiny_optimum):
    budget = 1 - Fraction(str(tiny.target.quantile_level))
    around = Bracket(budget / 2, budget * 2)
    monkeypatch.setattr(LossFacts, "exceeding", lambda *_: around)
    assert LawRequirement(tiny).verdict(tiny_optimum) == (True, False)


def test_as_many_probabilities_as_said_are_computed_and_then_remembered(steady, steady_plan, monkeypatch):
    monkeypatch.setattr(verifier_requirements, "MOST_PROBABILITIES", 1)
    shorter = depl.Plan(data=steady_plan.data, epochs=steady_plan.epochs[:1])
    requirement = LawRequirement(steady)
    assert requirement.verdict(steady_plan) == (True, True)
    assert requirement.verdict(shorter) is None
    assert requirement.verdict(steady_plan) == (True, True)


@pytest.mark.parametrize(("level", "possible"), [(0.75, True), (0.76, False)])
def test_two_atoms_attain_the_inequality_of_cantelli(steady, level, possible):
    """l(1) is 6 with probability 3/4 and 10 else: mean 7, variance 3, and V / (V + (7 - 6)^2) = 3/4."""
    law = Empirical(values=(4.0, 0.0), weights=(3.0, 1.0))
    model = Model(name="net", size=1, demand=2, improvement=ConstantImprovement(noise=law))
    requirement = LawRequirement(steady.replace(models=(model,), quantile_level=level))
    sums = requirement.nothing() + requirement.epoch(1, 0, frozenset({"data"}))
    assert sums == pytest.approx([-3.0, 3.0])
    assert requirement.possible(sums[None]).tolist() == [possible]


@pytest.mark.parametrize(("off", "possible"), [(0.0, True), (0.9e-13, True), (1e-12, False)])
def test_sums_off_by_their_rounding_exclude_nothing_and_by_much_more_they_do(steady, off, possible):
    """With omega = 3/4, a mean E above l_max and a variance 3 E^2 attain the inequality of Cantelli.

    E is so great that only what is relative to the sums counts.
    """
    instance = steady.replace(initial_loss=1.0, maximum_loss=1.0, quantile_level=0.75)
    sums = np.array([[1e6 * (1 + off), 3e12 * (1 - off)]])
    assert LawRequirement(instance).possible(sums).tolist() == [possible]


def test_what_is_certain_has_no_variance(steady):
    """steady gains 2 per epoch; a switch that costs 0.5 for certain adds that."""
    requirement = LawRequirement(steady.replace(other_switches=Deterministic(value=0.5)))
    assert requirement.epoch(1, 0, frozenset({"data"})).tolist() == [-2.0, 0.0]
    assert requirement.switch(2, 0, 0).tolist() == [0.5, 0.0]


def test_an_infinite_variance_excludes_nothing(steady):
    assert LawRequirement(steady).possible(np.array([[5.0, np.inf]])).tolist() == [True]


def test_less_data_lowers_mean_and_deviation_by_the_learning_factor(tiny):
    part, requirement = frozenset({"sensors"}), LawRequirement(tiny)
    factor = float(tiny.learning_factor(part))
    assert factor < 1
    whole = requirement.epoch(1, 0, frozenset({"archive", "sensors"}))
    assert requirement.epoch(1, 0, part) == pytest.approx(whole * [factor, factor**2])
