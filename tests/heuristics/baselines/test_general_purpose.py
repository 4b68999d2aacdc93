"""Density greedy and the two peers: closed forms, certificates, what they find and what not."""

import math

import numpy as np
import pytest

import depl
from depl.heuristics.baselines.drafts import Appraiser, Draft
from depl.heuristics.baselines.peers import random_draft
from depl.instances.generator import random_instances
from depl.models.evaluation.evaluate import evaluate, final_loss
from depl.models.solving.limits import Limits
from tests.problems import instance as made
from tests.problems import model, site

SMALL = random_instances(np.random.default_rng(81), 5, maximum_epochs=(3, 5))
FEW = {"random": {"draws": 30}}


def solved(instance, method, **limits):
    return depl.solve(instance, method, options=FEW.get(method), **limits)


@pytest.mark.parametrize(
    ("method", "cost"),
    [
        ("random", 28.0),  # the optimum
        # all on cloud, with pruned last; density does not see that the last epoch could be cheaper elsewhere
        ("density-greedy", (8 + math.sqrt(8)) ** 2 / 3.75 + 1),
        ("fastest-cluster", 144 / 3.5 + 1),  # full alone
    ],
)
def test_closed_forms(tiny, steady, method, cost):
    assert depl.solve(tiny, method).cost == pytest.approx(cost)
    assert solved(steady, method).cost == pytest.approx(24.0)


def test_the_greedy_takes_the_densest_item_and_pays_for_it():
    """Two of 5 for 5; three of 3 for 3.2 cover 9 for 9.6 as well, but no single exchange leads there."""
    knapsack = made(
        model("large", 5.0, 5.0, 0.0),
        model("small", 3.0, 3.2, 0.0),
        clusters=site("site", 100, 1, 1),
        datasets={"data": 1},
        initial_loss=9,
        maximum_loss=0,
        quantile_level=0.5,
        maximum_epochs=6,
        round_deadline=1,
    )
    assert depl.solve(knapsack, "density-greedy").cost == pytest.approx(10)


@pytest.mark.parametrize("instance", SMALL[:3], ids=lambda item: item.name)
def test_an_appraisal_agrees_with_the_evaluation_of_the_plan(instance):
    rng, appraiser = np.random.default_rng(5), Appraiser(instance, Limits())
    seen = 0
    for _ in range(6):
        draft = random_draft(rng, appraiser)
        if not draft.models or appraiser.resources(draft).lateness:
            continue
        seen += 1
        plan = appraiser.plan(draft)
        judged = evaluate(instance, plan, quantile=False)
        assert appraiser.resources(draft).cost == pytest.approx(judged.cost, rel=1e-12)
        assert appraiser.moments(draft)[0][-1] == pytest.approx(judged.expected_loss, rel=1e-9, abs=1e-9)
        variance = final_loss(instance, plan).variance()
        if math.isfinite(variance):
            assert appraiser.moments(draft)[1][-1] == pytest.approx(math.sqrt(variance), rel=1e-9)
        assert appraiser.met(draft) == judged.feasible
    assert seen


def test_the_shortest_certified_beginning_is_that_of_trying_all(bell):
    longer = bell.replace(maximum_epochs=12, maximum_loss=3.0)
    appraiser = Appraiser(longer, Limits())
    draft = Draft((0,) * 12, (0,) * 12, (frozenset({"data"}),))
    tried = [k for k in range(1, 13) if appraiser.met(draft.beginning(k))]
    # 10 - 2 k + 1.2816 sqrt(k) <= 3 from k = 5 on (3.5 + 0.64 * 2.24 = 4.93)
    assert tried[0] == 5
    assert len(appraiser.shortest(draft).models) == 5
