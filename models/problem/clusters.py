"""A cluster of equal nodes, or of groups of nodes that differ in speed, capacity, bandwidth or cost.

All nodes get an equal share of the data, and an epoch has two phases, computing and sending, each of which
ends with its slowest node. The cheapest resources then let all nodes compute equally long, so that a cluster
of unequal nodes is one of equal nodes with the values of `Effective` (proved in ``docs/problem``).
"""

from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import Annotated, Any, NamedTuple, cast

import msgspec
from msgspec import Meta

from depl.models.foundation.documents import Checked, Name
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.mistakes import missing
from depl.models.problem.laws import NonNegative, Positive

MOST_NODES = 1_000_000_000
"""Most nodes of one cluster, equal or not: their number is exact in double precision."""

FROM_GROUPS = cast(float, None)
"""Stands for a value that was not given and follows from the groups; a `Cluster` never keeps it."""


class NodeGroup(Checked, frozen=True, kw_only=True):
    """Equal nodes of a cluster whose other nodes may differ."""

    capacity: Annotated[Positive, Meta(description="r_i, most resources of one of the nodes [resource]")]
    bandwidth: Annotated[Positive, Meta(description="b_i, of the link node-coordinator [size / time]")]
    unit_cost: Annotated[NonNegative, Meta(description="kappa_i [cost / resource / epoch / node]")]
    count: Annotated[int, Meta(ge=1, le=MOST_NODES, description="nodes of this kind")] = 1
    speed: Annotated[Positive, Meta(description="v_i, work that one resource does per unit of time")] = 1.0


class Effective(NamedTuple):
    """The cluster of equal nodes that unequal ones amount to: its fields by their names."""

    capacity: float
    bandwidth: float
    unit_cost: float
    nodes: int

    @classmethod
    def of(cls, groups: Sequence[NodeGroup]) -> "Effective":
        """The greatest common pace, the slowest link, the mean cost of a unit of pace, all nodes.

        The mean is exact before it is rounded once, so that equal nodes give what each of them has.
        """
        nodes = sum(group.count for group in groups)
        paid = sum(group.count * Fraction(group.unit_cost) / Fraction(group.speed) for group in groups)
        return cls(
            min(group.speed * group.capacity for group in groups),
            min(group.bandwidth for group in groups),
            float(paid / nodes),
            nodes,
        )


class _Groups(Checked, frozen=True, kw_only=True):
    """The groups of a cluster by themselves, so that they are checked before anything is worked out."""

    groups: Annotated[tuple[NodeGroup, ...], Meta(min_length=1)]


class Cluster(Checked, frozen=True, kw_only=True):
    """A cluster n of learning nodes with equal capability, or of groups of nodes that differ.

    Every node gets an equal share of the data: an epoch of work c needs c / nodes on each node and
    costs nodes * unit_cost * x. Where there are groups, the other values follow from them (`Effective`).
    """

    name: Name
    capacity: Annotated[Positive, Meta(description="r(n), most resources a node can commit [resource]")] = (
        FROM_GROUPS
    )
    bandwidth: Annotated[Positive, Meta(description="b(n), of the link node-coordinator [size / time]")] = (
        FROM_GROUPS
    )
    unit_cost: Annotated[NonNegative, Meta(description="kappa(n) [cost / resource / epoch / node]")] = (
        FROM_GROUPS
    )
    nodes: Annotated[int, Meta(ge=1, le=MOST_NODES, description="nodes in the cluster")] = 1
    groups: (
        Annotated[
            tuple[NodeGroup, ...],
            Meta(
                min_length=1, description="unequal nodes, instead of capacity, bandwidth, unit_cost and nodes"
            ),
        ]
        | None
    ) = None
    memory: (
        Annotated[Positive, Meta(description="of a node, in the unit of models' memory; absent: no limit")]
        | None
    ) = None

    def __post_init__(self) -> None:
        """Work out what the groups give, then check as every record does."""
        if self.groups is None:
            given = [name for name in self.__struct_fields__ if getattr(self, name) is not FROM_GROUPS]
            missing(type(self), given).end()
        else:
            self._take_from_groups(_Groups(groups=self.groups).groups)
        super().__post_init__()

    @classmethod
    def lacking(cls, given: Collection[str]) -> list[str]:
        """Fields that a document has to give besides those without a default, if it gives these."""
        names = [] if "groups" in given else ["capacity", "bandwidth", "unit_cost"]
        return [name for name in names if name not in given]

    def resources_of_groups(self, resources: float) -> tuple[float, ...]:
        """What one node of every group commits when the plan commits ``resources``: x / v_i [resource]."""
        return tuple(resources / group.speed for group in self.groups or ())

    def _take_from_groups(self, groups: tuple[NodeGroup, ...]) -> None:
        effective = Effective.of(groups)
        if effective.nodes > MOST_NODES:
            raise InvalidInputError(f"have {effective.nodes} nodes, more than {MOST_NODES}", ".groups")
        for name, value in effective._asdict().items():
            if not (value == 0 or 1 / self.largest_number <= value <= self.largest_number):
                raise InvalidInputError(
                    f"give the cluster a {name} of {value:g}, beyond what double precision can calculate "
                    "with; rescale",
                    ".groups",
                )
            given = getattr(self, name)
            absent = given is FROM_GROUPS or (name == "nodes" and given == 1)
            if not absent and given != value:
                raise InvalidInputError(
                    f"is {given!r:.80}, but the groups of the cluster give {value!r}; leave it out",
                    f".{name}",
                )
            msgspec.structs.force_setattr(self, name, value)


def require_values_or_groups(schema: dict[str, Any]) -> None:
    """Say in the JSON Schema of a cluster that it has values of its own or groups, which have no defaults."""
    names = [name for name in Effective._fields if name != "nodes"]
    for name in names:
        del schema["properties"][name]["default"]
    grouped = {"required": ["groups"], "properties": {"groups": {"type": "array"}}}  # null is none
    schema["anyOf"] = [{"required": names}, grouped]
