"""Performance profiles: the share of problems that a configuration answers within a factor of the best.

Dolan and Moré, *Benchmarking optimization software with performance profiles*, Mathematical Programming 91
(2002), eqs. (1) and (2), where the least cost is the *proved* optimum. A problem is an instance with a seed
that every configuration shown has an attempt at; without a plan its r is infinite, so it never counts.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from depl.benchmarks.analysis.ratio_table import Trial, ratio, trials
from depl.benchmarks.analysis.reference import configurations
from depl.benchmarks.analysis.table import Table
from depl.benchmarks.measure.attempt import Attempt

RESOLUTION = 0.01
"""Seconds below which times count as equal: what a machine does besides takes as long."""
WITHIN = 0.01
"""Relative excess over the optimum up to which a plan counts in a profile by time."""


class Profile(NamedTuple):
    """The profile of one configuration: r of every problem that it answers, ascending, at least 1.

    ``left_out`` counts instances and seeds of the suite that are no problem here: without a proved, positive
    optimum, or not tried by all configurations.
    """

    configuration: str
    factors: tuple[float, ...]
    problems: int
    left_out: int = 0

    def share(self, factor: float) -> float:
        """The share of problems with r <= ``factor``."""
        return sum(value <= factor for value in self.factors) / self.problems if self.problems else 0.0

    def steps(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Where the share rises, from tau = 1 on, and to what it rises."""
        places = (1.0, *sorted({value for value in self.factors if value > 1}))
        return places, tuple(self.share(value) for value in places)


def cost_profiles(attempts: Sequence[Attempt], suite: str) -> list[Profile]:
    """Profiles by cost over the proved optimum, of the attempts of a suite under the law."""
    return _profiles(attempts, suite, lambda trial: trial.ratio)


def time_profiles(attempts: Sequence[Attempt], suite: str) -> list[Profile]:
    """Profiles by wall time until the end of the solve, relative to the fastest configuration.

    What is fast and bad would win by time alone, so an attempt counts as an answer only if its plan costs at
    most (1 + `WITHIN`) times the proved optimum. Problems that nobody answers so are left out.
    """

    def seconds(trial: Trial) -> float | None:
        good = trial.ratio is not None and trial.ratio <= 1 + WITHIN
        return max(trial.seconds, RESOLUTION) if good and trial.seconds is not None else None

    return _profiles(attempts, suite, seconds, relative=True)


def profile_table(profiles: Sequence[Profile]) -> Table:
    """Every step of every profile, and how many problems it speaks of."""
    rows = [
        (profile.configuration, factor, share, profile.problems, profile.left_out)
        for profile in profiles
        for factor, share in zip(*profile.steps(), strict=True)
    ]
    return Table(("configuration", "factor", "share", "problems", "left_out"), tuple(rows))


def _profiles(
    attempts: Sequence[Attempt], suite: str, score: Callable[[Trial], float | None], relative: bool = False
) -> list[Profile]:
    own = [item for item in attempts if item.task.suite == suite and item.meaning == "law"]
    labels = configurations(own, suite)
    tried: dict[tuple[str, int], dict[str, float]] = {}
    best: dict[tuple[str, int], float] = {}
    for attempt, trial in trials(own):
        problem, found = (attempt.task.instance, attempt.task.seed), score(trial)
        tried.setdefault(problem, {})[attempt.task.configuration] = math.inf if found is None else found
        if (trial.reference.optimum or 0) > 0:
            best[problem] = min(tried[problem].values()) if relative else 1.0
    known = {name: least for name, least in best.items() if least < math.inf}
    problems = [(tried[name], least) for name, least in known.items() if len(tried[name]) == len(labels)]
    profiles = []
    for label in labels:
        factors = sorted(ratio(row[label], least) for row, least in problems if row[label] < math.inf)
        profiles.append(Profile(label, tuple(factors), len(problems), len(tried) - len(problems)))
    return profiles
