"""Cheapest plans under a traced law: against all schedules, judged by brute force and costed by hand."""

import functools
import math
from fractions import Fraction

import msgspec
import numpy as np
import pytest

from depl.models.evaluation import end_law as end_module
from depl.models.evaluation import traced_loss as traced_module
from depl.models.evaluation.evaluate import evaluate
from depl.models.evaluation.traced_law import Mixed
from depl.models.evaluation.traced_loss import end_law
from depl.models.exact import traced_verdicts as verdicts_module
from depl.models.exact.counted import scenario_search
from depl.models.exact.listing import enumerate_on_scenarios, enumerate_plans
from depl.models.exact.traced_schedules import all_candidates
from depl.models.exact.traced_verdicts import UnderLaw, exceedances
from depl.models.foundation.interval import Interval
from depl.models.risk.certify import certified_violation
from depl.models.scenarios.draws import allowed_misses, draw_scenarios
from depl.models.solving.limits import Limits, Looks
from depl.models.solving.result import Termination
from tests.cases.memory_cases import FULL, instance_of, random_law
from tests.cases.memory_search_cases import case_of, drawn, met_on
from tests.cases.observed_run_cases import rest_of
from tests.cases.traced_law_cases import halves
from tests.problems import refusal


@pytest.fixture(scope="module")
def cases():
    return [drawn(seed) for seed in range(32)]


def searches(case, size=30, seed=4):
    """Both searches with the schedules that they may take."""
    scenarios = draw_scenarios(case.instance, size, seed)
    assert allowed_misses(case.instance, size) < size
    return [
        (enumerate_plans, case.met()),
        (functools.partial(enumerate_on_scenarios, scenarios=scenarios), met_on(case, size, seed)),
    ]


def test_the_plan_is_a_cheapest_of_all_that_meet_the_target(cases):
    """Under the law and on scenarios; also where plans cost nothing."""
    optimal, free = [0, 0], 0
    for index, case in enumerate(cases):
        for place, (search, met) in enumerate(searches(case, (7, 20, 60)[index % 3], index)):
            outcome = search(case.instance, Limits())
            assert (outcome.termination is Termination.INFEASIBLE) == (not met)
            if not met:
                assert (outcome.plan, outcome.lower_bound) == (None, math.inf)
                assert outcome.reason
                continue
            optimal[place] += 1
            assert outcome.termination is Termination.OPTIMAL
            found = evaluate(case.instance, outcome.plan)
            assert [found.cost, outcome.lower_bound] == pytest.approx([met[0][0]] * 2, rel=1e-9, abs=1e-12)
            assert outcome.plan.schedule in {schedule for _, schedule in met}
            broken = {item.equation for item in found.constraints if not item.satisfied}
            assert broken <= ({"(3)"} if place else set())  # under the law, scenarios may have missed it
            if index < 12:
                priced = [msgspec.structs.replace(item, unit_cost=0) for item in case.instance.clusters]
                unpriced = search(case.instance.replace(clusters=tuple(priced), transfers=()), Limits())
                assert (unpriced.termination, unpriced.lower_bound) == (Termination.OPTIMAL, 0)
                free += 1
    assert len(cases) * 25 / 60 < optimal[1] < len(cases) - 5
    assert free > 5


def test_the_method_scenario_search_lists_the_same_schedules(cases):
    for case in cases[:6]:
        hundred = draw_scenarios(case.instance, 100, 2)
        wanted = enumerate_on_scenarios(case.instance, Limits(), hundred).plan
        assert scenario_search(case.instance, Limits(seed=2)).plan == wanted
        assert scenario_search(case.instance, Limits(scenarios=hundred)).plan == wanted


def test_whenever_time_runs_out_the_bound_holds(cases):
    stopped = 0
    for case in cases[:24]:
        for search, met in searches(case):
            optimum = met[0][0] if met else math.inf
            whole, patience = False, 0
            while not whole:
                outcome = search(case.instance, Limits(looks=Looks(patience)))
                whole = outcome.termination is not Termination.TIME_LIMIT
                assert outcome.lower_bound <= optimum * (1 + 1e-9) + 1e-12
                if not whole:
                    assert outcome.plan is None
                    assert outcome.reason.startswith("stopped ")
                    stopped += outcome.lower_bound > 0
                patience += 1
            assert outcome.termination is (Termination.OPTIMAL if met else Termination.INFEASIBLE)
            assert outcome.lower_bound == pytest.approx(optimum, rel=1e-9, abs=1e-12)
    assert stopped > 50


def undecided(monkeypatch, count):
    """The first certificates say nothing, two of a schedule: of all losses seen, and of the target."""
    left = [None] * count

    def certified(loss, maximum_loss, *_):
        if loss.terms and left:
            left.pop()
            return Interval(0.0, 1.0, "nothing")
        return certified_violation(loss, maximum_loss)

    for module in (traced_module, end_module):
        monkeypatch.setattr(module, "certified_violation", certified, raising=False)


def test_a_cheaper_schedule_that_is_not_decided_becomes_the_bound(cases, monkeypatch):
    counted = [case for case in cases if case.instance.traced_law.residuals == "per_run"]
    chosen = [case for case in counted if len({cost for cost, _ in case.met()}) == len(case.met()) > 2]
    assert len(chosen) >= 3
    for case in chosen:
        (first, _), _, (cost, schedule), *_ = case.met()
        undecided(monkeypatch, 5)
        outcome = enumerate_plans(case.instance, Limits())
        assert outcome.termination is Termination.EXHAUSTED
        assert outcome.plan.schedule == schedule
        assert outcome.lower_bound == pytest.approx(first, rel=1e-9)
        gap = (cost - first) / cost
        undecided(monkeypatch, 5)
        assert enumerate_plans(case.instance, Limits(gap=gap * 1.001)).termination is Termination.GAP_REACHED
        undecided(monkeypatch, 5)
        assert enumerate_plans(case.instance, Limits(gap=gap * 0.999)).termination is Termination.EXHAUSTED


def scaled(part, factor):
    """The same law in another unit of loss: what is a loss of a law, a run, or a row, times the factor."""
    if isinstance(part, tuple):
        return tuple(scaled(item, factor) for item in part)
    if isinstance(part, float):
        return factor * part
    names = ("runs", "steps", "jumps", "deviations", "losses", "intercept", "start_slope")
    changed = {name: scaled(getattr(part, name), factor) for name in names if hasattr(part, name)}
    return msgspec.structs.replace(part, **changed)


@pytest.mark.parametrize("factor", [1e-3, 1e9])
def test_sums_as_large_as_their_rounding_are_left_to_the_evaluator(factor):
    """Maxima at atoms of losses of a billion, where neighbouring doubles are a tenth of a millionth apart."""
    compared = 0
    for seed in range(6):
        rng = np.random.default_rng(400 + seed)
        document = scaled(random_law(rng, deviations=(-0.1, 0.05) if seed % 2 else ()), factor)
        bare = case_of(instance_of(document, initial_loss=50 * factor))
        listed = all_candidates(bare.instance, document.law, 10_000)
        for node in listed.cheapest_first()[:4]:
            law, values = end_law(document, listed.schedule(node)), bare.oracle.law(listed.schedule(node))[0]
            for maximum in np.unique(values)[:: max(1, len(values) // 10)].tolist():
                verdicts = UnderLaw(bare.instance.replace(maximum_loss=maximum))
                lower, upper = verdicts.bounds(listed, node)
                assert lower <= law.exceedance(maximum).exact <= upper
        for _, schedule in bare.ranked[:4]:
            values, _ = bare.oracle.law(schedule)
            maximum = float(np.sort(values)[int(0.8 * values.size)])
            share = end_law(document, schedule).exceedance(maximum).exact
            level = max(1e-3, float(1 - share) - 1e-6)  # any atom more would be too much
            instance = bare.instance.replace(maximum_loss=maximum, quantile_level=level)
            budget = instance.target.violation_budget
            met = [
                cost
                for cost, item in bare.ranked
                if end_law(document, item).exceedance(maximum).at_most(budget)
            ]
            outcome = enumerate_plans(instance, Limits())
            assert (outcome.plan is None) == (not met)
            if met:
                assert outcome.lower_bound == pytest.approx(met[0], rel=1e-9)
                compared += 1
    assert compared > 7


def test_exceedances_count_all_combinations_by_their_weights():
    rng = np.random.default_rng(5)
    for _ in range(20):
        part, weights = rng.integers(-4, 5, 8).astype(float), rng.integers(1, 9, 8)
        offsets, limits = rng.integers(-1, 2, 2).astype(float), (-3.0, 0.0, 0.5, 4.0)
        likely = [
            sum(int(weights[1.0 + part + offset > limit].sum()) for offset in offsets) for limit in limits
        ]
        weighted = Mixed(1.0, (part,), together=True, weights=weights)
        assert exceedances(weighted, offsets, limits) == [Fraction(n, 2 * int(weights.sum())) for n in likely]


@pytest.mark.parametrize("kept", [1, 3, 10_000])
def test_quick_bounds_enclose_how_often_a_schedule_misses_its_target_however_few_states_are_kept(
    cases, kept, monkeypatch
):
    """By counts of runs, which tell atoms at the target, and by the grid."""
    monkeypatch.setattr(verdicts_module, "_STATES", kept)
    for case in cases[:: 1 if kept > 3 else 4]:
        listed = all_candidates(case.instance, case.instance.traced_law.law, 10_000)
        verdicts = UnderLaw(case.instance)
        for node in listed.cheapest_first():
            lower, upper = verdicts.bounds(listed, node)
            assert lower <= case.violation(listed.schedule(node)) <= upper


def test_what_is_met_without_an_epoch_is_met_on_all_scenarios_and_rests_are_listed():
    """Of three scenarios none may miss."""
    idle = instance_of(halves(), maximum_loss=60.0)
    assert enumerate_on_scenarios(idle, Limits(), draw_scenarios(idle, 3)).lower_bound == 0
    rest = rest_of(halves(24, unseen_loss=4.0).after((FULL,), 2.5))
    assert enumerate_plans(rest, Limits()).termination is Termination.INFEASIBLE


def test_scenarios_of_other_epochs_are_refused():
    instance = instance_of(halves())
    scenarios = draw_scenarios(instance.replace(maximum_epochs=2), 5)
    assert "draw them for this instance" in str(
        refusal(enumerate_on_scenarios, instance, Limits(), scenarios)
    )


TWO_STAGES = "the plan that misses the target least often 8 and 8 runs lend, each with 1 more"


@pytest.mark.parametrize(
    ("law", "level", "maximum_loss", "words"),
    [
        ({"whole_runs": 6}, 0.85, 1.0, "the schedule that misses it least often has the quantile 2"),
        ({"whole_runs": 6, "diverged": 2}, 0.85, 2.1, "17 runs of one plan where 2 diverged, which count as"),
        ({"whole_runs": 6, "diverged": 2}, 0.8, 2.1, "12 runs of one plan where 2 diverged"),
        ({"whole_runs": 6, "diverged": 2}, 0.72, 1.0, "has the quantile 2"),  # 8 of 8 + 3 would do
        ({"whole_runs": 6, "confidence": 0.9}, 0.8, 2.1, "it takes 11 runs of one plan, and 8 runs went"),
        (
            {"whole_runs": 30},
            0.8,
            2.1,
            f"to the stages of {TWO_STAGES} counted as a miss: they carry 0.79 at",
        ),
        ({"whole_runs": 30}, 0.79, 1.0, "has the quantile 2"),  # (8 / 9)^2 is 0.7901
        ({"whole_runs": 30, "confidence": 0.9}, 0.5, 2.1, "counts whole runs of a plan, 30 at least"),
        (
            {"whole_runs": 30, "care": 0.8},
            0.5,
            2.1,
            "plans that fewer than 30 runs went through need a margin",
        ),
        ({"whole_runs": 6, "care": 0.8}, 0.85, 1.0, "has the quantile 2; plans that fewer than 6 runs went"),
    ],
)
def test_why_no_schedule_is_promised_says_how_many_runs_would_be(law, level, maximum_loss, words):
    """Of eight runs of one plan of two stages; the numbers are worked out by hand."""
    asked = {"quantile_level": level, "maximum_loss": maximum_loss}
    outcome = enumerate_plans(instance_of(halves(8, unseen_loss=9.0, **law), **asked), Limits())
    assert outcome.termination is Termination.INFEASIBLE
    assert words in outcome.reason
    assert ("record" in outcome.reason) != outcome.reason.endswith("quantile 2")
