"""Policies counted over combinations of runs: what is capped, what is counted, and what ordinary runs get."""

import numpy as np
import pytest

import depl
from depl.models.foundation.errors import NotCoveredError
from depl.models.policy import counted as counting
from depl.models.policy import counted_planner, planning
from depl.models.policy.counted import counted
from depl.models.policy.counted_planner import Caps, capped, proxy
from depl.models.policy.dynamic import Table
from depl.models.policy.grid import Grid
from depl.models.policy.planning import solve_policy
from depl.models.policy.prices import Price
from depl.models.policy.process import process
from depl.models.policy.request import Request, policy_of
from depl.models.problem.instance import Instance
from depl.models.problem.policy import STOP, Policy
from depl.models.solving.result import Termination
from tests.cases.memory_cases import CUT, FULL, fitted, instance_of, run_of


def switching(*designs: tuple[int, int, int], **target: object) -> Instance:
    """Runs by their number and the epochs of their two stages; losses fall to 0.7, a little apart."""
    stages = [(first, later) for runs, first, later in designs for _ in range(runs)]
    runs = [
        run_of([(FULL, first), (CUT, later)], np.array(LOSSES[: 1 + first + later]) + 0.001 * place)
        for place, (first, later) in enumerate(stages)
    ]
    law = fitted(runs, np.random.default_rng(3), residuals="per_run")
    limits = {"round_deadline": 6.0, "maximum_time": None, "maximum_epochs": 4}
    return instance_of(law, **limits | target)


LOSSES = (2.0, 1.5, 0.8, 0.75, 0.7)
SHORT = switching((6, 1, 3), (12, 1, 1), maximum_loss=0.9, quantile_level=0.6)
"""Six runs trained the second stage for three epochs, twelve more for one; one epoch is enough."""
CROSSED = switching((12, 2, 1), (12, 1, 3), maximum_loss=1.0, quantile_level=0.3)
"""Twelve runs trained the second stage for three epochs after one of the first, twelve for one after two."""


def of_all_ways(caps: Caps) -> Policy:
    """A policy that may train whatever the caps allow, now this and now that as the loss rises."""
    chain = capped(process(proxy(CROSSED)), caps)
    grid = Grid.of(chain, 256)
    cells = np.arange(grid.cells)
    actions = tuple(
        (cells % len(node.trainings) if node.trainings else np.full(grid.cells, STOP)).astype(np.int16)
        for node in chain.nodes
    )
    start = next(number for number, item in enumerate(chain.starts) if chain.nodes[item.node].trainings)
    table = Table(actions, start, 1e3, 0.7, 1e3)
    return policy_of(Request(CROSSED), chain, grid, table, Price(1e3, None), "observed")


def test_there_is_an_answer_as_soon_as_a_fixed_plan_keeps_the_promise(monkeypatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(counted_planner, "capped", interrupted)
    found = solve_policy(SHORT)
    assert found.termination is Termination.INTERRUPTED
    assert found.policy is not None
    assert found.reached >= 0.6


def test_more_epochs_are_tried_where_those_that_the_proxy_asks_for_keep_no_promise(monkeypatch):
    """The first class has two epochs, after which a third of the runs is below the target."""
    monkeypatch.setattr(planning, "restriction", lambda *_: 2)
    instance = SHORT.replace(maximum_time=20.0, maximum_loss=0.805)
    found = solve_policy(instance)
    assert found.policy is not None
    assert (found.policy.maximum_epochs, found.policy.round_deadline) == (3, 6.0)
    assert found.restriction.startswith("at most 3 epochs of at most 6 each")
    assert depl.evaluate_policy(instance, found.policy).ok
    nothing = solve_policy(instance.replace(quantile_level=0.99))
    assert (nothing.policy, nothing.termination) == (None, Termination.EXHAUSTED)
    assert "Record more runs" in nothing.reason
    assert nothing.restriction.startswith("at most 4 epochs of at most 5 each")


def test_no_stage_begins_later_than_those_that_lend_to_it():
    for caps in (Caps(2, 1), Caps(1, 3)):
        assert counted(of_all_ways(caps), CROSSED.traced_law).runs == 12
    with pytest.raises(NotCoveredError, match=r"outside the support.*began with it after 2 epochs or more"):
        counted(of_all_ways(Caps(2, 3)), CROSSED.traced_law)


def test_more_combinations_than_can_be_followed_are_refused(monkeypatch):
    policy = of_all_ways(Caps(2, 1))
    monkeypatch.setattr(counting, "MOST_PATHS", most := 12 * 12)
    assert counted(policy, CROSSED.traced_law).runs == 12
    monkeypatch.setattr(counting, "MOST_PATHS", most - 1)
    with pytest.raises(NotCoveredError, match="more than 143 combinations of runs had to be"):
        counted(policy, CROSSED.traced_law)
