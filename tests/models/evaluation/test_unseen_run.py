"""The run that nobody saw misses every target: no promise from n runs is above what n runs can carry."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import depl
from depl.models.estimation.instance import fit_instance
from depl.models.estimation.setup import Setup
from depl.models.evaluation.evaluate import evaluate
from depl.models.evaluation.loss_law import loss_law
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.scenarios.draws import draw_scenarios, scenario_losses
from depl.models.solving.edge import any_plan, nearest_values
from depl.models.solving.front import front
from depl.models.solving.solve import solve
from depl.models.traces.table import Traces
from depl.models.verifier.verify import verify
from depl.showing.explain import explain
from tests.cases.memory_cases import every_schedule, instance_of, random_law
from tests.cases.traced_law_cases import READINGS, plan_of
from tests.oracles.traced_law import Oracle

SETUP = {
    "format": "depl-setup",
    "version": 1,
    "name": "twenty-runs",
    "clusters": [{"name": "edge", "capacity": 8, "bandwidth": 9, "unit_cost": 1}],
    "datasets": [{"name": "data", "volume": 1}],
    "models": [{"name": "net", "size": 1}],
    "target": {"maximum_loss": 2.5, "quantile_level": 0.999, "maximum_epochs": 6, "maximum_time": 40},
}


SIX_EPOCHS = plan_of((("net", "edge"),) * 6)


def twenty_runs(evaluated: bool) -> Traces:
    """l(1) = 2 exp(0.1 z), then l(k) = 0.8 exp(0.03 z) l(k - 1): none above 2.341, as one in 60 is."""
    rng, rows = np.random.default_rng(0), []
    for index in range(20):
        loss = 2 * math.exp(0.1 * rng.standard_normal())
        rows += [(f"r{index}", 0, "net", "edge", loss)] if evaluated else []
        rows.append((f"r{index}", 1, "net", "edge", loss))
        for epoch in range(2, 7):
            loss *= 0.8 * math.exp(0.03 * rng.standard_normal())
            rows.append((f"r{index}", epoch, "net", "edge", loss))
    return Traces(*map(np.array, zip(*rows, strict=True)))


def fitted(evaluated: bool, **options: object) -> Instance:
    return fit_instance(twenty_runs(evaluated), Setup.from_json(json.dumps(SETUP)), **options)


@pytest.mark.parametrize(
    ("evaluated", "options", "most"),
    [
        (False, {}, Fraction(20, 21)),
        (True, {"diverged": 2}, Fraction(20, 23)),
        (False, {"confidence": 0.95, "diverged": 2}, 0.05 ** (1 / 22)),
    ],
)
def test_twenty_runs_carry_no_promise_of_0_999_however_loose_the_target(evaluated, options, most):
    wide = fitted(evaluated, **options).replace(maximum_loss=1e6)
    found = solve(wide, "enumerate")
    assert found.termination.value == "infeasible"
    assert "it takes" in str(found.reason)
    for plan in [Plan()] * evaluated + [SIX_EPOCHS]:
        evaluation = evaluate(wide, plan)
        for violation in (evaluation.violation, verify(wide, plan).violation):
            assert 1 - float(violation.lower) <= float(most) * (1 + 1e-12)
        assert (evaluation.quantile.lower, evaluation.expected_loss) == (math.inf, math.inf)
        for text in (str(evaluation), explain(wide, plan)):
            assert "beyond all runs seen" in text


def test_what_twenty_runs_carry_is_promised_and_no_more():
    instance = fitted(evaluated=False)
    (omega,) = (item for item in nearest_values(instance, any_plan(instance)) if item.limit.symbol == "omega")
    assert (omega.own, omega.proved) == (0.999, True)
    assert 20 / 21 - 1e-3 <= omega.reached <= 20 / 21 < omega.failed
    instance = instance.replace(quantile_level=0.95)
    found = solve(instance)
    assert found.violation is not None
    assert found.violation.exact == Fraction(1, 21)
    assert found.expected_loss is None
    assert json.loads(found.to_json())["expected_loss"] is None
    assert verify(instance, found.plan).ok
    assert "is at least 20/21, as the runs are counted" in explain(instance, found.plan)
    points = front(instance, "loss", points=3)
    assert all(point.violation.exact >= Fraction(1, 21) for point in points if point.violation)
    levels = front(instance, "probability", points=3)
    assert max(point.budget for point in levels if point.cost is not None) <= 20 / 21
    lost = fitted(evaluated=False, diverged=1).replace(quantile_level=0.9, maximum_loss=1e3)
    assert solve(lost).violation.exact == Fraction(2, 22)  # a target that all runs meet


def test_scenarios_draw_the_unseen_run_and_refuse_the_plan_without_epochs_that_the_law_alone_allows():
    instance = fitted(evaluated=True).replace(maximum_loss=1e6, quantile_level=0.9)
    drawn = draw_scenarios(instance, 4000, seed=1)
    lost = np.isinf(scenario_losses(instance, drawn, SIX_EPOCHS))
    assert lost.mean() == pytest.approx(1 / 21, abs=6 * math.sqrt(0.05 * 0.95 / 4000))
    assert np.isinf(scenario_losses(instance, drawn, Plan())).all()
    assert depl.solve(instance, "enumerate").epochs == 0
    assert depl.solve(instance, "scenario-search").plan.epochs
    for level, method in ((0.9, "scenario-search"), (0.999, "enumerate")):
        idle = depl.solve(instance.replace(maximum_epochs=0, quantile_level=level), method)
        assert idle.reason == (
            "models: maximum_epochs is 0, and a plan without an epoch misses the target too often"
        )


def test_a_confidence_so_near_1_that_single_runs_weigh_nothing_is_counted():
    instance = fitted(True, confidence=0.999999).replace(maximum_loss=1e6)
    for plan in (Plan(), SIX_EPOCHS):
        kept = 1 - float(evaluate(instance, plan).violation.upper)
        assert kept == pytest.approx(1e-6 ** (1 / 20), abs=3e-6)
        assert kept == pytest.approx(1 - float(verify(instance, plan).violation.upper), abs=1e-12)


def test_what_counts_runs_is_nowhere_told_as_the_probability_itself():
    instance = fitted(evaluated=True).replace(maximum_loss=1.0, quantile_level=0.5)
    most = "at most 0.04761905, as the runs are counted"
    assert most in str(evaluate(instance, SIX_EPOCHS))
    assert most in str(verify(instance, SIX_EPOCHS))
    seen = depl.replan(instance, SIX_EPOCHS, depl.State(epoch=1, loss=2.0, elapsed_time=1.0, model="net"))
    assert "at least 0.952380" in str(seen)
    assert " is 0.9" not in str(seen)
    explained = explain(instance, SIX_EPOCHS)
    assert "with e = 0" in explained
    assert "E ln l" not in explained
    idle = explain(instance.replace(maximum_loss=3.0), Plan())
    assert "rests on the loss of 20 runs before training and one more counted as a miss" in idle
    assert "has mean" not in idle


def test_a_policy_to_a_target_that_no_logarithm_reaches_is_refused():
    instance = fitted(evaluated=True, care=0).replace(maximum_loss=-1.0, quantile_level=0.9)
    with pytest.raises(InvalidInputError, match="every loss is above 0"):
        depl.solve_policy(instance)


# ---- any law, any target ----


def test_laws_that_count_no_unseen_run_say_so_where_they_promise():
    said = 0
    for fields in (
        row for row in READINGS if row["unseen_loss"] is None or row["residuals"] == "independent"
    ):
        told = {**fields, "unseen_loss": 2.6 if fields["residuals"] == "independent" else None}
        document = random_law(np.random.default_rng(3), **told)
        instance = instance_of(document)
        for schedule in [item for item in every_schedule(instance) if Oracle(document).supported(item)][::3]:
            assert "taken for the whole law" in str(loss_law(instance).basis(plan_of(schedule)))
            said += 1
    assert said >= 10
