"""What the verifier says of one equation or one claim, and of all of a plan or a policy."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import TypeAlias

from depl.models.verifier.tolerances import TIME_TOLERANCE

CLAIM = "claim: "
"""Begins the name of a claim among the findings."""

Broken: TypeAlias = Iterator[tuple[str, float | None]]
"""What breaks a rule: the message, and by how much if that is a number."""


class Kind(StrEnum):
    """What a finding says."""

    CHECKED = "checked"
    """Recomputed or proved again, without a solver."""
    FAILED = "failed"
    """Recomputed, and wrong."""
    UNDECIDED = "undecided"
    """Could be either, within the verifier's accuracy or for lack of data."""
    REPEATED = "repeated"
    """Claimed and not contradicted, but not proved again here: it needs the solver's own search."""
    NOTE = "note"
    """A number that nothing depends on."""


@dataclass(frozen=True)
class Finding:
    """The verdict on one equation or one claim.

    Attributes
    ----------
    equation : str
        Its number in the paper, the passage of Sec. III, or the claim.
    ok : bool
        Whether the plan passes here.
    message : str
        The numbers, and for a failure what is wrong.
    amount : float or None
        Left side minus right side of the inequality: by how much it fails if positive, the slack if not;
        of a claim, how far the claim is from the recomputed value.
    kind : Kind
    """

    equation: str
    ok: bool
    message: str
    amount: float | None
    kind: Kind

    @property
    def is_claim(self) -> bool:
        """Whether it is about a claim of the plan, not an equation."""
        return self.equation.startswith(CLAIM)

    @property
    def subject(self) -> str:
        """The equation or the claim, by its bare name."""
        return self.equation.removeprefix(CLAIM)


@dataclass(frozen=True, repr=False)
class Findings:
    """All findings about a plan or a policy, in the order in which they are told."""

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether every finding is."""
        return all(finding.ok for finding in self.findings)

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings that are not."""
        return tuple(finding for finding in self.findings if not finding.ok)

    @property
    def checked(self) -> tuple[Finding, ...]:
        """The claims that were recomputed, or proved without a solver."""
        return tuple(item for item in self.findings if item.is_claim and item.kind is Kind.CHECKED)

    @property
    def repeated(self) -> tuple[Finding, ...]:
        """The claims that nothing here contradicts and nothing here proves: `ok` does not speak for them."""
        return tuple(item for item in self.findings if item.kind is Kind.REPEATED)


def failed(equation: str, message: str, amount: float | None = None) -> Finding:
    """A finding that the plan does not pass."""
    return Finding(equation, False, message, amount, Kind.FAILED)


def passed(equation: str, message: str, amount: float | None = None) -> Finding:
    """A finding that the plan passes."""
    return Finding(equation, True, message, amount, Kind.CHECKED)


def undecided(equation: str, message: str) -> Finding:
    """A finding that the plan does not pass because something is missing to judge it."""
    return Finding(equation, False, message, None, Kind.UNDECIDED)


def noted(equation: str, message: str, amount: float | None = None) -> Finding:
    """A finding that nothing depends on."""
    return Finding(equation, True, message, amount, Kind.NOTE)


def repeated(equation: str, message: str, amount: float | None = None) -> Finding:
    """A finding that nothing contradicts and nothing proves."""
    return Finding(equation, True, message, amount, Kind.REPEATED)


def judged(
    equation: str, broken: Iterable[tuple[str, float | None]], otherwise: str, most: int | None = None
) -> list[Finding]:
    """A failure for everything that is broken, or the first so many, or that nothing is."""
    return [failed(equation, *item) for item in islice(broken, most)] or [passed(equation, otherwise)]


def exceeded(left: str, value: float, right: str, limit: float, tolerance: float) -> Broken:
    """Whether, and by how much, a value exceeds a limit by more than a relative tolerance."""
    excess = value - limit
    if not value <= limit * (1.0 + tolerance):  # what is no number exceeds every limit
        yield f"{left} = {value:.12g} exceeds {right} = {limit:.12g} by {excess:.6g}", excess


def in_time(left: str, duration: float, limit: float | None) -> Finding:
    """Whether T_max is kept, eq. (4)."""
    if limit is None:
        return noted("(4)", f"{left} = {duration:.12g}; no T_max is given")
    for broken in exceeded(left, duration, "T_max", limit, TIME_TOLERANCE):
        return failed("(4)", *broken)
    return passed("(4)", f"{left} = {duration:.12g} <= T_max = {limit:.12g}", duration - limit)
