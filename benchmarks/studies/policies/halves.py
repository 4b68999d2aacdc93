"""Counted policies on random halves of the fitting seeds: planned on one, counted again on the other.

A policy is chosen among many on the runs that it is counted on, so its promise may be too bold; what it is on
runs that had no part in the choice says by how much. The policy of one half, its rows and its grid, is
counted under a law that is fitted to the other half alone, runs unlike all seen left out. As pairs of runs
share runs, the standard error is at most that of as many independent runs as the stage with the fewest donors
has; that end is taken.
"""

import math
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from depl.benchmarks.studies.policies.problems import Family, Problem
from depl.benchmarks.studies.promises.collections import halves
from depl.fitting import fit
from depl.models.policy.counted import counted
from depl.models.policy.replay import replay
from depl.models.policy.solve import solve_policy
from depl.models.problem.affine_law import AffineLaw, Position, following
from depl.models.problem.policy import Policy

_ERRORS = 2.0
"""Standard errors that a delivered share may be below omega by."""


def half_rows(
    family: Family, problem: Problem, splits: int, switches: Sequence[int]
) -> Iterator[dict[str, object]]:
    """Of every split what is promised, and delivered by the other half and by the judging seeds."""
    for split, known in enumerate(halves(family.runs, splits)):
        planning, counting = (family.runs.select(np.flatnonzero(mask)) for mask in (known, ~known))
        instance = problem.of(fit(planning, family.setup, care=None))
        policy = solve_policy(instance, switch_epochs=switches, time_limit=None).policy
        traced = fit(counting, family.setup, care=None).traced_law
        if policy is None or traced is None:
            yield {"split": split, "counted": None, "judged": None}
            continue
        other = counted(refitted(policy, traced.law), traced)
        share = float(other.reached / (1 - other.unlike))
        judged = replay(policy, family.branches)
        yield {
            "split": split,
            "counted": share,
            "counted_kept": kept(share, other.runs, problem.omega),
            "judged": judged.delivered,
            "judged_kept": kept(judged.delivered, len(judged.runs), problem.omega),
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
