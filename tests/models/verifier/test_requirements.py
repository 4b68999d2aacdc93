"""What Cantelli's inequality excludes; what is open is said to be open."""

from fractions import Fraction

import pytest

import depl
from depl.models.problem.laws import Normal
from depl.models.scenarios.draws import draw_scenarios
from depl.models.verifier import plans as verifier_requirements
from depl.models.verifier.laws import Bracket, Increment
from depl.models.verifier.losses import LossFacts
from depl.models.verifier.plans import Requirement, excluded
from depl.models.verifier.scenarios import Count, given_sample
from tests.problems import atoms, student


def test_what_is_open_may_meet_and_is_not_certain_to(tiny, monkeypatch, tiny_optimum):
    """A count, and a probability."""
    drawn = draw_scenarios(tiny, 4, seed=2)
    counting = Requirement(tiny, given_sample((drawn.improvements, drawn.switch_losses), None))
    monkeypatch.setattr(verifier_requirements, "counted", lambda *_: Count(certain=1, possible=2, allowed=1))
    assert counting.verdict(tiny_optimum) == (True, False)
    budget = 1 - Fraction(str(tiny.target.quantile_level))
    monkeypatch.setattr(LossFacts, "exceeding", lambda *_: Bracket(budget / 2, budget * 2))
    assert Requirement(tiny).verdict(tiny_optimum) == (True, False)


def test_as_many_probabilities_as_said_are_computed_and_then_remembered(steady, steady_plan, monkeypatch):
    monkeypatch.setattr(verifier_requirements, "MOST_PROBABILITIES", 1)
    longer = depl.Plan(data=steady_plan.data, epochs=(*steady_plan.epochs, steady_plan.epochs[0]))
    requirement = Requirement(steady)
    assert requirement.verdict(steady_plan) == (True, True)
    assert requirement.verdict(longer) is None
    assert requirement.verdict(steady_plan) == (True, True)


def facts(certain, *increments):
    return LossFacts(Fraction(certain), tuple(increments), ())


@pytest.mark.parametrize(("level", "left_out"), [(0.75, False), (0.76, True)])
def test_two_atoms_attain_the_inequality_of_cantelli(level, left_out):
    """l(1) is 6 with probability 3/4 and 10 else: mean 7, variance 3, and V / (V + (7 - 6)^2) = 3/4."""
    law = atoms(4.0, 0.0, weights=(3.0, 1.0))
    assert excluded(facts(10, Increment(Fraction(-1), law)), 6.0, level) is left_out


@pytest.mark.parametrize(("off", "left_out"), [(0.0, False), (0.9e-13, False), (1e-12, True)])
def test_sums_off_by_their_rounding_exclude_nothing_and_by_much_more_they_do(off, left_out):
    """With omega = 3/4, a mean E above l_max and a variance 3 E^2 attain the inequality of Cantelli.

    E is so great that only what is relative to the sums counts.
    """
    law = Normal(mean=1e6 * (1 + off), variance=3e12 * (1 - off))
    assert excluded(facts(0, Increment(Fraction(1), law)), 0.0, 0.75) is left_out


def test_copies_add_up_and_a_coefficient_counts_twice_in_the_variance():
    """Four copies of half of it: mean 2, variance 4 / 4 * v."""
    for variance, left_out in ((11.9, True), (12.1, False)):
        item = Increment(Fraction(1, 2), Normal(mean=1.0, variance=variance), 4)
        assert excluded(facts(0, item), 0.0, 0.75) is left_out


def test_what_is_certain_and_too_much_is_excluded_and_an_infinite_variance_excludes_nothing():
    assert excluded(facts(5), 4.0, 0.9)
    assert not excluded(facts(5), 5.0, 0.9)
    wide = student(2.0, 0.0, 1e-3)
    assert not excluded(facts(5, Increment(Fraction(1), wide)), 4.0, 0.999)
