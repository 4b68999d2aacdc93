"""Stages of a policy or a process: what is trained in one go, since when, and how far stages of a kind go.

Which runs lend to a stage is decided by its *kind*, model and cluster with those before it, and by how long
stages of that kind last at most.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from depl.models.policy.process import Site

Kind = tuple[Site, Site | None]
"""Of a stage: model and cluster, and those before it; None in a first stage."""


class Step(Protocol):
    """One more epoch, of a policy or of a process."""

    @property
    def model(self) -> str:
        """Its name."""

    @property
    def cluster(self) -> str:
        """Its name."""

    @property
    def following(self) -> int:
        """The node after it."""


class Stand(Protocol):
    """A node of a policy or of a process."""

    @property
    def epoch(self) -> int:
        """Epochs trained so far."""

    @property
    def trainings(self) -> Sequence[Step]:
        """What may be trained next."""


@dataclass(frozen=True)
class Stage:
    """Where a node stands in its stage.

    Attributes
    ----------
    site : (str, str)
        Model and cluster.
    previous : (str, str) or None
        Those before it.
    start : int
        Epochs trained before the stage.
    age : int
        Epochs of the stage trained so far, from 1.
    """

    site: Site
    previous: Site | None
    start: int
    age: int

    @property
    def kind(self) -> Kind:
        """What is common to stages that the same runs lend to."""
        return self.site, self.previous


@dataclass(frozen=True)
class Extent:
    """Of the stages of one kind: how long they last at most, and when they begin at the latest.

    Attributes
    ----------
    longest : int
        [epochs]
    latest : int
        Epochs trained before.
    """

    longest: int
    latest: int


def after(stage: Stage | None, epoch: int, step: Step) -> Stage:
    """Where a run stands after one more epoch; None and 0 before the first one."""
    site = step.model, step.cluster
    if stage is not None and site == stage.site:
        return replace(stage, age=stage.age + 1)
    return Stage(site, None if stage is None else stage.site, epoch, 1)


def stages(nodes: Sequence[Stand], starts: Iterable[int]) -> dict[int, Stage]:
    """Where the nodes stand that follow on some starts; later epochs stand behind earlier ones."""
    first, found = set(starts), dict[int, Stage]()
    for number in range(min(first, default=0), len(nodes)):
        if number in first or number in found:
            for step in nodes[number].trainings:
                found[step.following] = after(found.get(number), nodes[number].epoch, step)
    return found


def extents(nodes: Sequence[Stand], start: int) -> dict[Kind, Extent]:
    """How far the stages of each kind go in a policy, or in a process whose runs begin at ``start``."""
    found: dict[Kind, Extent] = {}
    for stage in stages(nodes, [start]).values():
        before = found.get(stage.kind, Extent(0, 0))
        found[stage.kind] = Extent(max(before.longest, stage.age), max(before.latest, stage.start))
    return found
