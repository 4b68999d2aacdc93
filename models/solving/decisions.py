"""What a method decided on its way, and why: the record that ``--explain`` prints.

The three stages are those of Fig. 3. A decision that was taken back, or that led nowhere, is recorded like
one that holds: why a loop went back is what a reader wants to know.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from depl.models.foundation.wording import number


class Stage(Enum):
    """Where a decision belongs."""

    DATA = "data"
    """Which datasets each cluster uses (Sec. IV-A)."""
    MODELS = "models"
    """Which model each epoch trains (Sec. IV-B)."""
    RESOURCES = "resources"
    """Which cluster trains each epoch, and how much of it (Sec. IV-C)."""


@dataclass(frozen=True)
class Decision:
    """One decision.

    Attributes
    ----------
    stage : Stage
    choice : str
        What was chosen, or could not be, in one sentence.
    outcome : str
        What came of it: that it was kept, or why the method went back, with the nearest reachable value.
    kept : bool
        Whether the method went on from here; False where it went back.
    cost : float or None
        Cost of the best plan that came of it [cost].
    lower_bound : float or None
        No plan with this decision costs less [cost].
    value : float or None
        What the stage itself minimises, where that is not a cost: K^ T^ of a choice of data [time].
    """

    stage: Stage
    choice: str
    outcome: str
    kept: bool = True
    cost: float | None = None
    lower_bound: float | None = None
    value: float | None = None


_FEW = 2
"""Decisions in a row, taken back at one stage, that are told one by one in any case: a line that counts them
would be no shorter."""


def told(decisions: Sequence[Decision], details: bool = True) -> str:
    """The decisions as text, one line each.

    Parameters
    ----------
    details : bool
        Whether every decision has its line. Otherwise those that were taken back one after another at the
        same stage share one, which counts them.
    """
    lines = []
    numbered = enumerate(decisions, start=1)
    for (_, kept), group in itertools.groupby(numbered, key=lambda pair: (pair[1].stage, pair[1].kept)):
        members = list(group)
        if details or kept or len(members) <= _FEW:
            lines += [_line(position, item) for position, item in members]
        else:
            (first, item), (last, _) = members[0], members[-1]
            tried = f"{len(members)} choices were tried and taken back, up to decision {last}"
            lines.append(f"{first:3d}. {item.stage.value}: {tried}")
    return "\n".join(lines)


def _line(position: int, item: Decision) -> str:
    mark = "" if item.kept else "; went back"
    values = [
        f"{name} {number(value)}"
        for name, value in (("cost", item.cost), ("at least", item.lower_bound))
        if value is not None and math.isfinite(value)
    ]
    figures = f" ({', '.join(values)})" if values else ""
    return f"{position:3d}. {item.stage.value}: {item.choice}: {item.outcome}{figures}{mark}"
