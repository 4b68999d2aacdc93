r"""A policy followed on many runs at once, whose losses are drawn, combined of donors' ones or recorded.

A run stops at its row, or once its observed loss meets the target and its model may be the last. Its state is
that of a `depl.models.policy.controller.Controller`, index for index. `simulate` draws losses as they are
defined, l' = shift + retention l + e, so that a cell which is counted wrongly shows; `replay` follows
recorded runs; `counted` combines the losses of donors.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, NamedTuple, NoReturn, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from depl.models.evaluation.traced_law import Lent, lent
from depl.models.evaluation.traced_support import FEWEST_DONORS
from depl.models.foundation.deadline import keep_time
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.policy.grid import DRIFT, Integers, met, rounded_indices
from depl.models.policy.ledger import EDGE
from depl.models.policy.process import Kernel, Process, Site, process
from depl.models.policy.rules import begins_unseen
from depl.models.problem.affine_law import AffineLaw, Position, following
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.policy import STOP, LossGrid, NextEpoch, Policy
from depl.models.problem.traced_law import TracedLaw
from depl.models.risk.sampling import both_ends
from depl.models.traces.counterfactuals import Counterfactuals, branch_name, read_counterfactuals
from depl.models.traces.table import Traces

RISK = 1e-6
"""Probability with which a claim that holds is called refuted."""

CONFIDENCE = 0.95
"""Of the intervals that are told."""

MOST_RUNS = 10_000_000
"""Most runs that are drawn at once: set by hand, a gigabyte."""

_FAR = 2.0**60
"""Steps beyond which a number counts as so many: an index of 64 bits holds them twice; grids have 2**22."""

MOST_PATHS = 4_000_000
"""Most combinations of runs that are followed: set by hand, some seconds and a hundred megabytes."""

_ROUNDING = 1e-12
"""Relative widening that covers the rounding of sums of some hundred thousand nonnegative payments."""


class Runs(NamedTuple):
    """Runs at a node, of one weight: losses on the scale of the law, costs and states, each of shape (n,).

    In ``own`` stands what their source keeps of each.
    """

    losses: FloatArray
    own: tuple[NDArray[Any], ...] = ()
    weight: Fraction = Fraction(1)
    costs: FloatArray = np.zeros(0)
    states: Integers = np.zeros(0, dtype=np.int64)

    def at(self, places: NDArray[Any]) -> "Runs":
        """Those at some places, or of a mask."""
        own = tuple(item[places] for item in self.own)
        return Runs(self.losses[places], own, self.weight, self.costs[places], self.states[places])


class Source(Protocol):
    """Where losses come from."""

    def begin(self) -> Runs:
        """The runs before their first epoch; a loss that was not evaluated is NaN."""

    def train(self, node: int, training: int, runs: Runs) -> tuple[Runs, FloatArray]:
        """Runs that train an epoch, as many as there may be of them, and their losses after it."""


End = Literal["reached", "abandoned", "exhausted", "beyond"]
"""At the target; by a row; after K_max epochs; above the grid."""


class Ended(NamedTuple):
    """Runs that ended alike."""

    end: End
    epoch: int
    runs: Runs


def follow(policy: Policy, source: Source) -> Iterator[Ended]:
    """All runs of a source, each where the policy ends it."""
    grid, here, begun = policy.grid, defaultdict[int, list[Runs]](list), source.begin()
    here[policy.start].append(
        begun._replace(costs=np.zeros(begun.losses.size), states=_first_states(policy, begun.losses))
    )
    for number in sorted(range(len(policy.nodes)), key=lambda item: policy.nodes[item].epoch):
        node = policy.nodes[number]
        upto, rows = (np.array([getattr(row, name) for row in node.rows]) for name in ("upto", "action"))
        last: End = "exhausted" if node.epoch == policy.maximum_epochs else "abandoned"
        for runs in _joined(here.pop(number, ())):
            keep_time()
            actions = rows[np.searchsorted(upto, np.minimum(runs.states, grid.cells - 1))]
            low = met(runs.losses, grid.limit)
            if policy.state == "ledger":  # which knows the loss to be below its own
                low |= (actions == STOP) & (runs.states <= grid.target)
            reached = low & node.may_stop
            beyond = ~reached & (runs.states >= grid.cells)
            actions = np.where(reached | beyond, STOP - 1, actions)
            ends: dict[End, Any] = {"reached": reached, "beyond": beyond, last: actions == STOP}
            for end, chosen in ends.items():
                if chosen.any():
                    yield Ended(end, node.epoch, runs.at(chosen))
            for index, training in enumerate(node.trainings):
                if (chosen := actions == index).any():
                    found, after = source.train(number, index, runs.at(chosen))
                    states = _states(policy, training, found, after)
                    costs = found.costs + training.price
                    here[training.following].append(found._replace(losses=after, costs=costs, states=states))


def greatest_costs(policy: Policy) -> list[float]:
    """The greatest cost that a run can still have, by node."""
    found = [0.0] * len(policy.nodes)
    for number in sorted(range(len(found)), key=lambda item: -policy.nodes[item].epoch):
        nexts = policy.nodes[number].trainings
        found[number] = max((item.price + found[item.following] for item in nexts), default=0.0)
    return found


def _joined(groups: Sequence[Runs]) -> Iterator[Runs]:
    """Runs of one weight together."""
    alike: dict[Fraction, list[Runs]] = defaultdict(list)
    for group in groups:
        alike[group.weight].append(group)
    for weight, some in alike.items():
        rows = ((*item.own, item.losses, item.costs, item.states) for item in some)
        *own, losses, costs, states = map(np.concatenate, zip(*rows, strict=True))
        yield Runs(losses, tuple(own), weight, costs, states)


def _first_states(policy: Policy, losses: FloatArray) -> Integers:
    """Where runs begin; not above the grid where nothing depends on l(0), which may then be unknown."""
    grid, unseen = policy.grid, np.isnan(losses)
    found = np.maximum(_indices(grid, np.where(unseen, 0.0, losses) - grid.origin), 0)
    node = policy.nodes[policy.start]
    if begins_unseen(node) and not node.may_stop:
        found = np.minimum(found, grid.cells - 1)
    return np.where(unseen, grid.cells - 1, found)


def _states(policy: Policy, training: NextEpoch, before: Runs, after: FloatArray) -> Integers:
    """The ledgers after an epoch, or the losses rounded up."""
    grid = policy.grid
    if policy.state == "observed":
        return np.asarray(np.maximum(_indices(grid, after - grid.origin), 0))
    old = np.where(np.isnan(before.losses), 0.0, before.losses)  # what was not seen is multiplied by 0
    noise = after - (training.shift + training.retention * old)
    values = np.asarray(grid.origin + before.states * grid.step, dtype=np.float64)
    image = training.shift + training.retention * values - grid.origin
    return np.asarray(np.maximum(_indices(grid, image) + _indices(grid, noise), 0))


def _indices(grid: LossGrid, values: FloatArray) -> Integers:
    far = _FAR * grid.step
    return rounded_indices(np.clip(values, -far, far), grid.step, up=True)


# --- runs that are drawn from the law ---------------------------------------------------------------------


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
        """Of the expected cost: Student's, `CONFIDENCE`; infinite for a single run [cost]."""
        if self.runs < 2:
            return -math.inf, math.inf
        factor = float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, self.runs - 1))
        half = factor * self.deviation / math.sqrt(self.runs)
        return self.cost - half, self.cost + half


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
    """The claims under which the draws are too unlikely, by the binomial law or by `_bernstein`."""
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
    """By how much a mean exceeds its expectation at most, but for probability d = `RISK` [cost].

    The empirical Bernstein bound (Maurer and Pontil, 2009, Thm 4), of n costs in [0, M] with sample variance
    v: sqrt(2 v ln(2 / d) / n) + 7 M ln(2 / d) / (3 (n - 1)).
    """
    spread, logarithm = result.deviation, math.log(2 / RISK)
    return spread * math.sqrt(2 * logarithm / result.runs) + 7 * result.greatest_cost * logarithm / (
        3 * (result.runs - 1)
    )


# --- runs that were recorded ------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReplayedRun:
    """One seed, followed until the policy stopped it.

    Attributes
    ----------
    seed : str
    epochs : int
    switched : int or None
        After how many epochs.
    cost : float
        At the prices of the policy [cost].
    end : End
    """

    seed: str
    epochs: int
    switched: int | None
    cost: float
    end: End


@dataclass(frozen=True)
class Replay:
    """All seeds, in the order of the runs.

    Attributes
    ----------
    runs : tuple of ReplayedRun
    """

    runs: tuple[ReplayedRun, ...]

    @property
    def delivered(self) -> float:
        """Share of the runs that reached the target."""
        return self._reached / len(self.runs)

    @property
    def delivered_interval(self) -> tuple[float, float]:
        """Of the probability behind it: Clopper and Pearson."""
        return both_ends(self._reached, len(self.runs), 1 - CONFIDENCE)

    @property
    def cost(self) -> float:
        """Mean [cost]."""
        return math.fsum(run.cost for run in self.runs) / len(self.runs)

    @property
    def _reached(self) -> int:
        return sum(run.end == "reached" for run in self.runs)


def replay(policy: Policy, traces: Traces | Counterfactuals, metric: str = "loss") -> Replay:
    """Follow a policy on every seed of counterfactual runs, each of which counts as one run.

    Every decision of the policy was really trained: of every seed there is a branch for each epoch after
    which it may switch (`depl.models.traces.counterfactuals`).

    Parameters
    ----------
    traces : Traces or Counterfactuals
        One run for every seed and switch epoch.
    metric : str
        Of the traces, that the target is one of.

    Raises
    ------
    InvalidInputError
        If the runs are no counterfactuals.
    NotCoveredError
        If a decision leads to what was not trained: with run and epoch.
    """
    table = traces if isinstance(traces, Counterfactuals) else read_counterfactuals(traces, metric)
    source = _Recorded(policy, table)
    found = dict[int, ReplayedRun]()
    for some in follow(policy, source):
        for seed, cost in zip(some.runs.own[0].tolist(), some.runs.costs.tolist(), strict=True):
            switched = source.switched.get(seed)
            found[seed] = ReplayedRun(table.seeds[seed], some.epoch, switched, cost, some.end)
    return Replay(tuple(found[seed] for seed in sorted(found)))


class _Recorded:
    """Every seed on its way, which is known by its place."""

    def __init__(self, policy: Policy, table: Counterfactuals) -> None:
        self.policy, self.table = policy, table
        self.unseen = begins_unseen(policy.nodes[policy.start])
        self.switched: dict[int, int] = {}

    def begin(self) -> Runs:
        seeds = np.arange(len(self.table.seeds))
        return Runs(np.array([self._scaled(seed, 0) for seed in seeds.tolist()]), (seeds,))

    def train(self, node: int, training: int, runs: Runs) -> tuple[Runs, FloatArray]:
        told, epoch = self.policy.nodes[node].trainings[training], self.policy.nodes[node].epoch
        seeds = runs.own[0].tolist()
        for seed in seeds:
            self._train(seed, (told.model, told.cluster), epoch)
        return runs, np.array([self._scaled(seed, epoch + 1) for seed in seeds])

    def losses(self, seed: int) -> FloatArray:
        name = self.table.seeds[seed]
        if seed in self.switched:
            return self.table.losses(name, self.switched[seed])
        return self.table.first_stage(name)

    def _train(self, seed: int, asked: tuple[str, str], epoch: int) -> None:
        """Go on in the first stage, or switch to the second one, once."""
        first, second = self.table.stages
        if epoch == 0 and asked == second:
            self._refuse(seed, epoch, f"the policy begins with {asked[0]!r}, the runs with {first[0]!r}")
        if asked == (second if seed in self.switched else first):
            return
        if asked != second:
            model, cluster = asked
            self._refuse(seed, epoch, f"the policy goes on with {model!r} on {cluster!r}, which no run did")
        if epoch not in self.table.switch_epochs:
            self._refuse(seed, epoch, f"no branch of it switches after epoch {epoch}")
        self.switched[seed] = epoch

    def _scaled(self, seed: int, epoch: int) -> float:
        """A loss on the scale of the policy; NaN for an l(0) that was not evaluated and is not decided on."""
        losses = self.losses(seed)
        if epoch >= losses.size:
            self._refuse(seed, epoch, f"it was trained for {losses.size - 1} epochs only as the policy asks")
        loss = float(losses[epoch])
        if math.isnan(loss) and not (epoch == 0 and self.unseen):
            self._refuse(seed, epoch, "the loss was not evaluated there")
        if self.policy.grid.scale == "loss" or math.isnan(loss):
            return loss
        if loss <= 0:
            self._refuse(seed, epoch, f"a loss of {loss:g} has no logarithm")
        return math.log(loss)

    def _refuse(self, seed: int, epoch: int, why: str) -> NoReturn:
        name = branch_name(self.table.seeds[seed], self.switched.get(seed, self.table.switch_epochs[-1]))
        raise NotCoveredError(
            f"run {name!r}, epoch {epoch}: {why}; a replay needs every branch that the policy "
            "may take: record them (depl train --stages), or plan with switch_epochs as recorded"
        )


# --- combinations of donors -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Counted:
    """What a policy does over all combinations of runs.

    Attributes
    ----------
    cost : float
        Upper bound of the expected cost [cost].
    reached : Fraction
        P(target reached) under the declared law.
    runs : int
        Fewest runs that lend to a stage.
    unlike : Fraction
        Probability of coming to a stage with a run unlike all seen.
    """

    cost: float
    reached: Fraction
    runs: int
    unlike: Fraction


Kind = tuple[Site, Site | None]
"""Of a stage, by which runs lend to it: model and cluster, and those before it, if any."""

Extent = tuple[int, int]
"""Of the stages of a kind: how long they last at most, and after how many epochs they begin at the latest."""


def kind_of(place: Position) -> Kind:
    """What is common to stages that the same runs lend to."""
    return place.trained, place.previous


def stages(nodes: Sequence[Any], starts: Iterable[int]) -> dict[int, Position]:
    """Where the nodes of a policy or a process that follow on some starts stand in their stages."""
    first, found = set(starts), dict[int, Position]()
    for number in range(min(first, default=0), len(nodes)):  # later epochs stand behind earlier ones
        if number in first or number in found:
            for step in nodes[number].trainings:
                found[step.following] = following(found.get(number), (step.model, step.cluster))
    return found


def extents(nodes: Sequence[Any], start: int) -> dict[Kind, Extent]:
    """How far the stages of each kind go in a policy, or in a process whose runs begin at ``start``."""
    found: dict[Kind, Extent] = {}
    for place in stages(nodes, [start]).values():
        longest, latest = found.get(kind_of(place), (0, 0))
        found[kind_of(place)] = max(longest, place.age), max(latest, place.start)
    return found


def counted(policy: Policy, traced: TracedLaw) -> Counted:
    """Follow a policy over all combinations of runs, under a law whose residuals stay together per run.

    Such a law is one of plans (`depl.models.evaluation.traced_law`): which runs lend residuals depends on the
    planned length of a stage. For a policy the law is *declared*, as `docs/policies` says: the donors of a
    stage are those of the longest of its kind; a run unlike all seen fails at the greatest cost from there.
    What plans as such deviate by is added to every loss after l(0) of a run, the same in all its epochs.
    Probabilities are shares of combinations, exact as fractions.

    Raises
    ------
    NotCoveredError
        If fewer than `FEWEST_DONORS` runs could lend to a stage, or none that began it as late; or if more
        than `MOST_PATHS` combinations had to be followed.
    """
    cost, reached, failed = 0.0, Fraction(0), Fraction(0)
    donors = {
        kind: _lent(traced.law, kind, extent, required=True)
        for kind, extent in extents(policy.nodes, policy.start).items()
    }
    for offset in traced.deviations or (0.0,):
        source = _Donors(policy, traced, donors, offset)
        ended = list(follow(policy, source)) if donors else []
        reached += sum(some.runs.weight * some.runs.costs.size for some in ended if some.end == "reached")
        failed += sum(runs.weight * runs.costs.size for runs in source.unlike)
        for runs in (*(some.runs for some in ended), *source.unlike):
            cost += float(runs.weight) * float(runs.costs.sum())
    least = min((len(item.donors) for item in donors.values()), default=0)
    return Counted(cost * (1 + _ROUNDING), reached, least, failed)


class _Donors:
    """All combinations of donors; every loss after l(0) is moved by what one plan deviates by."""

    def __init__(self, policy: Policy, traced: TracedLaw, donors: dict[Kind, Lent], offset: float) -> None:
        self.policy, self.donors, self.offset, self.more = policy, donors, offset, traced.diverged + 1
        self.share = Fraction(1, len(traced.deviations) or 1)
        self.stages, self.dearest = stages(policy.nodes, [policy.start]), greatest_costs(policy)
        self.unlike: list[Runs] = []
        """Runs unlike all that were seen, with the greatest cost that they may have."""

    def begin(self) -> Runs:
        node = self.policy.nodes[self.policy.start]
        losses = self.donors[(node.trainings[0].model, node.trainings[0].cluster), None].first_losses
        whole = Runs(losses[:1], (), self.share, np.zeros(1), np.zeros(1, dtype=np.int64))
        runs = self._apart(self.policy.start, whole, losses.size)
        return runs._replace(losses=losses, own=(np.arange(losses.size), losses))

    def train(self, node: int, training: int, runs: Runs) -> tuple[Runs, FloatArray]:
        """Where a stage begins, each run goes on with all its donors."""
        told = self.policy.nodes[node].trainings[training]
        stage = self.stages[told.following]
        lent = self.donors[kind_of(stage)]
        donors, losses = runs.own
        if stage.age == 1 and stage.previous is not None:
            many = len(lent.residuals)
            runs = self._apart(told.following, runs, many, told.price)
            donors, losses = np.tile(np.arange(many), losses.size), np.repeat(losses, many)
        after = told.shift + told.retention * losses + lent.residuals[donors, stage.age - 1]
        return runs._replace(own=(donors, after)), after + self.offset

    def _apart(self, node: int, runs: Runs, many: int, price: float = 0.0) -> Runs:
        """Each run with all that may lend to it, beside one that is unlike them."""
        if runs.losses.size * many > MOST_PATHS:
            raise NotCoveredError(
                f"more than {MOST_PATHS} combinations of runs had to be followed; allow switches after fewer "
                "epochs (switch_epochs) or fit to fewer runs"
            )
        weight = runs.weight / (many + self.more)
        lost = runs.costs + price + self.dearest[node]
        self.unlike.append(runs._replace(weight=weight * self.more, costs=lost))
        return runs.at(np.repeat(np.arange(runs.costs.size), many))._replace(weight=weight)


def latest_starts(law: AffineLaw, reach: Mapping[Kind, Extent]) -> dict[Kind, int]:
    """When stages that last so long may begin at the latest: as late as some run that lends to them did."""
    found = {kind: _lent(law, kind, extent) for kind, extent in reach.items()}
    return {kind: int(lent.starts.max()) for kind, lent in found.items() if len(lent.donors) >= FEWEST_DONORS}


def _lent(law: AffineLaw, kind: Kind, extent: Extent, *, required: bool = False) -> Lent:
    """What runs lend to stages of a kind that go so far."""
    (longest, latest), ((model, cluster), previous) = extent, kind
    found = lent(law, Position(kind[0], previous, longest, 0))
    where = f"{cluster!r} after {previous[0]!r}" if previous else repr(cluster)
    what = "allow switches after fewer epochs (switch_epochs), or record longer runs"
    if required and len(found.donors) < FEWEST_DONORS:
        raise NotCoveredError(
            f"fewer than {FEWEST_DONORS} runs trained {model!r} on {where} for {longest} epochs, as "
            f"the policy may; {what}"
        )
    if required and int(found.starts.max()) < latest:
        raise NotCoveredError(
            f"outside the support of the traces: no run that trained {model!r} on {where} for "
            f"{longest} epochs, as the policy may, began with it after {latest} epochs or "
            f"more, as it also may; {what}"
        )
    return found
