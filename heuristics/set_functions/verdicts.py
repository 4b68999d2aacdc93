"""Submodularity as a verdict of four values, with the reason or the triple that refutes it (E4).

f is submodular iff f(A + i) + f(A + j) >= f(A + i + j) + f(A) for all sets A and elements i != j outside A.
"""

from dataclasses import dataclass, replace
from enum import Enum


class Verdict(Enum):
    """What is known of the submodularity of a set function."""

    PROVED = "proved"
    """By construction, or because every triple was tried."""
    TOLD = "told"
    """The caller says so. It is checked on the sets that a method visits, and an answer names it as its
    condition."""
    REFUTED = "refuted"
    """A triple violates it."""
    UNKNOWN = "unknown"
    """Neither; nothing that rests on submodularity may be called optimal."""


@dataclass(frozen=True)
class Violation:
    """A triple with f(A + i) + f(A + j) < f(A + i + j) + f(A).

    Attributes
    ----------
    base : frozenset of int
        A.
    first, second : int
        i and j, different and not in A.
    excess : float
        f(A + i + j) + f(A) - f(A + i) - f(A + j) > 0.
    """

    base: frozenset[int]
    first: int
    second: int
    excess: float


@dataclass(frozen=True)
class Submodularity:
    """The verdict, why, and the violating triple if there is one."""

    verdict: Verdict
    reason: str
    violation: Violation | None = None

    @property
    def proved(self) -> bool:
        """Whether an answer may rest on it."""
        return self.verdict is Verdict.PROVED

    @property
    def told(self) -> bool:
        """Whether an answer may rest on it only on the condition that the caller is right."""
        return self.verdict is Verdict.TOLD

    def as_told(self) -> "Submodularity":
        """The same from a caller's mouth: nobody here has proved it of the function at hand."""
        return replace(self, verdict=Verdict.TOLD) if self.proved else self


UNKNOWN = Submodularity(Verdict.UNKNOWN, "nothing is known of the function but its values")


def proved(reason: str) -> Submodularity:
    """A verdict PROVED with its reason."""
    return Submodularity(Verdict.PROVED, reason)


def refuted(violation: Violation) -> Submodularity:
    """A verdict REFUTED by a triple."""
    base = sorted(violation.base)
    reason = f"A = {base}, i = {violation.first}, j = {violation.second} exceed by {violation.excess:.6g}"
    return Submodularity(Verdict.REFUTED, reason, violation)
