"""Legends that stand beside the axes, where no curve or bar can be."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 14
"""Entries of a legend: lines of small print in the height of a panel. The last one counts the rest."""

_LONGEST = 34
"""Letters of an entry: a third of a panel."""


def legend_beside(axes: "Axes") -> None:
    """Explain every labelled mark on the right of the axes, and count those that find no room."""
    from matplotlib.lines import Line2D

    handles, labels = axes.get_legend_handles_labels()
    known = list(dict(zip(labels, handles, strict=True)).items())
    if not known:
        return
    if len(known) > _MOST:
        rest = f"and {len(known) - _MOST + 1} more"
        known = [*known[: _MOST - 1], (rest, axes.plot([], [], linestyle="none")[0])]
    drawn = axes.legend(
        [handle for _, handle in known],
        [label if len(label) <= _LONGEST else f"{label[: _LONGEST - 3]}..." for label, _ in known],
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        frameon=False,
        fontsize="small",
    )
    for handle in drawn.legend_handles:  # many lines are thin and pale; not so their sample
        if isinstance(handle, Line2D):
            handle.set(alpha=1.0, linewidth=max(handle.get_linewidth(), 1.5))


def new_axes(rows: int, columns: int, width: float, height: float) -> "list[Axes]":
    """Axes of a new figure of so many inches that nothing else knows of."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return list(figure.subplots(rows, columns, squeeze=False).flat)


def plain(name: str) -> str:
    """A name as it is, where matplotlib would set what stands between dollar signs as a formula."""
    return name.replace("$", r"\$")
