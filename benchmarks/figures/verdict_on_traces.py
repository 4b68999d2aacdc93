"""Whether the paper's law may be used for some traces, and how many runs stand behind each stage."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from depl.benchmarks.figures.style import COLOURS, legend_near, make_room, panels, set_title
from depl.models.estimation.diagnosis import Diagnosis
from depl.models.estimation.independence import USABLE
from depl.models.evaluation.traced_counting import runs_to_carry

_ROW = 0.32
"""Height of a row [in]: names of ten points with as much again between them."""

_LEVEL = 0.95


def verdict_figure(found: Diagnosis) -> Figure:
    """Variance ratios with what will do, and the runs behind each stage with what a promise takes.

    Parameters
    ----------
    found : Diagnosis
    """
    rows = max(len(found.stages) + 1, len(found.behind))
    figure, (ratios, runs) = panels(2, size=(5.2, 1.4 + _ROW * rows))
    draw_ratios(found, ratios)
    draw_runs(found, runs)
    make_room(figure)
    return figure


def draw_ratios(found: Diagnosis, axes: Axes) -> None:
    """The variance ratio of whole runs and of the stages of every model, with 95 % intervals."""
    items = [("whole runs", found.whole), *found.stages.items()]
    axes.axvspan(*USABLE, color=COLOURS[2], alpha=0.15, label=f"will do: {USABLE[0]:g} to {USABLE[1]:g}")
    axes.axvline(1, color=COLOURS[6], linewidth=0.8, linestyle=":")
    for place, (_, item) in enumerate(items):
        low, value, high = item.bounds.lower, item.variance_ratio.value, item.bounds.upper
        axes.plot([low, high], [place, place], color=COLOURS[0])
        axes.plot([value], [place], "o", color=COLOURS[0])
    axes.set_yticks(range(len(items)), [name for name, _ in items])
    axes.set_ylim(len(items) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.set_xticks(*_ticks(axes.get_xlim()))
    axes.minorticks_off()
    axes.set_xlabel("variance over that of independent increments")
    legend_near(axes)
    verdict = "may be used" if found.usable else "must not be used"
    set_title(axes, f"the paper's law {verdict}")


def _ticks(limits: tuple[float, float]) -> tuple[list[float], list[str]]:
    """Round numbers within the limits of a logarithmic axis."""
    marks = [value for value in (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0) if limits[0] <= value <= limits[1]]
    return marks, [f"{mark:g}" for mark in marks]


def draw_runs(found: Diagnosis, axes: Axes) -> None:
    """The runs behind each stage, and how many of one plan carry a promise of 0.95."""
    for place, stage in enumerate(found.behind):
        colour = COLOURS[5] if stage.first else COLOURS[4]
        axes.barh(place, stage.runs, color=colour)
        axes.annotate(str(stage.runs), (stage.runs, place), (3, 0), textcoords="offset points", va="center")
    names = [f"{stage.model}, {stage.cluster}{'' if stage.first else ', later'}" for stage in found.behind]
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.margins(x=0.15)
    for confidence, dash, told in ((None, "--", "on average"), (_LEVEL, "-.", "with confidence 0.95")):
        needed = runs_to_carry(_LEVEL, confidence)
        axes.axvline(
            needed, color=COLOURS[6], linestyle=dash, label=f"{_LEVEL:g} {told}: {needed} of one plan"
        )
    axes.set_xlabel("runs")
    legend_near(axes)
    fewest = min(stage.runs for stage in found.behind)
    set_title(axes, f"{fewest} to {max(stage.runs for stage in found.behind)} runs stand behind a stage")
