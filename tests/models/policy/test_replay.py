"""Policies followed on counterfactual runs: by hand on four seeds, and refused where a branch is missing."""

import math
from functools import partial
from typing import Any

import pytest

import depl
from depl.models.policy.replay import replay
from depl.models.problem.policy import Policy
from depl.models.traces.table import Traces
from tests.cases.policy_files import by_hand, node, training

BIG, SMALL = ("big", "edge"), ("small", "edge")
STEM = {"a": [2.0, 1.5, 1.1], "b": [2.0, 1.9, 1.6], "c": [1.0, 0.9, 0.8], "d": [5.0, 4.0, 3.0]}
AFTER = {1: [0.9, 0.7], 2: [0.6]}


def traces(seeds="abcd", switches=(1, 2)) -> Traces:
    """Branches that switch after epochs 1 and 2 and end after epoch 3; the second stage has given losses."""
    rows = []
    for seed in seeds:
        for switch in switches:
            losses = [*STEM[seed][: switch + 1], *AFTER[switch]]
            for epoch, loss in enumerate(losses):
                model, cluster = BIG if epoch <= switch else SMALL
                rows.append((f"{seed}/{switch}", epoch, model, cluster, loss))
    run, epoch, model, cluster, loss = zip(*rows, strict=True)
    return Traces(run, epoch, model, cluster, loss)


def policy(scale: str = "loss", first: Any = None, state: str = "observed") -> Policy:
    """Trains big once; switches up to a loss of 1.7, else trains big again; then trains small."""
    limit = 0.95 if scale == "loss" else math.log(0.95)
    big, small = partial(training, BIG, shift=0.0, price=2.0), partial(training, SMALL, shift=0.0, price=1.0)
    nodes = [
        first or node(0, None, (big(1),), ((39, 0),), True),
        node(1, BIG, (small(2), big(3)), ((17, 0), (39, 1)), False),
        node(2, SMALL, (small(4),), ((9, -1), (39, 0)), True),
        node(2, BIG, (small(4),), ((20, 0), (39, -1)), False),
        node(3, SMALL, (), ((39, -1),), True),
    ]
    grid = {"scale": scale, "origin": 0.0, "step": 0.1, "cells": 40, "target": 9, "limit": limit}
    return by_hand(maximum_loss=0.95, state=state, grid=grid, nodes=nodes)


def test_every_seed_is_followed_along_the_decisions_of_the_policy():
    found = replay(policy(), traces())
    assert [(run.seed, run.epochs, run.switched, run.cost, run.end) for run in found.runs] == [
        ("a", 2, 1, 3.0, "reached"),  # 1.5 is low enough to switch, and then 0.9
        ("b", 3, 2, 5.0, "reached"),  # 1.9 is not; 1.6 in the second epoch, and then 0.6
        ("c", 2, 1, 3.0, "reached"),  # 0.9 would do, but big may not be the last
        ("d", 0, None, 0.0, "beyond"),  # 5.0 is above the grid
    ]
    assert (found.delivered, found.cost, found.per_success) == (0.75, 2.75, 11 / 3)
    assert found.delivered_interval == pytest.approx(
        (0.19412, 0.99369), abs=1e-5
    )  # tables of Clopper-Pearson
    assert found.cost_interval[0] < 2.75 < found.cost_interval[1]


def of_one_seed(*losses, first: int = 0) -> Traces:
    """A branch with the given models and losses, from a first epoch on."""
    run, epoch, model, cluster, loss = zip(
        *(("s/1", epoch, *pair, loss) for epoch, (pair, loss) in enumerate(losses, first)), strict=True
    )
    return Traces(run, epoch, model, cluster, loss)


OTHER = of_one_seed((SMALL, 2.0), (SMALL, 1.5), (("other", "edge"), 1.0))
NOTHING = of_one_seed((BIG, 2.0), (BIG, 0.0), (SMALL, 1.0))


@pytest.mark.parametrize(
    ("scale", "runs", "words"),
    [
        ("loss", traces("b", (1,)), r"run 'b/1', epoch 2: it was trained for 1 epochs only"),
        ("loss", traces("a", (2,)), r"run 'a/2', epoch 1: no branch of it switches"),
        ("loss", OTHER, r"run 's/1', epoch 0: the policy goes on with 'big' on 'edge', which no run did"),
        ("log", NOTHING, r"epoch 1: a loss of 0 has no logarithm"),
    ],
)
def test_what_was_not_trained_is_refused_with_run_and_epoch(scale, runs, words):
    with pytest.raises(depl.NotCoveredError, match=words):
        replay(policy(scale), runs)


def test_a_run_begins_without_its_first_loss_where_the_policy_does_not_decide_on_it():
    forgetful = node(0, None, (training(BIG, 1, 1.5, 0.0, 2.0),), ((39, 0),), False)
    unseen = of_one_seed((BIG, 1.5), (SMALL, 0.9), first=1)
    for state in ("observed", "ledger"):
        found = replay(policy(first=forgetful, state=state), unseen)
        assert [(run.epochs, run.switched, run.end) for run in found.runs] == [(2, 1, "reached")]
    with pytest.raises(depl.NotCoveredError, match="epoch 0: the loss was not evaluated there"):
        replay(policy(), unseen)
