"""The walker of many runs comes where a controller comes with each of them."""

import json
import math

import numpy as np
import pytest

from depl.models.policy.controller import Controller
from depl.models.policy.decisions import Stop
from depl.models.policy.follow import Runs, follow, greatest_costs
from depl.models.policy.rules import BEYOND
from depl.models.problem.policy import Policy
from tests.cases.policy_files import by_hand, forgetful, logarithmic


class Given:
    """Losses of all epochs of runs, on the scale of the law."""

    def __init__(self, policy: Policy, losses: np.ndarray) -> None:
        self.policy, self.losses = policy, losses

    def begin(self) -> Runs:
        return Runs(self.losses[:, 0], (np.arange(len(self.losses)),))

    def train(self, node: int, training: int, runs: Runs) -> tuple[Runs, np.ndarray]:
        return runs, self.losses[runs.own[0], self.policy.nodes[node].epoch + 1]


def led(policy: Policy, losses: list[float]) -> tuple[str, int, float, int | None]:
    """How a run ends, after how many epochs, at which cost and state."""
    controller = Controller(policy)
    decision = controller.start(None if math.isnan(losses[0]) else losses[0])
    while not isinstance(decision, Stop):
        decision = controller.observe(losses[decision.epoch + 1])
    end = "exhausted" if decision.reason == "deadline" else decision.reason
    return "beyond" if decision.note == BEYOND else end, decision.epoch, controller.cost, controller.ledger


@pytest.mark.parametrize(
    "policy",
    [by_hand(), by_hand(state="observed"), forgetful(), forgetful(state="observed"),
     Policy.from_json(json.dumps(logarithmic()))],
)  # fmt: skip
def test_every_run_ends_where_a_controller_ends_it(policy: Policy) -> None:
    rng, logarithms = np.random.default_rng(1), policy.grid.scale == "log"
    losses = np.abs(rng.uniform(0.2, 2.1, (400, 1)) - np.cumsum(rng.uniform(-0.3, 0.6, (400, 4)), axis=1))
    losses[:20, 0], losses[20:40, 1] = 1e300, 1e300
    if policy == forgetful(state=policy.state):
        losses[40:200, 0] = math.nan
    found = {}
    for some in follow(policy, Given(policy, np.log(losses) if logarithms else losses)):
        ended = zip(some.runs.own[0], some.runs.costs, some.runs.states, strict=True)
        found |= {run: (some.end, some.epoch, cost, state) for run, cost, state in ended}
    wanted = [led(policy, row) for row in losses.tolist()]
    assert len({end for end, *_ in wanted}) >= 3
    for run, (end, epoch, cost, state) in enumerate(wanted):
        assert found[run][:3] == (end, epoch, cost), run
        assert found[run][3] == state or end == "beyond", run


def test_the_greatest_cost_is_that_of_the_dearest_way() -> None:
    assert greatest_costs(by_hand()) == [6.0, 5.0, 2.5, 2.5, 0.0]
