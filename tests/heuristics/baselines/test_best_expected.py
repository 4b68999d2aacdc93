"""Best-exp in its two readings, against plain enumeration of expectations and the known excess."""

import itertools
import math

import pytest

from depl.heuristics.baselines.best_expected import expected_cost, expected_greedy
from depl.instances.library import load
from depl.models.evaluation.evaluate import evaluate
from depl.models.exact.listing import enumerate_plans
from depl.models.foundation.errors import NotCoveredError
from depl.models.solving.methods import Limits

TARGETS = (5, 7, 9, 11, 13)
GREEDY_EXCESS = {
    "paper-alexnet-deadline": (20, 38, 57, 48, 74),
    "paper-alexnet-deadline-normal": (36, 27, 50, 77, 114),
}


def cost_of(method, instance) -> float:
    return evaluate(instance, method(instance, Limits()).plan, quantile=False).cost


QUICK = [("paper-alexnet-deadline", 4), ("paper-alexnet-deadline-normal", 3)]


@pytest.mark.parametrize(
    ("family", "place"),
    [
        pytest.param(*row, marks=[] if row in QUICK else pytest.mark.slow)
        for row in itertools.product(GREEDY_EXCESS, range(5))
    ],
)
def test_greedy_is_as_much_more_expensive_than_the_optimum_as_known(family, place):
    instance = load(family, TARGETS[place])
    excess = 100 * (cost_of(expected_greedy, instance) / cost_of(enumerate_plans, instance) - 1)
    assert excess == pytest.approx(GREEDY_EXCESS[family][place], abs=0.6)


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


@pytest.mark.parametrize("method", [expected_greedy, expected_cost])
def test_what_is_met_needs_no_epoch_failure_names_its_stage_and_choices_are_refused(method):
    met = method(load("paper-alexnet", 9).replace(maximum_loss=25.0), Limits())
    assert met.plan.epochs == ()
    missed = method(load("paper-alexnet", 9).replace(maximum_loss=-40.0), Limits())
    assert missed.plan is None
    assert missed.reason.startswith("models")
    assert math.isfinite(missed.lower_bound)
    with pytest.raises(NotCoveredError, match="given data and clusters"):
        method(load("tiny"), Limits())
