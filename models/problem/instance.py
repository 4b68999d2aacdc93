"""The planning problem as data: clusters, datasets, models, laws, targets (Sec. III of the paper).

An `Instance` is frozen, validated when it is made (from JSON or in Python alike) and hashable by
content. It only states the problem; `depl.models.problem.learning` holds its laws of learning. How a decision
moves the loss and what it costs is the business of `depl.models.problem.epochs`, whether a plan is feasible
that of `depl.models.evaluation.evaluate`.
"""

import functools
import hashlib
import math
from collections.abc import Collection, Iterable, Iterator, Sized
from fractions import Fraction
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from depl.models.foundation.documents import (
    Checked,
    Document,
    Name,
    require_known,
    require_unique,
    schema_of,
)
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.mistakes import Mistakes
from depl.models.foundation.showing import Shown
from depl.models.foundation.tables import frame_of
from depl.models.foundation.wording import counted
from depl.models.problem.clusters import Cluster, NodeGroup, require_values_or_groups
from depl.models.problem.laws import Forbidden, Law, NonNegative, Positive, SwitchLaw, Zero
from depl.models.problem.laws.registry import require_sound
from depl.models.problem.learning import (
    ConstantImprovement,
    DataLaw,
    Improvement,
    InverseLogDataLaw,
    InverseSqrtImprovement,
    LogDataLaw,
    PowerDataLaw,
    SubsetEpochs,
    TableDataLaw,
    TabledImprovement,
    entries_after,
)
from depl.models.problem.site_rules import SiteRules
from depl.models.problem.traced_law import TracedLaw
from depl.models.problem.units import NO_UNITS, Units
from depl.models.traces.fingerprints import RunFingerprints

SMALLEST_VIOLATION_BUDGET = Fraction(1, 10**14)
"""Least 1 - omega."""

SMALLEST_LOSS_SCALE = 1e-6
"""Least max(|l(0)|, |l_max|): a thousand times the tolerance of 1e-9 with which l_max is met."""

_FRAMES = {
    "clusters": ("name", "nodes", "capacity", "bandwidth", "unit_cost", "memory"),
    "datasets": ("name", "volume", "workload"),
    "models": ("name", "size", "demand", "memory"),
    "transfers": ("dataset", "cluster", "cost"),
}
"""The columns of each frame of pandas, by the names that fields have; laws are left to the instance."""


class Dataset(Checked, frozen=True, kw_only=True):
    """A dataset d: its volume drives learning, its work drives computing."""

    name: Name
    volume: Annotated[Positive, Meta(description="q(d) [data]")]
    work: (
        Annotated[Positive, Meta(description="data to compute on per epoch; default: the volume [data]")]
        | None
    ) = None
    clusters: (
        Annotated[tuple[Name, ...], Meta(min_length=1, description="where it may be used; absent: anywhere")]
        | None
    ) = None

    @property
    def workload(self) -> float:
        """Data to compute on per epoch: ``work``, or the volume where it is not given."""
        return self.volume if self.work is None else self.work


class Transfer(Checked, frozen=True, kw_only=True):
    """beta(d, n): one-time cost of bringing a dataset to a cluster; pairs not listed cost nothing."""

    dataset: Name
    cluster: Name
    cost: NonNegative


class ComputeTable(Checked, frozen=True, kw_only=True):
    """c(k, m, d) by epoch, instead of demand * work; without a dataset it holds whatever the data."""

    epochs: Annotated[tuple[NonNegative, ...], Meta(min_length=1, description="entry k - 1: epoch k")]
    dataset: Name | None = None


class SetupModel(Checked, frozen=True, kw_only=True):
    """A model m, full or compressed, but for its improvement."""

    name: Name
    size: Annotated[NonNegative, Meta(description="s(m), sent once per epoch [size]")]
    demand: Annotated[Positive, Meta(description="resource x time per unit of data")] = 1.0
    compute: Annotated[tuple[ComputeTable, ...], Meta(min_length=1)] | None = None
    memory: (
        Annotated[NonNegative, Meta(description="that a node needs; absent: it fits on every cluster")] | None
    ) = None


class Model(SetupModel, frozen=True, kw_only=True):
    """A full or compressed model m."""

    improvement: Improvement

    def validate(self) -> None:
        """Require one table for all data, or one per dataset."""
        names = [table.dataset for table in self.compute or ()]
        if len(set(names)) < len(names) or (None in names and len(names) > 1):
            raise InvalidInputError("give one table without a dataset, or one table per dataset", ".compute")

    @property
    def last_epoch(self) -> float:
        """The last epoch that all tables of the model reach; infinite without tables."""
        lengths = [len(table.epochs) for table in self.compute or ()]
        if isinstance(self.improvement, TabledImprovement):
            lengths.append(len(self.improvement.epochs))
        return min(lengths, default=math.inf)

    def after(self, epochs: int) -> "Model":
        """The model of a run that has trained so many epochs: epoch j is then epoch ``epochs`` + j."""
        compute = self.compute and tuple(
            msgspec.structs.replace(table, epochs=entries_after(table.epochs, epochs))
            for table in self.compute
        )
        return msgspec.structs.replace(self, improvement=self.improvement.after(epochs), compute=compute)


class Switch(Checked, frozen=True, kw_only=True, rename={"previous": "from", "following": "to"}):
    """Law of the loss change when the model ``to`` follows the model ``from``."""

    previous: Name
    following: Name
    law: SwitchLaw


class Goal(Checked, frozen=True, kw_only=True):
    """A target, but for where training begins."""

    maximum_loss: Annotated[float, Meta(description="l_max, bound on the quantile of the final loss")]
    quantile_level: Annotated[float, Meta(gt=0, lt=1, description="omega")]
    maximum_epochs: Annotated[int, Meta(ge=0, le=1_000_000, description="K_max")]
    maximum_time: Annotated[Positive, Meta(description="T_max; absent: no limit [time]")] | None = None
    round_deadline: (
        Annotated[Positive, Meta(description="tau, for every epoch; absent: none [time]")] | None
    ) = None
    deployable: (
        Annotated[
            tuple[Name, ...], Meta(min_length=1, description="models that may be the last; absent: all")
        ]
        | None
    ) = None


class Target(Goal, frozen=True, kw_only=True):
    """What has to be reached, and within which limits."""

    initial_loss: Annotated[float, Meta(description="l(0)")]
    initial_model: (
        Annotated[Name, Meta(description="model before epoch 1; absent: epoch 1 is no switch")] | None
    ) = None

    @property
    def violation_budget(self) -> Fraction:
        """p = 1 - omega, exact in the decimals that were written (1 - 0.99 is 1/100 here)."""
        return 1 - Fraction(repr(self.quantile_level))

    def validate(self) -> None:
        """Require a violation budget that can be told from rounding."""
        if self.violation_budget < SMALLEST_VIOLATION_BUDGET:
            raise InvalidInputError(
                f"leaves a violation budget of {float(self.violation_budget):.1e}, which cannot be told from "
                f"rounding; it must be at most 1 - {float(SMALLEST_VIOLATION_BUDGET):g}",
                ".quantile_level",
            )


class Provenance(Checked, frozen=True, kw_only=True):
    """Where a value comes from; a path covers everything below it, and the longest matching path counts."""

    path: Annotated[str, Meta(pattern=r"^\$")]
    source: Literal["paper", "assumed", "derived", "measured"]
    note: str = ""


class Instance(Shown, Document, frozen=True, kw_only=True):
    """One planning problem.

    Raises
    ------
    InvalidInputError
        With the JSON path of everything wrong: duplicate or dangling names, tables of the wrong
        length, a data law that is not positive and nonincreasing, a heavy tail that raises the loss,
        a registered law that contradicts itself, losses all below 1e-6, or priced computing under no time
        limit (the infimum 0 is not attained).
    """

    format: Literal["depl-instance"] = "depl-instance"
    version: Literal[1] = 1
    name: Name
    clusters: Annotated[tuple[Cluster, ...], Meta(min_length=1)]
    datasets: Annotated[tuple[Dataset, ...], Meta(min_length=1)]
    models: Annotated[tuple[Model, ...], Meta(min_length=1)]
    target: Target
    transfers: tuple[Transfer, ...] = ()
    switches: tuple[Switch, ...] = ()
    other_switches: Annotated[
        SwitchLaw, Meta(description="law of the ordered pairs not listed in switches")
    ] = Zero()
    data_law: Annotated[DataLaw, Meta(description="absent: learning does not depend on the data")] | None = (
        None
    )
    traced_law: (
        Annotated[TracedLaw, Meta(description="law of the loss with memory, instead of those of models")]
        | None
    ) = None
    run_fingerprints: (
        Annotated[
            RunFingerprints, Meta(description="of the runs fitted to, so that they cannot certify a plan")
        ]
        | None
    ) = None
    units: Annotated[Units, Meta(description="names of units; they change no number")] = NO_UNITS
    description: str = ""
    provenance: tuple[Provenance, ...] = ()

    def validate(self) -> None:
        """Check everything that spans more than one field."""
        found = Mistakes()
        for path, keys in self._keys():
            found.check(require_unique, keys, path)
        for path, name, known in () if found else self._references():  # which of two is not known
            found.check(require_known, name, known, path)
        # what is looked up by its name waits for the names
        named = () if found else (self._require_allowed_transfers, self._require_data)
        further = (self._require_other_models, self._require_long_tables, self._validate_laws)
        for check in (*further, *named):
            found.check(check)
        if self.traced_law is not None and named:
            found.check(self.traced_law.check, self)
        found.check(self._refuse_tiny_losses)
        found.check(self._refuse_free_time)
        found.end()

    @functools.cached_property
    def declares_laws(self) -> bool:
        """Whether the loss has a law: a traced one, or one of every improvement and every switch."""
        noises = (law for model in self.models for law in model.improvement.noises())
        laws = (*noises, *(row.law for row in self.switches), self.other_switches)
        return self.has_memory or all(law.declared for law in laws)

    @property
    def has_memory(self) -> bool:
        """Whether increments of the loss depend on the past: under a traced law they do."""
        return self.traced_law is not None

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the mathematical content: not of name, description, units, provenance, nor of runs."""
        bare = {**msgspec.to_builtins(self), "name": "-"}
        for field in ("description", "provenance", "run_fingerprints", "units"):
            bare.pop(field, None)
        return hashlib.sha256(msgspec.json.encode(bare, order="sorted")).hexdigest()

    @functools.cached_property
    def rules(self) -> SiteRules:
        """Where data may be used, where models fit, and which model may be the last."""
        return SiteRules.of(self)

    def cluster(self, name: str) -> Cluster:
        """The cluster of that name."""
        return self._clusters_by_name[name]

    def model(self, name: str) -> Model:
        """The model of that name."""
        return self._models_by_name[name]

    def dataset(self, name: str) -> Dataset:
        """The dataset of that name."""
        return self._datasets_by_name[name]

    def transfer_cost(self, dataset: str, cluster: str) -> float:
        """beta(d, n), zero unless listed."""
        return self._transfer_costs.get((dataset, cluster), 0.0)

    def switch_law(self, previous: str, following: str) -> SwitchLaw:
        """Law of the loss change of a switch between two different models."""
        return self._switch_laws.get((previous, following), self.other_switches)

    def may_follow(self, previous: str | None, following: str) -> bool:
        """Whether ``following`` may be trained right after ``previous`` (None: nothing before it)."""
        if previous is None or previous == following:
            return True
        return not isinstance(self.switch_law(previous, following), Forbidden)

    def learning_factor(self, datasets: frozenset[str]) -> float:
        """h(D) = K^(all) / K^(D), at most 1: what using D instead of all data leaves of an improvement."""
        if datasets not in self._learning_factors:
            self._learning_factors[datasets] = self._epochs_needed(self._all_datasets) / self._epochs_needed(
                datasets
            )
        return self._learning_factors[datasets]

    def workload(self, datasets: frozenset[str]) -> float:
        """Data to compute on per epoch, summed over ``datasets`` [data]."""
        if datasets not in self._workloads:
            self._workloads[datasets] = math.fsum(self.dataset(name).workload for name in datasets)
        return self._workloads[datasets]

    def replace(self, **changes: Any) -> "Instance":
        """A validated copy with other fields; ``target`` fields may be given directly by their names."""
        target_fields = {field.name for field in msgspec.structs.fields(Target)} & changes.keys()
        if target_fields:
            updates = {name: changes.pop(name) for name in target_fields}
            try:
                changes["target"] = msgspec.structs.replace(changes.get("target", self.target), **updates)
            except InvalidInputError as error:
                raise error.within(".target") from error
        return msgspec.structs.replace(self, **changes)

    def frames(self) -> dict[str, Any]:
        """Clusters, datasets, models and transfers as frames of pandas, by these names.

        Raises
        ------
        InvalidInputError
            If pandas is not installed.
        """
        return {
            part: frame_of(names, [[getattr(row, name) for name in names] for row in getattr(self, part)])
            for part, names in _FRAMES.items()
        }

    @functools.cached_property
    def _clusters_by_name(self) -> dict[str, Cluster]:
        return {item.name: item for item in self.clusters}

    @functools.cached_property
    def _models_by_name(self) -> dict[str, Model]:
        return {item.name: item for item in self.models}

    @functools.cached_property
    def _datasets_by_name(self) -> dict[str, Dataset]:
        return {item.name: item for item in self.datasets}

    @functools.cached_property
    def _transfer_costs(self) -> dict[tuple[str, str], float]:
        return {(row.dataset, row.cluster): row.cost for row in self.transfers}

    @functools.cached_property
    def _switch_laws(self) -> dict[tuple[str, str], SwitchLaw]:
        return {(row.previous, row.following): row.law for row in self.switches}

    @functools.cached_property
    def _learning_factors(self) -> dict[frozenset[str], float]:
        return {}

    @functools.cached_property
    def _workloads(self) -> dict[frozenset[str], float]:
        return {}

    @functools.cached_property
    def _all_datasets(self) -> frozenset[str]:
        return frozenset(item.name for item in self.datasets)

    def _epochs_needed(self, datasets: frozenset[str]) -> float:
        if self.data_law is None:
            return 1.0
        if isinstance(self.data_law, TableDataLaw):
            return self.data_law.epochs_needed(datasets)
        return self.data_law.epochs_needed(math.fsum(self.dataset(name).volume for name in datasets))

    def _keys(self) -> Iterator[tuple[str, Iterable[object]]]:
        """What may not be there twice, with its place."""
        for field in ("clusters", "datasets", "models"):
            yield f".{field}", [item.name for item in getattr(self, field)]
        yield ".transfers", [(row.dataset, row.cluster) for row in self.transfers]
        yield ".switches", [(row.previous, row.following) for row in self.switches]
        yield ".target.deployable", self.target.deployable or ()
        for index, dataset in enumerate(self.datasets):
            yield f".datasets[{index}].clusters", dataset.clusters or ()

    def _references(self) -> Iterator[tuple[str, str, Collection[str]]]:
        """Names of what has to be defined, with their places."""
        clusters, datasets, models = self._clusters_by_name, self._datasets_by_name, self._models_by_name
        for index, transfer in enumerate(self.transfers):
            yield f".transfers[{index}].dataset", transfer.dataset, datasets
            yield f".transfers[{index}].cluster", transfer.cluster, clusters
        for index, dataset in enumerate(self.datasets):
            for position, name in enumerate(dataset.clusters or ()):
                yield f".datasets[{index}].clusters[{position}]", name, clusters
        for position, name in enumerate(self.target.deployable or ()):
            yield f".target.deployable[{position}]", name, models
        for index, switch in enumerate(self.switches):
            yield f".switches[{index}].from", switch.previous, models
            yield f".switches[{index}].to", switch.following, models
        for index, model in enumerate(self.models):
            for row, table in enumerate(model.compute or ()):
                if table.dataset is not None:
                    yield f".models[{index}].compute[{row}].dataset", table.dataset, datasets
        if self.target.initial_model is not None:
            yield ".target.initial_model", self.target.initial_model, models

    def _require_other_models(self) -> None:
        for index, switch in enumerate(self.switches):
            if switch.previous == switch.following:
                raise InvalidInputError(
                    "a model does not switch to itself; remove the row", f".switches[{index}]"
                )

    def _require_allowed_transfers(self) -> None:
        """Refuse transfers to where data may not be used."""
        for index, row in enumerate(self.transfers if self.rules.restrict_data else ()):
            if not self.rules.may_use((row.dataset,), row.cluster):
                raise InvalidInputError(
                    f"brings {row.dataset!r} to {row.cluster!r}, where that dataset may not be used; remove "
                    "the row, or list the cluster with the dataset",
                    f".transfers[{index}]",
                )

    def _require_long_tables(self) -> None:
        longest, found = self.target.maximum_epochs, Mistakes()
        for index, model in enumerate(self.models):
            tables: list[tuple[str, Sized]]
            tables = [(f"compute[{row}]", table.epochs) for row, table in enumerate(model.compute or ())]
            if isinstance(model.improvement, TabledImprovement):
                tables = [("improvement", model.improvement.epochs), *tables]
            for field, epochs in tables:
                if len(epochs) < longest:
                    entries = counted(len(epochs), "entry", "entries")
                    message = f"has {entries} for maximum_epochs = {longest}; give one entry per epoch"
                    found.add(message, f".models[{index}].{field}.epochs")
        found.end()

    def _require_data(self) -> None:
        """Require tables for all data or none, and a data law that has a value for all."""
        for index, model in enumerate(self.models):
            tabled = {table.dataset for table in model.compute or ()} - {None}
            if tabled and tabled != self._all_datasets:
                missing = sorted(self._all_datasets - tabled)
                raise InvalidInputError(
                    f"has no table for dataset {missing[0]!r}; add one", f".models[{index}].compute"
                )
        if isinstance(self.data_law, TableDataLaw):
            self.data_law.require_every_subset(self._all_datasets)
        elif self.data_law is not None:
            self._validate_data_formula()

    def _validate_laws(self) -> None:
        """Refuse laws from outside that are none, with their place."""
        for place, law in self._placed_laws():
            require_sound(law, place)

    def _placed_laws(self) -> Iterator[tuple[str, Law]]:
        for index, model in enumerate(self.models):
            tabled = isinstance(model.improvement, TabledImprovement)
            for row, law in enumerate(model.improvement.noises()):
                entry = f".epochs[{row}]" if tabled else ""
                yield f".models[{index}].improvement{entry}.noise", law
        for index, switch in enumerate(self.switches):
            yield f".switches[{index}].law", switch.law
        yield ".other_switches", self.other_switches

    def _validate_data_formula(self) -> None:
        """K^ falls in the volume: its values for all data and for the least dataset bound the others."""
        smallest = min(self.datasets, key=lambda item: item.volume).name
        for subset, used in (
            (self._all_datasets, "all datasets are used; raise a, or lower b, p or the volumes"),
            (frozenset([smallest]), f"only {smallest!r} is used; lower a or p, or raise the volume"),
        ):
            try:
                epochs = self._epochs_needed(subset)
            except OverflowError:
                epochs = math.inf
            if not 0 < epochs < math.inf:
                what = "finite" if epochs > 0 else "positive"
                raise InvalidInputError(f"K^ is not {what} when {used}", ".data_law")

    def _refuse_tiny_losses(self) -> None:
        """A loss 1e-9 above l_max meets it, on the scale of its law; that must stay a matter of rounding."""
        largest = max(abs(self.target.initial_loss), abs(self.target.maximum_loss))
        relative = self.traced_law is not None and self.traced_law.scale == "log"
        if 0 < largest < SMALLEST_LOSS_SCALE and not relative:
            raise InvalidInputError(
                f"losses of at most {largest:g} cannot be told from the tolerance of 1e-9 with which they "
                f"meet l_max; give all losses in a smaller unit, multiplied by {1 / largest:.0e}",
                ".target",
            )

    def _refuse_free_time(self) -> None:
        if self.target.maximum_time is not None or self.target.round_deadline is not None:
            return
        computes = any(
            model.compute is None or any(work > 0 for table in model.compute for work in table.epochs)
            for model in self.models
        )
        if computes and any(cluster.unit_cost > 0 for cluster in self.clusters):
            raise InvalidInputError(
                "computing costs money but nothing limits time, so ever slower plans cost ever less and "
                "none is cheapest; give maximum_time or round_deadline",
                ".target",
            )


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of an instance file."""
    schema = schema_of(Instance)
    require_values_or_groups(schema["$defs"]["Cluster"])
    return schema


__all__ = [
    "Cluster",
    "ComputeTable",
    "ConstantImprovement",
    "DataLaw",
    "Dataset",
    "Goal",
    "Improvement",
    "Instance",
    "InverseLogDataLaw",
    "InverseSqrtImprovement",
    "LogDataLaw",
    "Model",
    "NodeGroup",
    "PowerDataLaw",
    "Provenance",
    "SetupModel",
    "SubsetEpochs",
    "Switch",
    "TableDataLaw",
    "TabledImprovement",
    "Target",
    "Transfer",
    "json_schema",
]
