"""Laws of finitely many values, a constant or observed ones, and what may stand in place of a law."""

import math
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta
from numpy.typing import ArrayLike

from depl.models.foundation.documents import Positive
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.wording import counted, number
from depl.models.problem.laws.law import MOMENT_ROUNDING, Law, Moments, Nodes, moments_in_words, sum_rounding
from depl.models.problem.laws.log_variable import ComplexArray, FloatArray

NO_LAW = (
    "the instance declares no law of its losses (type undeclared), so no probability is known; "
    "plan on given scenarios, by --method scenario-search or milp with --scenarios FILE.npz, "
    "or declare the laws"
)
"""What is said where a law is needed and none is declared."""


class _Constant(Law, frozen=True, kw_only=True):
    """A number that is not random, in its ``constant``."""

    @property
    def constant(self) -> float:
        """The value; 0 unless given."""
        return 0.0

    @property
    def family(self) -> None:
        """Nothing to fit."""
        return None

    def moments(self) -> Moments:
        """The value, without variance."""
        return Moments(self.constant, 0.0)

    def support(self) -> tuple[float, float]:
        """The value itself."""
        return self.constant, self.constant

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Step at the value."""
        return np.where(np.asarray(x, dtype=float) >= self.constant, 1.0, 0.0)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """The value, ``size`` times."""
        return np.full(size, self.constant)

    def inverse_cdf(self, u: ArrayLike) -> FloatArray:
        """The value."""
        return np.full(np.shape(u), self.constant)


class Zero(_Constant, frozen=True, kw_only=True, tag="zero"):
    """A switch that leaves the loss as it is."""

    for_improvements: ClassVar[bool] = False

    def in_words(self) -> str:
        """One word."""
        return "zero"

    def moved(self, mean: float, spread: float) -> "Zero":
        """Itself."""
        return self


class Deterministic(_Constant, frozen=True, kw_only=True, tag="deterministic"):
    """A constant."""

    value: float

    @property
    def constant(self) -> float:
        """The value."""
        return self.value

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

    def quantile(self, level: ArrayLike, *, upper: bool = False) -> FloatArray:
        """The first value whose cumulative weight reaches the level."""
        levels = np.asarray(level, dtype=float)
        values, probabilities = self.atoms()
        order = np.argsort(values, kind="stable")
        cumulative = np.cumsum(probabilities[order])
        place = np.searchsorted(cumulative / cumulative[-1], 1 - levels if upper else levels)
        return np.asarray(values[order][np.minimum(place, len(values) - 1)], dtype=float)

    def distribution(self) -> Any:
        """Refused."""
        raise NotCoveredError("an empirical law has atoms and no density; use its atoms")

    def decimals(self) -> list[tuple[float, float]]:
        """Values and weights, 1 where none are given."""
        return list(zip(self.values, self.weights or (1.0,) * len(self.values), strict=True))

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

    def in_words(self) -> str:
        """How many values, and their moments."""
        return f"one of {counted(len(self.values), 'observed value')}, {moments_in_words(self.moments())}"

    def moved(self, mean: float, spread: float) -> "Empirical":
        """Every value moved."""
        values, weights = self.atoms()
        centre = float(weights @ values)
        changed = centre * mean + (values - centre) * spread
        return Empirical(values=tuple(changed.tolist()), weights=self.weights)


class _ProbabilityFree(Law, frozen=True, kw_only=True):
    """A law of which nothing is known: whatever asks for a probability is refused."""

    reason: ClassVar[str] = ""
    declared: ClassVar[bool] = False

    @property
    def family(self) -> None:
        """Nothing to fit."""
        return None

    def distribution(self) -> Any:
        """Refused."""
        raise NotCoveredError(self.reason)

    def moved(self, mean: float, spread: float) -> Law:
        """The law itself: there is nothing to move."""
        return self


class Undeclared(_ProbabilityFree, frozen=True, kw_only=True, tag="undeclared"):
    """No law: what is known of ``X`` are scenarios that are given with it.

    Plans are made for such scenarios only; whatever asks for a probability is refused.
    """

    reason: ClassVar[str] = NO_LAW

    def in_words(self) -> str:
        """That it is not declared."""
        return "of undeclared law"


class Forbidden(_ProbabilityFree, frozen=True, kw_only=True, tag="forbidden"):
    """A switch that may not be made."""

    reason: ClassVar[str] = "a forbidden switch has no law; no plan may make it"
    declared: ClassVar[bool] = True
    for_improvements: ClassVar[bool] = False
    forbids: ClassVar[bool] = True

    def in_words(self) -> str:
        """One word."""
        return "forbidden"
