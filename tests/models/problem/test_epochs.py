"""What one epoch does to the loss and asks of a cluster; nobody else reads the laws (`test_one_place`)."""

import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from depl.models.problem.epochs import Load, LossStep, Term, compose, compute, load, loss_step
from depl.models.problem.instance import (
    ComputeTable,
    InverseSqrtImprovement,
    PowerDataLaw,
)
from depl.models.problem.laws import (
    Deterministic,
    Empirical,
    Forbidden,
    InverseGamma,
    Normal,
    Zero,
)
from tests.problems import gain, gains, instance, model, refusal, site, student

NORMAL = Normal(mean=1, variance=4)
GAMMA = InverseGamma(shape=3, scale=4)
SWITCH = student(5, 0.3, 0.1, 0, 0.6)
ALL, LEFT, RIGHT = frozenset({"left", "right"}), frozenset({"left"}), frozenset({"right"})


def instance_with(improvement, switch=0):
    """Models ``net`` and ``other``; datasets of volume 1 and 3 under the law Q^(-1/2): h(left) = 1 / 2."""
    return instance(
        model("net", improvement),
        model("other", improvement),
        datasets={"left": 1, "right": 3},
        data_law=PowerDataLaw(p=0.5),
        switches={("other", "net"): switch},
        other_switches=Forbidden(),
    )


# --- the step of one epoch -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("improvement", "epoch", "coefficient"),
    [
        (InverseSqrtImprovement(scale=6, noise=NORMAL), 1, -6),
        (InverseSqrtImprovement(scale=6, noise=NORMAL), 4, -3),
        (InverseSqrtImprovement(scale=6, offset=5, noise=NORMAL), 4, -2),
        (InverseSqrtImprovement(scale=6, offset=-0.75, noise=NORMAL), 1, -12),
        (gain(NORMAL), 1, -1),
        (gain(NORMAL, 3), 2, -3),
        (gain(NORMAL, -3), 2, 3),
        (gains(7, gain(NORMAL, 8), GAMMA), 2, -8),
    ],
)
def test_an_epoch_lowers_the_loss_by_the_coefficient_of_its_shape(improvement, epoch, coefficient):
    given = instance_with(improvement)
    step = loss_step(given, epoch, 0, None, "net", ALL)
    assert step == LossStep(1.0, 0.0, (Term(coefficient, NORMAL),))
    half = loss_step(given, epoch, 0, None, "net", LEFT)
    assert half == LossStep(1.0, 0.0, (Term(coefficient / 2, NORMAL),))
    part = loss_step(given, epoch, 0, "net", "net", RIGHT)
    assert part.terms[0].coefficient == pytest.approx(coefficient * math.sqrt(3) / 2, rel=1e-15)


@pytest.mark.parametrize(
    ("law", "shift", "terms"),
    [
        (SWITCH, 0, (Term(1.0, SWITCH),)),
        (Normal(mean=1, variance=2), 0, (Term(1.0, Normal(mean=1, variance=2)),)),
        (Empirical(values=(1, 2)), 0, (Term(1.0, Empirical(values=(1, 2))),)),
        (Deterministic(value=0.25), 0.25, ()),
        (Zero(), 0, ()),
    ],
)
def test_a_switch_adds_its_law_undiminished_by_the_data(law, shift, terms):
    given, run = instance_with(gain(GAMMA, 4), law), Term(-2.0, GAMMA)
    assert loss_step(given, 2, 0, "other", "net", LEFT) == LossStep(1.0, shift, (run, *terms))


def test_there_is_no_switch_at_the_start_or_when_the_model_stays_and_a_forbidden_one_has_no_step():
    given = instance_with(gain(GAMMA), 9)
    for previous in (None, "net"):
        assert loss_step(given, 1, 0, previous, "net", ALL) == LossStep(1.0, 0.0, (Term(-1.0, GAMMA),))
    error = refusal(loss_step, given, 2, 0, "net", "other", ALL)
    assert "the switch from 'net' to 'other' is forbidden" in error.message


def test_what_is_certain_goes_to_the_shift_and_what_is_nothing_goes_away():
    certain = instance_with(gain(Deterministic(value=3), 4), SWITCH)
    assert loss_step(certain, 2, 0, "other", "net", LEFT) == LossStep(1.0, -6.0, (Term(1.0, SWITCH),))
    useless = instance_with(gain(GAMMA, 0), Zero())
    assert loss_step(useless, 2, 0, "other", "net", LEFT) == LossStep(1.0, 0.0, ())


# --- the sum of all epochs -----------------------------------------------------------------------------


factors = st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0])
terms = st.builds(Term, st.sampled_from([-2.0, -1.0, 0.5]), st.sampled_from([NORMAL, GAMMA, SWITCH]))
loss_steps = st.builds(LossStep, factors, st.floats(-9, 9), st.lists(terms, max_size=3).map(tuple))


@given(st.floats(-9, 9), st.lists(loss_steps, max_size=8))
def test_composition_is_the_recursion(initial, steps):
    """Mean and variance by the recursion of eq. (1), step by step."""
    mean, variance = initial, 0.0
    for step in steps:
        moments = [(term.coefficient, term.law.moments()) for term in step.terms]
        mean = step.retention * mean + step.shift + sum(weight * law.mean for weight, law in moments)
        variance = step.retention**2 * variance + sum(weight**2 * law.variance for weight, law in moments)
    found = compose(initial, steps)
    assert found.mean() == pytest.approx(mean, rel=1e-12, abs=1e-12)
    assert found.variance() == pytest.approx(variance, rel=1e-12, abs=1e-12)
    assert len({term for term, _ in found.terms}) == len(found.terms)
    if all(step.retention > 0 for step in steps):
        assert sum(count for _, count in found.terms) == sum(len(step.terms) for step in steps)


# --- the load of one epoch -----------------------------------------------------------------------------


def test_the_load_is_the_work_of_the_data_shared_by_the_nodes_that_are_all_paid():
    data = {"name": "a", "volume": 4}, {"name": "b", "volume": 1, "work": 6}
    given = instance(model("net", 2), clusters=site(nodes=4), datasets=data)
    assert load(given, 1, "net", "site", frozenset("ab")) == Load(
        work=2 * (4 + 6) / 4, price=4 * 3, capacity=10, communication=1 / 2
    )
    assert load(given, 3, "net", "site", frozenset("b")).work == 2 * 6 / 4
    assert compute(given, 1, "net", frozenset("a")) == 8


def test_a_table_of_computing_replaces_demand_and_work():
    def tabled(*tables, **volumes):
        return instance(model("net", 2, 1, compute=tables), datasets=volumes)

    whole = tabled(ComputeTable(epochs=(5, 0, 7)), left=4, right=1)
    assert [compute(whole, k, "net", data) for k, data in ((1, ALL), (2, LEFT), (3, RIGHT))] == [5, 0, 7]
    each = ComputeTable(dataset="a", epochs=(1, 2, 3)), ComputeTable(dataset="b", epochs=(10, 20, 30))
    by_data = tabled(*each, a=4, b=1)
    assert [compute(by_data, k, "net", frozenset("ab")) for k in (1, 2, 3)] == [11, 22, 33]
    assert [compute(by_data, k, "net", frozenset("b")) for k in (1, 2, 3)] == [10, 20, 30]
    assert load(by_data, 2, "net", "site", frozenset("a")) == Load(2.0, 3.0, 10.0, 0.5)


def test_a_term_travels_without_its_kept_hash():
    assert hash(Term(-0.5, GAMMA)) == hash(Term(-0.5, GAMMA))
    sent = pickle.dumps(Term(-0.5, GAMMA))
    assert b"_hash" not in sent
    assert pickle.loads(sent) == Term(-0.5, GAMMA)
