"""Tiny watched runs, solved on the tree of all their losses in exact fractions; used by tests only.

Nothing of `depl.models.policy` or the verifier is called. A `Tree` lists what may be trained at each mode and
how the loss moves then. Expected cost and failure of policies that are best at some price are put together
from the end on. A policy from a file is followed loss by loss, by `Counting` over all combinations of runs.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from depl.models.problem.laws import Deterministic, Empirical, Forbidden, Zero
from depl.models.problem.learning import ConstantImprovement
from tests.oracles.traced_law import FEWEST, Oracle, Place, Section, Trained, regressor

Point = tuple[Fraction, Fraction]
"""Expected cost, and probability that the target is not reached."""


def hull(points):
    """The points that are best at some price of a failure, from the cheapest on."""
    found = []
    for cost, failure in sorted(set(points)):
        if found and failure >= found[-1][1]:
            continue
        while len(found) > 1:
            (a, b), (c, d) = found[-2:]
            if (c - a) * (failure - b) > (d - b) * (cost - a):
                break
            found.pop()  # on the line between its neighbours, or above it
        found.append((cost, failure))
    return found


Kept = Callable[[Iterable[Point]], Collection[Point]]
"""What is kept of the policies from somewhere on: `hull`, or ``set`` for all of them."""


def mixed(rows, kept):
    """All means of one point of every row, with the probabilities of the rows."""
    found = [(Fraction(0), Fraction(0))]
    for share, points in rows:
        found = kept((cost + share * c, failure + share * f) for cost, failure in found for c, f in points)
    return found


MET = Fraction(1, 10**9)
"""By how much a loss may exceed the target and meets it."""

EDGE = 1e-6


def exact(number):
    """The decimal that was written."""
    return Fraction(repr(float(number)))


class Move(NamedTuple):
    """One more epoch: l' = shift + retention l + e, e among atoms with these probabilities."""

    label: tuple[str, str]
    price: Fraction
    shift: Fraction
    retention: Fraction
    atoms: tuple[tuple[Fraction, Fraction], ...]
    mode: Hashable


class State(NamedTuple):
    epoch: int
    mode: Hashable
    loss: Fraction


class Beginning(NamedTuple):
    """A first mode, and l(0) with its probabilities."""

    mode: Hashable
    losses: Mapping[Fraction, Fraction]


@dataclass
class Tree:
    """All that can happen.

    ``moves`` gives what may be trained after so many epochs at a mode, ``may_stop`` whether stopping there,
    with a loss low enough, reaches the target."""

    starts: Sequence[Beginning]
    limit: Fraction
    epochs: int
    moves: Callable[[int, Hashable], list[Move]]
    may_stop: Callable[[Hashable], bool]
    abandon_at_start: bool = False
    kept: Kept = hull
    _points: dict[State, Collection[Point]] = field(default_factory=dict)

    def met(self, state):
        return self.may_stop(state.mode) and state.loss <= self.limit + MET

    def options(self, state):
        if state.epoch == self.epochs or self.met(state):
            return []
        return self.moves(state.epoch, state.mode)

    def may_quit(self, state):
        return self.met(state) or self.abandon_at_start or state.epoch > 0 or not self.options(state)

    def after(self, state, move):
        mean = move.shift + move.retention * state.loss
        return [(share, State(state.epoch + 1, move.mode, mean + e)) for e, share in move.atoms]

    def ended(self, state):
        return Fraction(0), Fraction(0 if self.met(state) else 1)

    # -- all policies ------------------------------------------------------------------------------------

    def points(self, state):
        """C and F of the policies from a state on."""
        if state not in self._points:
            found = [self.ended(state)] if self.may_quit(state) else []
            for move in self.options(state):
                rows = ((share, self.points(following)) for share, following in self.after(state, move))
                found += [(move.price + cost, failure) for cost, failure in mixed(rows, self.kept)]
            self._points[state] = self.kept(found)
        return self._points[state]

    def begun(self, start):
        """C and F of the policies that begin so."""
        rows = ((share, self.points(State(0, start.mode, loss))) for loss, share in start.losses.items())
        return mixed(rows, self.kept)

    def policies(self):
        """C and F of the policies."""
        return self.kept(point for start in self.starts for point in self.begun(start))

    def least_failure(self):
        return min(failure for _, failure in self.policies())

    def best(self, rho, budget):
        """min C + rho F over draws among policies with F <= budget, of which two are enough; or None."""
        points = self.policies()
        keeping = [point for point in points if point[1] <= budget]
        values = [cost + rho * failure for cost, failure in keeping]
        for low, high in itertools.product(keeping, [point for point in points if point[1] > budget]):
            share = (budget - low[1]) / (high[1] - low[1])
            values.append((1 - share) * low[0] + share * high[0] + rho * budget)
        return min(values, default=None)

    def ratio(self):
        """inf C / (P - P0), which is at a corner of all policies; None if nothing is gained by training."""
        found = []
        for start in self.starts:
            missed = self._mean(start, self.ended)[1]
            found += [cost / (missed - failure) for cost, failure in self.begun(start) if failure < missed]
        return min(found, default=None)

    def _mean(self, start, of):
        (point,) = mixed(
            ((share, [of(State(0, start.mode, loss))]) for loss, share in start.losses.items()), set
        )
        return point

    # -- a policy from a file ----------------------------------------------------------------------------

    def followed(self, policy, start=None):
        """C and F of a policy that is followed on the losses of this tree, its ledger carried along."""
        grid, chosen = policy.grid, self.starts[0] if start is None else start
        known = {}

        def up(number):
            return math.ceil(number / grid.step - EDGE)

        def go(node_number, index, state):
            key = node_number, index, state
            if key not in known:
                known[key] = step(node_number, index, state)
            return known[key]

        def step(node_number, index, state):
            node = policy.nodes[node_number]
            if self.met(state) or index >= grid.cells:
                return self.ended(state)
            action = next(row.action for row in node.rows if index <= row.upto)
            if action == -1:
                assert not (node.may_stop and index <= grid.target), "the ledger is met, the loss is not"
                return self.ended(state)
            told = node.trainings[action]
            move = next(
                item
                for item in self.moves(state.epoch, state.mode)
                if item.label == (told.model, told.cluster)
            )
            cost, failure = move.price, Fraction(0)
            for share, following in self.after(state, move):
                noise = float(following.loss) - (told.shift + told.retention * float(state.loss))
                image = told.shift + told.retention * (grid.origin + index * grid.step) - grid.origin
                own = go(told.following, max(0, up(image) + up(noise)), following)
                cost, failure = cost + share * own[0], failure + share * own[1]
            return cost, failure

        def begin(state):
            return go(policy.start, max(0, up(float(state.loss) - grid.origin)), state)

        return self._mean(chosen, begin)


def tree_of(instance, *, abandon_at_start=False):
    """The tree of an instance with one cluster, constant improvements with atoms, and a round deadline."""
    (cluster,) = instance.clusters
    target = instance.target
    assert instance.data_law is None
    assert target.round_deadline is not None
    assert not instance.transfers
    prices = {model.name: _least_price(instance, model.name, cluster.name) for model in instance.models}
    laws = {(row.previous, row.following): row.law for row in instance.switches}

    def atoms_of(law, sign):
        if isinstance(law, Zero | Deterministic):
            return [(sign * exact(getattr(law, "value", 0)), Fraction(1))]
        assert isinstance(law, Empirical)
        weights = [exact(w) for w in law.weights] if law.weights else [Fraction(1)] * len(law.values)
        return [(sign * exact(x), w / sum(weights)) for x, w in zip(law.values, weights, strict=True)]

    def moves(epoch, mode):
        before = target.initial_model if mode is None else mode
        found = []
        for model in instance.models:
            shape = model.improvement
            assert isinstance(shape, ConstantImprovement)
            parts = [[(exact(shape.scale) * x, w) for x, w in atoms_of(shape.noise, -1)]]
            if before not in (None, model.name):
                law = laws.get((str(before), model.name), instance.other_switches)
                if isinstance(law, Forbidden):
                    continue
                parts.append(atoms_of(law, 1))
            together = Counter[Fraction]()
            for chosen in itertools.product(*parts):
                values, weights = zip(*chosen, strict=True)
                together[sum(values)] += math.prod(weights)
            label, atoms = (model.name, cluster.name), tuple(together.items())
            found.append(Move(label, prices[model.name], Fraction(0), Fraction(1), atoms, model.name))
        return found

    def may_stop(mode):
        model = target.initial_model if mode is None else mode
        return target.deployable is None or model in target.deployable

    start = Beginning(None, {exact(target.initial_loss): Fraction(1)})
    return Tree([start], exact(target.maximum_loss), target.maximum_epochs, moves, may_stop, abandon_at_start)


class _Mode(NamedTuple):
    """Under a traced law: where the last epoch stood, what the first has to be, and clusters with data."""

    place: Place | None
    first: Trained
    opened: frozenset[str]


def traced_tree_of(instance, *, abandon_at_start=False):
    """The tree of an instance with a traced law of independent residuals, and a round deadline."""
    law, target = instance.traced_law, instance.target
    assert law.residuals == "independent"
    oracle, known = Oracle(law), {}
    prices = {
        (model.name, cluster.name): _least_price(instance, model.name, cluster.name)
        for model in instance.models
        for cluster in instance.clusters
    }
    moved = {row.cluster: exact(row.cost) for row in instance.transfers}

    def atoms_at(place):
        """Residuals and probabilities of an epoch; None outside the support."""
        if place not in known:
            part = Section(place.trained, place.previous, place.start, place.age)
            inside = oracle.row(place) is not None and oracle._in_hull(part)
            if inside and len(oracle.donors(part)) >= FEWEST:
                known[place] = _equally_likely(oracle.residuals(place).tolist())
            else:
                known[place] = None
        return known[place]

    def moves(epoch, mode):
        found = []
        for label, price in prices.items():
            if price is None or (epoch == 0 and label != mode.first):
                continue
            place = _next_place(mode.place, label)
            atoms = atoms_at(place)
            if atoms is None:
                continue
            row = oracle.row(place)
            shift = Fraction(row.intercept + row.slope * regressor(place.start))
            paid = price + (moved.get(label[1], Fraction(0)) if label[1] not in mode.opened else 0)
            after = _Mode(place, mode.first, mode.opened | {label[1]})
            found.append(Move(label, paid, shift, Fraction(row.retention), tuple(atoms), after))
        return found

    starts = []
    for label, price in prices.items():
        if price is not None and atoms_at(_next_place(None, label)) is not None:
            losses = _equally_likely(oracle.first_losses(label).tolist())
            starts.append(Beginning(_Mode(None, label, frozenset()), dict(losses)))
    limit = Fraction(math.log(target.maximum_loss) if law.scale == "log" else target.maximum_loss)

    def may_stop(mode):
        last = None if mode.place is None else mode.place.trained[0]
        return target.deployable is None or last in target.deployable

    return Tree(starts, limit, target.maximum_epochs, moves, may_stop, abandon_at_start)


def _next_place(last, trained):
    if last is None:
        return Place(trained, None, 1, 0)
    if last.trained == trained:
        return last._replace(age=last.age + 1)
    return Place(trained, last.trained, 1, last.start + last.age)


def _equally_likely(values):
    counts = Counter(map(Fraction, values))
    return [(value, Fraction(count, len(values))) for value, count in counts.items()]


def _least_price(instance, model_name, cluster_name):
    """Of an epoch at its least resources; None if it is late."""
    model = next(item for item in instance.models if item.name == model_name)
    cluster = next(item for item in instance.clusters if item.name == cluster_name)
    volume = sum(exact(row.volume if row.work is None else row.work) for row in instance.datasets)
    work = exact(model.demand) * volume / cluster.nodes
    left = exact(instance.target.round_deadline or 0) - exact(model.size) / exact(cluster.bandwidth)
    if left <= 0 or work / left > exact(cluster.capacity):
        return None
    return exact(cluster.unit_cost) * cluster.nodes * work / left


# -- whole runs ------------------------------------------------------------------------------------------


class _Donor(NamedTuple):
    first: float
    residuals: list[float]


class Counting:
    """Expected cost and P(reached) under whole runs, summed up combination by combination.

    Every stage draws a donor of its own among the runs that trained the longest such stage of the policy,
    which lends its residuals; one more run per stage, and one per diverged run, fails at the greatest cost
    left. What plans deviate by is added to every loss after l(0).
    """

    def __init__(self, policy, law):
        self.policy, self.oracle, self.unlike = policy, Oracle(law), 1 + law.diverged
        self.places = self._all_places()
        longest = {}
        for place in self.places.values():
            kind = place.trained, place.previous
            longest[kind] = max(longest.get(kind, 0), place.age)
        self.donors = {kind: self._lending(kind, age) for kind, age in longest.items()}
        self.cost, self.reached = Fraction(0), Fraction(0)
        for offset in law.deviations or (0.0,):
            self._begin(offset, Fraction(1, max(1, len(law.deviations))))

    def _all_places(self):
        """Where the nodes after epoch 0 stand; those of later epochs stand behind."""
        found = {}
        for number, node in enumerate(self.policy.nodes):
            for training in node.trainings:
                pair, now = (training.model, training.cluster), found.get(number)
                if now is not None and now.trained == pair:
                    found[training.following] = now._replace(age=now.age + 1)
                else:
                    before = None if now is None else now.trained
                    found[training.following] = Place(pair, before, 1, node.epoch)
        return found

    def _lending(self, kind, length):
        stage = Section(kind[0], kind[1], 0, length)
        rows = zip(self.oracle.donors(stage), self.oracle.lending(stage).tolist(), strict=True)
        return [_Donor(self.oracle.losses[run][0], residuals) for (run, _), residuals in rows]

    def _begin(self, offset, weight):
        start = self.policy.start
        first = self.policy.nodes[start].trainings[0]
        donors = self.donors[(first.model, first.cluster), None]
        weight /= len(donors) + self.unlike
        self.cost += self.unlike * weight * self._worst(start)
        for donor in donors:
            self._go(start, donor.first, offset, donor, weight)

    def _go(self, number, loss, offset, donor, weight):
        node, grid = self.policy.nodes[number], self.policy.grid
        seen = loss + (offset if node.epoch else 0.0)
        if node.may_stop and seen <= grid.limit + 1e-9:
            self.reached += weight
            return
        index = max(0, math.ceil((seen - grid.origin) / grid.step - 1e-6))
        if index >= grid.cells:
            return
        action = next(row.action for row in node.rows if index <= row.upto)
        if action == -1:
            return
        told = node.trainings[action]
        self.cost += weight * Fraction(told.price)
        place = self.places[told.following]
        row = self.oracle.row(place)
        mean = row.intercept + row.slope * regressor(place.start) + row.retention * loss
        if place.age > 1 or place.previous is None:
            self._go(told.following, mean + donor.residuals[place.age - 1], offset, donor, weight)
            return
        others = self.donors[place.trained, place.previous]
        share = weight / (len(others) + self.unlike)
        self.cost += self.unlike * share * self._worst(told.following)
        for other in others:
            self._go(told.following, mean + other.residuals[0], offset, other, share)

    def _worst(self, number):
        """The greatest cost that a run can still have."""
        trainings = self.policy.nodes[number].trainings
        return max(
            (Fraction(item.price) + self._worst(item.following) for item in trainings), default=Fraction(0)
        )
