"""The verifier's cheapest resources against the closed form, a conic solver and single epochs by hand."""

import math

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depl.models.verifier.reading import EpochFacts
from depl.models.verifier.resources import least_cost, shortest_times


def epoch(work: float, price: float, capacity: float = 1e6, communication: float = 0.0) -> EpochFacts:
    return EpochFacts(work, price, capacity, communication, resources=1.0)


def test_without_a_binding_capacity_the_cost_is_the_square_of_the_sum_of_roots():
    epochs = [epoch(2, 3, communication=0.5), epoch(8, 0.25, communication=1), epoch(1, 1)]
    expected = (math.sqrt(6) + math.sqrt(2) + 1) ** 2 / (10 - 1.5)
    assert least_cost(epochs, 10, None) == pytest.approx(expected, rel=1e-12)


def test_a_round_deadline_alone_asks_for_what_just_meets_it():
    epochs = [epoch(2, 3, communication=0.5), epoch(8, 0.25, communication=1)]
    assert least_cost(epochs, None, 2) == pytest.approx(3 * 2 / 1.5 + 0.25 * 8 / 1, rel=1e-12)


def test_a_generous_total_time_leaves_only_the_round_deadline():
    epochs = [epoch(2, 3), epoch(8, 0.25)]
    assert least_cost(epochs, 1e3, 2) == pytest.approx(3 * 1 + 0.25 * 4, rel=1e-12)


def test_a_total_time_that_needs_all_capacity_costs_all_capacity():
    epochs = [epoch(6, 2, capacity=3, communication=0.5), epoch(8, 1, capacity=4)]
    assert least_cost(epochs, 4.5, None) == pytest.approx(2 * 3 + 1 * 4, rel=1e-9)


def test_free_resources_and_idle_epochs_cost_nothing():
    assert least_cost([], 5, None) == 0
    assert least_cost([epoch(0, 2, communication=1)], 5, None) == 0
    assert least_cost([epoch(3, 0)], 5, None) == 0
    assert least_cost([epoch(3, 0, capacity=2), epoch(2, 1)], 3.5, None) == pytest.approx(1, rel=1e-12)


def test_with_all_resources_an_epoch_takes_its_work_by_them_and_its_messages():
    epochs = [epoch(6, 2, capacity=3, communication=0.5), epoch(1, 1, capacity=4), epoch(0, 1, 8, 0.25)]
    assert shortest_times(epochs).tolist() == [2.5, 0.25, 0.25]


def test_free_and_idle_epochs_beside_others():
    """Beside 1.5 for work 3 that is free, work 2 has 2 of 3.5 left and takes x = 1; alone x = 2 / 3.5."""
    free, idle = epoch(3, 0, capacity=2), epoch(0, 5, communication=0.5)
    plans = [[free, epoch(2, 1)], [epoch(2, 1)], [free], [epoch(2, 1), idle], [free, free]]
    expected = [1, 2 / 3.5, 0, 2 / 3, 0]
    assert [least_cost(plan, 3.5, None) for plan in plans] == pytest.approx(expected, rel=1e-9)
    assert [least_cost(plan, 3.5, 2.5) for plan in plans] == pytest.approx([1, 0.8, 0, 0.8, 0], rel=1e-9)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0.1, 10), st.floats(0.1, 10), st.floats(0.5, 5), st.floats(0, 1)),
        min_size=1,
        max_size=4,
    ),
    st.floats(1.02, 4),
    st.booleans(),
)
def test_the_search_agrees_with_a_conic_solver(rows, slack, with_deadline):
    works, prices, capacities, communications = (np.array(column) for column in zip(*rows, strict=True))
    fastest = works / capacities + communications
    limit = float(fastest.sum() * slack)
    deadline = float(fastest.max() * 1.3) if with_deadline else None
    resources = cp.Variable(len(rows))
    times = cp.multiply(works, cp.inv_pos(resources)) + communications
    constraints = [cp.sum(times) <= limit, resources <= capacities]
    if deadline is not None:
        constraints.append(times <= deadline)
    problem = cp.Problem(cp.Minimize(prices @ resources), constraints)
    problem.solve(solver=cp.CLARABEL)
    epochs = [EpochFacts(*(float(value) for value in row), resources=1.0) for row in rows]
    assert least_cost(epochs, limit, deadline) == pytest.approx(problem.value, rel=1e-6)
