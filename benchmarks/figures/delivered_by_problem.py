"""What several rules delivered on held-out runs, problem by problem, beside what was asked and certified."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes

from depl.benchmarks.figures.canvas import given_or_new
from depl.benchmarks.figures.legends import legend_beside
from depl.benchmarks.figures.palette import Style

_SPREAD = 0.13
"""Between two rules of one problem, where problems are 1 apart."""


class Delivered(NamedTuple):
    """A rule on a problem: the share that reached the target with its interval, and what was certified.

    Without a share the rule promised nothing there, and *none* is written in its place.
    """

    problem: str
    rule: str
    share: float | None
    lower: float = 0.0
    upper: float = 1.0
    promised: float | None = None


def delivered_by_problem(
    found: Sequence[Delivered], asked: float, styles: Mapping[str, Style], axes: Axes | None = None
) -> Axes:
    """Draw a row for each problem, an interval for each rule, and a line at what was asked.

    Parameters
    ----------
    found : sequence of Delivered
        The first problem is drawn at the top.
    asked : float
        omega.
    styles : mapping of str to Style
        Of the rules, in the order in which they are drawn and listed.
    axes : Axes, optional
        Where to draw; new axes by default.
    """
    axes = given_or_new(axes)
    problems = list(dict.fromkeys(item.problem for item in found))
    rules = [rule for rule in styles if any(item.rule == rule for item in found)]
    across = axes.get_yaxis_transform()
    axes.axvline(asked, color="0.4", linestyle="--", linewidth=1, label="asked")
    for item in found:
        style = styles[item.rule]
        place = problems.index(item.problem) + (rules.index(item.rule) - (len(rules) - 1) / 2) * _SPREAD
        if item.share is None:
            axes.text(0.02, place, "none", color=style.colour, va="center", fontsize=6, transform=across)
            continue
        axes.plot([item.lower, item.upper], [place, place], color=style.colour, linewidth=1)
        axes.plot(item.share, place, style.marker, color=style.colour, markersize=4.5)
        if item.promised is not None:
            axes.plot(item.promised, place, "|", color="black", markersize=7, markeredgewidth=1.2)
    for rule in rules:
        axes.plot([], [], styles[rule].marker, color=styles[rule].colour, markersize=4.5, label=rule)
    if any(item.promised is not None for item in found):
        axes.plot([], [], "|", color="black", markersize=7, label="certified")
    axes.set_yticks(range(len(problems)), problems)
    axes.set_ylim(max(len(problems), 1) - 0.5, -0.5)
    axes.set_ylabel("loss, and most epochs")
    axes.set_xlabel("runs that reached the target, 95 % interval")
    legend_beside(axes)
    return axes
