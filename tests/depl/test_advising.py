"""Which runs to add: what is advised brings the promise as often as is said, on laws whose truth is known."""

import math
from functools import cache

import numpy as np
import pytest

import depl
from depl.models.estimation.affine import FEWEST, fit_affine
from depl.models.estimation.instance import SETTLED_EPOCHS, fit_instance
from depl.models.evaluation.traced_loss import end_law
from depl.models.exact.traced_schedules import all_candidates
from depl.models.problem.traced_law import traced_law
from depl.models.traces.table import joined
from tests.cases.fit_cases import drawn, setup
from tests.problems import refusal


@pytest.fixture(scope="module")
def asked():
    return fit_instance(drawn(), setup()).replace(run_fingerprints=None)


def fitted(asked, traces, confidence=None, **target):
    """As `depl.fit` does of few schedules, without the paper's laws, which take time."""
    counting = {
        "care": 0.95,
        "confidence": confidence,
        "whole_runs": FEWEST,
        "settled_epochs": SETTLED_EPOCHS,
    }
    law = traced_law(fit_affine(traces, scale="log"), "per_run", float(traces.loss.max()), **counting)
    return asked.replace(traced_law=law, **target)


def fresh(option, seed, noise):
    """The runs that are advised, from the law that drew the others."""
    runs = drawn(option.advised.runs, seed, "fresh", noise)
    (found,) = [rows for schedule, rows in runs.by_schedule().items() if schedule == option.trained]
    return runs.select(found)


def promised(instance, schedule):
    found = end_law(instance.traced_law, schedule).violation(instance.target.maximum_loss)
    return found.at_most(instance.target.violation_budget)


def test_a_refused_promise_is_made_once_the_runs_advised_are_there_and_not_with_one_less(asked):
    traces, target = drawn(12), {"maximum_loss": 1.0, "quantile_level": 0.95}
    found = depl.advise(fitted(asked, traces, **target))
    (option,) = found.options
    assert (found.cost, found.most_saved, option.seen, option.advised.runs, option.least) == (
        None,
        None,
        12,
        7,
        7,
    )
    assert found.lower_bound <= option.cost
    more = fresh(option, 1, 0.05)
    assert promised(fitted(asked, joined([traces, more]), **target), option.schedule)
    assert not promised(fitted(asked, joined([traces, more.select(range(6))]), **target), option.schedule)
    again = depl.advise(fitted(asked, joined([traces, more]), **target))
    assert again.cost <= option.cost  # the plan costs what was said, unless another is cheaper


def test_where_no_number_of_runs_helps_that_is_said(asked):
    found = depl.advise(fitted(asked, drawn(), maximum_loss=0.5))
    assert (found.lower_bound, found.options) == (math.inf, ())
    assert "no further runs are advised" in str(found)
    for changes in ({"law": "independent"}, {"residuals": "independent"}):
        error = refusal(depl.advise, fit_instance(drawn(), setup(), **changes))
        assert "fit with the affine law and residuals per_run" in str(error)


SETS = [(7, 0.9, None), (12, 0.95, None), (10, 0.9, 0.8)]
"""Runs of each of three schedules, omega, and the confidence of the promise."""


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "level", "confidence"), SETS)
def test_the_promise_comes_at_least_as_often_as_is_said_and_no_plan_beats_the_bound(
    asked, runs, level, confidence
):
    """90 sets of runs, two in three with a target that their last epochs meet often enough to be of use."""
    said, came, beaten = list[float](), list[bool](), 0
    for seed in range(90):
        traces, noise = drawn(runs, seed), 0.05
        share, epoch = (0.1, 0.3, 0.5, 0.7, 0.9)[seed % 5], -1 - seed % 3
        target = {
            "maximum_loss": float(np.quantile(traces.matrix()[:, epoch], share)),
            "quantile_level": level,
        }
        instance = fitted(asked, traces, confidence, **target)
        found = depl.advise(instance)
        beaten += found.lower_bound > cheapest(instance) + 1e-9
        for option in found.options:
            said.append(option.advised.share)
            more = joined([traces, fresh(option, 1000 + seed, noise)])
            came.append(promised(fitted(asked, more, confidence, **target), option.schedule))
    assert len(said) >= 30
    assert np.mean(came) >= np.mean(said)
    assert beaten <= 0.05 * 90


@cache
def truth():
    """Losses of 4000 runs of every schedule."""
    runs = drawn(4000, 10**6)
    return {schedule: runs.matrix()[rows] for schedule, rows in runs.by_schedule().items()}


def cheapest(instance):
    """The least cost of a plan that runs went through and that in truth keeps the target."""
    listed, best = all_candidates(instance, instance.traced_law.law, 1000), math.inf
    for node, item in enumerate(listed.nodes):
        schedule = listed.schedule(node)
        through = [rows for whole, rows in truth().items() if whole[: len(schedule)] == schedule]
        above = np.concatenate(through)[:, len(schedule)] > instance.target.maximum_loss
        if above.mean() <= instance.target.violation_budget:
            best = min(best, item.cost)
    return best
