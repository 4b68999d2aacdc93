"""Training runs: the loss of every run after every epoch, by the model that was trained."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from depl.benchmarks.figures.style import MODEL_COLOURS, legend_beside, new_axes, nth, plain, title_near
from depl.instances.training.recorded import named_traces
from depl.models.foundation.wording import counted
from depl.models.traces.table import Traces

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_INK = 40.0
"""Runs at which lines are thinned and made half transparent: about where they cover each other."""

_MOST_VECTORS = 5000
"""Pieces of lines that an SVG holds as such; more are put in as an image, or the file takes megabytes."""


def traces(
    runs: Traces | str, targets: Sequence[float] = (), metric: str = "loss", axes: "Axes | None" = None
) -> "Axes":
    """Draw one line per run, in the colour of the model that each epoch trained.

    Parameters
    ----------
    runs : Traces or str
        Or the name of shipped ones, or the path of a file.
    targets : sequence of float
        Values of l_max that are drawn as lines.
    metric : str
        ``loss`` or ``error_rate``.
    axes : Axes, optional
        Where to draw; those of a new figure by default.

    Returns
    -------
    Axes

    Raises
    ------
    InvalidInputError
        If there are no such traces, or they do not hold the metric.
    """
    found = named_traces(runs) if isinstance(runs, str) else runs
    values = found.target(metric)
    drawn = new_axes(1, 1, 7.0, 3.6)[0] if axes is None else axes
    follows = found.epoch[1:] == found.epoch[:-1] + 1
    follows &= found.run[1:] == found.run[:-1]
    ends = np.flatnonzero(follows) + 1
    ink = min(_MOST_INK / len(found.runs), 1.0)
    for index, model in enumerate(dict.fromkeys(found.model.tolist())):
        own = ends[found.model[ends] == model]
        gaps = np.full(len(own), np.nan)
        across = np.column_stack((found.epoch[own - 1], found.epoch[own], gaps)).ravel()
        up = np.column_stack((values[own - 1], values[own], gaps)).ravel()
        look: dict[str, Any] = {"color": nth(MODEL_COLOURS, index), "alpha": 0.3 + 0.7 * ink}
        look |= {"linewidth": 0.4 + ink, "rasterized": len(own) > _MOST_VECTORS}
        drawn.plot(across, up, label=plain(model), **look)
    for target in targets:
        label = f"$\\ell_{{\\max}}$ = {target:g}"
        drawn.axhline(target, color="black", linestyle="--", linewidth=1, label=label)
    drawn.set(xlim=(0, max(int(found.epoch.max()), 1)), xlabel="epoch", ylabel=metric.replace("_", " "))
    title = f"{counted(len(found.runs), 'run')} of {counted(len(found.by_schedule()), 'schedule')}"
    title_near(drawn, title)
    legend_beside(drawn)
    return drawn
