"""The shipped suites are frozen: their instances have committed fingerprints, and each suite solves one."""

import hashlib
import json
import math
import statistics
from pathlib import Path

import pytest

import depl
from depl.benchmarks.measure.catalogue import all_suites, draws_of
from depl.benchmarks.measure.registry import Draw
from depl.benchmarks.studies.sweeps import LEVELS, drawn_knapsack
from depl.benchmarks.suites.measures import costs_by_model, plan_measures
from depl.instances.completions import MODELS, TABLE, TARGETS, completed, completions
from depl.instances.reductions.chance import Chance
from depl.models.problem.epochs import compose, loss_step
from tests.cases.knapsack_cases import subsets

FROZEN = Path(__file__).resolve().parents[2] / "data" / "suite_fingerprints.json"
"""Written by ``python tests/benchmarks/suites/test_suites.py`` after a change that is meant; raise the
suite's version, too."""
SUITES = {name: study for name, study in all_suites().items() if study.tells is None}


SPARSE = 5
"""One instance in so many is built in every run of the tests, all of them in the slow ones."""


def fingerprint(suite, step):
    """Hash of names, labels and instances of every ``step``-th draw."""
    rows = [[draw.name, dict(draw.labels), draw.build().fingerprint] for draw in suite.instances()[::step]]
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


def frozen(suite):
    """What the file holds of a suite."""
    hashes = {"some": fingerprint(suite, SPARSE), "all": fingerprint(suite, 1)}
    return {"version": suite.version, "instances": len(suite.instances()), **hashes}


def test_every_suite_is_frozen_and_no_other_is():
    assert sorted(json.loads(FROZEN.read_text(encoding="utf-8"))) == sorted(SUITES)


@pytest.mark.parametrize("name", SUITES)
def test_instances_of_a_suite_are_those_that_were_frozen(name):
    known = json.loads(FROZEN.read_text(encoding="utf-8"))[name]
    suite = SUITES[name]
    assert (suite.version, len(suite.instances())) == (known["version"], known["instances"])
    # powers of arrays differ in their last digit between processors with AVX-512 and without
    assert fingerprint(suite, SPARSE) in {known["some"], known.get("some_without_avx512")}


@pytest.mark.slow
@pytest.mark.parametrize("name", SUITES)
def test_all_instances_of_a_suite_are_those_that_were_frozen(name):
    assert fingerprint(SUITES[name], 1) == json.loads(FROZEN.read_text(encoding="utf-8"))[name]["all"]


def test_names_are_unique_and_methods_registered():
    for suite in SUITES.values():
        names = [draw.name for draw in suite.instances()]
        assert len(set(names)) == len(names) > 0
        for item in suite.configurations:
            assert set(item.options) <= {option.name for option in item.solver.options}


@pytest.mark.parametrize("network", TABLE)
def test_a_completion_has_the_means_of_table_one_on_average(network):
    for item in completions():
        if (item["network"], item["decay"], item["limits"]) != (network, "slower-last", "deadline"):
            continue
        instance = completed(13, item)
        for name, (mean, _, demand) in zip(MODELS, TABLE[network], strict=True):
            steps = [
                loss_step(instance, k, 0, name, name, frozenset({"training-data"})) for k in range(1, 16)
            ]
            falls = [-compose(0, [step]).mean() for step in steps]
            half = 2 if item["improvement"] == "halved" else 1
            assert sum(falls) / 15 == pytest.approx(mean / half, rel=1e-9)
            assert instance.model(name).demand == demand


def test_the_printed_completion_with_round_deadlines_has_the_known_optimum():
    # The shipped family is this completion: 17 epochs of slow-steady at 5, 8 at 13.
    name = "alexnet-inverse-gamma-printed-constant-pruning-free-deadline"
    draws = draws_of("reconstruction")
    costs = [depl.solve(draws[f"{name}-{at}"].made()[0], "exact", time_limit=20).cost for at in TARGETS]
    assert costs == pytest.approx([17, 8])


def test_measures_of_the_tiny_optimum(tiny, tiny_optimum):
    draw = Draw("tiny", {}, lambda: tiny)
    result = depl.solve(tiny, "exact")
    assert costs_by_model(tiny, tiny_optimum) == pytest.approx({"full": 24, "pruned": 3})
    measured = plan_measures(draw, tiny, result)
    assert measured["cost_of.full"] == pytest.approx(24)
    assert measured["violation_allowed"] == pytest.approx(0.3)
    # full gains 2 or 6, twice; pruned on half the data 1.25; the switch loses 0.25 or 0.5.
    assert measured["expected_loss"] == pytest.approx(15 - 8 - 1.25 + 0.375)
    assert measured["quantile"] == pytest.approx(15 - 8 - 1.25 + 0.5, abs=1e-6)
    # the 0.3-quantile: 12 gained with probability 1/4 leaves 3 - 1.25 + ..., then 8 gained
    assert measured["quantile_low"] <= measured["expected_loss"] <= measured["quantile"]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("number", range(2))
def test_drawn_chance_knapsacks_have_the_value_that_listing_all_sets_finds(level, number):
    knapsack = drawn_knapsack(10, level, number)
    score = statistics.NormalDist().inv_cdf(level)

    def fits(items):
        mean, variance = (float(sum(row[i] for i in items)) for row in (knapsack.means, knapsack.variances))
        return mean + score * math.sqrt(variance) <= knapsack.capacity

    best = max(sum(int(knapsack.values[i]) for i in items) for items in subsets(10) if fits(items))
    draw = draws_of("chance-knapsack")[f"items-010-omega-{level}-{number}"]
    result = depl.solve(draw.build(), "exact", time_limit=20)
    assert result.solution is depl.Solution.PROVEN_OPTIMAL
    items = Chance.solution_of(result.plan)
    assert (fits(items), sum(int(knapsack.values[i]) for i in items)) == (True, best)


def test_a_plan_on_wrong_laws_is_judged_under_the_true_ones():
    suite = SUITES["ablation"]
    order = suite.configurations[1]
    judged = {}
    for error in ("0", "0.5"):
        draw = draws_of(suite.name)[f"truth-30-error-{error}"]
        instance = draw.build()
        result = depl.solve(instance, order.solver, options=order.options)
        judged[error] = suite.measure(draw, instance, result)
        judged[error]["promised"] = 1 - result.violation.upper
        assert judged[error]["promised"] >= 1 - judged[error]["violation_allowed"]
        assert judged[error]["true_cost"] == pytest.approx(result.cost)
    assert judged["0"]["delivered"] == judged["0"]["promised"]
    assert judged["0.5"]["delivered"] != judged["0.5"]["promised"]


if __name__ == "__main__":
    known = {name: frozen(suite) for name, suite in sorted(SUITES.items())}
    FROZEN.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
