"""Which runs may judge a plan: those that chose it under any name, copies and other schedules are refused."""

import json
import math

import numpy as np
import pytest

from depl.models.estimation.certificate import held_out
from depl.models.estimation.diagnosis import diagnose
from depl.models.estimation.instance import fit_instance
from depl.models.estimation.setup import Setup
from depl.models.evaluation.traced_loss import basis, end_law
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.traces.fingerprints import fingerprints
from depl.models.traces.stages import PLAN, plan_text
from depl.models.traces.table import joined
from depl.models.verifier.traces import traced_loss
from tests import problems
from tests.cases.same_runs import LOSSES, ONE_MODEL, named, table
from tests.problems import refusal

PAIRS = (("full", "edge"),) * 6 + (("cut", "far"),) * 6


def traces_of(runs, pairs=PAIRS, first=0, provenance=None):
    return table(runs, first, pairs, provenance)


def drawn(*names, seed=0):
    """Runs of 12 epochs: a decay with noise."""
    rng = np.random.default_rng(seed)
    return {name: (3 / np.arange(1, 14) + rng.normal(0, 0.1, size=13)).tolist() for name in names}


GOOD = drawn("a", "b")
COARSE = {name: [round(loss, 1) for loss in losses] for name, losses in drawn(*"abcdefgh").items()}
SHORT = {name: losses[:5] for name, losses in drawn("a", "b", "c").items()}
TWICE = GOOD | {"c": [loss + 1e-9 for loss in GOOD["a"]]}
OTHER = (PAIRS[0], ("cut", "edge"), *PAIRS[2:])
ELSEWHERE = traces_of({"x": [2, 2, 2]}, [("full", "edge"), ("full", "far"), ("cut", "far")], first=1)


def test_a_run_that_chose_the_plan_is_refused_under_any_name_with_its_row_and_what_to_do(tiny):
    used = traces_of(drawn("x", "y", seed=1) | {"z": GOOD["b"]})
    instance = tiny.replace(run_fingerprints=fingerprints(used))
    other = traces_of(drawn("b", seed=2))
    for chosen_by in (used, instance, [other, used], (other, instance)):
        error = refusal(held_out, traces_of(GOOD), chosen_by, PAIRS)
        assert error.path == ".run[13]"
        assert all(words in error.message for words in ("'b' was used ", " run 'z' of ", " fresh seeds"))
    assert "those that tiny was fitted to" in error.message
    both = traces_of({"v": GOOD["a"], "w": GOOD["b"]})
    told = str(refusal(held_out, both, traces_of(GOOD), PAIRS))
    assert "12 of 12 epochs compared; so are those of 1 other run." in told


def test_a_name_alone_decides_nothing(tiny):
    """Fresh runs may be called as those that chose the plan: loggers count from run0 again."""
    used, fresh = traces_of(GOOD), traces_of(drawn("a", "b", seed=1))
    for chosen_by in (used, tiny.replace(run_fingerprints=fingerprints(used))):
        assert held_out(fresh, chosen_by, PAIRS, diverged=["gone"]).losses.size == 3
    for names in (["b"], "b", [7]):
        assert "a name does not tell whether a run is fresh" in str(refusal(held_out, fresh, names, PAIRS))
    error = refusal(held_out, traces_of(GOOD), tiny, PAIRS)
    assert (error.path, "tiny carries no fingerprints" in error.message) == ("$.run_fingerprints", True)


@pytest.mark.parametrize(
    ("traces", "plan", "path", "message"),
    [
        (traces_of(TWICE), PAIRS, ".run[26]", "'c' is run 'a' of the same file once more"),
        (traces_of(SHORT), PAIRS[:4], ".loss", "more different losses after training; they have 4,"),
        (traces_of({"a": [3.0]}), (), ".loss", "cannot be told"),
        (traces_of(COARSE), PAIRS, ".loss", "known to 0.1, losses of different runs agree"),
        # runs that all ended at epoch 8 of 12 look like runs of a plan of 8 epochs
        (traces_of({"a": GOOD["a"][:9]}), None, ".plan", "say what the runs were to train"),
        (traces_of(GOOD, OTHER), PAIRS, ".model[2]", "'a' has 'cut' in epoch 2, where the plan has 'full'"),
        (ELSEWHERE, PAIRS, ".cluster[1]", "'x' has 'far' in epoch 2, where the plan has 'edge'"),
        (traces_of(GOOD), PAIRS[:2], ".epoch[3]", "'a' goes on after the 2 epochs of the plan"),
        (traces_of(GOOD), Plan(), ".epoch[1]", "the plan is not to train"),
    ],
)
def test_runs_that_may_not_judge_are_refused_with_their_row(traces, plan, path, message):
    error = refusal(held_out, traces, (), plan)
    assert error.path == path
    assert message in error.message


def test_single_runs_that_cannot_be_told_exceed_and_known_ones_are_named():
    """A collapsed run has one loss for ever: nothing tells it from another such run."""
    found = held_out(traces_of(GOOD | {"flat": [2.3] * 13}), (), PAIRS)
    assert found.flat == ("flat",)
    assert found.losses.tolist() == [GOOD["a"][-1], GOOD["b"][-1], math.inf]
    used = traces_of(drawn("x", "y", seed=1) | {"z": [3.0, 2.0, 1.0]})
    assert held_out(traces_of(GOOD), used, PAIRS).untold == ("z",)


def test_runs_that_stopped_early_or_diverged_exceed_also_if_they_are_not_there():
    found = held_out(traces_of(GOOD | {"short": [3, 0.1], "none": [3]}), (), PAIRS)
    assert found.losses.tolist() == [GOOD["a"][-1], GOOD["b"][-1], math.inf, math.inf]
    assert found.stopped == ("short", "none")
    found = held_out(traces_of(GOOD | {"short": [3, 2]}), (), PAIRS, diverged=["b", "gone", "short", "b"])
    assert found.runs == ("a", "b", "short", "gone")
    assert found.losses.tolist() == [GOOD["a"][-1], math.inf, math.inf, math.inf]
    assert (found.stopped, found.diverged) == ((), ("b", "gone", "short"))
    assert "list of names" in str(refusal(held_out, traces_of(GOOD), (), PAIRS, diverged="b"))


def test_the_plan_is_that_of_the_provenance_or_the_one_given():
    cut = traces_of({name: losses[:9] for name, losses in GOOD.items()}, provenance={PLAN: plan_text(PAIRS)})
    found = held_out(cut, ())
    assert (found.losses.tolist(), found.stopped) == ([math.inf, math.inf], ("a", "b"))
    assert held_out(cut, (), PAIRS[:8]).stopped == ()
    assert held_out(traces_of(GOOD), (), problems.plan(*PAIRS, data=["d"])).schedule == PAIRS


PLACE = ("net", "edge")
DISTINCT = table(named())


def fitted(traces, **options):
    return fit_instance(traces, Setup.from_json(json.dumps(ONE_MODEL)), **options)


def promises(instance):
    """P(l(K) <= target) as promised, of 1 to 6 epochs at twenty targets between the losses."""
    law = instance.traced_law
    found = []
    for epochs in range(1, 7):
        ascending = np.sort(LOSSES[:, epochs - 1])
        targets = (ascending[4:] + ascending[3:-1]) / 2
        end = end_law(law, (PLACE,) * epochs)
        found.append([1 - end.violation(float(target)).upper for target in targets])
    return np.array(found)


def multiset(seed):
    """All runs, and good ones of them again: renamed, cut, rounded, in any order."""
    rng, runs = np.random.default_rng(seed), named()
    good = np.argsort(LOSSES[:, -1])[:6]
    for number in range(int(rng.integers(10, 30))):
        row = LOSSES[rng.choice(good)]
        row = row[: rng.integers(2, 7)] if rng.random() < 0.3 else row
        runs[f"again{number}"] = list(np.round(row, 4) if len(row) > 3 and rng.random() < 0.5 else row)
    return table({name: runs[name] for name in rng.permutation(list(runs))})


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_no_multiset_of_copies_cuts_and_roundings_promises_more_than_the_runs(seed):
    options = {"confidence": 0.95} if seed > 3 else {}
    alone, again = fitted(DISTINCT, **options), fitted(multiset(seed), **options)
    assert (promises(again) <= promises(alone) + 1e-12).all()
    assert len(again.traced_law.runs) == 24
    notes = [row.note for row in again.provenance if "the same run: " in row.note]
    assert len(notes) == 1
    found = diagnose(multiset(seed), np.random.default_rng(0), resamples=9)
    assert found.runs == found.most_of_one_schedule == 24
    assert "once more" in str(refusal(held_out, multiset(seed), (), (PLACE,) * 6))


def test_copies_of_one_run_are_refused_with_the_reason():
    copies = joined([table({f"c{number}": list(LOSSES[0])}) for number in range(24)])
    assert "'c1' shares 6 first epochs with 'c0', and 22 others" in str(refusal(fitted, copies))
    with pytest.raises(InvalidInputError, match=r"at least two .*|counted once"):
        diagnose(copies, np.random.default_rng(0), resamples=9)
    assert "'c1' is run 'c0' of the same file once more" in str(refusal(held_out, copies, (), (PLACE,) * 6))


def forks(trainings, each, epochs):
    """So many trainings, each of them continued several times after some epochs."""
    beginnings = np.repeat(LOSSES[:trainings], each, axis=0)
    return table(named(np.where(np.arange(6) < epochs, beginnings, LOSSES)))


def test_trainings_that_were_continued_from_a_checkpoint_count_once():
    """12 trainings, each continued twice: n / (n + 1) of 12, before the fork and after it."""
    instance = fitted(forks(12, 2, 3))
    law = instance.traced_law
    assert [run.origin for run in law.runs] == [number // 2 for number in range(24)]
    assert end_law(law, (PLACE,) * 6).violation(1.0).upper == pytest.approx(1 / 13)
    for epochs in (2, 6):
        assert basis(law, (PLACE,) * epochs).startswith("12 runs of this plan")
        assert traced_loss(law, (PLACE,) * epochs).support.startswith("12 runs went through")
    again = Instance.from_json(instance.to_json())
    assert again == instance
    assert '"origin"' not in fitted(DISTINCT).to_json()
    with pytest.raises(InvalidInputError, match=r"fewer than 6|too few|only 3 runs"):
        end_law(fitted(forks(3, 8, 3)).traced_law, (PLACE,) * 6)
    told = str(refusal(held_out, forks(3, 8, 3), (), (PLACE,) * 6))
    assert "'r1' shares its first 3 epochs with run 'r0'" in told
    found = diagnose(forks(12, 2, 3), np.random.default_rng(0), resamples=9)
    assert (found.most_of_one_schedule, found.behind[0].runs) == (12, 12)
