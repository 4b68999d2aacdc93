"""Stages of a policy or a process: what is trained in one go, since when, and how far stages of a kind go.

Which runs lend to a stage is decided by its *kind*, model and cluster with those before it, and by how long
stages of that kind last at most.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from depl.models.policy.process import Site
from depl.models.problem.affine_law import Position, following

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
    def trainings(self) -> Sequence[Step]:
        """What may be trained next."""


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


def kind_of(place: Position) -> Kind:
    """What is common to stages that the same runs lend to."""
    return place.trained, place.previous


def stages(nodes: Sequence[Stand], starts: Iterable[int]) -> dict[int, Position]:
    """Where the nodes that follow on some starts stand in their stages."""
    first, found = set(starts), dict[int, Position]()
    for number in range(min(first, default=0), len(nodes)):  # later epochs stand behind earlier ones
        if number in first or number in found:
            for step in nodes[number].trainings:
                found[step.following] = following(found.get(number), (step.model, step.cluster))
    return found


def extents(nodes: Sequence[Stand], start: int) -> dict[Kind, Extent]:
    """How far the stages of each kind go in a policy, or in a process whose runs begin at ``start``."""
    found: dict[Kind, Extent] = {}
    for place in stages(nodes, [start]).values():
        before = found.get(kind_of(place), Extent(0, 0))
        found[kind_of(place)] = Extent(max(before.longest, place.age), max(before.latest, place.start))
    return found
