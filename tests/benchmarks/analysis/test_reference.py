"""What is known of an optimum: verified plans are facts, and proofs that they contradict are none."""

import math

import pytest

from depl.benchmarks.analysis.reference import (
    below,
    claimed,
    question_of,
    reference_of,
    references,
)
from depl.models.foundation.errors import InvalidInputError
from tests.cases.attempts_factory import attempt_of


def known(*attempts):
    return reference_of([claimed(item.task.configuration, item) for item in attempts])


PROOF, DENIAL = attempt_of(cost=10, ending="optimal"), attempt_of(ending="infeasible")
OTHER = attempt_of("one", "other", cost=9, ending="optimal")


@pytest.mark.parametrize(
    ("attempts", "optimum", "bound", "cheapest", "disputed", "provers"),
    [
        ([PROOF, attempt_of(configuration="fast", cost=12, bound=3)], 10, 10, 10, False, ("exact",)),
        ([attempt_of(cost=12, bound=3), attempt_of(bound=7)], None, 7, 12, False, ()),  # whoever has it
        ([PROOF, attempt_of(cost=9, bound=8)], None, 8, 9, True, ()),  # a cheaper plan refutes a proof
        ([PROOF, OTHER], 9, 9, 9, False, ("other",)),  # of two proved optima the cheaper stands
        ([attempt_of(cost=10, bound=4), attempt_of(bound=11)], None, 4, 10, False, ()),  # bound above a plan
        ([PROOF, attempt_of(cost=10 * (1 - 1e-9))], 10, 10, 10 * (1 - 1e-9), False, ("exact",)),  # rounding
        ([attempt_of(ending="hung", seconds=None)], None, -math.inf, math.inf, False, ()),
        ([DENIAL], None, -math.inf, math.inf, False, ("exact",)),
        ([DENIAL, attempt_of(cost=3)], None, -math.inf, 3, True, ()),
    ],
)
def test_the_claims_on_a_question_come_to_this(attempts, optimum, bound, cheapest, disputed, provers):
    found = known(*attempts)
    assert (found.optimum, found.bound, found.cheapest) == (optimum, bound, cheapest)
    assert (found.disputed, found.proved_by) == (disputed, provers)
    assert found.feasible is (cheapest < math.inf)
    assert found.infeasible is (attempts == [DENIAL])


@pytest.mark.parametrize(
    ("cost", "bound", "expected"),
    [(9, 10, True), (10, 10, False), (10 * (1 - 1e-8), 10, False), (1, -math.inf, False), (0, 0, False)],
)
def test_below_means_by_more_than_rounding(cost, bound, expected):
    assert below(cost, bound) is expected


def test_optima_of_samples_are_kept_apart_from_those_of_the_law_and_of_other_samples():
    settings = {"time_limit": 60.0, "gap": 0.0, "scenarios": 50, "options": {}}
    law = attempt_of(cost=10, ending="optimal")
    sampled = [
        attempt_of(
            configuration="milp",
            seed=seed,
            cost=cost,
            ending="optimal",
            meaning="scenarios",
            settings=settings,
        )
        for seed, cost in ((0, 7.0), (1, 8.0))
    ]
    found = references([law, *sampled])
    assert [found[question_of(item)].optimum for item in (law, *sampled)] == [10, 7, 8]
    assert question_of(sampled[1]).sample == (50, 1)
    assert not any(item.disputed for item in found.values())


def test_results_of_different_instances_under_one_name_are_refused():
    with pytest.raises(InvalidInputError, match="raise the version of the suite"):
        references([attempt_of(cost=1), attempt_of("one", "depl", cost=1, instance_hash="another")])


def test_a_worker_that_died_before_it_built_the_instance_is_no_contradiction():
    built, died = attempt_of(cost=1), attempt_of("one", "depl", ending="crashed", instance_hash="")
    assert references([built, died])[question_of(built)] == references([built])[question_of(built)]
