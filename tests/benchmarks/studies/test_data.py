"""The study of stage 1: what counts as faster, and what each method makes of the best of all subsets."""

import numpy as np
import pytest

from depl.benchmarks.studies import data
from depl.benchmarks.studies.data import DEPL, EXTENSION, FAMILIES, POINT, speed


def row(size, point, planes):
    def told(value, optimal, seconds, search):
        return {"value": value, "optimal": optimal, "seconds": seconds, "search_seconds": search}

    return {"family": data._HARD, "size": size, POINT: told(*point), EXTENSION: told(*planes)}


def test_ratios_count_only_what_the_faster_one_proves_and_end_where_the_other_is_stopped():
    found = speed(
        [
            row(2, (-3.0, True, 0.5, 0.25), (-3.0 + 1e-6, True, 6.0, 2.0)),
            row(3, (-4.0, False, 0.25, 0.25), (-4.5, False, 9.0, 9.0)),
            row(4, (-5.0, True, 0.25, 0.25), (-5.0, True, 90.0, 90.0)),
        ]
    )
    assert found["speed_ratios"] == {data._HARD: [8.0, 0.0]}
    assert found["speed_ratio_median_with_certificates"] == 6.0
    assert found["largest_disagreement"] == pytest.approx(1e-6 / 3)


def test_methods_prove_the_same_of_every_family_and_depl_finds_the_best_of_all_subsets(monkeypatch):
    monkeypatch.setattr(data, "_REPEATS", 1)
    rows = [{**task, **data._run(task)} for task in data._tasks(np.random.default_rng(1), True)]
    for law in data._LISTED:
        tasks = [{"group": "methods", "family": law, "size": size, "seed": [4, size]} for size in (6, 7, 9)]
        rows[-4:-4] = [{**task, **data._run(task)} for task in tasks]
    rows.sort(key=lambda row: ("families", "methods", "claims").index(row["group"]))
    found = data._figures(rows)
    assert found["speed_ratios"].keys() == FAMILIES.keys()
    assert all(ratio > 0 for own in found["speed_ratios"].values() for ratio in own)
    assert found["largest_disagreement"] <= 1e-9
    assert (found["false_claims"], found["selections"], found["selections_missed"]) == (0, 2, 0)
    methods = found["methods"]
    assert len(methods) == 4 * 3
    assert all(told["worst_ratio"] >= told["mean_ratio"] >= 1 - 1e-9 for told in methods)
    sure = [told for told in methods if told["method"] == DEPL or told["kind"] == "submodular"]
    assert all(told["optimal_share"] == 1 for told in sure)
