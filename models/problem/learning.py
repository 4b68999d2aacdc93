"""How training lowers the loss: the improvement that a model makes in each epoch, and how data scales it.

An improvement is a coefficient times a random X (eq. (8) of the paper, a constant, or a table over
epochs); the data law K^ of eq. (7) says how many epochs a volume of data needs, and so which part of an
improvement less data leave. Both are data of an `Instance`, read by `depl.models.problem.epochs` alone.
"""

import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from depl.models.foundation.documents import Checked, Name, require_known, require_unique
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import ImprovementLaw, NonNegative, Positive

_Entry = TypeVar("_Entry")


class _OneLaw:
    """Improvements that are all multiples of draws from one law."""

    __slots__ = ()
    scale: float
    noise: ImprovementLaw

    def noises(self) -> tuple[ImprovementLaw, ...]:
        """All laws of X."""
        return (self.noise,)

    def validate(self) -> None:
        """Refuse a heavy tail that raises the loss."""
        if self.scale < 0 and self.noise.heavy_right_tail:
            raise InvalidInputError(
                f"a {type(self.noise).__name__} law may not raise the loss (scale {self.scale} < 0): its "
                "exponential moments are infinite; use a normal or empirical law",
                ".scale",
            )


class InverseSqrtImprovement(
    _OneLaw, Checked, frozen=True, kw_only=True, tag_field="shape", tag="inverse_sqrt"
):
    """Eq. (8): an epoch k lowers the loss by ``scale / sqrt(k + offset) * X``."""

    scale: Annotated[float, Meta(description="A_m [loss]; negative raises the loss")]
    noise: Annotated[ImprovementLaw, Meta(description="law of X")]
    offset: Annotated[float, Meta(gt=-1, description="B_m, so that k + B_m > 0 for every epoch k >= 1")] = 0.0

    def at(self, epoch: int) -> tuple[float, ImprovementLaw]:
        """Coefficient and law of X of the improvement at ``epoch`` (counted from 1)."""
        return self.scale / math.sqrt(epoch + self.offset), self.noise

    def after(self, epochs: int) -> "InverseSqrtImprovement":
        """The improvement of a run that has trained so many epochs: epoch j is then epoch ``epochs`` + j."""
        return msgspec.structs.replace(self, offset=self.offset + epochs)


class ConstantImprovement(_OneLaw, Checked, frozen=True, kw_only=True, tag_field="shape", tag="constant"):
    """Every epoch lowers the loss by ``scale * X``."""

    noise: Annotated[ImprovementLaw, Meta(description="law of X")]
    scale: Annotated[float, Meta(description="A_m [loss]; negative raises the loss")] = 1.0

    def at(self, epoch: int) -> tuple[float, ImprovementLaw]:
        """Coefficient and law of X; the same at every epoch."""
        return self.scale, self.noise

    def after(self, epochs: int) -> "ConstantImprovement":
        """The same after any number of epochs."""
        return self


class TabledImprovement(Checked, frozen=True, kw_only=True, tag_field="shape", tag="table"):
    """Every epoch has its own coefficient and law: entry k - 1 is that of epoch k."""

    epochs: Annotated[tuple[ConstantImprovement, ...], Meta(min_length=1)]

    def at(self, epoch: int) -> tuple[float, ImprovementLaw]:
        """Coefficient and law of X of the improvement at ``epoch`` (counted from 1)."""
        return self.epochs[epoch - 1].at(epoch)

    def after(self, epochs: int) -> "TabledImprovement":
        """The improvement of a run that has trained so many epochs."""
        return msgspec.structs.replace(self, epochs=entries_after(self.epochs, epochs))

    def noises(self) -> tuple[ImprovementLaw, ...]:
        """All laws of X."""
        return tuple(row.noise for row in self.epochs)


Improvement = InverseSqrtImprovement | ConstantImprovement | TabledImprovement


class LogDataLaw(Checked, frozen=True, kw_only=True, tag="log"):
    """Epochs needed with data volume Q: ``a - b ln Q`` (up to scale)."""

    a: float
    b: NonNegative
    base_volume: Annotated[NonNegative, Meta(description="Q0, data always present")] = 0.0

    def epochs_needed(self, volume: float) -> float:
        """K^(Q) for the volume Q0 + ``volume``."""
        return self.a - self.b * math.log(self.base_volume + volume)


class InverseLogDataLaw(Checked, frozen=True, kw_only=True, tag="inverse_log"):
    """Epochs needed with data volume Q: ``a / ln(1 + Q)`` (up to scale)."""

    a: Positive = 1.0
    base_volume: Annotated[NonNegative, Meta(description="Q0, data always present")] = 0.0

    def epochs_needed(self, volume: float) -> float:
        """K^(Q) for the volume Q0 + ``volume``."""
        return self.a / math.log1p(self.base_volume + volume)


class PowerDataLaw(Checked, frozen=True, kw_only=True, tag="power"):
    """Epochs needed with data volume Q: ``a Q**-p`` (up to scale)."""

    p: NonNegative
    a: Positive = 1.0
    base_volume: Annotated[NonNegative, Meta(description="Q0, data always present")] = 0.0

    def epochs_needed(self, volume: float) -> float:
        """K^(Q) for the volume Q0 + ``volume``."""
        return float(self.a * (self.base_volume + volume) ** -self.p)


class SubsetEpochs(Checked, frozen=True, kw_only=True):
    """Epochs needed when exactly these datasets are used."""

    datasets: Annotated[tuple[Name, ...], Meta(min_length=1)]
    epochs: Positive

    def validate(self) -> None:
        """Require different datasets."""
        require_unique(self.datasets, ".datasets")


class TableDataLaw(Checked, frozen=True, kw_only=True, tag="table"):
    """Epochs needed, listed for every nonempty subset of the datasets."""

    subsets: Annotated[tuple[SubsetEpochs, ...], Meta(min_length=1)]

    def epochs_needed(self, datasets: frozenset[str]) -> float:
        """K^ of one subset."""
        return self._by_subset[datasets]

    @functools.cached_property
    def _by_subset(self) -> dict[frozenset[str], float]:
        return {frozenset(row.datasets): row.epochs for row in self.subsets}

    def require_every_subset(self, datasets: frozenset[str]) -> None:
        """Refuse a table that does not list every nonempty subset once, or K^ that grows with more data.

        Raises
        ------
        InvalidInputError
            With the path in an instance, below ``.data_law``.
        """
        for index, row in enumerate(self.subsets):
            for position, name in enumerate(row.datasets):
                require_known(name, sorted(datasets), f".data_law.subsets[{index}].datasets[{position}]")
        require_unique([frozenset(row.datasets) for row in self.subsets], ".data_law.subsets")
        known = self._by_subset
        for subset in _nonempty_subsets(datasets):
            if subset not in known:
                raise InvalidInputError(
                    f"does not list the subset {sorted(subset)}; add it", ".data_law.subsets"
                )
            for name in subset if len(subset) > 1 else ():
                if known[subset] > known[subset - {name}]:
                    raise InvalidInputError(
                        f"K^ grows from {known[subset - {name}]} to {known[subset]} when {name!r} joins "
                        f"{sorted(subset - {name})}; more data may not need more epochs",
                        ".data_law.subsets",
                    )


def entries_after(table: Sequence[_Entry], epochs: int) -> tuple[_Entry, ...]:
    """A table without its first entries; its last one, which no epoch reads, where none is left."""
    return tuple(table[epochs:] or table[-1:])


DataLaw = LogDataLaw | InverseLogDataLaw | PowerDataLaw | TableDataLaw


def _nonempty_subsets(names: frozenset[str]) -> Iterable[frozenset[str]]:
    ordered = sorted(names)
    sizes = range(1, len(ordered) + 1)
    return (frozenset(chosen) for size in sizes for chosen in itertools.combinations(ordered, size))
