r"""A policy followed on losses drawn from the law, beside planning backwards and checking forwards.

Runs are drawn as they are defined, l' = shift + retention l + e, with e from the laws of the instance, so
that a cell which is counted wrongly shows here. What is claimed is *refuted* where the draws are too unlikely
under the claim (`RISK`): by the binomial law, or the empirical Bernstein bound (Maurer and Pontil, 2009, Thm
4): with probability 1 - d the mean of n costs in [0, M] with sample variance v exceeds the expectation by at
most sqrt(2 v ln(2 / d) / n) + 7 M ln(2 / d) / (3 (n - 1)).
"""

import math
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import scipy

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.users_code import exits_are_errors
from depl.models.policy.follow import Runs, follow, greatest_costs
from depl.models.policy.grid import DRIFT
from depl.models.policy.ledger import EDGE
from depl.models.policy.process import Kernel, Process, process
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.policy import Policy
from depl.models.risk.sampling import both_ends

RISK = 1e-6
"""Probability with which a claim that holds is called refuted."""

CONFIDENCE = 0.95
"""Of the intervals that are told."""

MOST_RUNS = 10_000_000
"""Most runs that are drawn at once: set by hand, a gigabyte."""


@dataclass(frozen=True)
class Simulation:
    """How the runs of a policy ended.

    Attributes
    ----------
    runs : int
    reached, abandoned, exhausted, beyond : int
        Runs that reached the target, that were given up, that ended after K_max epochs, and whose ledger left
        the grid.
    cost : float
        Mean [cost].
    deviation : float
        Standard deviation of the cost [cost].
    epochs : float
        Mean number.
    greatest_cost : float
        Of any run of the policy [cost].
    refuted : tuple of str
        Claims that the draws refute, in words; empty where they agree.
    """

    runs: int
    reached: int
    abandoned: int
    exhausted: int
    beyond: int
    cost: float
    deviation: float
    epochs: float
    greatest_cost: float
    refuted: tuple[str, ...] = ()

    @property
    def reached_interval(self) -> tuple[float, float]:
        """Of P(reached): Clopper and Pearson, `CONFIDENCE`."""
        return both_ends(self.reached, self.runs, 1 - CONFIDENCE)

    @property
    def cost_interval(self) -> tuple[float, float]:
        """Of the expected cost: Student's, `CONFIDENCE` [cost]."""
        return mean_interval(self.cost, self.deviation, self.runs)


def mean_interval(mean: float, deviation: float, runs: int) -> tuple[float, float]:
    """Student's interval of an expectation, `CONFIDENCE`; infinite for a single run."""
    if runs < 2:
        return -math.inf, math.inf
    half = float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, runs - 1)) * deviation / math.sqrt(runs)
    return mean - half, mean + half


@exits_are_errors
def simulate(
    instance: Instance, policy: Policy, runs: int = 100_000, *, seed: int | np.random.Generator = 0
) -> Simulation:
    """Follow a policy on runs that are drawn from the law of its instance.

    Parameters
    ----------
    runs : int
    seed : int or Generator
        Of the draws.

    Raises
    ------
    InvalidInputError
        If the policy was made for another instance, trains what the instance does not allow, or ``runs`` is
        out of its range.
    NotCoveredError
        If the process of the instance is not covered.
    """
    if policy.instance != instance.fingerprint:
        message = f"the policy was made for another instance, {policy.instance[:12]}; give that one"
        raise InvalidInputError(message, ".instance")
    if not 1 <= runs <= MOST_RUNS:
        raise InvalidInputError(f"must be 1 to {MOST_RUNS}, not {runs}", "runs")
    data = {row.cluster: row.datasets for row in policy.data} or None
    if policy.round_deadline is not None:
        instance = instance.replace(
            maximum_epochs=policy.maximum_epochs, round_deadline=policy.round_deadline
        )
    rng = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)
    source = _Drawn(policy, process(instance, data, policy.switch_epochs), rng, runs)
    ended = list(follow(policy, source))
    for some in ended:
        source.watch(some.epoch, some.runs)
    costs = np.concatenate([some.runs.costs for some in ended])
    counts = Counter[str]()
    for some in ended:
        counts[some.end] += some.runs.costs.size
    epochs = sum(some.epoch * some.runs.costs.size for some in ended) / runs
    deviation, greatest = float(costs.std(ddof=1)) if runs > 1 else 0.0, greatest_costs(policy)[policy.start]
    ends = counts["reached"], counts["abandoned"], counts["exhausted"], counts["beyond"]
    found = Simulation(runs, *ends, float(costs.mean()), deviation, epochs, greatest)
    return replace(found, refuted=tuple(_refuted(policy, found, source.lowest)))


class _Drawn:
    """Runs drawn from a process: what a policy trains at each node, as the process has it."""

    def __init__(self, policy: Policy, process: Process, rng: np.random.Generator, runs: int) -> None:
        self.policy, self.rng, self.runs, self.lowest = policy, rng, runs, 0.0
        first = policy.nodes[policy.start]
        wanted, places = {(item.model, item.cluster) for item in first.trainings}, dict[int, int]()
        for start in process.starts:
            offered = {(item.model, item.cluster) for item in process.nodes[start.node].trainings}
            if wanted <= offered and not places:
                self.start, places[policy.start] = start, start.node
        if not places:
            raise InvalidInputError(f"no run may begin with {sorted(wanted)}", f".nodes[{policy.start}]")
        self.kernels = dict[tuple[int, int], Kernel]()
        for number in sorted(range(len(policy.nodes)), key=lambda item: policy.nodes[item].epoch):
            for index, told in enumerate(policy.nodes[number].trainings if number in places else ()):
                nexts = process.nodes[places[number]].trainings
                same = [item for item in nexts if (item.model, item.cluster) == (told.model, told.cluster)]
                if not same:
                    path = f".nodes[{number}].trainings[{index}]"
                    message = f"the instance does not allow {told.model!r} on {told.cluster!r}"
                    raise InvalidInputError(message, path)
                places[told.following] = same[0].following
                if policy.nodes[told.following].may_stop > process.nodes[same[0].following].may_stop:
                    message = f"the instance does not allow {told.model!r} to be the last model"
                    raise InvalidInputError(message, f".nodes[{told.following}].may_stop")
                self.kernels[number, index] = same[0].kernel

    def begin(self) -> Runs:
        weights = self.start.weights / self.start.weights.sum()
        return Runs(self.rng.choice(self.start.losses, self.runs, p=weights))

    def train(self, node: int, training: int, runs: Runs) -> tuple[Runs, FloatArray]:
        self.watch(self.policy.nodes[node].epoch, runs)
        kernel = self.kernels[node, training]
        found = kernel.shift + kernel.retention * runs.losses
        for term in kernel.noise:
            found = found + term.coefficient * term.law.sample(self.rng, runs.losses.size)
        return runs, np.asarray(found)

    def watch(self, epoch: int, runs: Runs) -> None:
        """How far the ledger is below the loss, beyond what it may drift."""
        grid = self.policy.grid
        if self.policy.state == "ledger":
            values = grid.origin + (runs.states + EDGE + DRIFT * epoch) * grid.step
            self.lowest = min(self.lowest, float((values - runs.losses).min(initial=0.0)))


def _refuted(policy: Policy, found: Simulation, lowest: float) -> list[str]:
    claimed, told = policy.certificate, []
    if scipy.stats.binom.cdf(found.reached, found.runs, claimed.reached) < RISK:
        share = found.reached / found.runs
        told.append(f"P(reached) >= {claimed.reached:.9g}: {share:.9g} of {found.runs} runs reached it")
    if found.runs > 1 and found.cost - _bernstein(found) > claimed.cost * (1 + 1e-9):
        told.append(f"expected cost <= {claimed.cost:.9g}: the mean of {found.runs} is {found.cost:.9g}")
    if lowest < -1e-12 * max(abs(policy.grid.limit), abs(policy.grid.origin), 1e-6):
        told.append(f"the ledger is never below the loss: it was, by {-lowest:.3g}")
    return told


def _bernstein(result: Simulation) -> float:
    """By how much a mean exceeds its expectation at most, but for probability `RISK` [cost]."""
    spread, logarithm = result.deviation, math.log(2 / RISK)
    return spread * math.sqrt(2 * logarithm / result.runs) + 7 * result.greatest_cost * logarithm / (
        3 * (result.runs - 1)
    )
