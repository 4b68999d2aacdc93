"""Which model was trained where: stages such as ``p50@edge:17,p75@far-edge``, for all runs or one by one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import groupby

from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.table import Schedule

_STAGE = re.compile(r"([^@:,=]+)@([^@:,=]+)(?::([1-9][0-9]*))?")
_LONGEST = 1_000_000
"""Epochs of a stage at most, as of a recorded plan."""
SETTING = "stages"
"""The hyperparameter that holds the stages of a run."""
HINT = (
    '--stages "p50@edge:17,p75@far-edge" says that every run trained p50 on edge for 17 epochs, then p75 '
    'on far-edge, --stages "seed1*=..." says it of runs whose names match, and --stages-from hparams reads '
    f"it from the hyperparameter {SETTING!r} of each run"
)
"""How to tell the stages."""


@dataclass(frozen=True)
class Stages:
    """Consecutive stages: model, cluster and epochs of each, the last one without end where None."""

    parts: tuple[tuple[str, str, int | None], ...]

    @classmethod
    def of(cls, text: str, place: str = "--stages") -> "Stages":
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
            if match[3] is None and index + 1 < len(pieces):
                message = f"{piece!r} needs its number of epochs, as another stage follows: {piece}:10"
                raise InvalidInputError(message, place)
            if match[3] is not None and (len(match[3]) > len(str(_LONGEST)) or int(match[3]) > _LONGEST):
                raise InvalidInputError(f"{piece[:60]!r} has more than {_LONGEST} epochs", place)
            found.append((match[1].strip(), match[2].strip(), int(match[3]) if match[3] else None))
        return cls(tuple(found))

    @property
    def epochs(self) -> int | None:
        """How many epochs were planned; None where the last stage has no end."""
        counts = [count for *_, count in self.parts]
        return None if None in counts else sum(filter(None, counts))

    def schedule(self, epochs: int) -> Schedule:
        """Model and cluster of so many epochs, fewer where the stages end before."""
        found: list[tuple[str, str]] = []
        for model, cluster, count in self.parts:
            rest = epochs - len(found)
            found += [(model, cluster)] * (rest if count is None else min(count, rest))
        return tuple(found)


def stages_by_pattern(given: Sequence[str]) -> dict[str, Stages]:
    """Stages by the pattern of the names of runs, ``*`` for those that were given for all.

    Raises
    ------
    InvalidInputError
        As `Stages.of`, or if the same pattern is given twice.
    """
    found: dict[str, Stages] = {}
    for text in given:
        pattern, equals, rest = text.rpartition("=")
        name = pattern if equals else "*"
        if name in found:
            told = "all runs" if name == "*" else f"{name!r}"
            raise InvalidInputError(f"gives stages for {told} twice", "--stages")
        found[name] = Stages.of(rest)
    return found


def stages_of(run: str, by_pattern: Mapping[str, Stages]) -> Stages | None:
    """The stages of a run: of its own name, of the one pattern that it matches, or those for all.

    Raises
    ------
    InvalidInputError
        If it matches several patterns.
    """
    if run in by_pattern:
        return by_pattern[run]
    matching = [pattern for pattern in by_pattern if pattern != "*" and fnmatchcase(run, pattern)]
    if len(matching) > 1:
        message = f"run {run!r} matches {' and '.join(map(repr, matching))}; narrow one of them"
        raise InvalidInputError(message, "--stages")
    return by_pattern[matching[0]] if matching else by_pattern.get("*")


def told(schedule: Schedule) -> str:
    """A schedule as it is given: ``p50@edge:17,p75@far-edge:13``."""
    return ",".join(
        f"{model}@{cluster}:{len(list(epochs))}" for (model, cluster), epochs in groupby(schedule)
    )
