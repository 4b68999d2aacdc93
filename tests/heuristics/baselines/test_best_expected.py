"""Best-exp in its two readings, against plain enumeration of expectations and the known excess."""

import itertools
import math

import pytest

from depl.heuristics.baselines.best_expected import expected_cost, expected_greedy
from depl.instances.library import load
from depl.models.evaluation.evaluate import evaluate
from depl.models.solving.limits import Limits


def test_greedy_trains_the_fastest_model_only_and_as_briefly_as_the_quantile_allows():
    instance = load("paper-alexnet", 9)
    plan = expected_greedy(instance, Limits()).plan
    assert {epoch.model for epoch in plan.epochs} == {"fast-unsteady"}
    shorter = plan.__class__(data=plan.data, epochs=plan.epochs[:-1])
    assert evaluate(instance, plan).feasible
    assert not evaluate(instance, shorter).feasible


def test_the_cost_aware_reading_takes_the_cheapest_plan_of_its_expected_loss():
    instance = load("paper-alexnet-deadline", 13)
    mine = evaluate(instance, expected_cost(instance, Limits()).plan)
    models = instance.models
    laws = [model.improvement for model in models]
    total = instance.target.maximum_time
    cheapest = math.inf
    for counts in itertools.product(range(18), repeat=3):
        epochs = sum(counts)
        left = total - 0.9 * epochs  # each epoch communicates for 0.9
        if not epochs or left <= 0:
            continue
        roots = sum(count * math.sqrt(model.demand) for count, model in zip(counts, models, strict=True))
        if roots * math.sqrt(max(model.demand for model in models)) / left > 100:
            continue
        order = [law for count, law in zip(counts, laws, strict=True) for _ in range(count)]
        gains = (law.scale / math.sqrt(k + law.offset) * law.noise.mean for k, law in enumerate(order, 1))
        if 20 - math.fsum(gains) <= mine.expected_loss + 1e-9:
            cheapest = min(cheapest, roots**2 / left)
    assert mine.cost == pytest.approx(cheapest, rel=1e-9)
