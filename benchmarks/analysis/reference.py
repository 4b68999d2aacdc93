"""What is known of the optimum of an instance, from all that attempts on it proved or found.

A plan that the verifier accepted is a fact. A proof, or a bound, that such a plan contradicts is wrong, so
nothing is compared with it.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.measure.catalogue import all_suites
from depl.benchmarks.measure.outcome import SolveOutcome
from depl.models.foundation.errors import InvalidInputError
from depl.models.solving.defaults import DEFAULT_SCENARIOS
from depl.models.solving.methods import Meaning

TOLERANCE = 1e-7
"""Relative amount up to which a bound above a cost, or a cost below an optimum, is put down to rounding."""
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)")


class Claim(NamedTuple):
    """What one attempt says: a plan that is proved cheapest, a proof that there is none, a cost, a bound.

    The cost is infinite without a verified plan, the bound minus infinity without one [cost].
    """

    who: str
    optimal: bool
    infeasible: bool
    cost: float
    lower_bound: float


class Reference(NamedTuple):
    """What the claims on one question come to.

    The least cost that was called proved optimal, whether the question was called infeasible, the cheapest of
    all verified plans (infinite without one), the greatest lower bound that no verified plan contradicts
    (minus infinity without one), and who proved `optimum`, or that there is no plan [cost].
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
        return None if self.claimed is None or below(self.cheapest, self.claimed) else self.claimed

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
    proofs = [item for item in claims if item.optimal]
    denials = [item.who for item in claims if item.infeasible]
    bounds = [item.lower_bound for item in claims if not item.infeasible] + [item.cost for item in proofs]
    bound = max((value for value in bounds if not below(cheapest, value)), default=-math.inf)
    found = Reference(min((item.cost for item in proofs), default=None), bool(denials), cheapest, bound)
    best = found.optimum
    stand = [item.who for item in proofs if best is not None and not below(best, item.cost)]
    return found._replace(proved_by=tuple(dict.fromkeys(denials if found.infeasible else stand)))


def below(cost: float, bound: float) -> bool:
    """Whether a cost lies below a bound by more than rounding."""
    return cost < bound - TOLERANCE * abs(bound) if math.isfinite(bound) else cost < bound


class Question(NamedTuple):
    """What an attempt answers: attempts on one question can be compared with one another.

    Under the law a question is an instance. Under scenarios it is an instance and a sample, that is a number
    and a seed: the optima of different samples, or of a sample and of the law, are different things.
    """

    suite: str
    version: int
    instance: str
    meaning: str
    sample: tuple[int, int] | None = None


def question_of(attempt: Attempt) -> Question:
    """The question that an attempt answers."""
    sample, task = None, attempt.task
    if attempt.meaning == Meaning.SCENARIOS.value:
        sample = (int(attempt.settings.get("scenarios") or DEFAULT_SCENARIOS), task.seed)
    return Question(task.suite, task.version, task.instance, attempt.meaning, sample)


def claimed(who: str, item: SolveOutcome | Attempt) -> Claim:
    """What a method says by the outcome of a solve; one without a result says nothing."""
    cost = math.inf if item.cost is None else item.cost
    bound = -math.inf if item.lower_bound is None else item.lower_bound
    return Claim(who, item.proved_optimal, item.proved_infeasible, cost, bound)


def references(attempts: Sequence[Attempt]) -> dict[Question, Reference]:
    """What is known of every question; suites that hold the same instance share what is known of it.

    Attempts on an instance of one name that were made on different instances are refused.
    """
    hashes = _hashes(attempts)
    asked: dict[Question, Question] = {}
    claims: dict[Question, list[Claim]] = {}
    for attempt in attempts:
        question = question_of(attempt)
        known = hashes.get((question.suite, question.version, question.instance))
        shared = question if known is None else question._replace(suite="", version=0, instance=known)
        asked[question] = shared
        claims.setdefault(shared, []).append(claimed(attempt.task.configuration, attempt))
    found = {shared: reference_of(said) for shared, said in claims.items()}
    return {question: found[shared] for question, shared in asked.items()}


def _hashes(attempts: Sequence[Attempt]) -> Mapping[tuple[str, int, str], str]:
    """Hash of the instance of every suite, version and name; none where no worker lived to build it."""
    seen: dict[tuple[str, int, str], str] = {}
    for attempt in attempts:
        task = attempt.task
        if attempt.instance_hash:
            known = seen.setdefault((task.suite, task.version, task.instance), attempt.instance_hash)
            if known != attempt.instance_hash:
                raise InvalidInputError(
                    f"instance {task.instance!r} of suite {task.suite!r}, version {task.version}, stands for "
                    f"two different instances ({known:.12} and {attempt.instance_hash:.12}): results of "
                    "different code are mixed; keep those of one commit, or raise the version of the suite"
                )
    return seen


def ordered(attempts: Sequence[Attempt]) -> list[Attempt]:
    """By suite, instance, configuration and seed, whenever they ended."""
    places = {
        (suite, label): place
        for suite in {attempt.task.suite for attempt in attempts}
        for place, label in enumerate(configurations(attempts, suite))
    }

    def key(attempt: Attempt) -> tuple[object, ...]:
        task = attempt.task
        place = places[task.suite, task.configuration]
        return task.suite, task.version, natural(task.instance), place, task.seed

    return sorted(attempts, key=key)


def configurations(attempts: Sequence[Attempt], suite: str) -> list[str]:
    """Labels in the order of the suite, if it is a shipped one; the others after them, by name."""
    known = all_suites().get(suite)
    listed = [] if known is None else [item.label for item in known.configurations]
    present = {attempt.task.configuration for attempt in attempts if attempt.task.suite == suite}
    return [label for label in listed if label in present] + sorted(present - set(listed), key=natural)


def natural(name: str) -> tuple[tuple[int, float, str], ...]:
    """A key that sorts ``alexnet-9`` before ``alexnet-13``."""
    parts = _NUMBER.split(name)
    return tuple((0, float(part), "") if index % 2 else (1, 0.0, part) for index, part in enumerate(parts))
