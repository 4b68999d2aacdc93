"""What ``--figure`` draws of a plan or a front; nothing of matplotlib is imported without it."""

from pathlib import Path
from typing import TYPE_CHECKING

from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from depl.models.solving.front_points import Front


def plan_figure(name: str | None, instance: Instance | None, plan: Plan | None) -> str:
    """Draw a plan in ``NAME.png`` and ``NAME.svg``, and say so; or why nothing is drawn.

    Parameters
    ----------
    name : str or None
        None for no figure.
    instance, plan : Instance and Plan, or None
        None where a command has found none.

    Raises
    ------
    InvalidInputError
        If the files cannot be written, or the plan has an epoch that never ends.
    """
    if name is None:
        return ""
    if instance is None or plan is None:
        return f"{name} not drawn: there is no plan"
    from depl.plot.plan import plan as draw

    return _saved(draw(instance, plan)[0], name)


def front_figure(name: str | None, front: "Front") -> str:
    """Draw a front in ``NAME.png`` and ``NAME.svg``, and say so; or why nothing is drawn.

    Raises
    ------
    InvalidInputError
        If the files cannot be written.
    """
    if name is None:
        return ""
    if not front.points:
        return f"{name} not drawn: there is no point"
    from depl.plot.front import front as draw

    return _saved(draw(front), name)


def _saved(axes: "Axes", name: str) -> str:
    """Write the figure of some axes, and say where."""
    from matplotlib.figure import Figure

    from depl.benchmarks.figures.canvas import save

    figure = axes.figure
    if not isinstance(figure, Figure):  # axes of our own stand in a figure
        raise TypeError(f"axes stand in a {type(figure).__name__}")
    target = Path(name)
    files = save(figure, target.parent, target.name)
    return f"drawn in {files[0]} and {files[1]}"
