"""What ``--figure`` draws of a plan or a front; nothing of matplotlib is imported without it."""

from pathlib import Path
from typing import TYPE_CHECKING

from depl.commands.options import FigureFiles
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from depl.models.problem.policy import Policy
    from depl.models.solving.front_points import Front


def plan_figure(target: FigureFiles | None, instance: Instance | None, plan: Plan | None) -> str:
    """Draw a plan, and say where; or why nothing is drawn.

    Parameters
    ----------
    target : FigureFiles or None
        None for no figure.
    instance, plan : Instance and Plan, or None
        None where a command has found none.

    Raises
    ------
    InvalidInputError
        If the files cannot be written, or the plan has an epoch that never ends.
    """
    if target is None:
        return ""
    if instance is None or plan is None:
        return f"{target.name} not drawn: there is no plan"
    from depl.plot.plan import plan as draw

    return _drawn(draw(instance, plan)[0], target)


def front_figure(target: FigureFiles | None, front: "Front") -> str:
    """Draw a front, and say where; or why nothing is drawn.

    Raises
    ------
    InvalidInputError
        If the files cannot be written.
    """
    if target is None:
        return ""
    if not front.points:
        return f"{target.name} not drawn: there is no point"
    from depl.plot.front import front as draw

    return _drawn(draw(front), target)


def policy_figure(target: FigureFiles | None, policy: "Policy", runs: str | None, metric: str) -> str:
    """Draw a policy, with runs over it if any are named, and say where.

    Raises
    ------
    InvalidInputError
        If the files cannot be written, there are no such runs, or none of them follows the policy.
    """
    if target is None:
        return ""
    from depl.plot.policy import policy as draw

    return _drawn(draw(policy, runs, metric)[0], target)


def saved(figure: "Figure", target: FigureFiles, part: str = "") -> list[str]:
    """Write a figure, or one part of several, and return its files.

    Raises
    ------
    InvalidInputError
        If a file cannot be written.
    """
    from depl.benchmarks.figures.style import save

    place = Path(f"{target.name}{part}")
    return [str(path) for path in save(figure, place.parent, place.name, target.formats)]


def _drawn(axes: "Axes", target: FigureFiles) -> str:
    """Write the figure of some axes, and say where."""
    from matplotlib.figure import Figure

    figure = axes.figure
    if not isinstance(figure, Figure):  # axes of our own stand in a figure
        raise TypeError(f"axes stand in a {type(figure).__name__}")
    return f"drawn in {' and '.join(saved(figure, target))}"
