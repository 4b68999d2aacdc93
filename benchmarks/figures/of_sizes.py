"""How cost and time change with the size of instances, for every suite that varies one."""

from collections.abc import Mapping, Sequence

import numpy as np

from depl.benchmarks.analysis.growth import (
    PRINTED,
    Growth,
    growth_table,
    growths,
    set_by_configuration,
    size_of,
)
from depl.benchmarks.analysis.order import configurations
from depl.benchmarks.analysis.ratio_table import trials
from depl.benchmarks.analysis.table import Table
from depl.benchmarks.analysis.tally import Trial, ratio
from depl.benchmarks.figures.canvas import panels
from depl.benchmarks.figures.legends import covered, make_room, set_title
from depl.benchmarks.figures.of_drawing import Drawing
from depl.benchmarks.figures.palette import DASHES, MARKERS, Style, nth, styles_of
from depl.benchmarks.figures.ratio_against_size import SizeCurve, ratio_against_size
from depl.benchmarks.figures.time_against_size import FittedTimes, TimeCurve, time_against_size
from depl.benchmarks.measure.attempt import Attempt

_NAMES = {
    "datasets": "datasets $|\\mathcal{D}|$",
    "models": "models $|\\mathcal{M}|$",
    "epochs": "most epochs $K_{\\max}$",
    "clusters": "clusters $|\\mathcal{N}|$",
    "scenarios": "scenarios $S$",
    "eta": "levels $\\eta$",
}
_TOGETHER = {"heterogeneous": "clusters"}
_WALL = "wall_seconds"
_STAGES = ("build_seconds", "seconds_data", "seconds_models", "seconds_resources")
_Point = tuple[str, float, int, int, float | None, float | None, str]


def size_labels(attempts: Sequence[Attempt]) -> dict[str, str]:
    """By suite, the size that it varies: the one in its name, or the only one with three values or more.

    Suites whose sizes grow together are known by name.
    """
    found = {}
    for suite in sorted({attempt.task.suite for attempt in attempts}):
        own = [attempt for attempt in attempts if attempt.task.suite == suite]
        varied = [name for name in PRINTED if len({size_of(item, name) for item in own} - {None}) >= 3]
        named = [name for name in varied if suite.endswith(name) or _TOGETHER.get(suite) == name]
        if len(named or varied) == 1:
            found[suite] = (named or varied)[0]
    return found


def size_drawings(attempts: Sequence[Attempt]) -> list[Drawing]:
    """Ratio and time against size, for every suite that varies a size."""
    drawings = []
    for suite, size in size_labels(attempts).items():
        own = [attempt for attempt in attempts if attempt.task.suite == suite]
        if not any(set_by_configuration(item, size) for item in own):  # else it is no size of instances
            drawings.append(_ratio_drawing(suite, size, own))
        drawings.append(_time_drawing(suite, size, own))
    return drawings


def _ratio_drawing(suite: str, size: str, attempts: Sequence[Attempt]) -> Drawing:
    rows: list[_Point] = []
    curves = []
    styles = styles_of(configurations(attempts, suite))
    for label in configurations(attempts, suite):
        own = [
            (value, trial)
            for attempt, trial in trials(attempts)
            if attempt.task.configuration == label and (value := size_of(attempt, size)) is not None
        ]
        points = [
            _point(label, value, [item for x, item in own if x == value]) for value in sorted(dict(own))
        ]
        rows += points
        known = [(x, mean, most, over) for _, x, _, _, mean, most, over in points if mean is not None]
        if known:
            sizes, means, largest, over = zip(*known, strict=True)
            name = covered(label, sum(point[3] for point in points), sum(point[2] for point in points))
            proved = [item == "optimum" for item in over]
            curves.append(SizeCurve(name, sizes, means, largest, proved, styles[label]))
    figure, (axes,) = panels(1)
    ratio_against_size(curves, _NAMES[size], axes)
    set_title(axes, suite)
    make_room(figure)
    caption = (
        f"{suite}: mean cost over the optimum (full markers) or over a certified bound (hollow), thin lines "
        "to the largest."
    )
    columns = ("configuration", "size", "attempts", "plans", "mean", "largest", "over")
    return Drawing(f"{suite}-ratio", caption, figure, Table(columns, tuple(rows)))


def _point(label: str, size: float, own: Sequence[Trial]) -> _Point:
    """Mean and largest ratio at one size: over optima if all are proved, otherwise over the best bounds."""
    held = [trial for trial in own if trial.claim.cost < float("inf")]
    proved = all(trial.reference.optimum is not None for trial in held)
    ratios = [
        ratio(trial.claim.cost, trial.reference.bound)
        for trial in held
        if proved or trial.reference.bound > 0
    ]
    mean, largest = (float(np.mean(ratios)), max(ratios)) if ratios else (None, None)
    return (label, size, len(own), len(held), mean, largest, "optimum" if proved else "bound")


def _time_drawing(suite: str, size: str, attempts: Sequence[Attempt]) -> Drawing:
    found = growths(attempts, {suite: size})
    shown = [item for item in found if item.points or item.stopped_points]
    whole = [item for item in shown if item.measure == _WALL]
    stages = [item for item in shown if item.measure != _WALL]
    figure, axes = panels(1 + bool(stages))
    refused = _refused(suite, size, attempts)
    styles = styles_of(item.configuration for item in shown)
    for panel, items, place in zip(axes, (whole, stages), (suite, f"{suite}, by stage"), strict=False):
        curves = [_time_curve(item, styles[item.configuration], refused) for item in items]
        time_against_size(curves, _NAMES[size], panel)
        set_title(panel, place)
    make_room(figure)
    caption = (
        f"{suite}: wall time against size, with exponents fitted to the logarithms and their 95 % intervals. "
        "Lines cover the sizes at which every attempt ended by itself; arrows are attempts that were stopped."
    )
    return Drawing(f"{suite}-time", caption, figure, growth_table(found))


def _refused(suite: str, size: str, attempts: Sequence[Attempt]) -> dict[str, list[float]]:
    """By configuration the sizes at which it refused an instance."""
    found: dict[str, set[float]] = {}
    for attempt in attempts:
        value = size_of(attempt, size)
        if attempt.task.suite == suite and attempt.ending == "refused" and value is not None:
            found.setdefault(attempt.task.configuration, set()).add(value)
    return {name: sorted(sizes) for name, sizes in found.items()}


def _time_curve(item: Growth, style: Style, refused: Mapping[str, Sequence[float]]) -> TimeCurve:
    """The curve of a measure: a method has its colour, and each of its stages a marker and dashes."""
    name, line, fit = _name(item), item.line, None
    if item.measure != _WALL:
        place = _STAGES.index(item.measure) if item.measure in _STAGES else len(_STAGES)
        style = Style(style.colour, nth(MARKERS, place), nth(DASHES, place))
    if line is not None:
        name += f": {line.exponent:z.2f} [{line.lower:z.2f}, {line.upper:z.2f}]"
        fit = FittedTimes(line.coefficient, line.exponent, line.smallest, line.largest)
    crosses = refused.get(item.configuration, ()) if item.measure == _WALL else ()
    return TimeCurve(name, item.points, fit, style, item.stopped_points, crosses)


def _name(item: Growth) -> str:
    stage = item.measure.replace("seconds", "").strip("_.").replace("_", " ")
    return item.configuration if item.measure == _WALL else f"{item.configuration}, {stage}"
