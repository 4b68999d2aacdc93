"""Which runs may judge a plan: those that chose it under any name, copies and other schedules are refused."""

import math

import numpy as np
import pytest

from depl.models.estimation.certificate import held_out
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.traces.fingerprints import fingerprints
from depl.models.traces.stages import PLAN, plan_text
from depl.models.traces.table import Traces

PAIRS = (("full", "edge"),) * 6 + (("cut", "far"),) * 6


def traces_of(runs: dict[str, list[float]], pairs=PAIRS, first: int = 0, provenance=None) -> Traces:
    """Every run has the losses given, from epoch ``first`` on, on the first of the pairs."""
    rows = [
        (name, first + place, *pairs[max(first + place - 1, 0)], loss)
        for name, losses in runs.items()
        for place, loss in enumerate(losses)
    ]
    run, epoch, model, cluster, loss = zip(*rows, strict=True)
    return Traces(run, np.array(epoch), model, cluster, np.array(loss), provenance=provenance or {})


def drawn(*names: str, seed: int = 0) -> dict[str, list[float]]:
    """Runs of 12 epochs: a decay with noise."""
    rng = np.random.default_rng(seed)
    return {name: (3 / np.arange(1, 14) + rng.normal(0, 0.1, size=13)).tolist() for name in names}


GOOD = drawn("a", "b")
COARSE = {name: [round(loss, 1) for loss in losses] for name, losses in drawn(*"abcdefgh").items()}
TWICE = GOOD | {"c": [loss + 1e-9 for loss in GOOD["a"]]}
ELSEWHERE = traces_of({"x": [2, 2, 2]}, [("full", "edge"), ("full", "far"), ("cut", "far")], first=1)


def test_a_run_that_chose_the_plan_is_refused_under_any_name_with_its_row_and_what_to_do(tiny) -> None:
    used = traces_of(drawn("x", "y", seed=1) | {"z": GOOD["b"]})
    instance = tiny.replace(run_fingerprints=fingerprints(used))
    other = traces_of(drawn("b", seed=2))
    for chosen_by in (used, instance, [other, used], (other, instance)):
        with pytest.raises(InvalidInputError, match=r"'b' was used .* run 'z' of .* fresh seeds") as error:
            held_out(traces_of(GOOD), chosen_by, PAIRS)
        assert error.value.path == ".run[13]"
    assert "those that tiny was fitted to" in str(error.value)
    both = {"v": GOOD["a"], "w": GOOD["b"]}
    with pytest.raises(InvalidInputError, match=r"12 of 12 epochs compared; so are those of 1 other run\."):
        held_out(traces_of(both), traces_of(GOOD), PAIRS)


def test_a_name_alone_decides_nothing(tiny: Instance) -> None:
    """Fresh runs may be called as those that chose the plan: loggers count from run0 again."""
    used, fresh = traces_of(GOOD), traces_of(drawn("a", "b", seed=1))
    for chosen_by in (used, tiny.replace(run_fingerprints=fingerprints(used))):
        assert held_out(fresh, chosen_by, PAIRS, diverged=["gone"]).losses.size == 3
    for names in (["b"], "b", [7]):
        with pytest.raises(InvalidInputError, match="a name does not tell whether a run is fresh"):
            held_out(fresh, names, PAIRS)
    with pytest.raises(InvalidInputError, match=r"tiny carries no fingerprints .* \(depl fit\)") as error:
        held_out(traces_of(GOOD), tiny, PAIRS)
    assert error.value.path == "$.run_fingerprints"


@pytest.mark.parametrize(
    ("traces", "plan", "path", "message"),
    [
        (traces_of(TWICE), PAIRS, ".run[26]", "'c' is run 'a' of the same file once more"),
        # four epochs tell nothing: five or six are needed, and said to be
        (
            traces_of({name: losses[:5] for name, losses in drawn("a", "b", "c").items()}),
            PAIRS[:4],
            ".loss",
            r"cannot be told: .* takes \d or more different losses after training; they have 4,",
        ),
        (traces_of({"a": [3.0]}), (), ".loss", "cannot be told"),
        (traces_of(COARSE), PAIRS, ".loss", r"known to 0\.1, losses of different runs agree"),
        # runs that all ended at epoch 8 of 12 look like runs of a plan of 8 epochs
        (traces_of({"a": GOOD["a"][:9]}), None, ".plan", "say what the runs were to train"),
        (
            traces_of(GOOD, (PAIRS[0], ("cut", "edge"), *PAIRS[2:])),
            PAIRS,
            ".model[2]",
            "'a' has 'cut' in epoch 2, where the plan has 'full'",
        ),
        (ELSEWHERE, PAIRS, ".cluster[1]", "'x' has 'far' in epoch 2, where the plan has 'edge'"),
        (
            traces_of(GOOD),
            PAIRS[:2],
            ".epoch[3]",
            r"'a' goes on after the 2 epochs of the plan; .*2 full@edge",
        ),
        (traces_of(GOOD), Plan(), ".epoch[1]", "the plan is not to train"),
    ],
)
def test_runs_that_may_not_judge_are_refused_with_their_row(traces, plan, path: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as error:
        held_out(traces, (), plan)
    assert error.value.path == path


def test_single_runs_that_cannot_be_told_exceed_and_known_ones_are_named() -> None:
    """A collapsed run has one loss for ever: nothing tells it from another such run."""
    found = held_out(traces_of(GOOD | {"flat": [2.3] * 13}), (), PAIRS)
    assert found.flat == ("flat",)
    assert found.losses.tolist() == [GOOD["a"][-1], GOOD["b"][-1], math.inf]
    used = traces_of(drawn("x", "y", seed=1) | {"z": [3.0, 2.0, 1.0]})
    assert held_out(traces_of(GOOD), used, PAIRS).untold == ("z",)


def test_runs_that_stopped_early_or_diverged_exceed_also_if_they_are_not_there() -> None:
    found = held_out(traces_of(GOOD | {"short": [3, 0.1], "none": [3]}), (), PAIRS)
    assert found.losses.tolist() == [GOOD["a"][-1], GOOD["b"][-1], math.inf, math.inf]
    assert found.stopped == ("short", "none")
    found = held_out(traces_of(GOOD | {"short": [3, 2]}), (), PAIRS, diverged=["b", "gone", "short", "b"])
    assert found.runs == ("a", "b", "short", "gone")
    assert found.losses.tolist() == [GOOD["a"][-1], math.inf, math.inf, math.inf]
    assert (found.stopped, found.diverged) == ((), ("b", "gone", "short"))
    with pytest.raises(InvalidInputError, match="list of names"):
        held_out(traces_of(GOOD), (), PAIRS, diverged="b")


def test_the_plan_is_that_of_the_provenance_or_the_one_given_with_its_models_and_clusters() -> None:
    cut = traces_of({name: losses[:9] for name, losses in GOOD.items()}, provenance={PLAN: plan_text(PAIRS)})
    found = held_out(cut, ())
    assert (found.losses.tolist(), found.stopped) == ([math.inf, math.inf], ("a", "b"))
    assert found.schedule == PAIRS
    assert held_out(cut, (), PAIRS[:8]).stopped == ()
    plan = Plan(
        data=(ClusterData(cluster="edge", datasets=("d",)), ClusterData(cluster="far", datasets=("d",))),
        epochs=tuple(PlannedEpoch(model=model, cluster=cluster, resources=1.0) for model, cluster in PAIRS),
    )
    assert held_out(traces_of(GOOD), (), plan).schedule == PAIRS
