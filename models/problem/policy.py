"""A policy as a file: for every node the rows of a table from the state of a run to what it does next.

The file alone is enough to carry a policy out (`depl.models.policy.controller`); with the instance it is
enough to check what is claimed of it (`depl.models.verifier.policies`).

*State.* With ``state = "ledger"`` it is the index of `depl.models.policy.grid`, carried from epoch to epoch
and never below the observed loss; with ``"observed"`` it is the index of the observed loss, rounded up.
A run also stops as soon as its observed loss meets the target and its model may be the last.
"""

from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from depl.models.foundation.documents import (
    Checked,
    Document,
    Name,
    NonNegative,
    Positive,
    schema_of,
)
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.mistakes import Mistakes
from depl.models.foundation.showing import Shown
from depl.models.problem.counting import LARGEST_RETENTION
from depl.models.problem.plan import ClusterData

StateOfRun = Literal["ledger", "observed"]
"""What a row is looked up by; see above."""

STOP = -1
"""The action of a row that ends the run."""

Number = Annotated[int, Meta(ge=0)]
Probability = Annotated[float, Meta(ge=0, le=1)]
RETENTION_ONE = 1.0
"""Of independent increments; retentions of fitted laws are at most `LARGEST_RETENTION`."""


class LossGrid(Checked, frozen=True, kw_only=True):
    """The losses origin + step * index, index 0, ..., cells - 1, on the scale of the law."""

    scale: Literal["loss", "log"]
    origin: float
    step: Positive
    cells: Annotated[int, Meta(ge=4, le=2**22)]
    target: Annotated[int, Meta(ge=0, description="greatest index at which the target is met")]
    limit: Annotated[float, Meta(description="l_max on the scale of the law")]

    def validate(self) -> None:
        """Require a target that is one of the losses."""
        if self.target >= self.cells:
            raise InvalidInputError(f"must be less than cells, {self.cells}", ".target")


class NextEpoch(Checked, frozen=True, kw_only=True):
    """What one more epoch trains, costs and does: l' = shift + retention * l + noise."""

    model: Name
    cluster: Name
    price: Annotated[NonNegative, Meta(description="with data brought for the first time [cost]")]
    shift: float
    retention: Annotated[float, Meta(ge=0, le=1)]
    following: Annotated[Number, Meta(description="the node after it")]


class Row(Checked, frozen=True, kw_only=True):
    """What is done from the state after that of the row before up to ``upto``."""

    upto: Annotated[Number, Meta(description="index on the grid")]
    action: Annotated[int, Meta(ge=STOP, description="of the node's trainings; -1: stop")]


class PolicyNode(Checked, frozen=True, kw_only=True):
    """Where a run may stand, and what it does there."""

    epoch: Number
    model: Name | None = None
    cluster: Name | None = None
    may_stop: Annotated[bool, Meta(description="whether the model may be the last")]
    trainings: tuple[NextEpoch, ...] = ()
    rows: Annotated[tuple[Row, ...], Meta(min_length=1)]


class Certificate(Checked, frozen=True, kw_only=True):
    """What is claimed of a policy, under the law of the instance, before its first epoch."""

    method: Annotated[str, Meta(description="ledger: under the law; counted: over combinations of runs")]
    cost: Annotated[NonNegative, Meta(description="expected cost, at most [cost]")]
    reached: Annotated[Probability, Meta(description="P(target reached), at least")]
    exactly: (
        Annotated[
            str,
            Meta(
                pattern=r"^\d{1,400}/\d{1,400}$",
                description="the same as a fraction, where the promise is kept with equality or nearly so",
            ),
        ]
        | None
    ) = None
    lower_bound: (
        Annotated[
            NonNegative,
            Meta(
                description="of expected cost + failure_cost * P(failed), for all policies; if runs are "
                "counted, for those that are counted on the same runs"
            ),
        ]
        | None
    ) = None
    ratio: Annotated[tuple[NonNegative, NonNegative], Meta(description="rho*, enclosed [cost]")] | None = None
    runs: (
        Annotated[int, Meta(ge=1, description="fewest runs behind a stage, where runs are counted")] | None
    ) = None


class Policy(Shown, Document, frozen=True, kw_only=True):
    """A policy: what a run does next, given where it stands and the loss that was just observed.

    Raises
    ------
    InvalidInputError
        If a node, action or row refers to what is not there, rows do not end with the grid, or an epoch does
        not lead to a node one epoch later.
    """

    schema_command: ClassVar[str] = "depl policy schema"

    format: Literal["depl-policy"] = "depl-policy"
    version: Literal[1] = 1
    name: Name
    instance: Annotated[str, Meta(description="fingerprint of the instance")]
    promise: Literal["reached"] = "reached"
    maximum_loss: float
    quantile_level: Annotated[float, Meta(gt=0, lt=1, description="omega")]
    maximum_epochs: Annotated[Number, Meta(description="K_max, or fewer where round_deadline is given")]
    round_deadline: (
        Annotated[
            Positive,
            Meta(description="of each epoch, shorter than that of the instance so that T_max is kept [time]"),
        ]
        | None
    ) = None
    rung: Literal["static", "optimal"] = "optimal"
    state: StateOfRun = "ledger"
    failure_cost: Annotated[Positive, Meta(description="rho, price of a failed run [cost]")]
    failure_cost_rule: Literal["ratio", "given"] = "ratio"
    multiplier: Annotated[Positive, Meta(description="lam >= rho, for which the policy is best [cost]")]
    abandon_at_start: bool = False
    data: tuple[ClusterData, ...] = ()
    switch_epochs: Annotated[tuple[Number, ...], Meta(description="absent: after any")] | None = None
    grid: LossGrid
    start: Annotated[Number, Meta(description="the node of epoch 0")]
    nodes: Annotated[tuple[PolicyNode, ...], Meta(min_length=1)]
    certificate: Certificate

    def validate(self) -> None:
        """Check what refers to what."""
        found = Mistakes()
        found.check(self._validate_start)
        found.check(self._validate_fraction)
        for number, node in enumerate(self.nodes):
            found.check(self._validate_rows, node, f".nodes[{number}]")
            found.check(self._validate_trainings, node, f".nodes[{number}]")
        found.end()

    def _validate_start(self) -> None:
        if self.start >= len(self.nodes):
            raise InvalidInputError(f"there is no node {self.start}", ".start")
        if self.nodes[self.start].epoch != 0:
            raise InvalidInputError("names a node after epoch 0; a policy starts before epoch 1", ".start")

    def _validate_rows(self, node: PolicyNode, path: str) -> None:
        before = -1
        for index, row in enumerate(node.rows):
            if row.upto <= before:
                raise InvalidInputError(
                    "does not exceed that of the row before", f"{path}.rows[{index}].upto"
                )
            if row.action >= len(node.trainings):
                raise InvalidInputError(f"there is no training {row.action}", f"{path}.rows[{index}].action")
            before = row.upto
        if before != self.grid.cells - 1:
            raise InvalidInputError(
                f"end at {before}; the last row ends with the grid, at {self.grid.cells - 1}", f"{path}.rows"
            )

    def _validate_trainings(self, node: PolicyNode, path: str) -> None:
        for index, training in enumerate(node.trainings):
            place = f"{path}.trainings[{index}]"
            if training.following >= len(self.nodes):
                raise InvalidInputError(f"there is no node {training.following}", f"{place}.following")
            after = self.nodes[training.following]
            if after.epoch != node.epoch + 1:
                raise InvalidInputError(
                    f"is a node of epoch {after.epoch}, not of epoch {node.epoch + 1}", f"{place}.following"
                )
            if after.epoch > self.maximum_epochs:
                raise InvalidInputError(
                    f"is a node of epoch {after.epoch}, after maximum_epochs = {self.maximum_epochs}",
                    f"{place}.following",
                )
            if (after.model, after.cluster) != (training.model, training.cluster):
                raise InvalidInputError("is a node of another model or cluster", f"{place}.following")
            if LARGEST_RETENTION < training.retention < RETENTION_ONE:
                raise InvalidInputError(
                    f"must be 1 or at most {LARGEST_RETENTION}, not {training.retention}",
                    f"{place}.retention",
                )

    def _validate_fraction(self) -> None:
        exactly = self.certificate.exactly
        if exactly is not None and (int(exactly.split("/")[1]) == 0 or not 0 <= Fraction(exactly) <= 1):
            raise InvalidInputError(f"is no probability: {exactly}", ".certificate.exactly")


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a policy file."""
    return schema_of(Policy)
