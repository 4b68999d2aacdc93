"""What every minimiser returns, and the only place that calls an answer of a submodular method optimal."""

import math
from dataclasses import dataclass
from enum import Enum

from depl.heuristics.submodular.function import SetFunction, Submodularity
from depl.heuristics.submodular.lovasz import GreedyCertificate, greedy_base, proves
from depl.heuristics.submodular.submodularity import check_base, check_exchanges
from depl.models.foundation.errors import InvalidInputError


class Proof(Enum):
    """What an optimum rests on."""

    CERTIFICATE = "certificate"
    """Submodularity that is PROVED, and a base whose bound was checked in rational numbers."""
    ENUMERATION = "enumeration"
    """All subsets were tried."""
    TOLD = "told"
    """A checked base as for CERTIFICATE, but of a function that was only told to be submodular."""
    NONE = "none"
    """The answer is not called optimal."""


@dataclass(frozen=True, eq=False)
class Minimum:
    """A set and what is known of its value.

    Attributes
    ----------
    subset : frozenset of int
        The best set found.
    value : float
        f of it.
    lower_bound : float
        No set has a smaller value; minus infinity where nothing was proved, or only told.
    proof : Proof
        Why the set is optimal, or that it is not known to be.
    status : Submodularity
        What is known of the function.
    certificate : GreedyCertificate or None
        The base behind ``lower_bound``, if there is one. It bounds only submodular functions.
    iterations : int
        Steps of the method; sets tried by enumeration.
    remark : str
        Why there is no proof, or on what condition there is one; empty otherwise.
    search_seconds : float or None
        Wall time of the search alone, without the check of submodularity before it and the certificate
        after it; None where a method does not tell them apart.
    """

    subset: frozenset[int]
    value: float
    lower_bound: float
    proof: Proof
    status: Submodularity
    certificate: GreedyCertificate | None = None
    iterations: int = 0
    remark: str = ""
    search_seconds: float | None = None

    @property
    def optimal(self) -> bool:
        """Whether the set is proved to be a minimiser, on no condition."""
        return self.proof in (Proof.CERTIFICATE, Proof.ENUMERATION)

    @property
    def words(self) -> str:
        """What may be concluded: "optimal", on what condition it is, or why it is not known to be."""
        if self.optimal:
            return "optimal"
        return self.remark or "not proved to be optimal"

    @property
    def settled(self) -> bool:
        """Whether the set is a minimiser, if what was told of the function holds."""
        return self.proof is not Proof.NONE


def concluded(
    function: SetFunction,
    subset: frozenset[int],
    certificate: GreedyCertificate,
    iterations: int,
    status: Submodularity | None = None,
    search_seconds: float | None = None,
) -> Minimum:
    """Check a certificate and say what follows from it.

    Parameters
    ----------
    function : SetFunction
        f.
    subset : frozenset of int
        The best set found.
    certificate : GreedyCertificate
        For the lower bound; checked here, from the function itself.
    iterations : int
        Steps of the method.
    status : Submodularity, optional
        What is known by now; by default what the construction of the function says.
    search_seconds : float, optional
        See `Minimum`.
    """
    status = status or function.known
    if status.told:
        status = _refuted_by_bases(function, certificate) or status
    lower, proof = -math.inf, Proof.NONE
    remark = f"submodularity is {status.verdict.value}: {status.reason}"
    if status.proved or status.told:
        lower, proof, remark = _certified(function, subset, certificate)
    if status.told and math.isfinite(lower):
        lower, proof = -math.inf, Proof.TOLD if proof is Proof.CERTIFICATE else Proof.NONE
        remark = remark or f"optimal if what you told holds: {status.reason}"
    value = function.value(subset)
    return Minimum(subset, value, lower, proof, status, certificate, iterations, remark, search_seconds)


def _certified(
    function: SetFunction, subset: frozenset[int], certificate: GreedyCertificate
) -> tuple[float, Proof, str]:
    """The lower bound of f, whether it proves the set, and what is missing."""
    try:
        bound, value = certificate.bound(function), function.value(subset)
    except InvalidInputError as error:  # no certificate of this function
        return -math.inf, Proof.NONE, str(error)
    lower = float(function.start + bound.lower)
    if proves(function, subset, bound):
        return min(lower, value), Proof.CERTIFICATE, ""
    if lower > value:
        return -math.inf, Proof.NONE, "the bound passes the value: the function is not submodular after all"
    return lower, Proof.NONE, f"stopped with a gap of {value - lower:.3g}"


def _refuted_by_bases(function: SetFunction, certificate: GreedyCertificate) -> Submodularity | None:
    """Check the bases of a certificate against f itself; REFUTED by a triple, or None.

    What a caller told is not believed unseen. A base of a submodular function passes f on no set: here on no
    prefix of an order of the certificate. And along every order the gains of neighbours are exchanged.
    """
    bases = [greedy_base(function, order) for order in certificate.orders]
    for one in bases:
        found = check_exchanges(function, one.order, one.gains)
        for other in bases if found is None else ():
            found = found or check_base(function, one.order, one.gains, other.order, other.gains)
        if found is not None:
            return found
    return None
