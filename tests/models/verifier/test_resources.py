"""The verifier's cheapest resources against the closed form, a conic solver and single epochs by hand."""

import math

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depl.models.verifier.reading import EpochFacts
from depl.models.verifier.resources import least_cost, least_costs, shortest_times


def epoch(work: float, price: float, capacity: float = 1e6, communication: float = 0.0) -> EpochFacts:
    return EpochFacts(work, price, capacity, communication, resources=1.0)


FREE, IDLE = epoch(3, 0, capacity=2), epoch(0, 5, communication=0.5)


@pytest.mark.parametrize(
    ("epochs", "limit", "deadline", "cost"),
    [
        # without a binding capacity, the square of the sum of roots
        (
            [epoch(2, 3, communication=0.5), epoch(8, 0.25, communication=1), epoch(1, 1)],
            10,
            None,
            (math.sqrt(6) + math.sqrt(2) + 1) ** 2 / (10 - 1.5),
        ),
        # what just meets the round deadline, with a generous total time or without one
        ([epoch(2, 3, communication=0.5), epoch(8, 0.25, communication=1)], None, 2, 3 * 2 / 1.5 + 0.25 * 8),
        ([epoch(2, 3), epoch(8, 0.25)], 1e3, 2, 3 * 1 + 0.25 * 4),
        # a total time that needs all capacity
        ([epoch(6, 2, capacity=3, communication=0.5), epoch(8, 1, capacity=4)], 4.5, None, 2 * 3 + 1 * 4),
        # free resources and idle epochs
        ([], 5, None, 0),
        ([IDLE], 5, None, 0),
        ([FREE], 5, None, 0),
    ],
)
def test_costs_worked_out_by_hand_are_found(epochs, limit, deadline, cost):
    assert least_cost(epochs, limit, deadline) == pytest.approx(cost, rel=1e-9)


def test_plans_of_different_lengths_with_free_and_idle_epochs_are_costed_at_once():
    """Beside 1.5 for work 3 that is free, work 2 has 2 of 3.5 left and takes x = 1; alone x = 2 / 3.5."""
    plans = [[FREE, epoch(2, 1)], [epoch(2, 1)], [FREE], [epoch(2, 1), IDLE], [FREE, FREE], []]
    assert least_costs(plans, 3.5, None) == pytest.approx([1, 2 / 3.5, 0, 2 / 3, 0, 0], rel=1e-9)
    assert least_costs(plans, 3.5, 2.5) == pytest.approx([1, 0.8, 0, 0.8, 0, 0], rel=1e-9)


def test_with_all_resources_an_epoch_takes_its_work_by_them_and_its_messages():
    epochs = [epoch(6, 2, capacity=3, communication=0.5), epoch(1, 1, capacity=4), epoch(0, 1, 8, 0.25)]
    assert shortest_times(epochs).tolist() == [2.5, 0.25, 0.25]


@settings(max_examples=10, deadline=None)
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
