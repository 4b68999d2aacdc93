"""The same run counts once: copies, beginnings and forks make no promise, verdict or certificate bolder."""

import json

import numpy as np
import pytest

from depl.models.estimation.certificate import held_out
from depl.models.estimation.diagnosis import diagnose
from depl.models.estimation.instance import fit_instance
from depl.models.estimation.setup import Setup
from depl.models.evaluation.traced_loss import basis, end_law
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.traces.table import Traces, joined
from depl.models.verifier.traces import traced_loss
from tests.cases.same_runs import LOSSES, ONE_MODEL, named, table

PLACE = ("net", "edge")
DISTINCT = table(named())


def fitted(traces: Traces, **options) -> Instance:
    return fit_instance(traces, Setup.from_json(json.dumps(ONE_MODEL)), **options)


def promises(instance: Instance) -> np.ndarray:
    """P(l(K) <= target) as promised, of 1 to 6 epochs at twenty targets between the losses."""
    law = instance.traced_law
    found = []
    for epochs in range(1, 7):
        ascending = np.sort(LOSSES[:, epochs - 1])
        targets = (ascending[4:] + ascending[3:-1]) / 2
        end = end_law(law, (PLACE,) * epochs)
        found.append([1 - end.violation(float(target)).upper for target in targets])
    return np.array(found)


def multiset(seed: int) -> Traces:
    """All runs, and good ones of them again: renamed, cut, rounded, in any order."""
    rng, runs = np.random.default_rng(seed), named()
    good = np.argsort(LOSSES[:, -1])[:6]
    for number in range(int(rng.integers(10, 30))):
        row = LOSSES[rng.choice(good)]
        row = row[: rng.integers(2, 7)] if rng.random() < 0.3 else row
        runs[f"again{number}"] = list(np.round(row, 4) if len(row) > 3 and rng.random() < 0.5 else row)
    return table({name: runs[name] for name in rng.permutation(list(runs))})


@pytest.mark.parametrize("seed", range(6))
def test_no_multiset_of_copies_cuts_and_roundings_promises_more_than_the_runs(seed: int) -> None:
    options = {"confidence": 0.95} if seed > 3 else {}
    alone, again = fitted(DISTINCT, **options), fitted(multiset(seed), **options)
    assert (promises(again) <= promises(alone) + 1e-12).all()
    assert len(again.traced_law.runs) == 24
    notes = [row.note for row in again.provenance if "the same run: " in row.note]
    assert len(notes) == 1
    found = diagnose(multiset(seed), np.random.default_rng(0), resamples=9)
    assert found.runs == found.most_of_one_schedule == 24
    with pytest.raises(InvalidInputError, match="once more"):
        held_out(multiset(seed), (), (PLACE,) * 6)


def test_copies_of_one_run_are_refused_with_the_reason() -> None:
    copies = joined([table({f"c{number}": list(LOSSES[0])}) for number in range(24)])
    with pytest.raises(InvalidInputError, match=r"'c1' shares 6 first epochs with 'c0', and 22 others"):
        fitted(copies)
    with pytest.raises(InvalidInputError, match=r"at least two .*|counted once"):
        diagnose(copies, np.random.default_rng(0), resamples=9)
    with pytest.raises(InvalidInputError, match="'c1' is run 'c0' of the same file once more"):
        held_out(copies, (), (PLACE,) * 6)


def forks(trainings: int, each: int, epochs: int) -> Traces:
    """So many trainings, each of them continued several times after some epochs."""
    beginnings = np.repeat(LOSSES[:trainings], each, axis=0)
    return table(named(np.where(np.arange(6) < epochs, beginnings, LOSSES)))


def test_trainings_that_were_continued_from_a_checkpoint_count_once() -> None:
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
    with pytest.raises(InvalidInputError, match=r"'r1' shares its first 3 epochs with run 'r0'"):
        held_out(forks(3, 8, 3), (), (PLACE,) * 6)
    found = diagnose(forks(12, 2, 3), np.random.default_rng(0), resamples=9)
    assert (found.most_of_one_schedule, found.behind[0].runs) == (12, 12)
