"""What ``--figure`` draws of a plan; nothing of matplotlib is imported without it."""

from pathlib import Path

from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan


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
    from matplotlib.figure import Figure

    from depl.benchmarks.figures.canvas import save
    from depl.plot.plan import plan as draw

    axes, _ = draw(instance, plan)
    figure = axes.figure
    if not isinstance(figure, Figure):  # axes of our own stand in a figure
        raise TypeError(f"axes stand in a {type(figure).__name__}")
    target = Path(name)
    files = save(figure, target.parent, target.name)
    return f"drawn in {files[0]} and {files[1]}"
