"""A plan as data: which data each used cluster gets, and for every epoch its model, cluster and resources."""

import functools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from depl.models.foundation.documents import (
    Checked,
    Document,
    Name,
    NonNegative,
    require_known,
    require_unique,
)
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.mistakes import Mistakes
from depl.models.foundation.showing import Shown

if TYPE_CHECKING:  # with numpy, which a policy, that names the data of clusters as a plan does, does not need
    from depl.models.problem.instance import Instance
    from depl.models.problem.traced_law import Stage


class ClusterData(Checked, frozen=True, kw_only=True):
    """The nonempty set of datasets that a cluster uses in all its epochs."""

    cluster: Name
    datasets: Annotated[tuple[Name, ...], Meta(min_length=1)]


class PlannedEpoch(Checked, frozen=True, kw_only=True):
    """One epoch: the model, the cluster that trains it, and x, the resources that each node commits."""

    largest_number: ClassVar[float] = math.inf

    model: Name
    cluster: Name
    resources: NonNegative


class Bounds(Checked, frozen=True, kw_only=True):
    """A claimed interval; None where there is no bound."""

    largest_number: ClassVar[float] = math.inf

    lower: float | None
    upper: float | None


class ScenarioClaim(Checked, frozen=True, kw_only=True):
    """The sample on which the plan meets the target: a count in place of the law in constraint (3)."""

    size: Annotated[int, Meta(ge=1, description="S")]
    misses: Annotated[int, Meta(ge=0, description="scenarios that end above l_max")]
    allowed: Annotated[int, Meta(ge=0, description="floor((1 - omega) S + 1e-9)")]
    digest: Annotated[str, Meta(description="SHA-256 of the draws and their rounding")]
    seed: Annotated[int, Meta(ge=0)] | None = None
    decimals: Annotated[int, Meta(ge=0, le=8)] | None = None


class DualClaim(Checked, frozen=True, kw_only=True):
    """A lower bound that can be proved again from two prices; see `depl.models.solving.result.DualBound`."""

    time_price: NonNegative
    gain_price: NonNegative
    bound: float


class Claims(Checked, frozen=True, kw_only=True):
    """What whoever made the plan says of it; the verifier recomputes every entry that is present."""

    largest_number: ClassVar[float] = math.inf

    cost: float | None = None
    training_time: float | None = None
    violation: Bounds | None = None
    quantile: Bounds | None = None
    cheapest_resources: bool | None = None
    lower_bound: float | None = None
    method: str | None = None
    scenarios: ScenarioClaim | None = None
    dual: DualClaim | None = None
    rows: (
        Annotated[
            tuple[str, ...],
            Meta(min_length=1, description="rows of the caller under which lower_bound holds; absent: none"),
        ]
        | None
    ) = None


class Asked(Checked, frozen=True, kw_only=True):
    """What the solve was asked for that made the plan, where it differs from the defaults."""

    gap: Annotated[float, Meta(ge=0, lt=1, description="relative gap that was good enough")] = 0.0
    time_limit: Annotated[float, Meta(gt=0, description="wall seconds")] | None = None
    seed: Annotated[int, Meta(ge=0)] = 0


class Plan(Shown, Document, frozen=True, kw_only=True):
    """A complete decision; an empty tuple of epochs is the plan that does not train."""

    format: Literal["depl-plan"] = "depl-plan"
    version: Literal[1] = 1
    instance: Annotated[str, Meta(description="fingerprint of the instance it was made for")] | None = None
    data: tuple[ClusterData, ...] = ()
    epochs: tuple[PlannedEpoch, ...] = ()
    claims: Claims | None = None
    asked: Asked | None = None

    def datasets(self, cluster: str) -> frozenset[str]:
        """D_n of a used cluster."""
        return self._datasets_by_cluster.get(cluster, frozenset())

    @property
    def schedule(self) -> tuple[tuple[str, str], ...]:
        """Model and cluster of epochs 1, ..., K."""
        return tuple((epoch.model, epoch.cluster) for epoch in self.epochs)

    def bare(self) -> "Plan":
        """The decisions alone: not for which instance the plan was made, nor what was claimed of it."""
        return msgspec.structs.replace(self, instance=None, claims=None)

    def check_names(self, instance: "Instance") -> None:
        """Refuse a plan that does not speak of ``instance``.

        Raises
        ------
        InvalidInputError
            If it was made for another instance, names what that does not have, repeats a name, gives
            data to a cluster that never trains, or trains on a cluster without data.
        """
        if self.instance is not None and self.instance != instance.fingerprint:
            raise InvalidInputError(
                f"the plan was made for another instance (fingerprint {self.instance[:12]}, this one has "
                f"{instance.fingerprint[:12]}); use that instance, or remove the field",
                "$.instance",
            )
        found = Mistakes()
        found.check(require_data, self.data, instance, "$.data")
        found.check(require_trained, self.epochs, instance, "$.epochs")
        found.end()  # what follows goes by names
        given = {row.cluster for row in self.data}
        for index, epoch in enumerate(self.epochs):
            if epoch.cluster not in given:
                message = f"cluster {epoch.cluster!r} has no data in $.data; correct the plan"
                found.add(message, f"$.epochs[{index}].cluster")
        if idle := given - {epoch.cluster for epoch in self.epochs}:
            message = f"{sorted(idle)} get data but never train; remove them"
            found.add(message, "$.data")
        found.end()

    @functools.cached_property
    def _datasets_by_cluster(self) -> dict[str, frozenset[str]]:
        found: dict[str, frozenset[str]] = {}
        for row in self.data:
            found[row.cluster] = found.get(row.cluster, frozenset()).union(row.datasets)
        return found


def require_plan(plan: object) -> None:
    """Refuse what is no plan, above all the None of a solve that ended without one.

    Raises
    ------
    InvalidInputError
        If it is not a `Plan`.
    """
    if plan is None:
        raise InvalidInputError("there is no plan: the solve ended without one; see result.reason", "plan")
    if not isinstance(plan, Plan):
        raise InvalidInputError(f"must be a Plan, not {type(plan).__name__}", "plan")


def require_data(rows: Sequence[ClusterData], instance: "Instance", path: str) -> None:
    """Refuse clusters and datasets at ``path`` that the instance does not have, or that are listed twice."""
    clusters, datasets = (_names(items) for items in (instance.clusters, instance.datasets))
    found = Mistakes()
    found.check(require_unique, [row.cluster for row in rows], path)
    for index, row in enumerate(rows):
        found.check(require_known, row.cluster, clusters, f"{path}[{index}].cluster")
        found.check(require_unique, row.datasets, f"{path}[{index}].datasets")
        for position, name in enumerate(row.datasets):
            found.check(require_known, name, datasets, f"{path}[{index}].datasets[{position}]")
    found.end()


def require_trained(rows: "Sequence[PlannedEpoch | Stage]", instance: "Instance", path: str) -> None:
    """Refuse models and clusters of epochs at ``path`` that the instance does not have."""
    models, clusters = (_names(items) for items in (instance.models, instance.clusters))
    found = Mistakes()
    for index, row in enumerate(rows):
        found.check(require_known, row.model, models, f"{path}[{index}].model")
        found.check(require_known, row.cluster, clusters, f"{path}[{index}].cluster")
    found.end()


def _names(items: Iterable[Any]) -> dict[str, None]:
    """Quick to look up, and in their order."""
    return dict.fromkeys(item.name for item in items)
