r"""A policy followed on losses drawn from the law, beside planning backwards and checking forwards.

Runs are drawn as they are defined, l' = shift + retention l + e, with e from the laws of the instance, and
the policy is followed on them as a controller does: the ledger is carried along, and a run stops at its row
or once its observed loss meets the target. No grid of probabilities occurs, so that a cell which is counted
wrongly shows here.

What is claimed is *refuted* where the draws are too unlikely under the claim (`RISK`): fewer runs that reach
the target than a binomial number would be, or a mean cost above what the empirical Bernstein bound allows
(Maurer and Pontil, Empirical Bernstein bounds and sample variance penalization, 2009, Thm 4, for independent
numbers that are alike): with probability 1 - d the mean of n costs in [0, M] with sample variance v exceeds
the expectation by at most

    sqrt(2 v ln(2 / d) / n) + 7 M ln(2 / d) / (3 (n - 1)).
"""

import math
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import stats

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.foundation.users_code import exits_are_errors
from depl.models.policy.counted import greatest_costs
from depl.models.policy.grid import DRIFT, Integers, rounded_indices
from depl.models.policy.ledger import EDGE
from depl.models.policy.process import Kernel, Node, Process, process
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.policy import STOP, Policy, PolicyNode
from depl.models.risk.counts import both_ends

RISK = 1e-6
"""Probability with which a claim that holds is called refuted."""

CONFIDENCE = 0.95
"""Of the intervals that are told."""

MOST_RUNS = 10_000_000
"""Most runs that are drawn at once: set by hand, a gigabyte."""


_ENDS = ("reached", "abandoned", "exhausted", "beyond")


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
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, runs - 1)) * deviation / math.sqrt(runs)
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
    whole = process(instance, data, policy.switch_epochs)
    rng = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)
    walker = _Walker(policy, whole, rng)
    walker.begin(runs)
    for number in sorted(range(len(policy.nodes)), key=lambda item: policy.nodes[item].epoch):
        walker.leave(number)
    return walker.found(policy)


@dataclass(frozen=True, eq=False)
class _Group:
    """Runs at one node: losses, ledgers and costs so far, each of shape (n,)."""

    losses: FloatArray
    ledgers: Integers
    costs: FloatArray

    def some(self, chosen: np.ndarray) -> "_Group":
        return _Group(self.losses[chosen], self.ledgers[chosen], self.costs[chosen])


@dataclass(eq=False)
class _Walker:
    """Runs on their way through the nodes of a policy, whose places in the process are found as they go."""

    policy: Policy
    process: Process
    rng: np.random.Generator
    here: dict[int, list[_Group]] = field(default_factory=dict)
    places: dict[int, int] = field(default_factory=dict)
    costs: list[FloatArray] = field(default_factory=list)
    ends: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_ENDS, 0))
    epochs: int = 0
    lowest: float = 0.0

    def begin(self, runs: int) -> None:
        """Draw l(0)."""
        start = self._start()
        losses = self.rng.choice(start[1], runs, p=start[2])
        self.places[self.policy.start] = start[0]
        grid = self.policy.grid
        ledgers = np.maximum(rounded_indices(losses - grid.origin, grid.step, up=True), 0)
        self.here[self.policy.start] = [_Group(losses, ledgers, np.zeros(runs))]

    def _start(self) -> tuple[int, FloatArray, FloatArray]:
        first = self.policy.nodes[self.policy.start]
        wanted = {(item.model, item.cluster) for item in first.trainings}
        for start in self.process.starts:
            offered = {(item.model, item.cluster) for item in self.process.nodes[start.node].trainings}
            if wanted <= offered:
                return start.node, start.losses, start.weights / start.weights.sum()
        raise InvalidInputError(f"no run may begin with {sorted(wanted)}", f".nodes[{self.policy.start}]")

    def leave(self, number: int) -> None:
        """End the runs of a node that stop, and train the others."""
        groups = self.here.pop(number, [])
        if not groups:
            return
        node, place = self.policy.nodes[number], self.process.nodes[self.places[number]]
        group = _Group(
            np.concatenate([item.losses for item in groups]),
            np.concatenate([item.ledgers for item in groups]),
            np.concatenate([item.costs for item in groups]),
        )
        grid = self.policy.grid
        self._watch(group, node.epoch)
        met = (group.losses <= grid.limit + ATOM_TOLERANCE) & place.may_stop
        actions = _actions(node, np.minimum(group.ledgers, grid.cells - 1))
        counted = place.may_stop & (actions == STOP) & (group.ledgers <= grid.target)
        beyond = ~met & (group.ledgers >= grid.cells)
        self._end("reached", group, met | counted)
        self._end("beyond", group, beyond)
        going = ~met & ~counted & ~beyond
        last = "exhausted" if node.epoch == self.policy.maximum_epochs else "abandoned"
        self._end(last, group, going & (actions == STOP))
        for index in range(len(node.trainings)):
            self._train(number, index, place, group.some(going & (actions == index)))

    def _watch(self, group: _Group, epoch: int) -> None:
        """How far the ledger is below the loss, beyond what it may drift."""
        grid = self.policy.grid
        if self.policy.state == "ledger":
            values = grid.origin + (group.ledgers + EDGE + DRIFT * epoch) * grid.step
            self.lowest = min(self.lowest, float((values - group.losses).min()))

    def _end(self, name: str, group: _Group, chosen: np.ndarray) -> None:
        self.ends[name] += int(chosen.sum())
        self.costs.append(group.costs[chosen])

    def _train(self, number: int, index: int, place: Node, group: _Group) -> None:
        told = self.policy.nodes[number].trainings[index]
        found = [item for item in place.trainings if (item.model, item.cluster) == (told.model, told.cluster)]
        if not found:
            path = f".nodes[{number}].trainings[{index}]"
            raise InvalidInputError(f"the instance does not allow {told.model!r} on {told.cluster!r}", path)
        self.places[told.following] = found[0].following
        size = group.losses.size
        if size == 0:
            return
        self.epochs += size
        losses = self._drawn(found[0].kernel, group.losses)
        grid = self.policy.grid
        if self.policy.state == "ledger":
            noise = losses - (told.shift + told.retention * group.losses)
            values = np.asarray(grid.origin + group.ledgers * grid.step, dtype=np.float64)
            image = told.shift + told.retention * values - grid.origin
            ledgers = rounded_indices(image, grid.step, up=True) + rounded_indices(noise, grid.step, up=True)
        else:
            ledgers = rounded_indices(losses - grid.origin, grid.step, up=True)
        after = _Group(losses, np.maximum(ledgers, 0), group.costs + told.price)
        self.here.setdefault(told.following, []).append(after)

    def _drawn(self, kernel: Kernel, losses: FloatArray) -> FloatArray:
        found = kernel.shift + kernel.retention * losses
        for term in kernel.noise:
            found = found + term.coefficient * term.law.sample(self.rng, losses.size)
        return np.asarray(found)

    def found(self, policy: Policy) -> Simulation:
        """The numbers, and what they refute."""
        costs = np.concatenate(self.costs)
        runs = costs.size
        deviation = float(costs.std(ddof=1)) if runs > 1 else 0.0
        ends = [self.ends[name] for name in _ENDS]
        counted = (runs, ends[0], ends[1], ends[2], ends[3])
        greatest = greatest_costs(policy.nodes)[policy.start]
        result = Simulation(*counted, float(costs.mean()), deviation, self.epochs / runs, greatest)
        return replace(result, refuted=tuple(self._refuted(policy, result)))

    def _refuted(self, policy: Policy, result: Simulation) -> list[str]:
        claimed, found = policy.certificate, []
        if stats.binom.cdf(result.reached, result.runs, claimed.reached) < RISK:
            share = result.reached / result.runs
            found.append(f"P(reached) >= {claimed.reached:.9g}: {share:.9g} of {result.runs} runs reached it")
        if result.runs > 1 and result.cost - _bernstein(result) > claimed.cost * (1 + 1e-9):
            found.append(
                f"expected cost <= {claimed.cost:.9g}: the mean of {result.runs} is {result.cost:.9g}"
            )
        if self.lowest < -1e-12 * max(abs(policy.grid.limit), abs(policy.grid.origin), 1e-6):
            found.append(f"the ledger is never below the loss: it was, by {-self.lowest:.3g}")
        return found


def _actions(node: PolicyNode, ledgers: Integers) -> Integers:
    ends = np.array([row.upto for row in node.rows])
    return np.array([row.action for row in node.rows])[np.searchsorted(ends, ledgers)]


def _bernstein(result: Simulation) -> float:
    """By how much a mean exceeds its expectation at most, but for probability `RISK` [cost]."""
    spread, logarithm = result.deviation, math.log(2 / RISK)
    return spread * math.sqrt(2 * logarithm / result.runs) + 7 * result.greatest_cost * logarithm / (
        3 * (result.runs - 1)
    )
