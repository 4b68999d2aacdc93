"""Stages of runs: the plan that they were to train, and how many runs stand behind each stage.

Traces tell what was trained. What *was to be* trained they do not: runs that all ended early look like runs
of a shorter plan. ``depl train --plan`` therefore writes the plan into the file, as a JSON list of stages
``[["pruned-25", "edge", 25], ["pruned-50", "far-edge", 5]]`` under the key `PLAN`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

import msgspec

from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.table import Schedule, Traces

PLAN = "plan"
"""The key in the provenance."""
LONGEST = 1_000_000
"""Epochs of a plan at most: 8 MB for the schedule, which a text of some bytes could make any size."""


def stages_of(schedule: Schedule) -> list[tuple[str, str, int]]:
    """Model, cluster and epochs of consecutive stages."""
    return [(*pair, len(list(epochs))) for pair, epochs in groupby(schedule)]


def plan_text(schedule: Schedule) -> str:
    """What the provenance says of a plan that trains this model and cluster in every epoch."""
    return json.dumps(stages_of(schedule), ensure_ascii=False)


def planned(provenance: Mapping[str, str]) -> Schedule | None:
    """Model and cluster of every epoch of the plan; None where the provenance names none.

    Raises
    ------
    InvalidInputError
        If it names one in another form than `plan_text`.
    """
    if PLAN not in provenance:
        return None
    try:
        stages = msgspec.json.decode(provenance[PLAN], type=list[tuple[str, str, int]])
        if any(count < 1 for *_, count in stages) or sum(count for *_, count in stages) > LONGEST:
            raise msgspec.ValidationError(f"the counts must be positive and at most {LONGEST} together")
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        message = f'must be stages such as [["model", "cluster", 25], ...], a JSON list ({error})'
        raise InvalidInputError(message, f".provenance.{PLAN}") from error
    return tuple((model, cluster) for model, cluster, count in stages for _ in range(count))


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
    found: dict[tuple[bool, str, str], list[tuple[str, int, int, set[int]]]] = {}
    for schedule, indices in traces.by_schedule().items():
        stages = stages_of(schedule)
        starts = accumulate((epochs for *_, epochs in stages), initial=0)
        before = ["", *(f"{model}@{cluster}" for model, cluster, _ in stages)]
        for (model, cluster, epochs), start, previous in zip(stages, starts, before, strict=False):
            entry = previous, start, epochs, {labels[index] for index in indices}
            found.setdefault((bool(previous), model, cluster), []).append(entry)
    return tuple(
        StageRuns(
            model=model,
            cluster=cluster,
            first=not later,
            after=tuple(sorted({previous for previous, *_ in entries if previous})),
            runs=len(set[int]().union(*(runs for *_, runs in entries))),
            starts=(min(start for _, start, *_ in entries), max(start for _, start, *_ in entries)),
            epochs=max(epochs for _, _, epochs, _ in entries),
        )
        for (later, model, cluster), entries in sorted(found.items(), key=lambda item: item[0])
    )
