"""What a planning problem needs besides its traces: clusters, data, sizes, costs and a target.

A *setup* is an instance without its laws of learning. Traces say how the loss falls; they do not say what a
cluster costs, how large a model is, or which loss is wanted. `depl.models.estimation.instance.fit_instance`
puts the two together.
"""

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from depl.models.foundation.documents import Document, Name, schema_of
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.mistakes import SCHEMA_COMMAND
from depl.models.problem.clusters import require_values_or_groups
from depl.models.problem.instance import (
    Cluster,
    Dataset,
    Goal,
    Instance,
    Model,
    Provenance,
    SetupModel,
    Target,
    Transfer,
)
from depl.models.problem.laws import Deterministic
from depl.models.problem.learning import ConstantImprovement, Improvement
from depl.models.problem.units import NO_UNITS, Units


class SetupTarget(Goal, frozen=True, kw_only=True):
    """A target like `depl.models.problem.instance.Target`; the initial loss may be left to the traces."""

    initial_loss: (
        Annotated[float, Meta(description="l(0); absent: the mean over the runs of the traces")] | None
    ) = None


class Setup(Document, frozen=True, kw_only=True):
    """Everything of an instance that traces do not tell.

    Raises
    ------
    InvalidInputError
        With the JSON path of the first thing wrong: as `depl.models.problem.instance.Instance`, and if there
        is more than one dataset.
    """

    schema_command: ClassVar[str] = f"{SCHEMA_COMMAND} --setup"

    format: Literal["depl-setup"] = "depl-setup"
    version: Literal[1] = 1
    name: Name
    clusters: Annotated[tuple[Cluster, ...], Meta(min_length=1)]
    datasets: Annotated[
        tuple[Dataset, ...], Meta(min_length=1, description="one: what the runs of the traces trained on")
    ]
    models: Annotated[tuple[SetupModel, ...], Meta(min_length=1)]
    target: SetupTarget
    transfers: tuple[Transfer, ...] = ()
    units: Annotated[Units, Meta(description="names of units; they change no number")] = NO_UNITS
    description: str = ""
    provenance: tuple[Provenance, ...] = ()

    def validate(self) -> None:
        """Check what an instance with any laws checks."""
        if len(self.datasets) > 1:
            raise InvalidInputError(
                "traces tell what the data of their runs does, not what other data would; give one dataset",
                ".datasets",
            )
        any_law = ConstantImprovement(noise=Deterministic(value=1.0))
        self.with_improvements(dict.fromkeys((model.name for model in self.models), any_law), 0.0)

    def with_improvements(
        self, improvements: dict[str, Improvement], initial_loss: float, **further: Any
    ) -> Instance:
        """The instance with these improvements by model.

        Parameters
        ----------
        initial_loss : float
            l(0), unless the setup has one [loss].
        **further
            Other fields of an instance, by name.
        """
        fields = msgspec.structs.asdict(self)
        target = msgspec.structs.asdict(self.target)
        if self.target.initial_loss is None:
            target["initial_loss"] = initial_loss
        try:
            fields["target"] = Target(**target)
        except InvalidInputError as error:
            raise error.within(".target") from error
        fields["models"] = tuple(
            Model(**msgspec.structs.asdict(model), improvement=improvements[model.name])
            for model in self.models
        )
        del fields["format"], fields["version"]
        return Instance(**fields | further)

    def replace_target(self, maximum_loss: float) -> "Setup":
        """The same with another bound on the loss, whose provenance says so."""
        path = "$.target.maximum_loss"
        target = msgspec.structs.replace(self.target, maximum_loss=maximum_loss)
        kept = tuple(row for row in self.provenance if row.path != path)
        given = Provenance(path=path, source="assumed", note="given when the instance was fitted")
        return msgspec.structs.replace(self, target=target, provenance=(*kept, given))


def setup_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a setup file."""
    schema = schema_of(Setup)
    require_values_or_groups(schema["$defs"]["Cluster"])
    return schema
