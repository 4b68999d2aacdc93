"""How time grows with size: exponents fitted on logarithms, beside what Property 2 prints.

Property 2 bounds the worst case for large sizes; a slope on the sizes tried is neither. What takes the same
time whatever the size flattens the line, as the slope between the two largest sizes shows. The time of an
attempt that was stopped is only a lower bound, and those that ended at the same size are the easy ones: only
sizes at which all ended are fitted.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy

from depl.benchmarks.analysis.reference import ordered
from depl.benchmarks.analysis.table import Table
from depl.benchmarks.measure.attempt import Attempt

CONFIDENCE = 0.95
_FEWEST_SIZES = 3
_ENDED = ("optimal", "gap_reached", "infeasible", "exhausted", "stuck")
_KILLED = ("hung", "crashed")
"""Nothing but the time of the whole attempt is known of these."""


PRINTED: Mapping[str, tuple[float | None, str]] = {
    "datasets": (2.0, "|D|^2; E8: no such general oracle is known"),
    "models": (2.0, "|M|^2 K^2 / eta^4; E3: the exponent of eta has the wrong sign"),
    "epochs": (2.0, "|M|^2 K^2 / eta^4; E3: the exponent of eta has the wrong sign"),
    "eta": (-4.0, "|M|^2 K^2 / eta^4; E3: with levels it is eta^4, and eta^2 by layers"),
    "clusters": (None, "does not occur; E9: the placement it quotes does not transfer"),
    "scenarios": (None, "does not occur; the paper samples nothing"),
}
"""What Property 2 prints of one size, by the label that holds it: exponent, and the term that it is from."""
_COLUMNS = (
    *("suite", "configuration", "measure", "size", "ended", "stopped"),
    *("fitted_sizes", "fitted_from", "fitted_to", "smallest", "largest"),
    *("exponent", "lower", "upper", "last_exponent", "seconds_at_largest"),
    *("printed_exponent", "printed_term", "verdict"),
)


class PowerLine(NamedTuple):
    """A line through the logarithms: slope with its 95 % interval, and seconds at size 1 [s].

    ``last_exponent`` is the slope between the two largest of the sizes fitted; beyond these the line says
    nothing.
    """

    exponent: float
    lower: float
    upper: float
    coefficient: float
    last_exponent: float
    fitted_sizes: int
    fitted_from: float
    fitted_to: float

    def seconds(self, size: float) -> float:
        """What the line says [s]."""
        return float(self.coefficient * size**self.exponent)


class Growth(NamedTuple):
    """Times of one configuration against one size, which a label or an option holds.

    ``measure`` is what was timed: ``wall_seconds``, ``build_seconds``, or a stage such as ``seconds_models``.
    ``points`` are size and seconds of the attempts that ended by themselves, ``stopped_points`` of those
    whose time is a lower bound of what they would have taken; ``stopped`` counts crashes as well. The line
    is through the sizes at which none was stopped; None with fewer than three of them.
    """

    suite: str
    configuration: str
    size: str
    measure: str
    points: tuple[tuple[float, float], ...]
    stopped: int
    stopped_points: tuple[tuple[float, float], ...]
    line: PowerLine | None

    @property
    def verdict(self) -> str:
        """The interval of the exponent beside the printed exponent; empty where there is no such pair."""
        printed = PRINTED.get(self.size, (None, ""))[0]
        if self.line is None or printed is None:
            return ""
        if self.line.lower > printed:
            return "above the printed exponent"
        return "not above the printed exponent" if self.line.upper <= printed else "undecided"


def line_through(
    points: Sequence[tuple[float, float]], groups: Sequence[str] | None = None
) -> PowerLine | None:
    """Fit a line to the logarithms of positive sizes and seconds; None with fewer than three sizes.

    ``groups`` name the instance of every point: all share a slope and each has a level of its own (least
    squares on deviations from the means of the instances), for sizes that are varied on one instance.
    """
    sizes = sorted({size for size, _ in points})
    if len(sizes) < _FEWEST_SIZES:
        return None
    across, up = np.log(np.array(points)).T
    names = np.array(["" for _ in points] if groups is None else groups)
    own = names[:, None] == names[None, :]
    within_across, within_up = (values - own @ values / own.sum(axis=1) for values in (across, up))
    freedom = len(points) - len(set(names.tolist())) - 1
    spread = float(within_across @ within_across)
    if freedom < 1 or spread == 0:
        return None
    slope = float(within_across @ within_up) / spread
    residuals = within_up - slope * within_across
    deviation = float(np.sqrt(residuals @ residuals / freedom / spread))
    half = float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, freedom)) * deviation
    before, after = (float(np.mean(up[across == np.log(size)])) for size in sizes[-2:])
    last = (after - before) / float(np.log(sizes[-1] / sizes[-2]))
    level = float(np.exp(up.mean() - slope * across.mean()))
    return PowerLine(slope, slope - half, slope + half, level, last, len(sizes), sizes[0], sizes[-1])


def growths(attempts: Sequence[Attempt], sizes: Mapping[str, str]) -> list[Growth]:
    """The growth of time of every configuration, with the whole solve and every stage that was timed.

    Stages are the building of tables, and those of the method's loop (``seconds_data`` and so on). ``sizes``
    says by suite which label holds the size; or which setting of the configurations, such as ``eta``, whose
    configurations are then one method.
    """
    found: dict[tuple[str, str, str, str], list[tuple[Attempt, float, float | None]]] = {}
    for attempt in ordered(attempts):
        suite, name = attempt.task.suite, sizes.get(attempt.task.suite)
        size = None if name is None else size_of(attempt, name)
        if name is None or size is None or size <= 0 or attempt.ending == "refused":
            continue
        # a size that is a setting of the method, such as eta, makes its configurations one method
        label = attempt.task.configuration if name in attempt.labels else attempt.method
        for measure, seconds in _times(attempt).items():
            found.setdefault((suite, label, name, measure), []).append((attempt, size, seconds))
    return [_growth(key, timed) for key, timed in found.items()]


def size_of(attempt: Attempt, name: str) -> float | None:
    """The number that a label of the instance, or a setting of the method, holds; None if there is none."""
    settings = {"scenarios": attempt.settings.get("scenarios"), **attempt.settings.get("options", {})}
    value = attempt.labels.get(name, settings.get(name))
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def growth_table(found: Sequence[Growth]) -> Table:
    """Every growth with its exponent and what Property 2 prints of it."""
    rows = []
    for item in found:
        sizes = [size for size, _ in item.points]
        largest = [seconds for size, seconds in item.points if size == max(sizes)]
        row = {
            **item._asdict(),
            **({"fitted_sizes": 0} if item.line is None else item.line._asdict()),
            **dict(
                zip(("printed_exponent", "printed_term"), PRINTED.get(item.size, (None, "")), strict=True)
            ),
            "ended": len(sizes),
            "smallest": min(sizes, default=None),
            "largest": max(sizes, default=None),
            "seconds_at_largest": float(np.median(largest)) if largest else None,
            "verdict": item.verdict,
        }
        rows.append(tuple(map(row.get, _COLUMNS)))
    return Table(_COLUMNS, tuple(rows))


def _growth(key: tuple[str, str, str, str], timed: Sequence[tuple[Attempt, float, float | None]]) -> Growth:
    ended, stopped, cut = [], [], []
    for attempt, size, seconds in timed:
        if attempt.ending not in _ENDED:
            stopped.append(size)
            cut += [(size, seconds)] if seconds else []
        elif seconds is not None and seconds > 0:
            ended.append((size, seconds, attempt.task.instance))
    ended.sort()
    whole = [row for row in ended if row[0] not in stopped]
    several = len({name for *_, name in whole}) < len({(size, name) for size, _, name in whole})
    line = line_through([row[:2] for row in whole], [name for *_, name in whole] if several else None)
    return Growth(*key, tuple(row[:2] for row in ended), len(stopped), tuple(sorted(cut)), line)


def _times(attempt: Attempt) -> dict[str, float | None]:
    stages = {f"seconds_{stage}": seconds for stage, seconds in attempt.stage_seconds.items()}
    build = {"build_seconds": attempt.build_seconds} if attempt.build_seconds else {}
    wall = attempt.wall_seconds
    if wall is None and attempt.ending in _KILLED:
        wall = attempt.total_seconds
    return {"wall_seconds": wall, **build, **stages}
