"""Stages of runs: as told (``p50@edge:17,p75@far-edge``), as planned, and how many runs are behind each.

Traces tell what was trained. What *was to be* trained they do not: runs that all ended early look like runs
of a shorter plan. ``depl train --plan`` therefore writes the plan into the file, as a JSON list of stages
``[["pruned-25", "edge", 25], ["pruned-50", "far-edge", 5]]`` under the key `PLAN`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import groupby

import msgspec

from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.table import Schedule, Traces

PLAN = "plan"
"""The key in the provenance."""
LONGEST = 1_000_000
"""Epochs of a plan at most: 8 MB for the schedule, which a text of some bytes could make any size."""

Stages = tuple[tuple[str, str, int | None], ...]
"""Model, cluster and epochs of consecutive stages, the last one without end where None."""

_STAGE = re.compile(r"([^@:,=]+)@([^@:,=]+)(?::([1-9][0-9]*))?")
SETTING = "stages"
"""The hyperparameter that holds the stages of a run."""
HINT = (
    '--stages "p50@edge:17,p75@far-edge" says that every run trained p50 on edge for 17 epochs, then p75 '
    'on far-edge, --stages "seed1*=..." says it of runs whose names match, and so does the hyperparameter '
    f"{SETTING!r} of a run"
)
"""How to tell the stages."""


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
    """The runs that trained one model on one cluster, first or later; runs of one origin count as one."""

    model: str
    cluster: str
    first: bool  # whether these runs began with it
    after: tuple[str, ...]  # what they trained right before, as ``model@cluster``, sorted
    runs: int
    starts: tuple[int, int]  # fewest and most epochs before the stage
    epochs: int  # of the longest of these stages


def stage_runs(traces: Traces, origins: Sequence[int | None] | None = None) -> tuple[StageRuns, ...]:
    """The runs behind each stage: those that runs began with come first, then by model and cluster.

    Parameters
    ----------
    origins : sequence of (int or None), optional
        Runs with the same number count as one (`depl.models.traces.same_runs.ToldApart`).
    """
    told = [None] * len(traces.runs) if origins is None else origins
    labels = [-1 - index if origin is None else origin for index, origin in enumerate(told)]
    found: dict[tuple[bool, str, str], list[tuple[str, int, int, int]]] = {}
    for schedule, label in zip(traces.schedules, labels, strict=True):
        start, previous = 0, ""
        for model, cluster, epochs in stages_of(schedule):
            found.setdefault((bool(previous), model, cluster), []).append((previous, start, epochs, label))
            start, previous = start + epochs, f"{model}@{cluster}"
    return tuple(
        StageRuns(
            model=model,
            cluster=cluster,
            first=not later,
            after=tuple(sorted({previous for previous, *_ in rows if previous})),
            runs=len({label for *_, label in rows}),
            starts=(min(start for _, start, *_ in rows), max(start for _, start, *_ in rows)),
            epochs=max(epochs for *_, epochs, _ in rows),
        )
        for (later, model, cluster), rows in sorted(found.items(), key=lambda item: item[0])
    )


def read_stages(text: str, place: str = "--stages") -> Stages:
    """Read ``model@cluster:epochs,...``.

    Raises
    ------
    InvalidInputError
        If a part is of another form, or one that is not the last has no number of epochs.
    """
    found: list[tuple[str, str, int | None]] = []
    pieces = [piece.strip() for piece in text.split(",")]
    for index, piece in enumerate(pieces):
        match = _STAGE.fullmatch(piece)
        if match is None:
            message = f"must be MODEL@CLUSTER:EPOCHS,MODEL@CLUSTER, not {piece[:60]!r}"
            raise InvalidInputError(message, place)
        model, cluster, count = match.groups()
        if count is None and index + 1 < len(pieces):
            message = f"{piece!r} needs its number of epochs, as another stage follows: {piece}:10"
            raise InvalidInputError(message, place)
        if count is not None and (len(count) > len(str(LONGEST)) or int(count) > LONGEST):
            raise InvalidInputError(f"{piece[:60]!r} has more than {LONGEST} epochs", place)
        found.append((model.strip(), cluster.strip(), None if count is None else int(count)))
    return tuple(found)


def stages_by_pattern(given: Sequence[str]) -> dict[str, Stages]:
    """Stages by the pattern of the names of runs, ``*`` for those that were given for all."""
    found: dict[str, Stages] = {}
    for text in given:
        pattern, equals, rest = text.rpartition("=")
        name = pattern if equals else "*"
        if name in found:
            whom = "all runs" if name == "*" else f"{name!r}"
            raise InvalidInputError(f"gives stages for {whom} twice", "--stages")
        found[name] = read_stages(rest)
    return found


def stages_for(run: str, by_pattern: dict[str, Stages]) -> Stages | None:
    """The stages of a run: of its own name, of the one pattern that it matches, or those for all."""
    if run in by_pattern:
        return by_pattern[run]
    matching = [pattern for pattern in by_pattern if pattern != "*" and fnmatchcase(run, pattern)]
    if len(matching) > 1:
        message = f"run {run!r} matches {' and '.join(map(repr, matching))}; narrow one of them"
        raise InvalidInputError(message, "--stages")
    return by_pattern.get(matching[0] if matching else "*")


def place_in(stages: Stages, epoch: int) -> tuple[str, str]:
    """Model and cluster of an epoch, from 1; empty where the stages end before."""
    for model, cluster, count in stages:
        if count is None or epoch <= count:
            return model, cluster
        epoch -= count
    return "", ""


def told(schedule: Schedule) -> str:
    """A schedule as it is given: ``p50@edge:17,p75@far-edge:13``."""
    return ",".join(f"{model}@{cluster}:{epochs}" for model, cluster, epochs in stages_of(schedule))
