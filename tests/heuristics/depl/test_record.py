"""The wording of decisions: what was chosen, what came of it, why the loop went back."""

import math

import pytest

from depl.heuristics.depl.models import Candidate
from depl.heuristics.depl.record import Record
from depl.models.problem.epochs import FinalLoss
from depl.models.problem.instance import Dataset, Instance
from depl.models.solving.decisions import Stage
from depl.models.solving.result import Termination


def candidate(
    instance: Instance, models: tuple[int, ...], clusters: tuple[int, ...], cost: float
) -> Candidate:
    names = frozenset(item.name for item in instance.datasets)
    data = dict.fromkeys(range(len(instance.clusters)), names)
    return Candidate(data, models, clusters, cost, FinalLoss(5.5, ()))


def test_of_many_ways_back_the_first_are_told_and_the_others_counted(tiny: Instance) -> None:
    record = Record(tiny)
    for _ in range(100):
        record.went_back({0: frozenset({tiny.datasets[0].name})}, 1.0, 2.0)
    record.stopped(Termination.EXHAUSTED, 2.0, 1.0, 3.0)
    texts = [item.choice for item in record.decisions]
    counted = [text for text in texts if text.endswith("more choices of data")]
    assert len(counted) == 1
    assert len(texts) - 2 + int(counted[0].split()[0]) == 100
    assert texts[-1] == "no further choice of data"


@pytest.mark.parametrize(
    ("termination", "left", "text"),
    [
        (Termination.OPTIMAL, 9.0, "the proved bound reaches the incumbent"),
        (Termination.GAP_REACHED, 9.0, "the wanted gap is proved"),
        (Termination.TIME_LIMIT, 5.0, "the time is up"),
        (Termination.INTERRUPTED, 5.0, "interrupted"),
        (Termination.EXHAUSTED, 5.0, "what is left is expected to cost at least 5"),
        (Termination.EXHAUSTED, 9.0, "what is left is expected to cost as much"),
        (Termination.EXHAUSTED, math.inf, "what is left is expected to cost as much"),
    ],
)
def test_the_last_decision_says_why_it_ended(tiny, termination, left, text):
    record = Record(tiny)
    record.stopped(termination, 8.0, 4.0, left)
    [last] = record.decisions
    assert last.outcome == text
    assert (last.cost, last.lower_bound) == (8.0, 4.0)


def test_a_reason_names_its_stage_and_the_nearest_value(tiny: Instance) -> None:
    record = Record(tiny)
    assert record.reason(proved=False) == "models: no sequence was looked at in time"
    assert record.reason(proved=True).startswith("models: ")
    record.missed(candidate(tiny, (0, 1), (0, 0), 3.0))
    assert "lowest expected loss tried is 5.5" in record.reason(proved=False)
    record.nearest(7.25)
    assert record.reason(proved=False).endswith("the best quantile found is about 7.25")
    record.nearest(math.inf)
    assert record.reason(proved=False).startswith("resources: ")
    record.unreachable("resources: because")
    assert record.reason(proved=True) == "resources: because"


def test_many_datasets_are_counted_and_few_are_named(tiny: Instance) -> None:
    many = tiny.replace(
        datasets=tuple(Dataset(name=f"d{i}", volume=1) for i in range(9)), transfers=(), data_law=None
    )
    record = Record(many)
    record.went_back({0: frozenset(f"d{i}" for i in range(9)), 1: frozenset({"d3", "d1"})}, 1.0, 2.0)
    names = [place.name for place in many.clusters]
    assert record.decisions[0].choice == f"9 datasets on {names[0]}; d1, d3 on {names[1]}"


def test_no_training_is_a_decision(tiny: Instance) -> None:
    record = Record(tiny)
    record.nothing_to_do()
    [only] = record.decisions
    assert (only.stage, only.cost, only.lower_bound) == (Stage.MODELS, 0.0, 0.0)
