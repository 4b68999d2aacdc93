r"""A lower bound under the law that is counted, for policies that remember all that they have seen.

Under the law of a counted policy (`depl.models.policy.counted`) a run draws a donor whenever a stage begins,
and from then on its losses in that stage are decided. A policy decides from the losses so far. Losses are
real numbers, so those of the first epoch of a stage tell as a rule which donor was drawn; what no policy can
know is the donor of a stage that has not begun. Let therefore a policy be told every donor when it is drawn,
and what plans deviate by before the first epoch, and take the best of these. With the price lam of a failure
and the donor d of the present stage,

    V(node, l, d) = 0                 if l meets the target and the model may be the last, else the least of
        lam                                     to end the run,
        price + V(next, l', d)                  to go on with the stage,
        price + (1 - u) mean V(next, l'', d') + u lam        to begin another one, over its donors d',

where u is the share of runs unlike all seen. *Claim*: every policy whose stages of each kind last no longer
than those of a given one, and that is counted on the same donors, has C + lam F >= V(lam), the mean of V over
the donors of the first stage, with lam for those unlike all seen. *Proof*: by induction from the last epoch
backwards. Where such a policy stands it ends the run, which costs lam unless the target is met, or pays for
one more epoch. In the same stage the next loss is known. Where a stage begins, the donor is drawn
independently of all that is known, and whatever the policy learns of it is known here as well, so the mean
over donors of what it still pays is at least the mean of V; a donor unlike all seen fails by declaration,
which costs lam and what was paid. A policy that has less information, or draws lots, is one of these. ∎

For the promise F <= p, and every lam >= rho,

    C + rho F = C + lam F - (lam - rho) F >= V(lam) - (lam - rho) p,

a concave function of lam; its greatest value is looked for. Any lam gives a bound, so nothing rests on how
well it is found.

Where plans deviate by nothing, policies that can tell the donors apart attain V(rho), but for what runs
unlike all seen are declared to cost. So no bound for all policies counted on these donors can be much above
it: what is left of the gap is what memory is worth.

With three kinds of stages in a row, the mean over the donors of the third one is a function of the loss at
which it begins that never falls as the loss rises, as retentions are not negative. It is tabulated, and
looked up at the next lower loss of the table.

It is *no* bound of policies with longer or shorter stages: other runs lend to them, so they have another law.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from depl.models.evaluation.traced_lending import Lent
from depl.models.foundation.deadline import keep_time
from depl.models.policy.counted import lending
from depl.models.policy.grid import met
from depl.models.policy.process import Node, Process, Site, Training
from depl.models.policy.stages import Extent, Kind
from depl.models.problem.laws import FloatArray
from depl.models.problem.traced_law import TracedLaw

TABLE = 512
"""Losses at which the mean over the donors of a stage that is not the second is known: set by hand. Between
two of them it rises by less than the price of an epoch as a rule, in a few of the states."""

_GREATEST = 64.0
"""Greatest price of a failure that is looked at, in that of the objective: set by hand. On the real runs of
the case `closed-loop-counted` the best ones were below 16."""

_LOOKS = 16
"""Prices that are looked at: set by hand, an error of a hundredth in the best one's logarithm."""

_TOGETHER = 1_000_000
"""Pairs of a loss and a donor that are followed at once: set by hand, tens of megabytes."""

_ROUNDING = 1e-12
"""Relative lowering that covers the rounding of sums of some hundred thousand nonnegative values."""

_Switched = Callable[[Training, FloatArray], FloatArray]


def history_bound(
    process: Process, traced: TracedLaw, reach: Mapping[Kind, Extent], failure_cost: float, budget: float
) -> float:
    """A lower bound of C + rho F for all policies with F <= p that are counted on the same runs.

    Parameters
    ----------
    process : Process
        All that may be trained, of the proxy of the instance.
    reach : mapping of Kind to Extent
        How far the stages of these policies go, which decides on the runs that lend.
    failure_cost : float
        rho [cost].
    budget : float
        p = 1 - omega.

    Raises
    ------
    NotCoveredError
        If too few runs lend to a stage, or none that began it as late.
    """
    least, above = history_values(process, traced, reach), math.nextafter(budget, math.inf)

    def bound(price: float) -> float:
        return least(price) - (price - failure_cost) * above * (1 + _ROUNDING)

    return max(bound(failure_cost), _greatest(bound, failure_cost))


def history_values(
    process: Process, traced: TracedLaw, reach: Mapping[Kind, Extent]
) -> Callable[[float], float]:
    """V as a function of the price of a failure: a lower bound of C + lam F, whatever is promised.

    Raises
    ------
    NotCoveredError
        As `history_bound`.
    """
    if not reach:
        return lambda price: 0.0
    lent = lending(traced.law, reach)
    offsets = traced.deviations or (0.0,)
    told = [_Told(process, lent, reach, traced.diverged + 1, offset) for offset in offsets]
    return lambda price: math.fsum(item.least_cost(price) for item in told) / len(told) * (1 - _ROUNDING)


def _greatest(bound: Callable[[float], float], failure_cost: float) -> float:
    """About the greatest value of a concave function of the price of a failure, which is at least rho."""
    found = minimize_scalar(
        lambda power: -bound(failure_cost * 2.0**power),
        bounds=(0.0, math.log2(_GREATEST)),
        method="bounded",
        options={"maxiter": _LOOKS},
    )
    return -float(found.fun)


@dataclass(frozen=True)
class _Passages:
    """When pairs of a loss, at which a stage begins, and a donor meet the target first.

    Attributes
    ----------
    costs : float array (t,)
        Paid by then since the first epoch of the stage was [cost].
    shares : float array (n, t)
        Of the donors, by loss.
    """

    costs: FloatArray
    shares: FloatArray

    def mean(self, price: float) -> FloatArray:
        """What is still paid if the rest of the run is known, over all donors; shape (n,) [cost]."""
        never = np.maximum(0.0, 1.0 - self.shares.sum(axis=1))
        return np.asarray(self.shares @ np.minimum(self.costs, price) + never * price)


@dataclass(eq=False)
class _Told:
    """Policies that are told every donor when it is drawn, with one deviation of plans.

    Attributes
    ----------
    lent : mapping of Kind to Lent
    reach : mapping of Kind to Extent
        Of the stages of each kind; there are no others.
    unlike : int
        Runs unlike all seen, in each stage.
    offset : float
        What plans deviate by, on every loss after l(0) [loss].
    passages : dict
        By the node where a stage begins, and whether it follows the first one.
    tables : dict
        Means over the donors of a stage, at the losses of the table, by its first node and the price of a
        failure.
    """

    process: Process
    lent: Mapping[Kind, Lent]
    reach: Mapping[Kind, Extent]
    unlike: int
    offset: float
    passages: dict[tuple[int, bool], _Passages] = field(default_factory=dict)
    tables: dict[tuple[int, float], FloatArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.losses = np.linspace(self.process.lowest, self.process.highest, TABLE)
        self.kind: Kind = next(kind for kind in self.reach if kind[1] is None)

    def least_cost(self, price: float) -> float:
        """V, the least of C + price F."""
        lent = self.lent[self.kind]

        def switched(training: Training, losses: FloatArray) -> FloatArray:
            return self._begun(training, self.kind[0], losses, price, first=True)

        values = self._along(self._start(), self.kind, 0, lent.first_losses, lent, price, switched)
        unlike = self.unlike / (values.size + self.unlike)
        return unlike * price + (1 - unlike) * math.fsum(values) / values.size

    def _start(self) -> int:
        """The node at which runs begin whose first stage is that of the policy."""
        numbers = (start.node for start in self.process.starts)
        return next(number for number in numbers if self._same(self.process.nodes[number], self.kind))

    def _along(
        self,
        number: int,
        kind: Kind,
        age: int,
        losses: FloatArray,
        lent: Lent,
        price: float,
        switched: _Switched,
    ) -> FloatArray:
        """Least cost to go of runs that stand at a node of a stage and have known donors, the last axis."""
        value, going, paid = np.full(losses.shape, np.inf), np.ones(losses.shape, dtype=bool), 0.0
        while True:
            keep_time()
            node = self.process.nodes[number]
            reached = going & self._met(node, losses)
            np.minimum(value, paid, out=value, where=reached)
            going &= ~reached
            np.minimum(value, paid + price, out=value, where=going)
            for training in self._others(node, kind):
                np.minimum(value, paid + switched(training, losses), out=value, where=going)
            same = self._same(node, kind)
            if same is None or age == self.reach[kind].longest:
                return value
            losses = _after(losses, same, lent.residuals[:, age])
            number, paid, age = same.following, paid + same.price, age + 1

    def _begun(
        self, training: Training, before: Site, losses: FloatArray, price: float, *, first: bool
    ) -> FloatArray:
        """Least cost to go of runs that begin a stage, by the loss before it; shape (n,)."""
        kind = _site(training), before
        lent = self.lent[kind]
        if self._is_last(training.following, kind):
            key = training.following, first
            if key not in self.passages:
                self.passages[key] = self._passages(training, kind, losses)
            mean = self.passages[key].mean(price)
        else:
            mean = np.concatenate(
                [self._known(training, kind, part, price).mean(axis=1) for part in _parts(losses, lent)]
            )
        unlike = self.unlike / (len(lent.donors) + self.unlike)
        return np.asarray(training.price + (1 - unlike) * mean + unlike * price)

    def _known(self, training: Training, kind: Kind, losses: FloatArray, price: float) -> FloatArray:
        """After the first epoch of a stage, by the loss before it and the donor."""

        def switched(further: Training, reached: FloatArray) -> FloatArray:
            return self._looked_up(further, kind[0], reached, price)

        lent = self.lent[kind]
        after = _after(losses[:, None], training, lent.residuals[:, 0])
        return self._along(training.following, kind, 1, after, lent, price, switched)

    def _looked_up(self, training: Training, before: Site, losses: FloatArray, price: float) -> FloatArray:
        """A lower bound of `_begun` at any losses; below the table nothing but the first epoch is paid."""
        key = training.following, price
        if key not in self.tables:
            rest = self._begun(training, before, self.losses, price, first=False) - training.price
            self.tables[key] = np.concatenate([[0.0], rest])
        places = np.searchsorted(self.losses, losses, side="right")
        return np.asarray(training.price + self.tables[key][places])

    def _passages(self, training: Training, kind: Kind, losses: FloatArray) -> _Passages:
        """Of the last stage of a run, in which nothing but its end is left to decide."""
        lent = self.lent[kind]
        parts = [self._passages_of(training, kind, part) for part in _parts(losses, lent)]
        shares = np.concatenate([shares for _, shares in parts]) / len(lent.donors)
        return _Passages(np.array(parts[0][0]), shares)

    def _passages_of(
        self, training: Training, kind: Kind, losses: FloatArray
    ) -> tuple[list[float], FloatArray]:
        """What is paid by each epoch of a stage, and how many donors meet the target first in it, by loss."""
        residuals, costs, counts = self.lent[kind].residuals, [0.0], []
        left = _after(losses[:, None], training, residuals[:, 0])
        number, going = training.following, np.ones(left.shape, dtype=bool)
        while True:
            keep_time()
            node = self.process.nodes[number]
            reached = going & self._met(node, left)
            counts.append(reached.sum(axis=1))
            going &= ~reached
            same = self._same(node, kind)
            if same is None or len(costs) == self.reach[kind].longest:
                return costs, np.column_stack(counts)
            left = _after(left, same, residuals[:, len(costs)])
            costs.append(costs[-1] + same.price)
            number = same.following

    def _is_last(self, number: int, kind: Kind) -> bool:
        """Whether no other stage may follow one that begins at a node."""
        for age in range(1, self.reach[kind].longest + 1):
            node = self.process.nodes[number]
            if any(True for _ in self._others(node, kind)):
                return False
            same = self._same(node, kind)
            if same is None or age == self.reach[kind].longest:
                break
            number = same.following
        return True

    def _others(self, node: Node, kind: Kind) -> Iterator[Training]:
        """Trainings at a node with which a stage of another kind begins, no later than that of some donor."""
        for training in node.trainings:
            lent = self.lent.get((_site(training), kind[0]))
            if lent is not None and node.epoch and node.epoch <= int(lent.starts.max()):
                yield training

    def _same(self, node: Node, kind: Kind) -> Training | None:
        """The training with which the stage goes on."""
        return next((item for item in node.trainings if _site(item) == kind[0]), None)

    def _met(self, node: Node, losses: FloatArray) -> NDArray[np.bool_]:
        return met(losses + (self.offset if node.epoch else 0.0), self.process.limit) & node.may_stop


def _parts(losses: FloatArray, lent: Lent) -> list[FloatArray]:
    """Losses in parts, of which each makes few pairs with the donors."""
    many = max(1, _TOGETHER // max(1, len(lent.donors)))
    return [losses[place : place + many] for place in range(0, losses.size, many)]


def _after(losses: FloatArray, training: Training, residuals: FloatArray) -> FloatArray:
    return np.asarray(training.kernel.shift + training.kernel.retention * losses + residuals)


def _site(training: Training) -> Site:
    return training.model, training.cluster
