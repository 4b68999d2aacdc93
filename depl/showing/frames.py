"""The parts of an instance as frames of pandas: a row per cluster, dataset, model and transfer."""

from typing import Any

from depl.models.foundation.frames import frame_of
from depl.models.problem.instance import Instance

COLUMNS = {
    "clusters": ("name", "nodes", "capacity", "bandwidth", "unit_cost", "memory"),
    "datasets": ("name", "volume", "workload"),
    "models": ("name", "size", "demand", "memory"),
    "transfers": ("dataset", "cluster", "cost"),
}
"""The columns of each frame, by the names that fields have in the instance."""


def instance_frames(instance: Instance) -> dict[str, Any]:
    """One frame for each entry of `COLUMNS`; missing values are missing, and laws are left to the instance.

    Raises
    ------
    InvalidInputError
        If pandas is not installed.
    """
    return {
        part: frame_of(columns, ([getattr(row, name) for name in columns] for row in getattr(instance, part)))
        for part, columns in COLUMNS.items()
    }
