"""Performance profiles: the share of problems that a configuration answers within a factor of the best.

Dolan and Moré, *Benchmarking optimization software with performance profiles*, Mathematical Programming 91
(2002), eqs. (1) and (2), where the least cost is the *proved* optimum. A problem is an instance with a seed
that every configuration shown has an attempt at; without a plan its r is infinite, so it never counts.
"""

from collections.abc import Sequence

import numpy as np

from depl.benchmarks.analysis.reference import Frame, configurations, frame_of, pd
from depl.benchmarks.measure.attempt import Attempt

RESOLUTION = 0.01
"""Seconds below which times count as equal: what a machine does besides takes as long."""
WITHIN = 0.01
"""Relative excess over the optimum up to which a plan counts in a profile by time."""


def profiles(attempts: Sequence[Attempt], suite: str, by: str) -> Frame:
    """Of the attempts of a suite under the law: where the share of every configuration rises, and to what.

    By ``cost`` the factor is that over the proved optimum. By ``time`` it is wall time until the end of the
    solve over that of the fastest configuration; what is fast and bad would win by time alone, so an attempt
    counts only if its plan costs at most (1 + `WITHIN`) times the proved optimum, and problems that nobody
    answers so are left out. ``left_out`` counts these, instances and seeds without a proved, positive
    optimum, and those that not all configurations tried.
    """
    own = [item for item in attempts if item.task.suite == suite and item.meaning == "law"]
    rows, problem = frame_of(own), ["instance", "seed"]
    seconds = rows["wall_seconds"].clip(lower=RESOLUTION).where(rows["ratio"] <= 1 + WITHIN)
    score = (rows["ratio"] if by == "cost" else seconds).fillna(np.inf)
    tried = rows.assign(score=score).pivot_table("score", problem, "configuration", "last")
    able = tried[tried.index.isin(rows[rows["optimum"] > 0].set_index(problem).index)].dropna()
    if by == "time":
        least = able.min(axis=1)
        able = able[least < np.inf].div(least[least < np.inf], axis=0)
    steps = []
    for label in configurations(own, suite):
        factors = np.sort(able[label])
        places = np.unique([1.0, *factors[(factors > 1) & (factors < np.inf)]])
        shares = np.searchsorted(factors, places, side="right") / max(len(able), 1)
        steps += [
            (label, *step, len(able), len(tried) - len(able)) for step in zip(places, shares, strict=True)
        ]
    return pd.DataFrame(steps, columns=["configuration", "factor", "share", "problems", "left_out"])
