"""Every figure that the attempts of sweeps allow, each with its numbers and a footer on its origin."""

import functools
from collections.abc import Collection, Iterator, Sequence

from matplotlib.axes import Axes

from depl.benchmarks.analysis.order import configurations, ordered
from depl.benchmarks.analysis.profiles import Profile, cost_profiles, profile_table, time_profiles
from depl.benchmarks.analysis.ratio_table import trials
from depl.benchmarks.analysis.table import Cell, Table
from depl.benchmarks.figures.canvas import panels
from depl.benchmarks.figures.legends import make_room, set_title, shared_legend
from depl.benchmarks.figures.of_drawing import Drawing, add_footer, footer_of
from depl.benchmarks.figures.of_family import Gallery, Shown
from depl.benchmarks.figures.of_instances import Instances, first_of_each, plan_of
from depl.benchmarks.figures.of_levels import level_drawing, levels_of
from depl.benchmarks.figures.of_sizes import size_drawings
from depl.benchmarks.figures.performance_profile import ProfileCurve, performance_profile
from depl.benchmarks.figures.promised_against_delivered import Promise, promised_against_delivered
from depl.benchmarks.measure.attempt import Attempt
from depl.instances.library import names
from depl.models.foundation.wording import counted
from depl.models.problem.instance import Instance
from depl.models.solving.methods import Meaning

SET_ASIDE = (
    *("enumerate", "depl-paper-certified"),
    *("density-greedy", "annealing", "fastest-cluster", "random"),
)
"""Not among the paper's strategies, or the same optimum again; they are in the profiles and tables."""
_FEWEST_PROBLEMS = 5
_MOST_PROFILES = 12


def figures_of(attempts: Sequence[Attempt]) -> list[Drawing]:
    """Draw what there is: Figs. 5 to 9 by family, effect of eta, profiles, cost and time against size.

    The same attempts in any order give the same figures. What cannot be drawn, because an instance has
    changed since, is named by `left_out`.

    Raises
    ------
    InvalidInputError
        If attempts on an instance of one name were made on different instances.
    """
    instances = Instances()
    return list(_figures(ordered(attempts), instances))


def left_out(attempts: Sequence[Attempt]) -> list[str]:
    """Sentences on families of which no figure can be drawn, because their instances cannot be made again."""
    instances = Instances()
    for attempt in ordered(attempts):
        if _family(attempt) is not None:
            instances.of(attempt)
    return instances.missing


def _figures(attempts: Sequence[Attempt], instances: Instances) -> Iterator[Drawing]:
    families = list(dict.fromkeys(family for item in attempts if (family := _family(item)) is not None))
    for family in families:
        own = [item for item in attempts if _family(item) == family]
        levels = level_drawing(family, own, instances)
        if levels is not None:
            varied = [item for item in own if levels_of(item) is not None]
            yield _with_footer(levels, varied, _made(varied, instances))
        for suite in dict.fromkeys(item.task.suite for item in own):
            yield from _family_drawings(family, [item for item in own if item.task.suite == suite], instances)
    for suite in dict.fromkeys(item.task.suite for item in attempts):
        own = [item for item in attempts if item.task.suite == suite]
        for drawing in (_profiles(suite, own), _promises(suite, own)):
            if drawing is not None:
                yield _with_footer(drawing, own)
    for drawing in size_drawings(attempts):
        suite = drawing.name.rpartition("-")[0]
        yield _with_footer(drawing, [item for item in attempts if item.task.suite == suite])


def _family(attempt: Attempt) -> str | None:
    """The shipped family that an attempt's instance is of, if it is one of several targets under the law."""
    family, target = attempt.labels.get("family"), attempt.labels.get("target")
    known = family in _shipped() and isinstance(target, int | float) and attempt.meaning == Meaning.LAW.value
    return str(family) if known else None


@functools.cache
def _shipped() -> frozenset[str]:
    return frozenset(names())


def _family_drawings(family: str, attempts: Sequence[Attempt], instances: Instances) -> Iterator[Drawing]:
    """Figs. 5 to 9, if every configuration was run once at every target and none of them varies eta."""
    once = first_of_each(attempts)
    places = {(item.task.configuration, item.labels["target"]) for item in once}
    if len(places) < len(once) or any(levels_of(item) is not None for item in once):
        return
    labels = configurations(attempts, attempts[0].task.suite)
    shown = shown_of(attempts, instances, [name for name in labels if name not in SET_ASIDE] or labels)
    if any(item.plan is not None for item in shown):
        suite = attempts[0].task.suite
        own = suite.partition("-")[0] == family.partition("-")[0]
        for drawing in Gallery(family if own else f"{suite}-{family}", shown).drawings():
            yield _with_footer(drawing, attempts, _made(attempts, instances))


def _made(attempts: Sequence[Attempt], instances: Instances) -> list[Instance]:
    return [found for item in first_of_each(attempts) if (found := instances.of(item)) is not None]


def shown_of(attempts: Sequence[Attempt], instances: Instances, chosen: Collection[str]) -> list[Shown]:
    """The chosen configurations of one suite at every target of a family, by target.

    What is optimal may be proved by any attempt.
    """
    optimal = {
        id(item) for item, trial in trials(attempts) if item.proved_optimal and trial.ratio is not None
    }
    found = []
    for item in sorted(first_of_each(attempts), key=lambda item: float(item.labels["target"])):
        instance = instances.of(item)
        if item.task.configuration in chosen and instance is not None:
            target, label = f"{item.labels['target']:g}", item.task.configuration
            found.append(Shown(target, instance, label, plan_of(item), item.cost, id(item) in optimal))
    return found


def _profiles(suite: str, attempts: Sequence[Attempt]) -> Drawing | None:
    """Profiles by cost and by time of the configurations that answer anything."""
    by_cost = [item for item in cost_profiles(attempts, suite) if item.factors]
    by_time = [item for item in time_profiles(attempts, suite) if item.factors]
    if len(by_cost) not in range(2, _MOST_PROFILES + 1) or by_cost[0].problems < _FEWEST_PROBLEMS:
        return None
    figure, (left, right) = panels(2)
    _draw_profiles(suite, by_cost, left, "cost / proved optimum")
    _draw_profiles(suite, by_time, right, "time / least time, plans within 1 % of the optimum")
    shared_legend(figure)
    make_room(figure)
    tables = {"cost": profile_table(by_cost), "time": profile_table(by_time)}
    rows = [(by, *row) for by, table in tables.items() for row in table.rows]
    caption = (
        f"{suite}: share of problems with a proved optimum that each method answers within a factor, by cost "
        "and by time; what has no plan never counts."
    )
    columns = ("by", *tables["cost"].columns)
    return Drawing(f"{suite}-profiles", caption, figure, Table(columns, tuple(rows)))


def _draw_profiles(suite: str, found: Sequence[Profile], axes: Axes, quantity: str) -> None:
    """One panel."""
    curves = [ProfileCurve(item.configuration, *item.steps()) for item in found]
    performance_profile(curves, quantity, axes)
    set_title(axes, f"{suite}, {counted(found[0].problems if found else 0, 'problem')}")


def _promises(suite: str, attempts: Sequence[Attempt]) -> Drawing | None:
    """Promised against delivered, where the suite measured that."""
    keys = ("promised", "delivered", "delivered_lower", "delivered_upper")
    rows: list[tuple[Cell, ...]] = []
    promises = []
    for attempt in attempts:
        values = [attempt.measures.get(key) for key in keys]
        known = [value for value in values if value is not None]
        if len(known) == len(keys):
            rows.append((attempt.task.configuration, attempt.task.instance, *known))
            promises.append(Promise(attempt.task.configuration, *known))
    if not rows:
        return None
    figure, (axes,) = panels(1)
    promised_against_delivered(promises, axes)
    set_title(axes, suite)
    make_room(figure)
    caption = f"{suite}: promised against delivered probability, with 95 % intervals."
    columns = ("configuration", "instance", *keys)
    return Drawing(f"{suite}-promises", caption, figure, Table(columns, tuple(rows)))


def _with_footer(
    drawing: Drawing, attempts: Sequence[Attempt], instances: Sequence[Instance] = ()
) -> Drawing:
    add_footer(drawing.figure, footer_of(attempts, instances))
    return drawing
