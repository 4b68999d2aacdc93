"""The way from a method to a result: two enums kept apart, honest bounds, and no plan that does not hold."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from msgspec.structs import replace as altered

from depl.models.evaluation.evaluate import evaluate
from depl.models.foundation.errors import DeplError, InvalidInputError
from depl.models.foundation.interval import Interval
from depl.models.problem.plan import Claims, Plan
from depl.models.solving.limits import Limits
from depl.models.solving.methods import find, register, registered
from depl.models.solving.result import Outcome, Phase, Result, Solution, Termination
from depl.models.solving.solve import VerificationError, solve
from depl.models.verifier.verify import verify
from tests.problems import refusal, steady_epochs

pytestmark = pytest.mark.usefixtures("own_methods")


def returning(answer):
    return lambda instance, limits: answer


def answered(instance, answer, **options):
    """Solve by a method that returns ``answer``."""
    name = f"answer-{len(registered())}"
    register(name, returning(answer), "says what it was told to say")
    return solve(instance, name, **options)


PLAN, ENDED = steady_epochs(4, 4), Termination.EXHAUSTED


# --- what comes out ------------------------------------------------------------------------------------


def test_the_tiny_instance_is_solved_as_by_hand_with_claims_that_the_verifier_recomputed(tiny, tiny_optimum):
    result = solve(tiny, "enumerate")
    assert (result.termination, result.solution) == (Termination.OPTIMAL, Solution.PROVEN_OPTIMAL)
    assert result.cost == pytest.approx(28, rel=1e-12)
    assert (result.lower_bound, result.gap) == (result.cost, 0)
    assert (result.plan.data, result.plan.schedule) == (tiny_optimum.data, tiny_optimum.schedule)
    assert [epoch.resources for epoch in result.plan.epochs] == pytest.approx([3, 3, 3], rel=1e-12)
    assert result.violation == Interval(0.25, 0.25, "exact sum", Fraction(1, 4))
    assert result.quantile == Interval(6.25, 6.25, "exact sum", Fraction(25, 4))
    assert (result.epochs, result.training_time, result.expected_loss) == (3, pytest.approx(5), 6.125)
    assert result.instance == result.plan.instance == tiny.fingerprint
    assert (result.plan.claims.method, result.plan.claims.cheapest_resources) == ("enumerate", True)
    report = verify(tiny, result.plan)
    assert report.ok
    assert sum(finding.equation.startswith("claim") for finding in report.findings) == 6


KEYS = [
    *("termination", "solution", "claimed", "cost", "lower_bound", "gap", "epochs", "training_time"),
    *("expected_loss", "reason", "violation", "quantile", "rests_on", "rows", "quantile_means", "scenarios"),
    *("dual", "decisions", "tolerances", "method", "instance", "seed", "versions", "wall_seconds"),
    *("cpu_seconds", "build_seconds", "stage_seconds", "phases", "plan"),
]


def test_the_json_of_a_result_has_all_keys_and_a_plan_that_reads_back(tiny):
    result = solve(tiny, "enumerate", seed=4)
    shown = json.loads(result.to_json())
    assert list(shown) == KEYS
    assert (shown["termination"], shown["solution"]) == ("optimal", "proven_optimal")
    assert (shown["method"], shown["seed"], shown["reason"]) == ("enumerate", 4, None)
    libraries = {"numpy", "scipy", "msgspec", "pyomo", "highspy", "numba"}
    assert set(shown["versions"]) == {"python", "depl", *libraries}
    assert Plan.from_json(json.dumps(shown["plan"])) == result.plan
    assert 0 <= shown["build_seconds"] <= shown["wall_seconds"]


# --- why it stopped, what is held ----------------------------------------------------------------------

PROOFS = (Termination.OPTIMAL, Termination.GAP_REACHED)
WITH_A_PLAN = [stopped for stopped in Termination if stopped is not Termination.INFEASIBLE]


@pytest.mark.parametrize("stopped", WITH_A_PLAN)
def test_only_a_proof_of_optimality_makes_a_plan_proven_optimal(steady, steady_plan, stopped):
    held = Solution.PROVEN_OPTIMAL if stopped is Termination.OPTIMAL else Solution.FEASIBLE
    for bound, gap in [(24.0, 0.0)] if stopped in PROOFS else [(24.0, 0.0), (18.0, 0.25)]:
        result = answered(steady, Outcome(stopped, steady_plan, bound))
        assert (result.termination, result.solution) == (stopped, held)
        assert (result.cost, result.lower_bound, result.gap) == (24, bound, gap)


def result_of(cost, lower_bound):
    return Result(Termination.EXHAUSTED, None, lower_bound, solution=Solution.NONE, method="m", cost=cost)


@pytest.mark.parametrize(
    ("cost", "lower_bound", "gap"),
    [
        (0.0, 0.0, 0.0),
        (10.0, 0.0, 1.0),
        (10.0, -10.0, 2.0),
        (10.0, -math.inf, math.inf),
        (0.0, -1.0, None),
        (None, 9.0, None),
        (None, math.inf, None),
    ],
)
def test_the_gap_is_relative_to_the_cost(cost, lower_bound, gap):
    result = result_of(cost, lower_bound)
    assert result.gap == (gap if gap is None else pytest.approx(gap))
    shown = result.to_dict()["gap"]
    assert shown == (None if gap is None or math.isinf(gap) else pytest.approx(gap))


def test_numbers_that_are_not_finite_are_null_in_json(steady, steady_plan):
    found = evaluate(steady, steady_plan)
    found = replace(found, quantile=Interval(-math.inf, 3.0), expected_loss=math.inf)
    phase = Phase("other", "exhausted", 1.0, None, -math.inf)
    result = replace(result_of(math.nan, -math.inf), evaluation=found)
    result = replace(result, phases=(phase,), tolerances={"gap": math.inf})
    text = result.to_json()
    shown = json.loads(text)
    assert (shown["cost"], shown["lower_bound"], shown["gap"]) == (None, None, None)
    assert (shown["expected_loss"], shown["epochs"]) == (None, 2)
    assert shown["quantile"] == {"lower": None, "upper": 3.0}
    assert "Infinity" not in text
    assert "NaN" not in text


# --- methods of one's own ------------------------------------------------------------------------------


def test_a_bare_plan_is_one_without_a_bound_and_its_own_claims_are_replaced(steady, steady_plan):
    boasting = altered(steady_plan, claims=Claims(cost=1, lower_bound=0.5, method="magic"))
    for held in (steady_plan, boasting):
        result = answered(steady, held)
        assert (result.termination, result.solution) == (Termination.EXHAUSTED, Solution.FEASIBLE)
        assert (result.cost, result.lower_bound, result.gap) == (24, -math.inf, math.inf)
        claims = result.plan.claims
        assert (claims.cost, claims.method, claims.lower_bound) == (24, result.method, None)


def test_a_method_receives_the_limits(steady):
    seen = []

    def method(instance, limits):
        seen.append(limits)
        limits.report(3.0, 1.0)

    rows = []
    register("mine", method)
    solve(steady, "mine", gap=0.1, time_limit=60, seed=9, progress=lambda *row: rows.append(row))
    assert (seen[0].gap, seen[0].time_limit, seen[0].seed, seen[0].expired()) == (0.1, 60, 9, False)
    assert Limits(time_limit=1e-9).expired()
    assert not Limits().expired()
    assert [row[1:] for row in rows] == [(3.0, 1.0)]
    assert 0 <= rows[0][0] < 60


def test_methods_are_listed_and_found_by_name():
    def mine(instance, limits):
        """Gives up.

        At once.
        """

    register("mine", mine, "Gives up politely.")
    register("also", mine)
    assert (find("mine").summary, find("also").summary) == ("Gives up politely.", "Gives up.")
    names = [entry.name for entry in registered()]
    assert names == sorted(names)
    assert {"mine", "also", "enumerate"} <= set(names)
    for name, run in (("mine", returning(None)), ("own", "function"), ("", mine), (7, mine)):
        refusal(register, name, run)


# --- what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(
            ({name: value}, "gap, time_limit and seed must be numbers")
            for name, value in (("gap", "small"), ("time_limit", "long"), ("seed", 1.5), ("seed", "1"))
        ),
        *(({"looks": no}, f"looks: must be a whole number, at least 0, not {no}") for no in (-1, 1.5)),
        *(({"gap": no}, rf"gap must lie in \[0, 1\), not {no}") for no in (-0.1, 1, math.nan)),
        *(({"time_limit": no}, f"time_limit must be positive, not {no}") for no in (0, -1, math.nan)),
        ({"seed": -1}, "seed must be at least 0, not -1"),
    ],
)
def test_impossible_options_are_refused(steady, options, message):
    with pytest.raises(InvalidInputError, match=message):
        solve(steady, "enumerate", **options)


def changed(plan, index, **fields):
    epochs = list(plan.epochs)
    epochs[index] = altered(epochs[index], **fields)
    return altered(plan, epochs=epochs)


@pytest.mark.parametrize(
    ("alter", "message"),
    [
        (lambda plan: changed(plan, 0, resources=2.0), r"\(4\): sum of T\(k\) = .* exceeds T_max = 5 by"),
        (lambda plan: changed(plan, 2, resources=4.5), r"\(5\): epoch 3: x = 4.5 exceeds r\(n\) = 4 by 0.5"),
        (lambda plan: changed(plan, 2, cluster="moon"), "cannot be evaluated: .*'moon' is not defined"),
        (lambda plan: altered(plan, instance="0" * 64), "cannot be evaluated: .*another instance"),
        (lambda plan: Plan(), r"\(3\): P\(l\(K\) > l_max\) = 1 exceeds 1 - omega = 0.3 by 0.7"),
    ],
)
def test_a_wrong_plan_is_the_methods_fault_and_the_equation_is_named(tiny, tiny_optimum, alter, message):
    assert answered(tiny, tiny_optimum).solution is Solution.FEASIBLE
    with pytest.raises(VerificationError, match=message) as caught:
        answered(tiny, alter(tiny_optimum))
    assert caught.value.exit_code == 70
    assert isinstance(caught.value, DeplError)
    assert not isinstance(caught.value, InvalidInputError)


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (Outcome(Termination.GAP_REACHED, PLAN, 20.0), "the gap 0.1 is reached; it is 0.16"),
        (Outcome(Termination.GAP_REACHED, PLAN), "the gap 0.1 is reached; it is inf"),
        (Outcome(ENDED, PLAN, 25.0), "claim: lower_bound: 25 exceeds the plan's"),
        (
            Outcome(Termination.OPTIMAL, steady_epochs(5, 5)),
            "claim: cheapest_resources: other resources cost 24",
        ),
    ],
)
def test_an_answer_that_contradicts_itself_is_refused(steady, outcome, message):
    with pytest.raises(VerificationError, match=message):
        answered(steady, outcome, gap=0.1)


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (Outcome(Termination.OPTIMAL, None), "says 'optimal' without a plan"),
        (Outcome(Termination.INFEASIBLE, PLAN), "says 'infeasible' and holds a plan"),
        ("a plan", "returns a str; an Outcome, a Plan or None is needed"),
        (Outcome("done", PLAN), r"Invalid enum value 'done' - at `\$\.termination`"),
        (Outcome(ENDED, PLAN.to_json()), r"got `str` - at `\$\.plan`"),
        (Outcome(ENDED, PLAN, math.nan), "its lower_bound is no number"),
        (Outcome(ENDED, PLAN, phases=(Phase("own", "done", 1.0, None, None),)), r"phases\[0\]\.lower_bound`"),
    ],
)
def test_a_malformed_outcome_is_the_error_of_whoever_wrote_the_method(steady, outcome, message):
    with pytest.raises(InvalidInputError, match=message) as refused:
        answered(steady, outcome, gap=0.1)
    assert "method 'answer-" in refused.value.message
    assert refused.value.exit_code == 2


def test_numbers_of_numpy_and_lists_are_no_malformed_outcome(steady):
    outcome = Outcome(ENDED, PLAN, np.float64(7), decisions=[], tolerances={"gap": np.float32(0)})
    result = answered(steady, outcome)
    assert result.lower_bound == json.loads(result.to_json())["lower_bound"] == 7


def test_a_method_that_cannot_be_called_so_is_refused_by_name(steady):
    register("alone", lambda instance: None)
    with pytest.raises(
        InvalidInputError, match="method 'alone' cannot be called with an instance and limits"
    ):
        solve(steady, "alone")


def test_a_gap_is_reached_up_to_rounding(steady, steady_plan):
    outcome = Outcome(Termination.GAP_REACHED, steady_plan, 24 * 0.9 * (1 - 1e-15))
    assert answered(steady, outcome, gap=0.1).termination is Termination.GAP_REACHED


def test_a_plan_that_cannot_be_certified_is_refused_even_if_nobody_can_refute_it(
    bell, steady_plan, monkeypatch
):
    instance = bell.replace(maximum_loss=8.5)
    assert answered(instance, steady_plan).solution is Solution.FEASIBLE
    monkeypatch.setattr(
        "depl.models.evaluation.end_law.certified_violation",
        lambda loss, maximum, *_: Interval(0.03, 0.2, "vague"),
    )
    with pytest.raises(VerificationError, match=r"not certified feasible: \(3\) probability of missing"):
        answered(instance, steady_plan)


# --- a plan to start from ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "gap", "ending", "cost"),
    [
        (Outcome(ENDED, None, 24.0), 0.0, Termination.OPTIMAL, 24),  # its bound proves the plan
        (Outcome(ENDED, None, 20.0), 0.2, Termination.GAP_REACHED, 24),
        (Outcome(ENDED, None, 20.0), 0.1, ENDED, 24),
        (Outcome(Termination.TIME_LIMIT, None, 20.0), 0.0, Termination.TIME_LIMIT, 24),
        (Outcome(ENDED, steady_epochs(5, 5), 20.0), 0.0, ENDED, 24),
        (Outcome(Termination.GAP_REACHED, steady_epochs(5, 5), 20.0), 0.1, ENDED, 24),  # of another plan
        (Outcome(Termination.INFEASIBLE, None), 0.0, None, math.inf),
        (Outcome(ENDED, None, 24.001), 0.0, None, math.inf),
    ],
)
def test_the_plan_to_start_from_is_the_answer_unless_a_cheaper_one_is_found(
    steady, outcome, gap, ending, cost
):
    if ending is None:
        with pytest.raises(VerificationError, match="the plan to start from is feasible and costs 24"):
            answered(steady, outcome, gap=gap, start=PLAN)
        return
    result = answered(steady, outcome, gap=gap, start=PLAN)
    assert (result.termination, result.cost, result.lower_bound) == (ending, cost, outcome.lower_bound)


def test_a_plan_that_costs_less_than_the_one_to_start_from_is_the_answer_and_one_that_fails_is_none(
    steady,
):
    assert answered(steady, Outcome(ENDED, PLAN), start=steady_epochs(5, 5)).cost == 24
    assert "start: is not feasible" in str(refusal(solve, steady, "exact", start=steady_epochs(3, 3)))
