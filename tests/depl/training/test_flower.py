"""Flower with fakes: the result is that of a run of just so many rounds."""

import json
import math

import numpy as np
import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.controller import Controller
from depl.models.policy.decisions import Stop
from depl.training.checkpoints import Checkpoints
from tests.cases.fake_frameworks import Array, ArrayRecord, Federation, Nodes, Result
from tests.cases.policy_files import digits_policy

LOSSES = [2.3, 2.0, 1.4, 0.97, 0.8, 0.6, 0.5, 0.44, 0.4]
FIRST = ArrayRecord({"w": Array(np.array(0.0))})
NODES = {"edge": [0, 1], "far-edge": [1]}


def convert(arrays, to):
    """Adds a half, so that one sees it was called."""
    assert to == "p75"
    return ArrayRecord({"w": Array(arrays["w"].numpy() + 0.5)})


def value(arrays):
    return float(arrays["w"].numpy())


class Alone(Federation):
    """The same federation without a controller: three rounds of p50, a conversion, four of p75."""

    def configure_train(self, number, arrays, config, grid):
        config = {"model": "p50" if number <= 3 else "p75", "cluster": ""}
        arrays = convert(arrays, "p75") if number == 4 else arrays
        return super().configure_train(number, arrays, config, grid)


def test_the_result_is_that_of_a_run_of_just_so_many_rounds(adapter, controller, tmp_path):
    made, federation = controller(), Federation(LOSSES)
    kept = Checkpoints(tmp_path / "w", ".npz")
    guarded = adapter("flower").guard(federation, made, convert=convert, nodes=NODES, checkpoints=kept)
    result = guarded.start(Nodes(), FIRST, evaluate_fn=federation.evaluate)
    alone = Alone(LOSSES)
    wanted = alone.start(Nodes(), FIRST, num_rounds=7, evaluate_fn=alone.evaluate)
    assert made.decision == Stop("reached", 7, 0.44)
    assert value(result.arrays) == value(wanted.arrays) == 3 + 0.5 + 400
    for kind in ("train_metrics_clientapp", "evaluate_metrics_clientapp", "evaluate_metrics_serverapp"):
        assert getattr(result, kind) == getattr(wanted, kind)
    assert federation.asked[2:4] == [(3, "p50", "edge", (0, 1)), (4, "p75", "far-edge", (1,))]
    with np.load(tmp_path / "w" / "epoch-7.npz") as saved:
        assert (list(saved["names"]), float(saved["arr_0"])) == (["w"], value(wanted.arrays))


@pytest.mark.parametrize("rounds", [2, 3, 5])
def test_a_run_goes_on_from_its_log_and_its_arrays(rounds, adapter, controller, tmp_path):
    flower, kept = adapter("flower"), Checkpoints(tmp_path / "w", ".npz")
    federation = Federation([*LOSSES[: rounds + 1], "killed"])
    guarded = flower.guard(federation, controller(), convert=convert, checkpoints=kept)
    with pytest.raises(TypeError):
        guarded.start(Nodes(), FIRST, evaluate_fn=federation.evaluate)
    whole, made = Federation(LOSSES), controller()
    guarded = flower.guard(whole, made, convert=convert, checkpoints=kept)
    result = guarded.start(Nodes(), FIRST, evaluate_fn=whole.evaluate)
    assert [number for number, *_ in whole.asked] == list(range(rounds + 1, 8))
    assert list(result.evaluate_metrics_serverapp) == list(range(rounds + 1, 8))
    assert (value(result.arrays), made.epoch) == (403.5, 7)
    unfinished = Controller(json.dumps(digits_policy()))
    unfinished.start(2.3)
    unfinished.observe(2.0)
    with pytest.raises(InvalidInputError, match="are needed to go on with a run after"):
        flower.guard(whole, unfinished, convert=convert).start(Nodes(), FIRST)


def test_without_a_central_evaluation_that_of_the_clients_is_observed(adapter, controller, forgetful):
    made, flower = controller(), adapter("flower")
    with pytest.raises(InvalidInputError, match="as there is no evaluate_fn"):
        flower.guard(Federation(LOSSES), made, convert=convert).start(Nodes(), FIRST)
    result = flower.guard(Federation(LOSSES), made, convert=convert, first_loss=2.3).start(Nodes(), FIRST)
    assert (made.epoch, value(result.arrays)) == (7, 403.5)
    assert list(result.evaluate_metrics_clientapp) == list(range(1, 8))
    made = forgetful()  # whose first loss decides nothing
    result = flower.guard(Federation(LOSSES), made, convert=convert).start(Nodes(), FIRST)
    assert (made.epoch, value(result.arrays)) == (7, 403.5)


def test_a_run_that_stops_before_its_first_round_returns_the_arrays_it_was_given(adapter, controller):
    federation = Federation([math.nan])
    guarded = adapter("flower").guard(federation, controller(), convert=convert)
    result = guarded.start(Nodes(), FIRST, evaluate_fn=federation.evaluate)
    assert result.arrays is FIRST
    assert (list(result.evaluate_metrics_serverapp), federation.asked) == ([0], [])


def test_what_would_not_be_followed_is_refused(adapter, controller):
    guard, known = adapter("flower").guard, {"convert": convert}

    class Own(Federation):
        def start(self, *given, **named):
            return Result()

    cases = {
        "Own has a start of its own": (Own, known),
        "may switch between 'p50', 'p75'": (Federation, {}),
        "no entry for the cluster 'far-edge'": (Federation, known | {"nodes": {"edge": [0]}}),
        r"suffix='\.npz'": (Federation, known | {"checkpoints": Checkpoints("w")}),
    }
    for words, (strategy, given) in cases.items():
        with pytest.raises(InvalidInputError, match=words):
            guard(strategy(LOSSES), controller(), **given)
    with pytest.raises(InvalidInputError, match="is 3, and the run may take 16"):
        guard(Federation(LOSSES), controller(), **known).start(Nodes(), FIRST, num_rounds=3)
