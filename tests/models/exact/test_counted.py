"""The exact search under scenarios finds what writing out every plan finds, and says why it stopped."""

import numpy as np
import pytest

import depl
from depl.models.exact.counted import Counted, scenario_search
from depl.models.exact.sampled import SampledProblem
from depl.models.exact.search import Search
from depl.models.foundation.deadline import OutOfTimeError
from depl.models.solving.limits import Limits
from depl.models.solving.result import Termination
from tests.oracles.search import (
    require_agreement,
    sampled,
    sequences,
    tiny_problems,
    with_negative_switches,
)
from tests.problems import instance, model, site

TINY = depl.load("tiny")
WAYS = {
    "as it is": {},
    "at prices of gain": {"counted.LONG": 1},
    "on parts halved at once": {"search.few_assignments": lambda _: False, "assignments.MOST_CHILDREN": 1},
    "on parts of some sets": {"search.few_assignments": lambda _: False, "assignments.MOST_CHILDREN": 8},
}
"""Ways to search, and the limits of effort that make it take them on tiny problems."""


def certain(epochs, total_time):
    """One model that surely gains 1 an epoch: cost = (K sqrt(2))**2 / T_max = 2 K**2 / T_max."""
    fields = {"clusters": site("c", 10, 1, 2), "datasets": {"d": 1}, "initial_loss": 3, "maximum_loss": 0}
    return instance(model("m", 1, demand=1, size=0), maximum_epochs=epochs, maximum_time=total_time, **fields)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("change", [lambda item: item, with_negative_switches], ids=["drawn", "negative"])
def test_the_search_agrees_with_all_plans_written_out_whichever_way_it_takes(way, change, monkeypatch):
    for name, value in WAYS[way].items():
        monkeypatch.setattr(f"depl.models.exact.{name}", value)
    problems = [change(problem) for problem in tiny_problems(3, 24)]
    assert {require_agreement(problem) for problem in problems} == {
        Termination.OPTIMAL,
        Termination.INFEASIBLE,
    }


def test_a_time_that_would_be_needed_keeps_the_round_deadline():
    """Three epochs of 0.1, or one of 0.28 where the deadline lets it."""
    short = certain(8, total_time=0.25)
    eager = short.replace(models=(model("l", 3, demand=2.8, size=0), *short.models))
    for limits, time in (({}, "0.28"), ({"round_deadline": 0.2}, "0.3")):
        assert f"takes {time}, maximum_time" in scenario_search(eager.replace(**limits), Limits()).reason


@pytest.mark.parametrize("seed", range(3))
def test_no_plan_gains_more_than_an_infeasible_search_says(seed):
    """A target just out of reach of three epochs: of all sequences, in the scenarios that may not miss."""
    limits = {"maximum_epochs": 3, "maximum_time": None, "round_deadline": 50.0}
    drawn = sampled(TINY.replace(**limits), 8, seed)
    far = drawn.instance.replace(maximum_loss=TINY.target.initial_loss - 30.0)
    problem = SampledProblem(far, drawn.scenarios)
    search = Search(Counted(problem), Limits())
    assert search.answer().termination is Termination.INFEASIBLE
    gains = [np.partition(problem.gain(row), problem.allowed)[problem.allowed] for row in sequences(problem)]
    assert max(gains) * (1 - 1e-12) <= search.risk._best_gain < problem.needed


def test_a_proof_that_time_cuts_short_loses_its_reason_alone(monkeypatch):
    def late(*_):
        raise OutOfTimeError

    monkeypatch.setattr(Counted, "why_infeasible", late)
    outcome = scenario_search(certain(2, 50.0), Limits())
    assert outcome.termination is Termination.INFEASIBLE
    assert outcome.reason == "models: no plan meets the target within the epochs and the time limits"
