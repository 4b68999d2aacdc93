"""The shipped suites are frozen: their instances have committed fingerprints, and each suite solves one."""

import hashlib
import json
from pathlib import Path

import pytest

import depl
from depl.benchmarks.suites.catalogue import all_suites
from depl.benchmarks.suites.completions import MODELS, TABLE, TARGETS, completions
from depl.benchmarks.suites.measures import costs_by_model, plan_measures
from depl.benchmarks.suites.suite import Draw, Suite
from depl.models.epochs import compose, loss_step
from depl.models.methods import registered

FROZEN = Path(__file__).with_name("data") / "suite_fingerprints.json"
"""Written by ``python tests/test_suites.py`` after a change that is meant; raise the suite's version, too."""
SUITES = all_suites()


def fingerprint(suite: Suite) -> dict[str, object]:
    """How many instances, and a hash of their names, labels and fingerprints."""
    rows = [[draw.name, dict(draw.labels), draw.build().fingerprint] for draw in suite.draws()]
    text = json.dumps(rows, sort_keys=True).encode()
    return {"version": suite.version, "instances": len(rows), "sha256": hashlib.sha256(text).hexdigest()}


def test_every_suite_is_frozen_and_no_other_is():
    assert sorted(json.loads(FROZEN.read_text(encoding="utf-8"))) == sorted(SUITES)


@pytest.mark.parametrize("name", SUITES)
def test_the_instances_of_a_suite_are_those_that_were_frozen(name):
    assert fingerprint(SUITES[name]) == json.loads(FROZEN.read_text(encoding="utf-8"))[name]


@pytest.mark.parametrize("name", SUITES)
def test_names_are_unique_and_methods_registered(name):
    suite = SUITES[name]
    names = [draw.name for draw in suite.draws()]
    assert len(set(names)) == len(names) > 0
    options = {method.name: method.options for method in registered()}
    for item in suite.configurations:
        assert set(item.options) <= set(options[item.method])


@pytest.mark.parametrize("name", [name for name, suite in SUITES.items() if suite.measure])
def test_a_measure_gives_numbers_of_a_plan_and_of_none(name):
    suite = SUITES[name]
    draw = suite.draws()[0]
    instance = draw.build()
    configuration = suite.configurations[0]
    result = depl.solve(instance, configuration.method, time_limit=20, options=configuration.options)
    measured = suite.measure(draw, instance, result)
    assert all(value is None or isinstance(value, int | float) for value in measured.values())


def test_there_are_at_least_400_completions_and_no_two_are_the_same_problem():
    found = completions()
    assert len(found) >= 400
    assert len({item.name for item in found}) == len(found)
    assert len({item.instance(TARGETS[0]).fingerprint for item in found}) == len(found)


@pytest.mark.parametrize("network", TABLE)
def test_a_completion_has_the_means_of_table_one_on_average(network):
    for item in completions():
        if item.network != network or item.decay != "slower-last" or item.limits != "deadline":
            continue
        instance = item.instance(13)
        for name, (mean, _, demand) in zip(MODELS, TABLE[network], strict=True):
            steps = [
                loss_step(instance, k, 0, name, name, frozenset({"training-data"})) for k in range(1, 16)
            ]
            falls = [-compose(0, [step]).mean() for step in steps]
            half = 2 if item.improvement == "halved" else 1
            assert sum(falls) / 15 == pytest.approx(mean / half, rel=1e-9)
            assert instance.model(name).demand == demand


def test_the_printed_completion_with_round_deadlines_has_the_known_optimum():
    # The shipped family is this completion: 17 epochs of slow-steady at 5, 8 at 13.
    name = "alexnet-inverse-gamma-printed-constant-pruning-free-deadline"
    (item,) = [item for item in completions() if item.name == name]
    costs = [depl.solve(item.instance(target), "exact", time_limit=20).cost for target in TARGETS]
    assert costs == pytest.approx([17, 8])


def test_measures_of_the_tiny_optimum(tiny, tiny_optimum):
    draw = Draw("tiny", {}, lambda: tiny)
    result = depl.solve(tiny, "exact")
    assert costs_by_model(tiny, tiny_optimum) == pytest.approx({"full": 24, "pruned": 3})
    measured = plan_measures(draw, tiny, result)
    assert measured["cost_of.full"] == pytest.approx(24)
    assert measured["transfer_cost"] == pytest.approx(1)
    assert measured["violation_allowed"] == pytest.approx(0.3)
    # full gains 2 or 6, twice; pruned on half the data 1.25; the switch loses .25 or .5.
    assert measured["expected_loss"] == pytest.approx(15 - 8 - 1.25 + 0.375)
    assert measured["quantile"] == pytest.approx(15 - 8 - 1.25 + 0.5, abs=1e-6)
    # the .3-quantile: 12 gained with probability 1/4 leaves 3 - 1.25 + ..., then 8 gained
    assert measured["quantile_low"] <= measured["expected_loss"] <= measured["quantile"]


def test_a_plan_that_is_missing_has_no_figures(steady):
    result = depl.solve(steady.replace(maximum_loss=3), "exact")
    assert plan_measures(Draw("none", {}, lambda: steady), steady, result) == {
        "violation_allowed": pytest.approx(0.1)
    }


if __name__ == "__main__":
    frozen = {name: fingerprint(suite) for name, suite in sorted(SUITES.items())}
    FROZEN.write_text(json.dumps(frozen, indent=2) + "\n", encoding="utf-8")
