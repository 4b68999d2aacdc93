"""What runs delivered of what was promised: the share with its exact interval and test, and its picture."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from depl.benchmarks.figures.style import finished, panels, series_style, set_title
from depl.models.estimation.binomial import binomial_p_values
from depl.models.risk.sampling import both_ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = Mapping[str, Any]


def delivered(missed: int, runs: int, level: float) -> dict[str, Any]:
    """The share of runs that reached the target, its 95 % interval, and the p-value against omega."""
    lower, upper = both_ends(missed, runs, 0.05)
    return {
        "runs": runs,
        "delivered": (runs - missed) / runs,
        "lower": 1 - upper,
        "upper": 1 - lower,
        "p_value": binomial_p_values(missed, runs, level)[1],
    }


def mean_cost(costs: Sequence[float]) -> tuple[float, float | None]:
    """The mean of what runs cost, and its standard error; None of a single run."""
    error = np.std(costs, ddof=1) / np.sqrt(len(costs)) if len(costs) > 1 else None
    return float(np.mean(costs)), None if error is None else float(error)


def delivered_figure(rows: Sequence[Row], order: Sequence[str], problems: str = "target loss") -> "Figure":
    """Promised against delivered: a column for each ``family``, and a row for each promise that is ``asked``.

    Each row of a panel is a ``problem``, with an interval for each ``rung`` in that ``order``, and a black
    stroke at what was ``certified``; ``problems`` says what their labels are.
    """
    families = list(dict.fromkeys(row["family"] for row in rows))
    order = [rung for rung in order if rung in {row["rung"] for row in rows}]
    sizes = [len({row["problem"] for row in rows if row["family"] == family}) for family in families]
    shown = [(level, family) for level in sorted({row["asked"] for row in rows}) for family in families]
    size = 4.2, 1.7 + 0.07 * max(sizes, default=1) * len(order)
    figure, axes = panels(max(len(shown), 1), max(len(families), 1), size)
    least = min((row["lower"] for row in rows if row.get("delivered") is not None), default=0.0)
    for (level, family), panel in zip(shown, axes, strict=False):
        panel.axvline(level, color="0.4", linestyle="--", linewidth=1, label="asked")
        _draw(panel, [row for row in rows if (row["family"], row["asked"]) == (family, level)], order)
        panel.set_ylabel(problems)
        set_title(panel, f"{family}, {level:.2f} asked")
        panel.set_xlim(max(0.0, least - 0.03), 1.01)
    return finished(figure, shared=True)


def _draw(axes: "Axes", rows: Sequence[Row], order: Sequence[str]) -> None:
    names, certified = list(dict.fromkeys(row["problem"] for row in rows)), list[tuple[float, float]]()
    for row in rows:
        colour, marker, _ = series_style(order.index(row["rung"]))
        apart = (order.index(row["rung"]) - (len(order) - 1) / 2) * 0.91 / len(order)
        place = names.index(row["problem"]) + apart
        if row.get("delivered") is None:
            across = axes.get_yaxis_transform()
            axes.text(0.02, place, "none", color=colour, va="center", fontsize=6, transform=across)
            continue
        axes.plot([row["lower"], row["upper"]], [place, place], color=colour, linewidth=1)
        axes.plot(row["delivered"], place, marker, color=colour, markersize=4.5, label=row["rung"])
        if row.get("certified") is not None:
            certified.append((row["certified"], place))
    for at in certified:
        axes.plot(*at, "|", color="black", markersize=7, label="certified")
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(max(len(names), 1) - 0.5, -0.5)
    axes.set_xlabel("runs that reached the target, 95 % interval")
