"""What every minimiser returns, and the only place that calls an answer of a submodular method optimal."""

import math
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from depl.heuristics.set_functions.certificate import CertifiedBound, GreedyCertificate, proves
from depl.heuristics.set_functions.functions import SetFunction, as_order
from depl.heuristics.set_functions.status import check_base, check_exchanges
from depl.heuristics.set_functions.verdicts import Submodularity
from depl.models.foundation.errors import InvalidInputError


class Proof(Enum):
    """What an optimum rests on."""

    CERTIFICATE = "certificate"
    """Submodularity that is PROVED, and a base whose bound was checked in rational numbers."""
    ENUMERATION = "enumeration"
    """All subsets were tried."""
    BRANCHING = "branch and bound"
    """The bound of a search that needs no submodularity meets the value."""
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
    certificate : object or None
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
        return self.proof not in (Proof.NONE, Proof.TOLD)

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
    certificate : object
        For the lower bound; checked here, from the function itself.
    iterations : int
        Steps of the method.
    status : Submodularity, optional
        What is known by now; by default what the construction of the function says.
    search_seconds : float, optional
        See `Minimum`.
    """
    found = _concluded(function, subset, certificate, iterations, status)
    return replace(found, search_seconds=search_seconds)


def refuted_by_bases(function: SetFunction, certificate: GreedyCertificate) -> Submodularity | None:
    """Check the bases of a certificate against f itself; REFUTED by a triple, or None.

    What a caller told is not believed unseen. A base of a submodular function passes f on no set: here on no
    prefix of an order of the certificate. And along every order the gains of neighbours are exchanged.
    """
    small = function.normalised()
    chains = [small.chain(order) for order in certificate.orders]
    for order, chain in zip(certificate.orders, chains, strict=True):
        found = check_exchanges(small, order, chain)
        if found is not None:
            return found
        base = np.empty(function.size)
        base[order] = np.diff(chain)
        for other, values in zip(certificate.orders, chains, strict=True):
            found = check_base(small, order, base, other, values)
            if found is not None:
                return found
    return None


def _concluded(
    function: SetFunction,
    subset: frozenset[int],
    certificate: GreedyCertificate,
    iterations: int,
    status: Submodularity | None,
) -> Minimum:
    status = status or function.submodularity()
    value = function.value(subset)
    if status.told:
        status = refuted_by_bases(function, certificate) or status
    if not (status.proved or status.told):
        remark = f"submodularity is {status.verdict.value}: {status.reason}"
        return Minimum(subset, value, -math.inf, Proof.NONE, status, certificate, iterations, remark)
    try:
        bound: CertifiedBound = certificate.bound(function)
    except InvalidInputError as error:
        return Minimum(subset, value, -math.inf, Proof.NONE, status, None, iterations, str(error))
    optimal = proves(function, subset, bound)
    lower = min(float(bound.lower), value)
    remark = "" if optimal else f"stopped with a gap of {value - float(bound.lower):.3g}"
    reached = function.exact_chain(as_order(subset))
    if bound.lower > reached.last + reached.error:
        remark, lower = "the bound passes the value: the function is not submodular after all", -math.inf
    proof = Proof.CERTIFICATE if optimal else Proof.NONE
    if status.told:
        proof, lower = Proof.TOLD if optimal else Proof.NONE, -math.inf
        remark = remark or f"optimal if what you told holds: {status.reason}"
    return Minimum(subset, value, lower, proof, status, certificate, iterations, remark)
