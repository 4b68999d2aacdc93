"""Solvers of others on knapsacks: what they say is the optimum of a dynamic program, or of all sets."""

import sys

import numpy as np
import pytest

from depl.benchmarks.studies.helpers.knapsack_peers import (
    LABEL_SETTING,
    by_highs,
    by_label_setting,
    by_scip,
    peers,
)
from depl.benchmarks.studies.knapsacks import answered, proved_by, ratio_of, refuted, wrong
from depl.instances.chance_knapsack_files import (
    read_chance_knapsack,
    shipped_robust_knapsack,
)
from depl.instances.hard_knapsacks import hard_knapsack
from depl.instances.reductions.knapsack import best_by_capacity
from tests.cases.knapsack_cases import random_chance_knapsack, subsets


def test_solvers_find_the_optimum_of_a_knapsack_and_scip_that_of_a_cone():
    for seed in range(3):
        knapsack = hard_knapsack("weakly-correlated", 12, np.random.default_rng(seed), part=1, parts=1)
        best = float(best_by_capacity(knapsack).value)
        for solve in (by_highs, by_scip):
            assert solve(knapsack, 20.0)[:2] == (pytest.approx(best, rel=1e-9), True)
        chance = random_chance_knapsack(np.random.default_rng(seed))
        every = subsets(len(chance))
        fits = [items for items in every if chance.slack(items) >= 1e-7]  # by less, SCIP's tolerance decides
        answer = by_scip(chance, 20.0)
        assert answer.proved
        assert answer.value >= max(float(chance.value_of(items)) for items in fits) - 1e-6


def test_the_program_of_others_is_given_the_file_and_its_answer_is_read(tmp_path, monkeypatch):
    knapsack, optimum = shipped_robust_knapsack("RKP_00100_00100_1_01")
    copy = tmp_path / "given.txt"
    program = tmp_path / "program"
    program.write_text(
        f"#!{sys.executable}\nimport shutil, sys\nshutil.copy(sys.argv[2], {str(copy)!r})\n"
        "print('The best solution obtained by my labelsetting algorithm is: 313')\n"
    )
    program.chmod(0o700)
    monkeypatch.setenv(LABEL_SETTING, str(program))
    assert set(peers(knapsack)) == {"scip", "label-setting"}
    answer = by_label_setting(knapsack, 20.0)
    assert (answer.value, answer.proved) == (float(optimum), True)
    given = read_chance_knapsack(copy)
    for name in ("values", "means", "variances"):
        assert getattr(given, name) == getattr(knapsack, name)
    assert given.safety == pytest.approx(knapsack.safety, rel=1e-12)
    program.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(60)\n")
    assert by_label_setting(knapsack, 0.2)[:2] == (None, False)
    monkeypatch.delenv(LABEL_SETTING)
    assert set(peers(knapsack)) == {"scip"}


def answer(value, proved=True, seconds=1.0):
    return {"group": "ordinary", "value": value, "proved": proved, "seconds": seconds, "optimum": None}


@pytest.mark.parametrize(
    ("held", "scip", "published", "found"),
    [
        ((10.0, True), (10.0, True), 10.0, False),
        ((10.0, True), (11.0, True), None, True),
        ((10.0, True), None, 11.0, True),
        ((10.0, True), (11.0, False), None, False),
        ((9.0, False), None, 10.0, False),
    ],
)
def test_a_proof_that_another_solver_or_the_publication_refutes_is_counted_as_wrong(
    held, scip, published, found
):
    others = {} if scip is None else {"scip": answer(*scip)}
    assert refuted({**answer(*held), **others, "optimum": published}) is found


def test_ratios_are_those_of_what_both_proved():
    rows = [
        {**answer(1.0, True, 2.0), "scip": answer(1.0, proved, seconds)}
        for seconds, proved in ((4.0, True), (1.0, True), (9.0, False))
    ]
    assert ratio_of(rows, "scip") == pytest.approx(1.0)
    assert ratio_of(rows, "highs") is proved_by(rows, "highs") is None
    assert proved_by(rows, "scip") == 2


def test_an_answer_is_wrong_that_the_optimum_refutes():
    knapsack = hard_knapsack("uncorrelated", 12, np.random.default_rng(0), 1000, 1, 2)
    asked = answered(knapsack, None, 20.0)
    assert asked["proved"]
    assert asked["value"] == asked["optimum"] == pytest.approx(asked["upper"])
    assert asked["near_seconds"] <= asked["seconds"]
    assert not wrong(asked)
    assert wrong({**asked, "optimum": asked["value"] - 1})
    assert wrong({**asked, "optimum": asked["value"] + 1})
