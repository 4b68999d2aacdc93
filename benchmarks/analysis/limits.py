"""Whether attempts kept their limits: of time, with what a limit must not cost: a plan and a bound.

Only attempts that tell the seconds of their whole solve are judged, and those that were killed. An attempt
broke its limit

``late``
    if the whole solve, certificate and verification included, took more than `allowed` by the clock and by
    CPU time: on a machine that does other work, the clock alone says nothing of the method;
``hung``, ``crashed``, ``failed``, ``rejected``, ``error``
    if it ended so, whatever it was asked for;
``no plan``
    if it ended by its limit without a plan where `GREEDY` has one of the same instance; of the one that
    reproduces the paper's (`REPRODUCED`), which returns what that finds and nothing else, none is expected;
``no bound``
    if its bound is below one that it had found: that of a phase, or that of its dual prices.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from depl.benchmarks.analysis.table import Cell, Table
from depl.benchmarks.measure.attempt import Attempt
from depl.models.foundation.wording import counted
from depl.models.solving.methods import Meaning

SHARE, SECONDS = 0.05, 2.0
"""What a solve may take beyond its limit: a share of it, and seconds."""
GREEDY = "density-greedy"
"""The method whose plans say where there is one to be had at once."""
REPRODUCED = "depl-paper"
"""The method that stands for the paper's own."""
BOUND_FOUND = "bound_found"
"""Measure of an attempt: the greatest lower bound of any part of its result [cost]."""
BREACHES = ("late", "no plan", "no bound", "hung", "crashed", "failed", "rejected", "error")
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Judged:
    """An attempt and how it broke its limits; by nothing if it kept them."""

    attempt: Attempt
    broken_by: tuple[str, ...]


def allowed(time_limit: float) -> float:
    """Seconds that a solve under this limit may take as a whole."""
    return time_limit * (1 + SHARE) + SECONDS


def judged(attempts: Iterable[Attempt]) -> list[Judged]:
    """Every attempt that can be judged, with the ways in which it broke its limits."""
    given = [item for item in attempts if item.solve_seconds is not None or item.ending in BREACHES]
    planned = {_question(item) for item in given if item.method == GREEDY and item.cost is not None}
    return [Judged(item, tuple(_breaches(item, _question(item) in planned))) for item in given]


def limits_table(found: Sequence[Judged]) -> Table:
    """One row per suite and configuration: how many attempts kept their limits, and what broke them.

    ``longest`` and ``longest_cpu`` are the most that a whole solve took of what it is allowed, by the clock
    and by CPU time; ``peak`` is the greatest resident memory of an attempt [GiB].
    """
    groups: dict[tuple[str, str], list[Judged]] = {}
    for item in found:
        groups.setdefault((item.attempt.task.suite, item.attempt.task.configuration), []).append(item)
    rows = [(*group, *_row(own)) for group, own in groups.items()]
    columns = ("suite", "configuration", "attempts", "kept", *BREACHES, "longest", "longest_cpu", "peak")
    return Table(columns, tuple(rows))


def broken_table(found: Sequence[Judged]) -> Table:
    """One row per attempt that broke a limit."""
    rows = tuple(
        (
            item.attempt.task.suite,
            item.attempt.task.instance,
            item.attempt.task.configuration,
            float(item.attempt.settings["time_limit"]),
            item.attempt.solve_seconds,
            item.attempt.solve_cpu_seconds,
            ", ".join(item.broken_by),
            item.attempt.reason,
        )
        for item in found
        if item.broken_by
    )
    columns = ("suite", "instance", "configuration", "limit", "seconds", "cpu_seconds", "broken by", "reason")
    return Table(columns, rows)


def verdict(found: Sequence[Judged]) -> str:
    """In one sentence, whether limits were kept."""
    broken = [item for item in found if item.broken_by]
    if not broken:
        return (
            f"Limits are kept by {'the only attempt' if len(found) == 1 else f'all {len(found)} attempts'}."
        )
    ways = Counter(way for item in broken for way in item.broken_by)
    listed = ", ".join(f"{count} {way}" for way, count in ways.items())
    kept = f"{len(found) - len(broken)} of {counted(len(found), 'attempt')}"
    return f"Limits are kept by {kept}; broken by {listed}."


def _breaches(attempt: Attempt, planned: bool) -> Iterable[str]:
    limit = allowed(float(attempt.settings["time_limit"]))
    seconds, cpu = attempt.solve_seconds, attempt.solve_cpu_seconds
    if attempt.ending in BREACHES:
        yield attempt.ending
    if seconds is not None and min(seconds, seconds if cpu is None else cpu) > limit:
        yield "late"
    own = attempt.method != REPRODUCED
    if attempt.ending == "time_limit" and attempt.cost is None and planned and own:
        yield "no plan"
    bound = attempt.measures.get(BOUND_FOUND)
    if bound is not None and not _holds(attempt, bound):
        yield "no bound"


def _holds(attempt: Attempt, bound: float) -> bool:
    """Whether the bound of an attempt is at least this one; None is infinite where there is no plan."""
    if attempt.lower_bound is None:
        return attempt.proved_infeasible
    return attempt.lower_bound >= bound - _ROUNDING * abs(bound)


def _question(attempt: Attempt) -> tuple[str, int, str, str]:
    """What a plan of a greedy method answers; under scenarios it need not be one."""
    task = attempt.task
    return task.suite, task.version, task.instance, Meaning(attempt.meaning).value


def _row(own: Sequence[Judged]) -> tuple[Cell, ...]:
    ways = Counter(way for item in own for way in item.broken_by)
    limits = [allowed(float(item.attempt.settings["time_limit"])) for item in own]
    clock = [(item.attempt.solve_seconds, limit) for item, limit in zip(own, limits, strict=True)]
    cpu = [(item.attempt.solve_cpu_seconds, limit) for item, limit in zip(own, limits, strict=True)]
    longest = (
        max((taken / limit for taken, limit in times if taken is not None), default=None)
        for times in (clock, cpu)
    )
    peaks = [item.attempt.peak_gibibytes for item in own if item.attempt.peak_gibibytes is not None]
    kept = sum(not item.broken_by for item in own)
    return (len(own), kept, *(ways[way] for way in BREACHES), *longest, max(peaks, default=None))
