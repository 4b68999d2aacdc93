"""Which runs may judge a plan: those that chose it, renamed ones and other schedules are refused."""

import math

import numpy as np
import pytest

from depl.models.errors import InvalidInputError
from depl.models.estimation.held_out import LEAST_DISTINCT, fitted_from, held_out, runs_behind
from depl.models.plan import ClusterData, Plan, PlannedEpoch
from depl.models.problem import Instance, Provenance
from depl.models.traces.table import Traces

PAIRS = (("full", "edge"), ("full", "edge"), ("cut", "far"))


def traces_of(runs: dict[str, list[float]], pairs=PAIRS, first: int = 0) -> Traces:
    """Every run has the losses given, from epoch ``first`` on, on the first of the pairs."""
    rows = [
        (name, first + place, *pairs[max(first + place - 1, 0)], loss)
        for name, losses in runs.items()
        for place, loss in enumerate(losses)
    ]
    run, epoch, model, cluster, loss = zip(*rows, strict=True)
    return Traces(run, np.array(epoch), model, cluster, np.array(loss))


GOOD = {"a": [3, 2, 1.5, 1], "b": [3, 2.5, 2, 1.2]}


def test_final_losses_are_those_of_the_last_epoch() -> None:
    found = held_out(traces_of(GOOD), ["c"])
    assert found.runs == ("a", "b")
    assert found.losses.tolist() == [1, 1.2]
    assert found.schedule == PAIRS
    assert (found.stopped, found.diverged) == ((), ())


def test_runs_that_begin_at_epoch_one_count_alike() -> None:
    assert held_out(traces_of({"a": [2, 1.5, 1]}, first=1), ()).losses.tolist() == [1]


def test_a_run_that_chose_the_plan_is_refused_with_its_row_and_what_to_do() -> None:
    used = traces_of({"b": [9, 8, 7, 6], "z": [1, 1, 1, 1]})
    for chosen_by in (["b"], used, {"z": 0, "b": 1}):
        with pytest.raises(InvalidInputError, match=r"'b' was used to choose .* fresh seeds") as error:
            held_out(traces_of(GOOD), chosen_by)
        assert error.value.path == ".run[4]"
    with pytest.raises(InvalidInputError, match="'gone' was used") as error:
        held_out(traces_of(GOOD), ["gone"], diverged=["gone"])
    assert error.value.path == ".diverged"


def test_names_that_are_numbers_are_seeds() -> None:
    with pytest.raises(InvalidInputError, match="'7' was used"):
        held_out(traces_of({"7": [3, 2, 1.5, 1]}), [7])


def test_one_text_in_the_place_of_names_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="list of names"):
        held_out(traces_of(GOOD), "b")


def test_an_instance_names_the_runs_that_it_was_fitted_to(tiny: Instance) -> None:
    row = fitted_from(['b, "c"', "b"])
    assert row.source == "measured"
    fitted = tiny.replace(provenance=(*tiny.provenance, row))
    assert runs_behind(Instance.from_json(fitted.to_json())) == ('b, "c"', "b")
    assert runs_behind(tiny.replace(provenance=(fitted_from(traces_of(GOOD)),))) == ("a", "b")
    with pytest.raises(InvalidInputError, match="'b' was used"):
        held_out(traces_of(GOOD), fitted)
    with pytest.raises(InvalidInputError, match="does not say which runs"):
        held_out(traces_of(GOOD), tiny)
    torn = tiny.replace(provenance=(Provenance(path="$", source="measured", note=row.note[:-1]),))
    with pytest.raises(InvalidInputError, match="list in JSON"):
        runs_behind(torn)


def test_a_run_under_another_name_is_found_by_its_losses() -> None:
    pairs = [("net", "site")] * LEAST_DISTINCT
    losses = [9.0, *np.linspace(3, 1, LEAST_DISTINCT)]
    used, renamed = traces_of({"a": losses}, pairs), traces_of({"fresh": losses[1:]}, pairs, first=1)
    with pytest.raises(InvalidInputError, match=r"'fresh' has the losses of run 'a'") as error:
        held_out(renamed, used)
    assert error.value.path == ".run[0]"
    with pytest.raises(InvalidInputError, match=r"'b' has the losses of run 'a'"):
        held_out(traces_of({"a": losses, "b": losses}, pairs), ())


def test_runs_with_few_different_losses_may_agree_by_chance() -> None:
    pairs = [("net", "site")] * 9
    flat = [3.0, 2, 2, 2, 2, 2, 2, 2, 2, 1]
    assert held_out(traces_of({"a": flat, "b": flat}, pairs), traces_of({"c": flat}, pairs)).losses.size == 2


def test_a_run_that_stopped_early_exceeds_every_target_however_low_it_was() -> None:
    found = held_out(traces_of({"a": [3, 2, 1.5, 1], "short": [3, 0.1], "none": [3]}), ())
    assert found.losses.tolist() == [1, math.inf, math.inf]
    assert found.stopped == ("short", "none")


def test_all_runs_may_have_stopped_early_if_the_plan_says_so() -> None:
    found = held_out(traces_of({"a": [3, 2, 1]}), (), plan=PAIRS)
    assert (found.losses.tolist(), found.stopped) == ([math.inf], ("a",))


def test_a_run_that_diverged_exceeds_also_if_it_is_not_there() -> None:
    found = held_out(traces_of({**GOOD, "short": [3, 2]}), (), diverged=["b", "gone", "short", "b"])
    assert found.runs == ("a", "b", "short", "gone")
    assert found.losses.tolist() == [1, math.inf, math.inf, math.inf]
    assert (found.stopped, found.diverged) == ((), ("b", "gone", "short"))


def test_another_schedule_is_refused_with_the_first_row_that_differs() -> None:
    other = traces_of({"x": [3, 2, 2, 2]}, [("full", "edge"), ("cut", "edge"), ("cut", "far")])
    for plan in (None, PAIRS):
        both = Traces(
            *(
                np.append(getattr(traces_of(GOOD), n), getattr(other, n))
                for n in ("run", "epoch", "model", "cluster", "loss")
            )
        )
        with pytest.raises(
            InvalidInputError, match="'x' has 'cut' in epoch 2, where the plan has 'full'"
        ) as error:
            held_out(both, (), plan)
        assert error.value.path == ".model[10]"
    elsewhere = traces_of({"x": [2, 2, 2]}, [("full", "edge"), ("full", "far"), ("cut", "far")], first=1)
    with pytest.raises(
        InvalidInputError, match="'x' has 'far' in epoch 2, where the plan has 'edge'"
    ) as error:
        held_out(elsewhere, (), PAIRS)
    assert error.value.path == ".cluster[1]"


def test_a_run_that_goes_on_after_the_plan_is_refused() -> None:
    with pytest.raises(
        InvalidInputError, match=r"'a' goes on after the 2 epochs of the plan; .*2 full@edge"
    ) as error:
        held_out(traces_of(GOOD), (), PAIRS[:2])
    assert error.value.path == ".epoch[3]"


def test_a_plan_gives_its_models_and_clusters() -> None:
    plan = Plan(
        data=(ClusterData(cluster="edge", datasets=("d",)), ClusterData(cluster="far", datasets=("d",))),
        epochs=tuple(PlannedEpoch(model=model, cluster=cluster, resources=1.0) for model, cluster in PAIRS),
    )
    assert held_out(traces_of(GOOD), (), plan).schedule == PAIRS
    with pytest.raises(InvalidInputError, match="the plan is not to train"):
        held_out(traces_of(GOOD), (), Plan())
    assert held_out(traces_of({"a": [3.0]}), (), Plan()).losses.tolist() == [3]
