"""What is known of the optimum of an instance, from all that attempts on it proved or found.

Every attempt claims something: a plan (which the verifier has accepted), a lower bound, a proof that the plan
is cheapest, or a proof that there is none. A plan that the verifier accepted is a fact. A proof or a bound
that such a plan contradicts is wrong, so nothing is compared with it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.measure.outcome import Ended
from depl.models.foundation.errors import InvalidInputError
from depl.models.solving.defaults import DEFAULT_SCENARIOS
from depl.models.solving.methods import Meaning

TOLERANCE = 1e-7
"""Relative amount up to which a bound above a cost, or a cost below an optimum, is put down to rounding."""


@dataclass(frozen=True)
class Claim:
    """What one attempt says.

    Attributes
    ----------
    who : str
        The configuration or method.
    optimal, infeasible : bool
        Whether it says that its plan is proved cheapest, or that it is proved that there is no plan.
    cost : float
        Of its verified plan; infinite without one [cost].
    lower_bound : float
        Minus infinity where it has none [cost].
    """

    who: str
    optimal: bool
    infeasible: bool
    cost: float
    lower_bound: float


@dataclass(frozen=True)
class Reference:
    """What the claims on one question come to.

    Attributes
    ----------
    claimed : float or None
        The least cost that was called proved optimal [cost].
    claimed_infeasible : bool
        Whether some method called the question proved infeasible.
    cheapest : float
        Of all verified plans; infinite if there is none [cost].
    bound : float
        The greatest lower bound that no verified plan contradicts; minus infinity if there is none [cost].
    proved_by : tuple of str
        Who proved ``optimum``, or that there is no plan.
    """

    claimed: float | None
    claimed_infeasible: bool
    cheapest: float
    bound: float
    proved_by: tuple[str, ...] = ()

    @property
    def feasible(self) -> bool:
        """Whether anybody holds a plan."""
        return self.cheapest < math.inf

    @property
    def optimum(self) -> float | None:
        """The proved optimum [cost]; None if none was proved, or a cheaper plan refutes the proof."""
        if self.claimed is None or below(self.cheapest, self.claimed):
            return None
        return self.claimed

    @property
    def infeasible(self) -> bool:
        """Whether it is proved that there is no plan, and indeed nobody holds one."""
        return self.claimed_infeasible and not self.feasible

    @property
    def disputed(self) -> bool:
        """Whether a verified plan refutes a proof."""
        refuted = self.claimed is not None and self.optimum is None
        return refuted or (self.claimed_infeasible and self.feasible)


def reference_of(claims: Sequence[Claim]) -> Reference:
    """What the claims on one question come to; no claims, nothing known."""
    cheapest = min((item.cost for item in claims), default=math.inf)
    claimed = min((item.cost for item in claims if item.optimal), default=None)
    denied = any(item.infeasible for item in claims)
    bounds = [item.lower_bound for item in claims if not item.infeasible]
    bounds += [item.cost for item in claims if item.optimal]
    bound = max((value for value in bounds if not below(cheapest, value)), default=-math.inf)
    found = Reference(claimed, denied, cheapest, bound)
    return Reference(claimed, denied, cheapest, bound, _provers(claims, found))


def below(cost: float, bound: float) -> bool:
    """Whether a cost lies below a bound by more than rounding."""
    return cost < bound - TOLERANCE * abs(bound) if math.isfinite(bound) else cost < bound


def _provers(claims: Sequence[Claim], found: Reference) -> tuple[str, ...]:
    if found.infeasible:
        names = [item.who for item in claims if item.infeasible]
    else:
        best = found.optimum
        proofs = [item for item in claims if item.optimal]
        names = [item.who for item in proofs if best is not None and not below(best, item.cost)]
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True)
class Question:
    """What an attempt answers: attempts on one question can be compared with one another.

    Under the law a question is an instance. Under scenarios it is an instance and a sample, and the optima of
    different samples, or of a sample and of the law, are different things.

    Attributes
    ----------
    sample : tuple of int or None
        Number of scenarios and seed.
    """

    suite: str
    version: int
    instance: str
    meaning: str
    sample: tuple[int, int] | None = None


def question_of(attempt: Attempt) -> Question:
    """The question that an attempt answers."""
    sample = None
    if attempt.meaning == Meaning.SCENARIOS.value:
        sample = (int(attempt.settings.get("scenarios") or DEFAULT_SCENARIOS), attempt.task.seed)
    task = attempt.task
    return Question(task.suite, task.version, task.instance, attempt.meaning, sample)


def claim_of(attempt: Attempt) -> Claim:
    """What an attempt says; one without a result says nothing."""
    return claimed(attempt.task.configuration, attempt)


def claimed(who: str, item: Ended) -> Claim:
    """What a method says by the outcome of a solve."""
    return Claim(
        who=who,
        optimal=item.proved_optimal,
        infeasible=item.proved_infeasible,
        cost=math.inf if item.cost is None else item.cost,
        lower_bound=-math.inf if item.lower_bound is None else item.lower_bound,
    )


def references(attempts: Sequence[Attempt]) -> dict[Question, Reference]:
    """What is known of every question; suites that hold the same instance share what is known of it.

    Raises
    ------
    InvalidInputError
        If attempts on an instance of one name were made on different instances.
    """
    hashes = _hashes(attempts)
    claims: dict[Question, list[Claim]] = {}
    for attempt in attempts:
        claims.setdefault(_shared(question_of(attempt), hashes), []).append(claim_of(attempt))
    known = {question: reference_of(said) for question, said in claims.items()}
    asked = dict.fromkeys(question_of(attempt) for attempt in attempts)
    return {question: known[_shared(question, hashes)] for question in asked}


def _shared(question: Question, hashes: Mapping[tuple[str, int, str], str]) -> Question:
    """The question asked of the instance itself, whatever suite it is in; of one never built, as it is."""
    known = hashes.get((question.suite, question.version, question.instance))
    return question if known is None else replace(question, suite="", version=0, instance=known)


def _hashes(attempts: Sequence[Attempt]) -> dict[tuple[str, int, str], str]:
    """Hash of the instance of every suite, version and name."""
    seen: dict[tuple[str, int, str], str] = {}
    for attempt in attempts:
        task = attempt.task
        if not attempt.instance_hash:  # the worker died before it had built the instance
            continue
        known = seen.setdefault((task.suite, task.version, task.instance), attempt.instance_hash)
        if known != attempt.instance_hash:
            raise InvalidInputError(
                f"instance {task.instance!r} of suite {task.suite!r}, version {task.version}, stands for two "
                f"different instances ({known:.12} and {attempt.instance_hash:.12}): results of different "
                "code are mixed; keep those of one commit, or raise the version of the suite"
            )
    return seen
