"""Every figure that the attempts of sweeps allow, each with its numbers and a footer on its origin."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from scipy.stats import gmean

from depl.benchmarks.analysis.growth import (
    PRINTED,
    Growth,
    growth_table,
    growths,
    size_of,
)
from depl.benchmarks.analysis.profiles import profiles
from depl.benchmarks.analysis.reference import Frame, configurations, frame_of, ordered, pd
from depl.benchmarks.analysis.table import Table
from depl.benchmarks.figures.comparison import Entry
from depl.benchmarks.figures.drawing import (
    Drawing,
    add_footer,
    drawn,
    first_of_each,
    footer_of,
    instance_of,
    instances_of,
    missing,
    plan_of,
)
from depl.benchmarks.figures.family import Gallery
from depl.benchmarks.figures.levels import level_drawing, levels_of
from depl.benchmarks.figures.style import (
    Style,
    finished,
    legend_beside,
    panels,
    plain_logarithms,
    set_title,
    sized_axis,
    styles_of,
)
from depl.benchmarks.measure.attempt import Attempt
from depl.instances.shipped import names
from depl.models.foundation.wording import counted
from depl.models.problem.instance import Instance
from depl.models.solving.methods import Meaning
from depl.models.solving.result import Result, Solution, Termination

SET_ASIDE = (
    *("enumerate", "depl-paper-certified"),
    *("density-greedy", "annealing", "fastest-cluster", "random"),
)
"""Not among the paper's strategies, or the same optimum again; they are in the profiles and tables."""
_FEWEST_PROBLEMS = 5
MOST_PROFILES = 12
"""Configurations of which a suite has profiles; the curves of more could not be told apart."""
_NAMES = {
    "datasets": "datasets $|\\mathcal{D}|$",
    "models": "models $|\\mathcal{M}|$",
    "epochs": "most epochs $K_{\\max}$",
    "clusters": "clusters $|\\mathcal{N}|$",
    "scenarios": "scenarios $S$",
    "eta": "levels $\\eta$",
}
_TOGETHER = {"heterogeneous": "clusters"}
"""Suites whose sizes grow together, by the one that is drawn."""
_SHIPPED = frozenset(names())
_WALL = "wall_seconds"
_FEW_DECADES = 6
_MARKS = 4
"""About as many markers as a profile has, of all the steps that it may have."""
_LONGER = "$\\uparrow$"
_EXPONENTS = "time grows as size$^e$:\nexponent e [95 % interval]"


def figures_of(attempts: Sequence[Attempt]) -> list[Drawing]:
    """Draw what there is: Figs. 5 to 9 by family, effect of eta, profiles, and time against size.

    The same attempts in any order give the same figures. What cannot be drawn, because an instance has
    changed since, is named by `left_out`.
    """
    return list(_figures(ordered(attempts)))


def left_out(attempts: Sequence[Attempt]) -> list[str]:
    """Sentences on families of which no figure can be drawn, because their instances cannot be made again."""
    return missing([item for item in ordered(attempts) if _family(item) is not None])


def _figures(attempts: Sequence[Attempt]) -> Iterator[Drawing]:
    for family in dict.fromkeys(filter(None, map(_family, attempts))):
        own = [item for item in attempts if _family(item) == family]
        levels = level_drawing(family, own)
        if levels is not None:
            varied = [item for item in own if levels_of(item) is not None]
            yield _with_footer(levels, varied, instances_of(varied))
        for part in _by_suite(own).values():
            yield from _family_drawings(family, part)
    suites = _by_suite(attempts)
    for suite, own in suites.items():
        drawing = _profiles(suite, own)
        if drawing is not None:
            yield _with_footer(drawing, own)
    for suite, size in size_labels(attempts).items():
        yield _with_footer(_time_drawing(suite, size, suites[suite]), suites[suite])


def _by_suite(attempts: Sequence[Attempt]) -> dict[str, list[Attempt]]:
    found: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        found.setdefault(attempt.task.suite, []).append(attempt)
    return found


def _with_footer(drawing: Drawing, attempts: Sequence[Attempt], shown: Sequence[Instance] = ()) -> Drawing:
    add_footer(drawing.figure, footer_of(attempts, shown))
    return drawing


def _family(attempt: Attempt) -> str | None:
    """The shipped family that an attempt's instance is of, if it is one of several targets under the law."""
    family, target = attempt.labels.get("family"), attempt.labels.get("target")
    known = family in _SHIPPED and isinstance(target, int | float) and attempt.meaning == Meaning.LAW.value
    return str(family) if known else None


def _family_drawings(family: str, attempts: Sequence[Attempt]) -> Iterator[Drawing]:
    """Figs. 5 to 9, if every configuration was run once at every target and none of them varies eta."""
    once = first_of_each(attempts)
    places = {(item.task.configuration, item.labels["target"]) for item in once}
    if len(places) < len(once) or any(levels_of(item) is not None for item in once):
        return
    suite = attempts[0].task.suite
    labels = configurations(attempts, suite)
    shown = shown_of(attempts, [name for name in labels if name not in SET_ASIDE] or labels)
    if any(item.plan is not None for item in shown):
        own = suite.partition("-")[0] == family.partition("-")[0]
        for drawing in Gallery(family if own else f"{suite}-{family}", shown).drawings():
            yield _with_footer(drawing, attempts, instances_of(attempts))


def shown_of(attempts: Sequence[Attempt], chosen: Collection[str]) -> list[Entry]:
    """The chosen configurations of one suite at every target of a family, by target.

    What is optimal may be proved by any attempt.
    """
    rows = frame_of(attempts)
    proofs = rows[(rows["ending"] == "optimal") & rows["ratio"].notna()]
    optimal = set(map(id, proofs["attempt"]))
    found = []
    for item in sorted(first_of_each(attempts), key=lambda item: float(item.labels["target"])):
        instance = instance_of(item)
        if item.task.configuration in chosen and instance is not None:
            target, label = f"{item.labels['target']:g}", item.task.configuration
            solution = Solution.PROVEN_OPTIMAL if id(item) in optimal else Solution.FEASIBLE
            plan, ended = plan_of(item), Termination.EXHAUSTED
            result = Result(ended, plan, 0.0, solution=solution, method=label, cost=item.cost)
            found.append(Entry(target, instance, label, result))
    return found


def _profiles(suite: str, attempts: Sequence[Attempt]) -> Drawing | None:
    """Profiles by cost and by time of the configurations that answer anything."""
    found = {by: profiles(attempts, suite, by) for by in ("cost", "time")}
    found = {
        by: rows[rows.groupby("configuration")["share"].transform("max") > 0] for by, rows in found.items()
    }
    cost = found["cost"]
    few = cost.empty or cost["problems"].iloc[0] < _FEWEST_PROBLEMS
    if few or cost["configuration"].nunique() not in range(2, MOST_PROFILES + 1):
        return None
    figure, places = panels(2)
    quantities = ("cost / proved optimum", "time / least time, plans within 1 % of the optimum")
    for rows, quantity, axes in zip(found.values(), quantities, places, strict=True):
        performance_profile(rows, quantity, axes)
        set_title(axes, f"{suite}, {counted(max(rows['problems'], default=0), 'problem')}")
    caption = (
        f"{suite}: share of problems with a proved optimum that each method answers within a factor, by cost "
        "and by time; what has no plan never counts."
    )
    table = pd.concat(found, names=["by"]).reset_index(level="by")
    return Drawing(f"{suite}-profiles", caption, finished(figure, shared=True), Table.of(table))


def performance_profile(profiles: Frame, quantity: str, axes: Axes) -> None:
    """Draw the share of problems within a factor of the best (Dolan and Moré) as stairs, one per method.

    All end at the right edge, at the share that is never exceeded; ``quantity`` is what the factor is of.
    """
    edge = max([1.01, *(profiles["factor"] ** 1.1)])
    styles = styles_of(profiles["configuration"])
    for index, (name, own) in enumerate(profiles.groupby("configuration", sort=False)):
        colour, marker, dash = styles[name]
        look: dict[str, Any] = {"color": colour, "linestyle": dash, "linewidth": max(3.0 - 0.5 * index, 1.2)}
        look |= {"marker": marker, "markersize": 4, "markevery": max(len(own) // _MARKS, 1)}
        steps = [*own["factor"], edge], [*own["share"], own["share"].iloc[-1]]
        axes.step(*steps, where="post", label=name, **look)
    axes.set_xlim(1, edge)
    plain_logarithms(axes, "x")
    if edge < _FEW_DECADES:
        axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.set(ylim=(-0.02, 1.02), xlabel=quantity, ylabel="share of problems")
    legend_beside(axes)


def size_labels(attempts: Sequence[Attempt]) -> dict[str, str]:
    """By suite, the size that it varies: the one in its name, or the only one with three values or more.

    Suites whose sizes grow together are known by name.
    """
    found = {}
    for suite, own in sorted(_by_suite(attempts).items()):
        varied = [name for name in PRINTED if len({size_of(item, name) for item in own} - {None}) >= 3]
        named = [name for name in varied if suite.endswith(name) or _TOGETHER.get(suite) == name]
        if len(named or varied) == 1:
            found[suite] = (named or varied)[0]
    return found


def _explain(axes: Axes, label: str, marker: str, **look: Any) -> None:
    """An entry of the legend for marks that not every curve has."""
    axes.plot([], [], linestyle="none", marker=marker, color="0.3", label=label, **look)


def _time_drawing(suite: str, size: str, attempts: Sequence[Attempt]) -> Drawing:
    found = growths(attempts, {suite: size})
    whole = [item for item in found if item.measure == _WALL and (item.points or item.stopped_points)]
    refused: dict[str, set[float]] = {}
    for attempt in attempts:
        value = size_of(attempt, size)
        if attempt.ending == "refused" and value is not None:
            refused.setdefault(attempt.task.configuration, set()).add(value)
    caption = (
        "wall time against size, with exponents fitted to the logarithms and their 95 % intervals. "
        "Lines cover the sizes at which every attempt ended by itself; arrows are attempts that were stopped."
    )
    draw = partial(time_against_size, whole, _NAMES[size], refused=refused)
    return drawn(suite, "time", caption, growth_table(found), draw)


def time_against_size(
    growths: Sequence[Growth], quantity: str, axes: Axes, refused: Mapping[str, Collection[float]]
) -> None:
    """Draw attempts as points, geometric means with markers, and fits over the sizes fitted (Property 2).

    An attempt that was stopped is an arrow upwards from where it was, since it would have taken longer; the
    mean of the others at its size, which were the easy ones, has a hollow marker. A cross is
    a size at which a configuration ``refused``.
    """
    styles = styles_of(item.configuration for item in growths)
    for item in growths:
        _draw_times(item, styles[item.configuration], axes)
        floor: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "clip_on": False}
        for size in sorted(refused.get(item.configuration, ())):
            axes.plot(size, 0.0, "x", color=styles[item.configuration].colour, **floor)
    if any(item.points for item in growths):
        _explain(axes, "one attempt", ".", alpha=0.5, markersize=3)
    if any(item.stopped_points for item in growths):
        _explain(axes, "stopped: at least so long", _LONGER)
    if any(refused.get(item.configuration) for item in growths):
        _explain(axes, "refused: not covered", "x")
    if any({size for size, _ in item.points} & {size for size, _ in item.stopped_points} for item in growths):
        _explain(axes, "mean without those stopped", "o", markerfacecolor="white")
    every = [size for item in growths for size, _ in (*item.points, *item.stopped_points)]
    sized_axis(axes, quantity, [*every, *(size for sizes in refused.values() for size in sizes)])
    axes.set_ylabel("seconds")
    if growths:
        axes.set_yscale("log")
    legend_beside(axes, _EXPONENTS if any(item.line for item in growths) else "")


def _draw_times(item: Growth, style: Style, axes: Axes) -> None:
    colour, marker, dash = style
    cut = {size for size, _ in item.stopped_points}
    axes.plot([x for x, _ in item.points], [y for _, y in item.points], ".", color=colour, alpha=0.35, ms=3)
    for size in sorted({size for size, _ in item.points}):
        middle = float(gmean([up for x, up in item.points if x == size]))
        face = "white" if size in cut else colour
        axes.plot([size], [middle], marker, color=colour, ms=5, markerfacecolor=face)
    stopped = [x for x, _ in item.stopped_points], [y for _, y in item.stopped_points]
    axes.plot(*stopped, linestyle="none", marker=_LONGER, color=colour, markersize=8)
    name, line = item.configuration, item.line
    if line is not None:
        sizes = [line.fitted_from, line.fitted_to]
        axes.plot(sizes, [line.seconds(size) for size in sizes], color=colour, linestyle=dash, linewidth=1.2)
        name += f": {line.exponent:z.2f} [{line.lower:z.2f}, {line.upper:z.2f}]"
    axes.plot([], [], color=colour, marker=marker, linestyle="none" if line is None else dash, label=name)
