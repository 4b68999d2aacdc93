"""Which model was trained where: stages such as ``p50@edge:17,p75@far-edge``, for all runs or one by one."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.stages import LONGEST, stages_of
from depl.models.traces.table import Schedule

Stages = tuple[tuple[str, str, int | None], ...]
"""Model, cluster and epochs of consecutive stages, the last one without end where None."""

_STAGE = re.compile(r"([^@:,=]+)@([^@:,=]+)(?::([1-9][0-9]*))?")
SETTING = "stages"
"""The hyperparameter that holds the stages of a run."""
HINT = (
    '--stages "p50@edge:17,p75@far-edge" says that every run trained p50 on edge for 17 epochs, then p75 '
    'on far-edge, --stages "seed1*=..." says it of runs whose names match, and --stages-from hparams reads '
    f"it from the hyperparameter {SETTING!r} of each run"
)
"""How to tell the stages."""


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


def schedule_of(stages: Stages, epochs: int) -> Schedule:
    """Model and cluster of so many epochs, fewer where the stages end before."""
    found: list[tuple[str, str]] = []
    for model, cluster, count in stages:
        rest = epochs - len(found)
        found += [(model, cluster)] * (rest if count is None else min(count, rest))
    return tuple(found)


def told(schedule: Schedule) -> str:
    """A schedule as it is given: ``p50@edge:17,p75@far-edge:13``."""
    return ",".join(f"{model}@{cluster}:{epochs}" for model, cluster, epochs in stages_of(schedule))
