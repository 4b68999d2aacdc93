"""What the printed steps of ``depl-paper`` lose, suite by suite, from the measures of its attempts."""

from collections.abc import Sequence

import numpy as np

from depl.benchmarks.analysis.table import Cell, Table
from depl.benchmarks.measure.attempt import Attempt

_COLUMNS = (
    *("suite", "configuration", "data_compared", "data_mean", "data_largest", "data_missed"),
    *("placements_compared", "placement_mean", "placement_largest", "placement_missed", "placements_late"),
)
_SAME = 1e-9
"""What is within this of the exact stage loses nothing."""


def printed_steps_table(attempts: Sequence[Attempt]) -> Table:
    """One row per suite and configuration with these measures (`depl.benchmarks.suites.printed_steps`).

    ``data_*`` is K^ T^ of the first set over the least, ``placement_*`` the cost of plans over that of the
    cheapest placement of their models and data; ``*_missed`` counts what is above 1, ``placements_late`` the
    paths given up in stage 3.
    """
    groups: dict[tuple[str, str], list[Attempt]] = {}
    for attempt in attempts:
        if "data_over_best" in attempt.measures:
            groups.setdefault((attempt.task.suite, attempt.task.configuration), []).append(attempt)
    rows = []
    for (suite, configuration), own in groups.items():
        late = sum(attempt.measures.get("placements_late") or 0 for attempt in own)
        data, placed = _over(own, "data_over_best"), _over(own, "placement_over_best")
        rows.append((suite, configuration, *data, *placed, int(late)))
    return Table(_COLUMNS, tuple(rows))


def _over(attempts: Sequence[Attempt], name: str) -> tuple[Cell, ...]:
    """How many are compared, their mean and their largest ratio, and how many are above 1."""
    values = np.array([value for item in attempts if (value := item.measures.get(name)) is not None])
    if not len(values):
        return 0, None, None, 0
    return len(values), float(values.mean()), float(values.max()), int((values > 1 + _SAME).sum())
