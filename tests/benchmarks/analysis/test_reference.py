"""What is known of an optimum: verified plans are facts, and proofs that they contradict are none."""

import math

import pytest

from depl.benchmarks.analysis.ratio_table import reference_table
from depl.benchmarks.analysis.reference import below, frame_of
from depl.benchmarks.analysis.table import cell
from depl.models.foundation.errors import InvalidInputError
from tests.cases.attempts_factory import attempt_of

PROOF, DENIAL = attempt_of(cost=10, ending="optimal"), attempt_of(ending="infeasible")
OTHER = attempt_of("one", "other", cost=9, ending="optimal")


@pytest.mark.parametrize(
    ("attempts", "optimum", "bound", "cheapest", "disputed", "provers"),
    [
        ([PROOF, attempt_of(configuration="fast", cost=12, bound=3)], 10, 10, 10, False, "exact"),
        ([attempt_of(cost=12, bound=3), attempt_of(bound=7)], None, 7, 12, False, ""),  # whoever has it
        ([PROOF, attempt_of(cost=9, bound=8)], None, 8, 9, True, ""),  # a cheaper plan refutes a proof
        ([PROOF, OTHER], 9, 9, 9, False, "other"),  # of two proved optima the cheaper stands
        ([attempt_of(cost=10, bound=4), attempt_of(bound=11)], None, 4, 10, False, ""),  # bound above a plan
        ([PROOF, attempt_of(cost=10 * (1 - 1e-9))], 10, 10, 10 * (1 - 1e-9), False, "exact"),  # rounding
        ([attempt_of(ending="hung", seconds=None)], None, -math.inf, math.inf, False, ""),
        ([DENIAL], None, -math.inf, math.inf, False, "exact"),
        ([DENIAL, attempt_of(cost=3)], None, -math.inf, 3, True, ""),
    ],
)
def test_the_claims_on_a_question_come_to_this(attempts, optimum, bound, cheapest, disputed, provers):
    found = frame_of(attempts).iloc[0]
    assert (cell(found.optimum), found.bound, found.cheapest) == (optimum, bound, cheapest)
    assert (found.disputed, found.feasible) == (disputed, cheapest < math.inf)
    assert found.infeasible == (attempts == [DENIAL])
    (row,) = reference_table(attempts).records()
    assert (row["optimum"], row["disputed"], row["proved_by"]) == (optimum, disputed, provers)
    assert row["bound"] == (None if bound == -math.inf else bound)


@pytest.mark.parametrize(
    ("cost", "bound", "expected"),
    [(9, 10, True), (10, 10, False), (10 * (1 - 1e-8), 10, False), (1, -math.inf, False), (0, 0, False)],
)
def test_below_means_by_more_than_rounding(cost, bound, expected):
    assert below(cost, bound) == expected


def test_optima_of_samples_are_kept_apart_from_those_of_the_law_and_of_other_samples():
    settings = {"time_limit": 60.0, "gap": 0.0, "scenarios": 50, "options": {}}
    law = attempt_of(cost=10, ending="optimal")
    given = {"configuration": "milp", "ending": "optimal", "meaning": "scenarios", "settings": settings}
    sampled = [attempt_of(seed=seed, cost=cost, **given) for seed, cost in ((0, 7.0), (1, 8.0))]
    found = frame_of([law, *sampled])
    assert found["optimum"].tolist() == [10, 7, 8]
    assert found["drawn"].tolist() == [None, (50, 0), (50, 1)]
    assert not found["disputed"].any()


def test_results_of_different_instances_under_one_name_are_refused():
    with pytest.raises(InvalidInputError, match="raise the version of the suite"):
        frame_of([attempt_of(cost=1), attempt_of("one", "depl", cost=1, instance_hash="another")])


def test_a_worker_that_died_before_it_built_the_instance_is_no_contradiction():
    built, died = attempt_of(cost=1), attempt_of("one", "depl", ending="crashed", instance_hash="")
    assert frame_of([built, died])["cheapest"].tolist() == [1, 1]
