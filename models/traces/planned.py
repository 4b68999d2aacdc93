"""The plan that runs were to train, kept in the provenance of their traces.

Traces tell what was trained. What *was to be* trained they do not: runs that all ended early look like runs
of a shorter plan. ``depl train --plan`` therefore writes the plan into the file, as a JSON list of stages
``[["pruned-25", "edge", 25], ["pruned-50", "far-edge", 5]]`` under the key `PLAN`.
"""

import json
from collections.abc import Mapping
from itertools import groupby

import msgspec

from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.table import Schedule

PLAN = "plan"
"""The key in the provenance."""

_LONGEST = 1_000_000
"""Epochs of a recorded plan at most: 8 MB for the schedule, which a text of some bytes could make any size.
"""


def plan_text(schedule: Schedule) -> str:
    """What the provenance says of a plan that trains this model and cluster in every epoch."""
    return json.dumps([[*pair, len(list(epochs))] for pair, epochs in groupby(schedule)], ensure_ascii=False)


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
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise InvalidInputError(_told(str(error)), f".provenance.{PLAN}") from error
    if any(count < 1 for *_, count in stages) or sum(count for *_, count in stages) > _LONGEST:
        message = _told(f"the counts must be positive and at most {_LONGEST} together")
        raise InvalidInputError(message, f".provenance.{PLAN}")
    return tuple((model, cluster) for model, cluster, count in stages for _ in range(count))


def _told(reason: str) -> str:
    return f'must be stages such as [["model", "cluster", 25], ...], a JSON list ({reason})'
