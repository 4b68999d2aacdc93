"""How many runs stand behind each stage: a model on a cluster, trained first or after another one."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from depl.models.traces.table import Schedule, Traces

Trained = tuple[str, str]
"""Model and cluster."""


@dataclass(frozen=True)
class StageRuns:
    """The runs that trained one model on one cluster, first or later.

    Attributes
    ----------
    model, cluster : str
    first : bool
        Whether these runs began with it.
    after : tuple of str
        What they trained right before, as ``model@cluster``, sorted; empty if they began with it.
    runs : int
        How many there are, of those with one origin one.
    starts : (int, int)
        Fewest and most epochs before the stage.
    epochs : int
        Of the longest of these stages.
    """

    model: str
    cluster: str
    first: bool
    after: tuple[str, ...]
    runs: int
    starts: tuple[int, int]
    epochs: int


def stage_runs(traces: Traces, origins: Sequence[int | None] | None = None) -> tuple[StageRuns, ...]:
    """The runs behind each stage: those that runs began with come first, then by model and cluster.

    Parameters
    ----------
    origins : sequence of (int or None), optional
        Runs with the same number count as one (`depl.models.traces.same_runs.ToldApart`).
    """
    told = [None] * len(traces.runs) if origins is None else origins
    labels = [-1 - index if origin is None else origin for index, origin in enumerate(told)]
    found: dict[tuple[bool, Trained], list[_Stage]] = defaultdict(list)
    runs: dict[tuple[bool, Trained], set[int]] = defaultdict(set)
    for schedule, indices in traces.by_schedule().items():
        stages = _stages(schedule)
        for stage in stages:
            found[stage.previous is None, stage.trained].append(stage)
        for key in {(stage.previous is None, stage.trained) for stage in stages}:
            runs[key] |= {labels[index] for index in indices}
    return tuple(
        _together(found[key], len(runs[key])) for key in sorted(found, key=lambda key: (not key[0], key[1]))
    )


class _Stage(NamedTuple):
    trained: Trained
    previous: Trained | None
    start: int
    epochs: int


def _stages(schedule: Schedule) -> list[_Stage]:
    stages: list[_Stage] = []
    for trained, group in groupby(schedule):
        start = stages[-1].start + stages[-1].epochs if stages else 0
        previous = stages[-1].trained if stages else None
        stages.append(_Stage(trained, previous, start, len(list(group))))
    return stages


def _together(stages: list[_Stage], runs: int) -> StageRuns:
    model, cluster = stages[0].trained
    starts = [stage.start for stage in stages]
    before = {stage.previous for stage in stages if stage.previous is not None}
    return StageRuns(
        model=model,
        cluster=cluster,
        first=stages[0].previous is None,
        after=tuple(sorted(f"{name}@{place}" for name, place in before)),
        runs=runs,
        starts=(min(starts), max(starts)),
        epochs=max(stage.epochs for stage in stages),
    )
