"""Axes of new figures; matplotlib is imported when they are asked for."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def new_axes(rows: int, columns: int, width: float, height: float) -> "list[Axes]":
    """Axes of a new figure of so many inches that nothing else knows of."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return list(figure.subplots(rows, columns, squeeze=False).flat)
