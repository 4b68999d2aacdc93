"""The way from a method to a result: two enums kept apart, honest bounds, and no plan that does not hold."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace as altered

from depl.models.evaluation.evaluate import evaluate
from depl.models.foundation.errors import DeplError, InvalidInputError
from depl.models.foundation.interval import Interval
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Claims, ClusterData, Plan, PlannedEpoch
from depl.models.solving import methods
from depl.models.solving.decisions import Decision
from depl.models.solving.methods import Limits, Method, Outcome, find, register, registered
from depl.models.solving.result import DualBound, Phase, Result, Solution, Termination
from depl.models.solving.solve import VerificationError, solve
from depl.models.verifier.verify import verify


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Methods registered in a test are forgotten after it."""
    monkeypatch.setattr(methods, "_REGISTRY", dict(methods._REGISTRY))


def returning(answer: object) -> Method:
    return lambda instance, limits: answer  # type: ignore[return-value]


def answered(instance: Instance, answer: object, **options: Any) -> Result:
    """Solve by a method that returns ``answer``."""
    name = f"answer-{len(registered())}"
    register(name, returning(answer), "says what it was told to say")
    return solve(instance, name, **options)


def steady_epochs(*resources: float) -> Plan:
    data = (ClusterData(cluster="site", datasets=("data",)),) if resources else ()
    return Plan(
        data=data, epochs=tuple(PlannedEpoch(model="net", cluster="site", resources=x) for x in resources)
    )


PLAN, ENDED = steady_epochs(4, 4), Termination.EXHAUSTED


# --- what comes out ------------------------------------------------------------------------------------


def test_the_tiny_instance_is_solved_as_by_hand(tiny: Instance, tiny_optimum: Plan) -> None:
    result = solve(tiny, "enumerate")
    assert (result.termination, result.solution) == (Termination.OPTIMAL, Solution.PROVEN_OPTIMAL)
    assert result.cost == pytest.approx(28, rel=1e-12)
    assert result.lower_bound == result.cost
    assert result.gap == 0
    assert result.plan is not None
    assert result.plan.data == tiny_optimum.data
    assert [(epoch.model, epoch.cluster) for epoch in result.plan.epochs] == [
        (epoch.model, epoch.cluster) for epoch in tiny_optimum.epochs
    ]
    assert [epoch.resources for epoch in result.plan.epochs] == pytest.approx([3, 3, 3], rel=1e-12)
    assert result.violation == Interval(0.25, 0.25, "exact sum", Fraction(1, 4))
    assert result.quantile == Interval(6.25, 6.25, "exact sum", Fraction(25, 4))
    assert result.epochs == 3
    assert result.training_time == pytest.approx(5)
    assert result.expected_loss == 6.125
    assert result.reason is None
    assert result.instance == tiny.fingerprint


def test_the_plan_of_a_result_carries_claims_that_the_verifier_recomputed(tiny: Instance) -> None:
    plan = solve(tiny, "enumerate").plan
    assert plan is not None
    assert plan.instance == tiny.fingerprint
    assert plan.claims is not None
    assert plan.claims.method == "enumerate"
    assert plan.claims.cheapest_resources is True
    report = verify(tiny, plan)
    assert report.ok
    claims = [finding.equation for finding in report.findings if finding.equation.startswith("claim")]
    assert len(claims) == 6
    assert Plan.from_json(plan.to_json()) == plan


KEYS = [
    *("termination", "solution", "claimed", "cost", "lower_bound", "gap", "epochs", "training_time"),
    *("expected_loss", "reason", "violation", "quantile", "rests_on", "rows", "quantile_means", "scenarios"),
    *("dual", "decisions", "tolerances", "method", "instance", "seed", "versions", "wall_seconds"),
    *("cpu_seconds", "build_seconds", "stage_seconds", "phases", "plan"),
]


def test_the_json_of_a_result_has_all_keys_and_a_plan_that_reads_back(tiny: Instance) -> None:
    result = solve(tiny, "enumerate", seed=4)
    shown = json.loads(result.to_json())
    assert list(shown) == KEYS
    assert (shown["termination"], shown["solution"]) == ("optimal", "proven_optimal")
    assert shown["violation"] == {"lower": 0.25, "upper": 0.25}
    assert shown["quantile"] == {"lower": 6.25, "upper": 6.25}
    assert (shown["method"], shown["seed"], shown["reason"]) == ("enumerate", 4, None)
    libraries = {"numpy", "scipy", "msgspec", "pyomo", "highspy", "numba"}
    assert set(shown["versions"]) == {"python", "depl", *libraries}
    assert shown["versions"]["numpy"] == np.__version__
    assert Plan.from_json(json.dumps(shown["plan"])) == result.plan
    assert min(shown["wall_seconds"], shown["cpu_seconds"], shown["build_seconds"]) >= 0
    assert shown["build_seconds"] <= shown["wall_seconds"]


# --- why it stopped, what is held ----------------------------------------------------------------------

PROOFS = (Termination.OPTIMAL, Termination.GAP_REACHED)
WITH_A_PLAN = [stopped for stopped in Termination if stopped is not Termination.INFEASIBLE]


@pytest.mark.parametrize("stopped", WITH_A_PLAN)
def test_only_a_proof_of_optimality_makes_a_plan_proven_optimal(
    steady: Instance, steady_plan: Plan, stopped: Termination
) -> None:
    held = Solution.PROVEN_OPTIMAL if stopped is Termination.OPTIMAL else Solution.FEASIBLE
    for bound, gap in [(24.0, 0.0)] if stopped in PROOFS else [(24.0, 0.0), (18.0, 0.25)]:
        result = answered(steady, Outcome(stopped, steady_plan, bound))
        assert (result.termination, result.solution) == (stopped, held)
        assert (result.cost, result.lower_bound, result.gap) == (24, bound, gap)


def result_of(cost: float | None, lower_bound: float) -> Result:
    return Result(Termination.EXHAUSTED, None, lower_bound, solution=Solution.NONE, method="m", cost=cost)


# --- the gap -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cost", "lower_bound", "gap"),
    [
        (10.0, 9.0, 0.1),
        (0.0, 0.0, 0.0),
        (10.0, 0.0, 1.0),
        (10.0, -10.0, 2.0),
        (10.0, -math.inf, math.inf),
        (0.0, -1.0, None),
        (0.0, -math.inf, None),
        (None, 9.0, None),
        (None, math.inf, None),
    ],
)
def test_the_gap_is_relative_to_the_cost(cost: float | None, lower_bound: float, gap: float | None) -> None:
    result = result_of(cost, lower_bound)
    assert result.gap == (gap if gap is None else pytest.approx(gap))
    shown = result.to_dict()["gap"]
    assert shown == (None if gap is None or math.isinf(gap) else pytest.approx(gap))


def test_numbers_that_are_not_finite_are_null_in_json(steady: Instance, steady_plan: Plan) -> None:
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


def test_a_bare_plan_is_one_without_a_bound_and_its_own_claims_are_replaced(
    steady: Instance, steady_plan: Plan
) -> None:
    boasting = altered(steady_plan, claims=Claims(cost=1, lower_bound=0.5, method="magic"))
    for plan in (steady_plan, boasting):
        result = answered(steady, plan)
        assert (result.termination, result.solution) == (Termination.EXHAUSTED, Solution.FEASIBLE)
        assert (result.cost, result.lower_bound, result.gap) == (24, -math.inf, math.inf)
        shown = json.loads(result.to_json())
        assert (shown["lower_bound"], shown["gap"]) == (None, None)
        claims = shown["plan"]["claims"]
        assert (claims["cost"], claims["method"], "lower_bound" in claims) == (24, result.method, False)


def test_a_method_receives_the_limits(steady: Instance) -> None:
    seen: list[Limits] = []

    def method(instance: Instance, limits: Limits) -> None:
        seen.append(limits)
        limits.report(3.0, 1.0)

    rows: list[tuple[float, float, float]] = []
    register("mine", method)
    solve(steady, "mine", gap=0.1, time_limit=60, seed=9, progress=lambda *row: rows.append(row))
    assert (seen[0].gap, seen[0].time_limit, seen[0].seed, seen[0].expired()) == (0.1, 60, 9, False)
    assert Limits(time_limit=1e-9).expired()
    assert not Limits().expired()
    assert [row[1:] for row in rows] == [(3.0, 1.0)]
    assert 0 <= rows[0][0] < 60


def test_methods_are_listed_and_found_by_name(steady: Instance) -> None:
    def mine(instance: Instance, limits: Limits) -> None:
        """Gives up.

        At once.
        """

    register("mine", mine)
    register("mine", mine, "Gives up politely.")
    assert find("mine").summary == "Gives up politely."
    register("also", mine)
    assert find("also").summary == "Gives up."
    names = [entry.name for entry in registered()]
    assert names == sorted(names)
    assert {"mine", "also", "enumerate"} <= set(names)
    with pytest.raises(InvalidInputError, match="'mine' is registered already; choose another name"):
        register("mine", returning(None))


# --- what is refused -----------------------------------------------------------------------------------


def test_an_unknown_method_is_refused_with_those_that_exist(steady: Instance) -> None:
    with pytest.raises(InvalidInputError, match=r"no method 'magic'; known are .*enumerate") as caught:
        solve(steady, "magic")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gap": "small"}, "gap, time_limit and seed must be numbers"),
        ({"time_limit": "long"}, "gap, time_limit and seed must be numbers"),
        ({"seed": 1.5}, "gap, time_limit and seed must be numbers"),
        ({"seed": "1"}, "gap, time_limit and seed must be numbers"),
        ({"looks": -1}, "looks: must be a whole number, at least 0, not -1"),
        ({"looks": 1.5}, "looks: must be a whole number, at least 0, not 1.5"),
        ({"gap": -0.1}, r"gap must lie in \[0, 1\), not -0.1"),
        ({"gap": 1}, r"gap must lie in \[0, 1\), not 1"),
        ({"gap": math.nan}, r"gap must lie in \[0, 1\), not nan"),
        ({"time_limit": 0}, "time_limit must be positive, not 0"),
        ({"time_limit": -1}, "time_limit must be positive, not -1"),
        ({"time_limit": math.nan}, "time_limit must be positive, not nan"),
        ({"seed": -1}, "seed must be at least 0, not -1"),
    ],
)
def test_impossible_options_are_refused(steady: Instance, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        solve(steady, "enumerate", **options)


def changed(plan: Plan, index: int, **fields: Any) -> Plan:
    epochs = list(plan.epochs)
    epochs[index] = altered(epochs[index], **fields)
    return altered(plan, epochs=epochs)


UNREAD = "cannot be evaluated: .*"


@pytest.mark.parametrize(
    ("alter", "message"),
    [
        (lambda plan: changed(plan, 0, resources=2.0), r"\(4\): sum of T\(k\) = .* exceeds T_max = 5 by"),
        (lambda plan: changed(plan, 2, resources=4.5), r"\(5\): epoch 3: x = 4.5 exceeds r\(n\) = 4 by 0.5"),
        (lambda plan: changed(plan, 2, resources=0.0), r"\(1\): epoch 3: work 1 without resources"),
        (
            lambda plan: changed(plan, 1, model="pruned", resources=4.0),
            r"\(3\): P\(l\(K\) > l_max\) = .* exceeds",
        ),
        (lambda plan: changed(plan, 2, model="full", cluster="moon"), f"{UNREAD}no cluster 'moon'"),
        (lambda plan: changed(plan, 0, model="pruned"), f"{UNREAD}'pruned' to 'full' is forbidden"),
        (lambda plan: altered(plan, data=plan.data[:1]), f"{UNREAD}has no data"),
        (lambda plan: altered(plan, instance="0" * 64), f"{UNREAD}another instance"),
        (lambda plan: altered(plan, epochs=plan.epochs + plan.epochs[-1:]), "K_max: K = 4, K_max = 3"),
        (lambda plan: Plan(), r"\(3\): P\(l\(K\) > l_max\) = 1 exceeds 1 - omega = 0.3 by 0.7"),
    ],
)
def test_a_wrong_plan_is_the_methods_fault_and_the_equation_is_named(
    tiny: Instance, tiny_optimum: Plan, alter: Callable[[Plan], Plan], message: str
) -> None:
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
def test_an_answer_that_contradicts_itself_is_refused(
    steady: Instance, outcome: object, message: str
) -> None:
    with pytest.raises(VerificationError, match=message):
        answered(steady, outcome, gap=0.1)


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (Outcome(Termination.OPTIMAL, None), "says 'optimal' without a plan"),
        (Outcome(Termination.GAP_REACHED, None), "says 'gap_reached' without a plan"),
        (Outcome(Termination.INFEASIBLE, PLAN), "says 'infeasible' and holds a plan"),
        ("a plan", "returns a str; an Outcome, a Plan or None is needed"),
        ((PLAN, 24.0), "returns a tuple; an Outcome, a Plan or None is needed"),
        (Outcome, "returns a type; an Outcome, a Plan or None is needed"),
        (Outcome("done", PLAN), r"Invalid enum value 'done' - at `\$\.termination`"),
        (Outcome(None, PLAN), r"got `null` - at `\$\.termination`"),
        (Outcome(ENDED, PLAN.to_json()), r"got `str` - at `\$\.plan`"),
        (Outcome(ENDED, PLAN, "7"), r"Expected `float`, got `str` - at `\$\.lower_bound`"),
        (Outcome(ENDED, PLAN, None), r"got `null` - at `\$\.lower_bound`"),
        (Outcome(ENDED, PLAN, math.nan), "its lower_bound is no number"),
        (Outcome(ENDED, PLAN, reason=7), r"got `int` - at `\$\.reason`"),
        (Outcome(ENDED, PLAN, dual=7.0), r"got `float` - at `\$\.dual`"),
        (Outcome(ENDED, PLAN, dual=DualBound("a", 1.0, 1.0)), r"got `str` - at `\$\.dual\.time_price`"),
        (Outcome(ENDED, PLAN, build_seconds=None), r"at `\$\.build_seconds`"),
        (Outcome(ENDED, PLAN, decisions="none"), r"at `\$\.decisions`"),
        (Outcome(ENDED, PLAN, decisions=(Decision("data", 1, "kept"),)), r"at `\$\.decisions\[0\]\.choice`"),
        (Outcome(ENDED, PLAN, tolerances=(1e-9,)), r"at `\$\.tolerances`"),
        (Outcome(ENDED, PLAN, stage_seconds={"data": "long"}), r"at `\$\.stage_seconds\[...\]`"),
        (Outcome(ENDED, PLAN, phases=(Phase("own", "done", 1.0, None, None),)), r"phases\[0\]\.lower_bound`"),
        (Outcome(ENDED, PLAN, rows="all"), r"at `\$\.rows`"),
    ],
)
def test_a_malformed_outcome_is_the_error_of_whoever_wrote_the_method(
    steady: Instance, outcome: object, message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message) as refused:
        answered(steady, outcome, gap=0.1)
    assert "method 'answer-" in refused.value.message
    assert refused.value.exit_code == 2


def test_numbers_of_numpy_and_lists_are_no_malformed_outcome(steady: Instance) -> None:
    outcome = Outcome(ENDED, PLAN, np.float64(7), decisions=[], tolerances={"gap": np.float32(0)})
    result = answered(steady, outcome)
    assert result.lower_bound == json.loads(result.to_json())["lower_bound"] == 7


@pytest.mark.parametrize("run", [lambda instance: None, lambda instance, limits, more: None])
def test_a_method_that_cannot_be_called_so_is_refused_by_name(steady: Instance, run: object) -> None:
    name = f"called with {run.__code__.co_argcount}"
    register(name, run)
    with pytest.raises(
        InvalidInputError, match=f"method '{name}' cannot be called with an instance and limits"
    ):
        solve(steady, name)


def test_what_is_no_method_is_not_registered() -> None:
    for name, run in (("own", "function"), ("", len), (7, len)):
        with pytest.raises(InvalidInputError, match="by its name and its function"):
            register(name, run)


def test_a_gap_is_reached_up_to_rounding(steady: Instance, steady_plan: Plan) -> None:
    outcome = Outcome(Termination.GAP_REACHED, steady_plan, 24 * 0.9 * (1 - 1e-15))
    assert answered(steady, outcome, gap=0.1).termination is Termination.GAP_REACHED


def test_a_plan_that_cannot_be_certified_is_refused_even_if_nobody_can_refute_it(
    bell: Instance, steady_plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = bell.replace(maximum_loss=8.5)
    assert answered(instance, steady_plan).solution is Solution.FEASIBLE
    monkeypatch.setattr(
        "depl.models.evaluation.end_law.certified_violation",
        lambda loss, maximum, *_: Interval(0.03, 0.2, "vague"),
    )
    with pytest.raises(VerificationError, match=r"not certified feasible: \(3\) probability of missing"):
        answered(instance, steady_plan)


# --- on random instances -------------------------------------------------------------------------------
