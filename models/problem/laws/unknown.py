"""What may stand in place of a law: nothing known, no change, no switch."""

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from depl.models.problem.laws.law import FloatArray, Law, Moments, ProbabilityFreeLaw

NO_LAW = (
    "the instance declares no law of its losses (type undeclared), so no probability is known; "
    "plan on given scenarios, by --method scenario-search or milp with --scenarios FILE.npz, "
    "or declare the laws"
)
"""What is said where a law is needed and none is declared."""


class Undeclared(ProbabilityFreeLaw, frozen=True, kw_only=True, tag="undeclared"):
    """No law: what is known of ``X`` are scenarios that are given with it.

    Plans are made for such scenarios only; whatever asks for a probability is refused.
    """

    reason: ClassVar[str] = NO_LAW

    def in_words(self) -> str:
        """That it is not declared."""
        return "of undeclared law"


class Forbidden(ProbabilityFreeLaw, frozen=True, kw_only=True, tag="forbidden"):
    """A switch that may not be made."""

    reason: ClassVar[str] = "a forbidden switch has no law; no plan may make it"
    declared: ClassVar[bool] = True
    for_improvements: ClassVar[bool] = False
    forbids: ClassVar[bool] = True

    def in_words(self) -> str:
        """One word."""
        return "forbidden"


class Zero(Law, frozen=True, kw_only=True, tag="zero"):
    """A switch that leaves the loss as it is."""

    for_improvements: ClassVar[bool] = False

    @property
    def constant(self) -> float:
        """0."""
        return 0.0

    @property
    def family(self) -> None:
        """Nothing to fit."""
        return None

    def moments(self) -> Moments:
        """0, without variance."""
        return Moments(0.0, 0.0)

    def support(self) -> tuple[float, float]:
        """0 alone."""
        return 0.0, 0.0

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Step at 0."""
        return np.where(np.asarray(x, dtype=float) >= 0, 1.0, 0.0)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Zeros."""
        return np.zeros(size)

    def inverse_cdf(self, u: ArrayLike) -> FloatArray:
        """0."""
        return np.zeros(np.shape(u))

    def in_words(self) -> str:
        """One word."""
        return "zero"

    def moved(self, mean: float, spread: float) -> "Zero":
        """Itself."""
        return self
