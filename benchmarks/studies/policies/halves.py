"""Counted policies on halves of the seeds: planned on one, counted again on the other.

A policy is chosen among many on the runs that it is counted on, so its promise may be too bold; what it is on
runs that had no part in the choice says by how much. It is also followed on the judging seeds. Both halves
have as many runs of every switch epoch. The policy of the one half, its rows and its grid, is counted under a
law that is fitted to the other half alone, runs unlike all seen left out. As pairs of runs share runs, the
standard error is at most that of as many independent runs as the stage with the fewest donors has; that end
is taken.
"""

import math
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from depl.benchmarks.studies.policies.problems import Family, Problem
from depl.benchmarks.studies.policies.rows import Row
from depl.benchmarks.studies.promises.few_runs import halves
from depl.fitting import fit
from depl.models.policy.counted import counted
from depl.models.policy.replay import replay
from depl.models.policy.solve import solve_policy
from depl.models.problem.affine_law import AffineLaw, Position, following
from depl.models.problem.policy import Policy
from depl.models.traces.table import Traces

_ERRORS = 2.0
"""Standard errors that a delivered share may be below omega by."""


def half_rows(
    family: Family, problem: Problem, splits: int, switches: Sequence[int] | None = None
) -> Iterator[Row]:
    """Random splits: what is promised, and what is delivered by the other half and by the judging seeds.

    Policies may switch after ``switches``, all of those of the branches by default.
    """
    allowed = family.branches.switch_epochs if switches is None else switches
    for split, known in enumerate(halves(family.runs, splits)):
        planning, counting = (family.runs.select(np.flatnonzero(mask)) for mask in (known, ~known))
        yield {"split": split, **_half_row(family, problem, allowed, planning, counting)}


def _half_row(
    family: Family, problem: Problem, switches: Sequence[int], planning: Traces, counting: Traces
) -> Row:
    instance = problem.of(fit(planning, family.setup, care=None))
    result = solve_policy(instance, switch_epochs=switches, time_limit=None)
    told: Row = {**problem.told(), "promised": result.reached, "promised_cost": result.cost}
    if result.policy is None:
        return told
    traced = fit(counting, family.setup, care=None).traced_law
    assert traced is not None  # noqa: S101 - it was fitted to runs
    other = counted(refitted(result.policy, traced.law), traced)
    share = float(other.reached / (1 - other.unlike))
    followed = replay(result.policy, family.branches)
    return told | {
        "counted": share,
        "counted_kept": kept(share, other.runs, problem.level),
        "judged": followed.delivered,
        "judged_kept": kept(followed.delivered, len(followed.runs), problem.level),
    }


def kept(share: float, runs: int, level: float) -> bool:
    """Whether a share is at least omega, but for two standard errors."""
    return share >= level - _ERRORS * math.sqrt(share * (1 - share) / runs)


def refitted(policy: Policy, law: AffineLaw) -> Policy:
    """The same rows, with the shifts and retentions of another law."""
    places: dict[int, Position | None] = {policy.start: None}
    nodes = []
    for number, node in enumerate(policy.nodes):  # later epochs stand behind earlier ones
        trainings = []
        for training in node.trainings:
            place = following(places[number], (training.model, training.cluster))
            places[training.following], step = place, law.step(place)
            trainings.append(
                msgspec.structs.replace(training, shift=step.shift(place.start), retention=step.retention)
            )
        nodes.append(msgspec.structs.replace(node, trainings=tuple(trainings)))
    return msgspec.structs.replace(policy, nodes=tuple(nodes))
