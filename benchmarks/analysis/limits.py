"""Whether attempts kept their limits: of time, with what a limit must not cost: a plan and a bound.

Only attempts that tell the seconds of their whole solve are judged, and those that were killed. An attempt is
``late`` if the whole solve, with certificate and verification, took more than `allowed` by the clock and by
CPU time: on a machine that does other work, the clock alone says nothing of the method. It has ``no plan`` if
it ended by its limit without one where the greedy method has one of the same instance (none is expected of
the one that reproduces the paper's), and ``no bound`` if its bound is below one that it had found on its way.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from depl.benchmarks.analysis.table import Table
from depl.benchmarks.measure.attempt import Attempt
from depl.models.foundation.wording import counted

SHARE, SECONDS = 0.05, 2.0
"""What a solve may take beyond its limit: a share of it, and seconds."""
_GREEDY, _REPRODUCED = "density-greedy", "depl-paper"
BOUND_FOUND = "bound_found"
"""Measure of an attempt: the greatest lower bound of any part of its result [cost]."""
BREACHES = ("late", "no plan", "no bound", "hung", "crashed", "failed", "rejected", "error")
_ROUNDING = 1e-9


class Judged(NamedTuple):
    """An attempt and how it broke its limits; by nothing if it kept them."""

    attempt: Attempt
    broken_by: tuple[str, ...]


def allowed(time_limit: float) -> float:
    """Seconds that a solve under this limit may take as a whole."""
    return time_limit * (1 + SHARE) + SECONDS


def judged(attempts: Iterable[Attempt]) -> list[Judged]:
    """Every attempt that can be judged, with the ways in which it broke its limits."""
    given = [item for item in attempts if item.solve_seconds is not None or item.ending in BREACHES]
    planned = {_question(item) for item in given if item.method == _GREEDY and item.cost is not None}
    return [Judged(item, tuple(_breaches(item, _question(item) in planned))) for item in given]


def limits_table(found: Sequence[Judged]) -> Table:
    """One row per suite and configuration: how many attempts kept their limits, and what broke them.

    ``longest`` and ``longest_cpu`` are the most that a whole solve took of what it is allowed, by the clock
    and by CPU time; ``peak`` is the greatest resident memory of an attempt [GiB].
    """
    groups: dict[tuple[str, str], list[Judged]] = {}
    for item in found:
        groups.setdefault((item.attempt.task.suite, item.attempt.task.configuration), []).append(item)
    rows = []
    for group, own in groups.items():
        ways = Counter(way for item in own for way in item.broken_by)
        clock, cpu, peaks = [], [], []
        for attempt, _ in own:
            limit = allowed(float(attempt.settings["time_limit"]))
            clock += [attempt.solve_seconds / limit] if attempt.solve_seconds is not None else []
            cpu += [attempt.solve_cpu_seconds / limit] if attempt.solve_cpu_seconds is not None else []
            peaks += [attempt.peak_gibibytes] if attempt.peak_gibibytes is not None else []
        kept = sum(not item.broken_by for item in own)
        most = (max(values, default=None) for values in (clock, cpu, peaks))
        rows.append((*group, len(own), kept, *(ways[way] for way in BREACHES), *most))
    columns = ("suite", "configuration", "attempts", "kept", *BREACHES, "longest", "longest_cpu", "peak")
    return Table(columns, tuple(rows))


def broken_table(found: Sequence[Judged]) -> Table:
    """One row per attempt that broke a limit."""
    rows = [
        (
            *(item.task.suite, item.task.instance, item.task.configuration),
            *(float(item.settings["time_limit"]), item.solve_seconds, item.solve_cpu_seconds),
            *(", ".join(ways), item.reason),
        )
        for item, ways in found
        if ways
    ]
    columns = ("suite", "instance", "configuration", "limit", "seconds", "cpu_seconds", "broken by", "reason")
    return Table(columns, tuple(rows))


def verdict(found: Sequence[Judged]) -> str:
    """In one sentence, whether limits were kept."""
    ways = Counter(way for item in found for way in item.broken_by)
    if not ways:
        every = "the only attempt" if len(found) == 1 else f"all {len(found)} attempts"
        return f"Limits are kept by {every}."
    listed = ", ".join(f"{count} {way}" for way, count in ways.items())
    kept = sum(not item.broken_by for item in found)
    return f"Limits are kept by {kept} of {counted(len(found), 'attempt')}; broken by {listed}."


def _breaches(attempt: Attempt, planned: bool) -> Iterable[str]:
    limit = allowed(float(attempt.settings["time_limit"]))
    seconds, cpu = attempt.solve_seconds, attempt.solve_cpu_seconds
    if attempt.ending in BREACHES:
        yield attempt.ending
    if seconds is not None and min(seconds, seconds if cpu is None else cpu) > limit:
        yield "late"
    without = attempt.ending == "time_limit" and attempt.cost is None
    if without and planned and attempt.method != _REPRODUCED:
        yield "no plan"
    bound, held = attempt.measures.get(BOUND_FOUND), attempt.lower_bound
    if bound is not None:  # no bound is an infinite one where there is proved to be no plan
        kept = attempt.proved_infeasible if held is None else held >= bound - _ROUNDING * abs(bound)
        if not kept:
            yield "no bound"


def _question(attempt: Attempt) -> tuple[str, int, str, str]:
    """What a plan of a greedy method answers; under scenarios it need not be one."""
    return attempt.task.suite, attempt.task.version, attempt.task.instance, attempt.meaning
