"""A plan evaluated by hand, every constraint violated alone, tolerances, and the letter of (2) and (6)."""

import math
import sys
from fractions import Fraction

import msgspec
import numpy as np
import pytest

from depl.instances.generator import random_plan
from depl.models.evaluation.evaluate import Constraint, Reading, evaluate
from depl.models.problem.instance import ComputeTable, TabledImprovement
from depl.models.problem.plan import Plan
from depl.models.verifier.verify import verify
from depl.testing.problems import with_rules
from tests.problems import atoms, drawn, gain, model, refusal, steady_epochs
from tests.problems import plan as training


def tabled(steady, *work):
    """The model with its work by a table."""
    return msgspec.structs.replace(steady.models[0], compute=(ComputeTable(epochs=work),))


def violated(found):
    assert found.feasible == all(row.satisfied for row in found.constraints)
    return [row for row in found.constraints if not row.satisfied]


# --- by hand -------------------------------------------------------------------------------------------


def test_the_tiny_optimum_has_the_numbers_that_were_computed_by_hand(tiny, tiny_optimum):
    found = evaluate(tiny, tiny_optimum)
    # cloud: c = 2 (1 + 1) = 4, s/b = 2/4; edge: c = 1, s/b = 1/1; x = 3
    assert found.epoch_times == pytest.approx((4 / 3 + 1 / 2, 4 / 3 + 1 / 2, 1 / 3 + 1), rel=1e-15)
    assert found.training_time == pytest.approx(5, rel=1e-15)
    assert (found.epochs, found.transfer_cost, found.resource_cost, found.cost) == (3, 1, 27, 28)
    # full gains 4 on average, pruned 2.5 / 2 on half of the data, and the switch costs 0.375
    assert found.expected_loss == 15 - 4 - 4 - 1.25 + 0.375
    # l(K) = 15 - {4, 8, 12} - 1.25 + {0.25, 0.5} > 6.5 only with the 4
    assert found.violation.exact == Fraction(1, 4)
    assert (found.violation.lower, found.violation.upper) == (0.25, 0.25)
    # P(l <= 2.25) = 1/4, P(l <= 6) = 1/2, P(l <= 6.25) = 3/4 is the first to reach 0.7
    assert found.quantile.exact == Fraction(25, 4)
    assert found.feasible


def test_random_plans_are_evaluated_as_by_the_verifier():
    """With rules of sites and without, hard limits and easy ones; a quantile not wanted is left out."""
    rng, feasible = np.random.default_rng(3), 0
    for index, instance in enumerate(drawn(3, 16, maximum_epochs=(2, 5))):
        asked = with_rules(rng, instance) if index % 4 == 1 else instance
        plan = random_plan(rng, asked)
        if index % 2:
            asked = asked.replace(maximum_loss=1e3, maximum_time=1e3, round_deadline=1e3)
            plan = msgspec.structs.replace(plan, instance=None)
        found, report = evaluate(asked, plan, quantile=False), verify(asked, plan)
        numbers = found.cost, found.training_time, found.expected_loss
        assert numbers == pytest.approx((report.cost, report.training_time, report.expected_loss), rel=1e-9)
        assert found.violation.lower <= report.violation.upper
        assert report.violation.lower <= found.violation.upper
        assert (found.feasible, found.quantile) == (report.ok, None)
        feasible += found.feasible
    assert 3 < feasible < 13


@pytest.mark.parametrize(("maximum_loss", "missed"), [(11, 0), (10 - 0.9e-9, 0), (10 - 1.1e-9, 1), (9, 1)])
def test_not_training_costs_nothing_and_is_feasible_if_the_initial_loss_is_good_enough(
    steady, maximum_loss, missed
):
    for omega in (0.01, 0.99999):
        instance = steady.replace(maximum_loss=maximum_loss, quantile_level=omega, maximum_epochs=0)
        found = evaluate(instance, Plan())
        assert (found.cost, found.training_time, found.epochs, found.epoch_times) == (0, 0, 0, ())
        assert (found.expected_loss, found.violation.exact, found.feasible) == (10, missed, not missed)


# --- every constraint, violated alone ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "resources", "name", "equation", "value", "limit"),
    [
        ({}, (10.5, 4), "resources at epoch 1", "(5)", 10.5, 10),
        ({}, (4, 10.5), "resources at epoch 2", "(5)", 10.5, 10),
        ({}, (4, 2), "training time", "(4)", 2.5 + 4.5, 5),
        ({"round_deadline": 2.6, "maximum_time": 9}, (4, 2), "round deadline at epoch 2", "tau", 4.5, 2.6),
        ({"maximum_epochs": 1}, (4, 4), "epochs", "K_max", 2, 1),
        ({"maximum_loss": 5.9}, (4, 4), "probability of missing the target", "(3)", 1, 0.1),
        ({}, (8,), "probability of missing the target", "(3)", 1, 0.1),
    ],
)
def test_a_violated_constraint_shows_its_two_sides(steady, changes, resources, name, equation, value, limit):
    found = violated(evaluate(steady.replace(**changes), steady_epochs(*resources)))
    assert found == [Constraint(name, equation, value, limit, False)]
    assert not found[0].binding


def test_work_without_resources_never_ends_and_resources_without_work_are_refused(steady):
    found = evaluate(steady, steady_epochs(4, 0))
    assert found.epoch_times == (2.5, math.inf)
    ended = [("finite time at epoch 2", math.inf, sys.float_info.max), ("training time", math.inf, 5)]
    assert [(row.name, row.value, row.limit) for row in violated(found)] == ended
    late = violated(evaluate(steady.replace(round_deadline=3, maximum_time=None), steady_epochs(4, 0)))
    assert [(row.name, row.value, row.limit) for row in late] == [("round deadline at epoch 2", math.inf, 3)]
    assert not any(row.binding for row in [*late, *violated(found)])
    idle = steady.replace(models=[tabled(steady, 8, 0, 8)])
    found = evaluate(idle, steady_epochs(4, 0))
    assert (found.feasible, found.epoch_times, found.cost) == (True, (2.5, 0.5), 12)
    wasted = Constraint("resources at epoch 2", "(5)", 1, 0, False)
    assert violated(evaluate(idle, steady_epochs(4, 1))) == [wasted]


def test_where_there_is_no_loss_or_work_to_evaluate_the_place_is_named(tiny, tiny_optimum, steady):
    """After a forbidden switch, after tables end (but not where K_max does), and in another instance."""
    models = ("full", "pruned", "full")
    plan = training(*((model, "cloud", 3.0) for model in models), data={"cloud": ("archive",)})
    first = training(("full", "cloud", 3.0), data={"cloud": ("archive",)})
    forbidden = "switch from 'pruned' to 'full' is forbidden"
    rows = [
        (tiny, plan, forbidden, "$.epochs[2].model"),
        (tiny.replace(initial_model="pruned"), first, forbidden, "$.epochs[0].model"),
        (steady, tiny_optimum, "'cloud' is not defined", None),
    ]
    improvements = [gain(2)] * 3
    for net in (
        model("net", TabledImprovement(epochs=improvements)),
        tabled(steady, 8, 8, 8),
    ):
        short = steady.replace(models=[net], maximum_epochs=2)
        assert [row.name for row in violated(evaluate(short, steady_epochs(9, 9, 9)))] == ["epochs"]
        words = "the tables of model 'net' end before epoch 4"
        rows.append((short, steady_epochs(9, 9, 9, 9), words, "$.epochs[3]"))
    for instance, plan, words, path in rows:
        found = refusal(evaluate, instance, plan)
        assert words in found.message
        assert path in (None, found.path)


# --- tolerances ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "resources", "feasible"),
    [
        ({"maximum_time": 5 / (1 + 0.9e-9)}, 4, True),
        ({"maximum_time": 5 / (1 + 1.1e-9)}, 4, False),
        ({"maximum_time": 9, "round_deadline": 2.5 / (1 + 0.9e-9)}, 4, True),
        ({"maximum_time": 9, "round_deadline": 2.5 / (1 + 1.1e-9)}, 4, False),
        ({}, 10 * (1 + 0.9e-12), True),
        ({}, 10 * (1 + 1.1e-12), False),
        ({"maximum_loss": 6 - 0.9e-9}, 4, True),
        ({"maximum_loss": 6 - 1.1e-9}, 4, False),
    ],
)
def test_limits_may_be_exceeded_by_their_tolerances_alone(steady, changes, resources, feasible):
    """A billionth of a time, a rounding of a capacity, a billionth below an atom, certain or random."""
    assert evaluate(steady.replace(**changes), steady_epochs(resources, 4)).feasible is feasible
    improvement = gain(atoms(2, 4))
    random = steady.replace(models=[model("net", improvement)], **changes)
    assert evaluate(random, steady_epochs(resources, 4)).feasible is feasible


@pytest.mark.parametrize("omega", ["0.9", "0.999", "0.1", "0.7"])
def test_a_violation_of_exactly_one_minus_omega_is_feasible(steady, omega):
    """In binary 1 - 0.9 is below 0.1: only the decimals that were written make this come out."""
    level = Fraction(omega)
    law = atoms(4, 0, weights=(level.numerator, level.denominator - level.numerator))
    instance = steady.replace(models=[model("net", law)], quantile_level=float(omega))
    found = evaluate(instance, steady_epochs(4))
    assert found.violation.exact == 1 - level
    assert found.feasible
    assert not evaluate(instance.replace(quantile_level=float(omega) + 1e-9), steady_epochs(4)).feasible


# --- the letter of the paper ---------------------------------------------------------------------------


def test_the_letter_of_the_objective_pays_transfers_in_every_epoch(tiny, tiny_optimum):
    """E2."""
    intent = evaluate(tiny, tiny_optimum)
    letter = evaluate(tiny, tiny_optimum, Reading(transfer_every_epoch=True))
    assert (intent.transfer_cost, letter.transfer_cost) == (1, 3)
    assert (intent.cost, letter.cost) == (28, 30)
    assert letter.constraints == intent.constraints


def test_the_letter_of_the_data_constraint_wants_every_cluster_with_data_in_every_epoch(tiny, tiny_optimum):
    """E1: with two clusters no plan can satisfy it, because one trains at a time."""
    letter = evaluate(tiny, tiny_optimum, Reading(data_requires_every_epoch=True))
    named = [
        (f"epochs in which '{name}' has data but does not train", epochs)
        for name, epochs in (("cloud", 1), ("edge", 2))
    ]
    wanted = [Constraint(name, "(6) as printed, E1", epochs, 0, False) for name, epochs in named]
    assert violated(letter) == wanted
    assert letter.cost == evaluate(tiny, tiny_optimum).cost
