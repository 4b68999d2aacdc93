"""The three facts of Sec. II by hand, and on runs where they hold and where they do not."""

import numpy as np
import pytest

from depl.models.estimation.facts import opposite_share, three_facts
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import FloatArray
from depl.models.traces.table import Traces, joined


def traces_of(losses: FloatArray, models: list[str], prefix: str) -> Traces:
    runs, count = losses.shape
    return Traces(
        np.array([f"{prefix}{run}" for run in range(runs) for _ in range(count)]),
        np.tile(np.arange(count), runs),
        np.tile([models[0], *models], runs),
        np.full(losses.size, "site"),
        losses.ravel(),
    )


def test_opposite_trends_by_hand() -> None:
    """Means 5, 4, 3, standard deviations 1, 2, 0: opposite from the first epoch to the second only."""
    losses = np.array([[4.0, 2, 3], [6, 6, 3]])
    pairs = [(0, 1), (0, 2), (1, 2)]
    assert opposite_share(losses, pairs, np.ones((1, 2))).tolist() == [pytest.approx(1 / 3)]
    # the first run alone: 4, 2, 3 without any spread
    assert opposite_share(losses, pairs, np.array([[2.0, 0.0]])).tolist() == [0]


def test_runs_that_spread_out_while_they_fall_show_all_three() -> None:
    rng = np.random.default_rng(1)
    epochs = np.arange(13)
    wide = 10 - 0.5 * epochs + 0.1 * (1 + epochs) * rng.normal(size=(60, 13))
    calm = 8 - 0.5 * epochs + 0.1 * rng.normal(size=(30, 13))
    lonely = np.full((2, 13), 5.0)
    parts = [
        traces_of(wide, ["a"] * 12, "w"),
        traces_of(calm, ["b"] * 12, "c"),
        traces_of(lonely, ["c"] * 12, "l"),
    ]
    found = three_facts(joined(parts), rng)
    assert found["left_out"] == 2
    first, second = found["spreads"]
    assert (first["schedule"], first["runs"], first["epoch"]) == ("12 a@site", 60, 12)
    assert first["mean"] == pytest.approx(wide[:, -1].mean())
    assert (first["upper"] - first["lower"]) / first["mean"] == pytest.approx(2 * 2.326 * 1.3 / 4, rel=0.3)
    assert (second["upper"] - second["lower"]) / second["mean"] < 0.3
    (difference,) = found["differences"]
    assert (difference["first"], difference["second"], difference["epoch"]) == ("12 a@site", "12 b@site", 12)
    assert difference["p_value"] < 1e-6
    assert difference["means"] == pytest.approx((wide[:, -1].mean(), calm[:, -1].mean()))
    assert difference["deviations"] == pytest.approx((1.3, 0.1), rel=0.3)
    spreading, steady = found["trends"]
    assert spreading["pairs"] == 7 * 8 / 2  # epochs 1 to 12, at least five apart
    assert spreading["share"] > 0.9
    assert spreading["bounds"].lower > 0.5 > steady["bounds"].lower


def test_schedules_are_compared_before_they_switch_where_they_begin_differently() -> None:
    rng = np.random.default_rng(2)
    one = traces_of(rng.normal(size=(25, 13)), ["a"] * 4 + ["c"] * 8, "x")
    two = traces_of(rng.normal(size=(25, 13)), ["b"] * 9 + ["c"] * 3, "y")
    same = traces_of(rng.normal(size=(25, 13)), ["a"] * 6 + ["c"] * 6, "z")
    found = three_facts(joined([one, two, same]), rng)
    assert [item["epoch"] for item in found["differences"]] == [4, 12, 6]
    assert all(item["p_value"] > 0.001 for item in found["differences"])
    # stages of 4, 8; 9, 3; 6, 6 epochs: pairs at least five apart in 8, 9 and 6 (twice) epochs
    assert [item["pairs"] for item in found["trends"]] == [6, 10, 2]


def test_too_few_runs_have_no_distribution() -> None:
    few = traces_of(np.random.default_rng(0).normal(size=(5, 4)), ["a"] * 3, "x")
    with pytest.raises(InvalidInputError, match="needs a schedule with 20 runs; the most frequent has 5"):
        three_facts(few, np.random.default_rng(0))
    found = three_facts(few, np.random.default_rng(0), least_runs=5)
    assert not found["trends"]  # no two epochs are five apart
