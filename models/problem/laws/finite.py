"""Laws of finitely many values: a constant, and observed values."""

import math
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta
from numpy.typing import ArrayLike

from depl.models.foundation.documents import Positive
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.wording import counted, number
from depl.models.problem.laws.law import (
    MOMENT_ROUNDING,
    ComplexArray,
    FloatArray,
    Law,
    Moments,
    Nodes,
    moments_in_words,
    sum_rounding,
)

_NO_DENSITY = "an empirical law has atoms and no density; use its atoms"


class Deterministic(Law, frozen=True, kw_only=True, tag="deterministic"):
    """A constant."""

    value: float

    @property
    def constant(self) -> float:
        """The value."""
        return self.value

    @property
    def family(self) -> None:
        """Nothing to fit."""
        return None

    def moments(self) -> Moments:
        """The value, without variance."""
        return Moments(self.value, 0.0)

    def support(self) -> tuple[float, float]:
        """The value itself."""
        return self.value, self.value

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Step at the value."""
        return np.where(np.asarray(x, dtype=float) >= self.value, 1.0, 0.0)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """The value, ``size`` times."""
        return np.full(size, self.value)

    def inverse_cdf(self, u: ArrayLike) -> FloatArray:
        """The value."""
        return np.full(np.shape(u), self.value)

    def in_words(self) -> str:
        """The value."""
        return number(self.value)

    def spread_out(self, factor: float) -> "Deterministic":
        """Itself: it has no spread."""
        return self

    def moved(self, mean: float, spread: float) -> "Deterministic":
        """The value times ``mean``."""
        return Deterministic(value=self.value * mean)


class Empirical(Law, frozen=True, kw_only=True, tag="empirical"):
    """Observed values with equal or given weights (normalised to sum 1)."""

    has_atoms: ClassVar[bool] = True

    values: Annotated[tuple[float, ...], Meta(min_length=1)]
    weights: Annotated[tuple[Positive, ...], Meta(min_length=1)] | None = None

    def validate(self) -> None:
        """Require one weight per value."""
        if self.weights is not None and len(self.weights) != len(self.values):
            raise InvalidInputError(
                f"has {counted(len(self.weights), 'entry', 'entries')} for "
                f"{counted(len(self.values), 'value')}; give one weight per value",
                ".weights",
            )

    def atoms(self) -> tuple[FloatArray, FloatArray]:
        """Values and probabilities, both of shape (n,)."""
        weights = np.ones(len(self.values)) if self.weights is None else np.array(self.weights)
        return np.array(self.values), weights / weights.sum()

    def moments(self) -> Moments:
        """Weighted mean and (population) variance of the values."""
        values, probabilities = self.atoms()
        mean = float(probabilities @ values)
        return Moments(mean, float(probabilities @ (values - mean) ** 2))

    def support(self) -> tuple[float, float]:
        """Least and greatest value."""
        return min(self.values), max(self.values)

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Weight of the values that do not exceed ``x``."""
        values, probabilities = self.atoms()
        order = np.argsort(values, kind="stable")
        cumulative: FloatArray = np.concatenate([[0.0], np.cumsum(probabilities[order])])
        cumulative /= cumulative[-1]  # not quite 1 after rounding
        return np.asarray(
            cumulative[np.searchsorted(values[order], np.asarray(x, dtype=float), side="right")]
        )

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draws with replacement."""
        values, probabilities = self.atoms()
        return rng.choice(values, size, p=probabilities)

    def inverse_cdf(self, u: ArrayLike) -> FloatArray:
        """The first value whose cumulative weight reaches u."""
        values, probabilities = self.atoms()
        order = np.argsort(values, kind="stable")
        cumulative = np.cumsum(probabilities[order])
        place = np.searchsorted(cumulative / cumulative[-1], np.asarray(u, dtype=float), side="left")
        return np.asarray(values[order][np.minimum(place, len(values) - 1)], dtype=float)

    def density(self, x: ArrayLike) -> FloatArray:
        """Refused."""
        raise NotCoveredError(_NO_DENSITY)

    def survival(self, x: ArrayLike) -> FloatArray:
        """Refused."""
        raise NotCoveredError(_NO_DENSITY)

    def quantile(self, level: ArrayLike, *, upper: bool = False) -> FloatArray:
        """The first value that is reached with the probability."""
        levels = np.asarray(level, dtype=float)
        values, weights = self.atoms()
        order = np.argsort(values)
        reached = np.cumsum(weights[order])
        position = np.searchsorted(reached, 1 - levels if upper else levels)
        return np.asarray(values[order][np.minimum(position, len(values) - 1)])

    def decimals(self) -> list[tuple[float, float]]:
        """Values and weights, 1 where none are given."""
        return list(zip(self.values, self.weights or (1.0,) * len(self.values), strict=True))

    def nodes(self) -> Nodes:
        """The atoms."""
        return self.atoms()

    def argument_sensitivity(self, greatest: float) -> float:
        """Nothing: it is exact."""
        return 0.0

    def mean_rounding(self) -> float:
        """A dot product with masses that were divided by their sum."""
        return sum_rounding(len(self.values), self.moments())

    def third_moment(self) -> float:
        """Of the atoms."""
        points, weights = self.atoms()
        return float(weights @ abs(points - self.moments().mean) ** 3) * (1 + MOMENT_ROUNDING)

    def transform_domain(self) -> tuple[float, float]:
        """Everywhere."""
        return -math.inf, math.inf

    def sum_for(self, z: ComplexArray) -> Nodes:
        """The atoms."""
        return self.atoms()

    def sum_length(self, largest: float) -> float:
        """One point each."""
        return float(len(self.values))

    def tilted_nodes(self, exponent: float) -> Nodes:
        """The atoms."""
        values, weights = self.atoms()
        return values, np.log(weights) + exponent * values

    def in_words(self) -> str:
        """How many values, and their moments."""
        return f"one of {counted(len(self.values), 'observed value')}, {moments_in_words(self.moments())}"

    def moved(self, mean: float, spread: float) -> "Empirical":
        """Every value moved."""
        values, weights = self.atoms()
        centre = float(weights @ values)
        changed = centre * mean + (values - centre) * spread
        return Empirical(values=tuple(changed.tolist()), weights=self.weights)
