"""Whether attempts kept their limits: of time, with what a limit must not cost: a plan and a bound.

Only attempts that tell the seconds of their whole solve are judged, and those that were killed. An attempt is
``late`` if the whole solve, with certificate and verification, took more than `allowed` by the clock and by
CPU time: on a machine that does other work, the clock alone says nothing of the method. It has ``no plan`` if
it ended by its limit without one where the greedy method has one of the same instance (none is expected of
the one that reproduces the paper's), and ``no bound`` if its bound is below one that it had found on its way.
"""

from collections.abc import Iterable

import numpy as np

from depl.benchmarks.analysis.reference import Frame, frame_of
from depl.benchmarks.analysis.table import Table
from depl.benchmarks.measure.attempt import BOUND_FOUND, Attempt, allowed
from depl.models.foundation.wording import counted

_GREEDY, _REPRODUCED = "density-greedy", "depl-paper"
BREACHES = ("late", "no plan", "no bound", "hung", "crashed", "failed", "rejected", "error")
_ROUNDING = 1e-9


def judged(attempts: Iterable[Attempt]) -> Frame:
    """Every attempt that can be judged, beside each of `BREACHES` and what of them it was ``broken by``."""
    rows = frame_of(attempts)
    rows = rows[rows["solve_seconds"].notna() | rows["ending"].isin(BREACHES)]
    limit = rows["settings"].map(lambda own: allowed(float(own["time_limit"])))
    longest, longest_cpu = rows["solve_seconds"] / limit, rows["solve_cpu_seconds"] / limit
    planned = rows["question"][(rows["method"] == _GREEDY) & rows["cost"].notna()]
    without = (rows["ending"] == "time_limit") & rows["cost"].isna() & (rows["method"] != _REPRODUCED)
    found = rows["measures"].map(lambda own: own.get(BOUND_FOUND)).astype(float)
    low = (rows["ending"] != "infeasible").where(  # no bound is an infinite one where there is no plan
        rows["lower_bound"].isna(), rows["lower_bound"] < found - _ROUNDING * found.abs()
    )
    ways = {
        "late": np.fmin(longest, longest_cpu) > 1,
        "no plan": without & rows["question"].isin(planned),
        "no bound": found.notna() & low,
        **{way: rows["ending"] == way for way in BREACHES[3:]},
    }
    broken = [", ".join(way for way in BREACHES if ways[way][row]) for row in rows.index]
    return rows.assign(longest=longest, longest_cpu=longest_cpu, **ways, **{"broken by": broken})


def limits_table(rows: Frame) -> Table:
    """One row per suite and configuration: how many attempts kept their limits, and what broke them.

    ``longest`` and ``longest_cpu`` are the most that a whole solve took of what it is allowed, by the clock
    and by CPU time; ``peak`` is the greatest resident memory of an attempt [GiB].
    """
    found = rows.groupby(["suite", "configuration"], sort=False).agg(
        attempts=("attempt", "size"),
        kept=("broken by", lambda own: (own == "").sum()),
        **{way: (way, "sum") for way in BREACHES},
        longest=("longest", "max"),
        longest_cpu=("longest_cpu", "max"),
        peak=("peak_gibibytes", "max"),
    )
    return Table.of(found.reset_index())


def broken_table(rows: Frame) -> Table:
    """One row per attempt that broke a limit."""
    limit = rows["settings"].map(lambda own: float(own["time_limit"]))
    columns = ["suite", "instance", "configuration", "limit", "seconds", "cpu_seconds", "broken by", "reason"]
    told = rows.assign(limit=limit, seconds=rows["solve_seconds"], cpu_seconds=rows["solve_cpu_seconds"])
    return Table.of(told[told["broken by"] != ""][columns])


def verdict(rows: Frame) -> str:
    """In one sentence, whether limits were kept."""
    kept, ways = (rows["broken by"] == "").sum(), rows[list(BREACHES)].sum()
    if kept == len(rows):
        every = "the only attempt" if kept == 1 else f"all {kept} attempts"
        return f"Limits are kept by {every}."
    listed = ", ".join(f"{count} {way}" for way, count in ways[ways > 0].items())
    return f"Limits are kept by {kept} of {counted(len(rows), 'attempt')}; broken by {listed}."
