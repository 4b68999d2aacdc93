"""A choice of data and a sequence, improved at their own exact prices until no move helps.

Near the sequence as it is, the quantile is additive to first order (`depl.heuristics.depl.labels`). On the
open sites two prices solve the relaxation (`depl.heuristics.depl.priced_sites`); sets of data that are better
at them join the listed ones, and sites are opened, closed and exchanged. Then come lightest paths at the
price of time and moves with exact costs (`depl.heuristics.depl.moves`). What the certified tail is off moves
the label; a plan counts only if it is certified. Without a frontier the listed sites are all there are.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.bounds.dual import Prices
from depl.heuristics.bounds.learning import Learning
from depl.heuristics.data.sites import DataFactors, Site, Sites, has_frontier
from depl.heuristics.depl.labels import Judge, Saddle
from depl.heuristics.depl.models import Candidate
from depl.heuristics.depl.moves import ChangePoints, DataAtPrices, Sequenced
from depl.heuristics.depl.priced_sites import Priced, Restricted
from depl.heuristics.paths.additive_labels import typical_deviation
from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.heuristics.paths.search import least_weight
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.epochs import FinalLoss
from depl.models.problem.instance import Instance
from depl.models.solving.limits import Limits

_MOST_MODELS = 10
"""Models kept, those of least reduced cost at the prices of the start. Set by hand: a lightest path takes
time in proportion to the square of their number; fewer may leave out a model of the best plan."""
_MOST_SITES = 80
"""Closed sites kept in a round, those of least bound first. Set by hand: each is one more neighbour to
evaluate, K M**2 operations, and the exchanges with it one more for each open site."""
_ROUNDS = 12
"""Rounds of new sets of data, moves of sites and a new label. Set by hand: rounds end earlier, once one
brings less than `_PROGRESS`; halved, a start that still improves is cut short."""
_EVALUATED = 24
"""Single moves of sites, those of least bound first, whose prices are solved anew until one helps. Set by
hand: each costs the cutting planes of one choice of sites; with fewer, a move that ranks low is missed."""
_WORTHWHILE, _PROGRESS = 2e-5, 1e-4
"""Relative falls of the dual that one change of sites, and a round, have to bring: twice the 1e-5 to which
the dual is solved (`depl.heuristics.bounds.dual.CLOSED`), so that no change is an effect of where
the cutting planes stopped, and five times that, set by hand, as a round takes much longer than a change."""
_KINDS = 16
"""Pairs of a site and a model among which the lightest path is sought, those of least reduced cost. Set by
hand: the labels grow with the square of their number; with fewer, the best sequence is more often not among
them."""
_LIGHTEST_GAP = 2e-4
"""Relative gap at which the search for the lightest path may stop. Set by hand: paths are weighed at one
price of time, while the moves of change points that follow use exact costs; a smaller gap takes more
labels."""
_MOST_LABELS = 400_000
"""Labels that one search for the lightest path may keep. Set by hand: a limit of time, as they take eight
bytes each; when it is reached, the best path so far is taken."""
_AIMS = 5
"""Sequences whose label is corrected by their own certified tail. Set by hand: the correction is of first
order, so each repeats the search with a smaller error, and the loop ends once a certified sequence comes
back."""
_FIRST_PLAN = 0.5
"""Share of the time after which data are as they are until there is a plan."""


@dataclass(frozen=True, eq=False)
class Start:
    """Where to begin: data of every cluster that may train, any prices of time and gain, and a final loss.

    The loss is that of a sequence whose quantile is not far from the target.
    """

    data: Mapping[int, frozenset[str]]
    prices: Prices
    loss: FinalLoss


@dataclass(frozen=True, eq=False)
class _Opened:
    """Sites of a `Restricted` that are open, and their relaxation."""

    restricted: Restricted
    chosen: list[int]
    best: Priced

    @property
    def sites(self) -> list[Site]:
        return [self.restricted.sites.sites[site] for site in self.chosen]


@dataclass(eq=False)
class Polish:
    """What all starts of one instance share."""

    instance: Instance
    learning: Learning
    factors: DataFactors
    judge: Judge
    limits: Limits
    _data: DataAtPrices | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Sets of data are made where they have a frontier."""
        self._cumulants = self.judge.cumulants
        if has_frontier(self.instance):
            self._data = DataAtPrices(self.instance, self.factors)

    def better(self, start: Start, listed: Sequence[Site], cutoff: float) -> Candidate | None:
        """The cheapest certified candidate that a start leads to, if it costs less than the cutoff.

        The listed sites may be opened besides those that are found on the way.
        """
        own = [Site(n, data) for n, data in sorted(start.data.items())]
        share = 1.0 if cutoff < math.inf else _FIRST_PLAN
        limit = self.limits.time_limit
        soon = replace(self.limits, time_limit=None if limit is None else share * limit)
        opened = self._begin(start, list(dict.fromkeys([*own, *listed])), own)
        if opened is None:
            return None
        for _ in range(_ROUNDS):
            before = opened.best.value
            opened = self._moved(self._with_new_sites(opened))
            if opened.best.value > before - _PROGRESS * abs(before) or soon.expired():
                break
            opened = self._relabelled(opened)
        if opened.best.value >= cutoff or opened.best.cut is None:
            return None
        return self._sequence(opened, cutoff)

    def _begin(self, start: Start, sites: list[Site], own: Sequence[Site]) -> _Opened | None:
        """The relaxation of the start with the few models that matter at its prices."""
        every = self._restricted(sites, tuple(range(len(self.instance.models))), self._known(start.loss)[0])
        prices = Prices(start.prices.time, start.prices.gain, 0.0)
        margins = every.margins(prices, range(len(sites))).min(axis=0)
        order = np.argsort(margins, kind="stable")
        models = tuple(sorted(m for m in order[:_MOST_MODELS].tolist() if math.isfinite(margins[m])))
        if not models:
            return None
        restricted = self._restricted(sites, models, *self._label(start.loss))
        chosen = [sites.index(site) for site in own]
        best = restricted.dual(chosen, prices)
        if best.cut is None:
            return None
        return self._relabelled(_Opened(restricted, chosen, best))

    def _restricted(
        self, sites: Sequence[Site], models: tuple[int, ...], rate: float, room: float = 0.0
    ) -> Restricted:
        listed = Sites.of(self.instance, sites, self.factors)
        time = self.instance.target.maximum_time
        return Restricted(self.learning, self._cumulants, listed, models, time, rate, room)

    def _with_label(self, restricted: Restricted, loss: FinalLoss) -> Restricted:
        rate, room = self._label(loss)
        return replace(restricted, rate=rate, room=room)

    def _known(self, loss: FinalLoss) -> tuple[float, float]:
        """Saddle point and quantile of a loss, nearly; where no saddle point is, the mean is the label."""
        deviation = typical_deviation(loss)
        if deviation == 0:
            return 1.0, loss.mean()
        budget = float(self.judge.budget)
        saddle = Saddle.of(self._cumulants, loss.terms, deviation, budget)
        if saddle is None:
            return 1e-6 / deviation, self.judge.reference(loss).quantile
        x, rate = saddle.at(budget)
        tail = self.judge.tail(loss)
        mean = loss.mean()
        if saddle.tails[-1] < tail < saddle.tails[0]:
            # the tail that is certified at l_max, where the approximation has it elsewhere
            return rate, self.judge.target.maximum_loss + x - saddle.at(tail)[0]
        return rate, mean + x

    def _label(self, loss: FinalLoss) -> tuple[float, float]:
        """The saddle point of a loss, and the room for which labels are exact there."""
        rate, quantile = self._known(loss)
        spread = float(self._cumulants.summed(loss.terms, np.array([rate]))[0]) / rate
        label = loss.mean() - self.learning.initial_loss + spread
        return rate, self.judge.target.maximum_loss - quantile + label

    def _loss(self, restricted: Restricted, models: NDArray[np.int64], sites: NDArray[np.int64]) -> FinalLoss:
        names = [restricted.models[m] for m in models.tolist()]
        return self.learning.loss(names, restricted.sites.factors[sites].tolist())

    def _relabelled(self, opened: _Opened) -> _Opened:
        """With the label of the sequence that is cheapest now."""
        cut, restricted = opened.best.cut, opened.restricted
        if cut is None:
            return opened
        loss = self._loss(restricted, cut.models, cut.sites)
        restricted = self._with_label(restricted, loss)
        best = restricted.dual(opened.chosen, opened.best.prices)
        return opened if best.cut is None else _Opened(restricted, opened.chosen, best)

    def _with_new_sites(self, opened: _Opened) -> _Opened:
        """The same with sets of data that are better at its prices, and without listed ones of little use."""
        cut, old = opened.best.cut, opened.restricted
        if self._data is None or cut is None:
            return opened
        values = dict(self._tried(opened, exchanged=False))
        useful = sorted(values, key=lambda sites: values[sites])
        added = (old.sites.sites[site] for sites in useful for site in sites if site not in opened.chosen)
        kept = list(dict.fromkeys(added))[:_MOST_SITES]
        found = self._data.better(old, opened.best.prices, cut)
        sites = list(dict.fromkeys([*opened.sites, *kept, *found]))
        restricted = self._restricted(sites, old.models, old.rate, old.room)
        chosen = [sites.index(site) for site in opened.sites]
        best = restricted.dual(chosen, opened.best.prices)
        return _Opened(restricted, chosen, best)

    def _tried(self, opened: _Opened, *, exchanged: bool = True) -> Iterator[tuple[tuple[int, ...], float]]:
        """What neighbouring choices of sites cost at least: what the prices of the best one prove."""
        restricted, prices = opened.restricted, opened.best.prices
        late = 0.0 if restricted.maximum_time is None else prices.time * restricted.maximum_time
        paid = late + prices.gain * restricted.room
        for value, sites in restricted.neighbours(prices, opened.chosen, exchanged=exchanged):
            yield tuple(sites), value - paid

    def _moved(self, opened: _Opened) -> _Opened:
        """Sites that no neighbouring choice improves on."""
        while not self.limits.expired():
            restricted, best = opened.restricted, opened.best
            most = best.value - _WORTHWHILE * abs(best.value)
            for sites in self._promising(opened, most):
                found = restricted.dual(sites, best.prices)
                if found.cut is not None and found.value < most:
                    opened = _Opened(restricted, sites, found)
                    break
            else:
                break
        return opened

    def _promising(self, opened: _Opened, most: float) -> Iterator[list[int]]:
        """Choices of sites that may cost less: where moves at fixed prices lead to, then single moves."""
        _, far = opened.restricted.opened(opened.best.prices, opened.chosen)
        yield far
        close = sorted((value, sites) for sites, value in self._tried(opened) if value < most)
        yield from (list(sites) for _, sites in close[:_EVALUATED])

    def _sequence(self, opened: _Opened, cutoff: float) -> Candidate | None:
        """The cheapest certified sequence on the open sites; the label is moved by what is left over."""
        opened = self._in_use(opened)
        restricted, cut = opened.restricted, opened.best.cut
        best: Candidate | None = None
        start: _Steps | None = None if cut is None else (cut.models, cut.sites)
        for _ in range(_AIMS):
            moves = ChangePoints(restricted, self.instance.target.round_deadline)
            found = self._settled(moves, opened, start)
            if found is None or found.cost >= cutoff * (1 + _WORTHWHILE):
                break
            loss = self._loss(restricted, found.models, found.sites)
            ends = bool(self.learning.may_end[restricted.models[int(found.models[-1])]])
            met = ends and self.judge.met(loss)
            if met and found.cost < cutoff:
                best, cutoff = self._candidate(restricted, found, loss), found.cost
            before, start = start, (found.models, found.sites)
            same = before is not None and all(map(np.array_equal, before, start))
            if (same and met) or self.limits.expired():
                break
            restricted = self._with_label(restricted, loss)
        return best

    def _in_use(self, opened: _Opened) -> _Opened:
        """Without open sites that nothing is trained on, if that is all the same."""
        if opened.best.cut is None:
            return opened
        used = [site for site in opened.chosen if opened.best.cut.uses[site]]
        best = opened.restricted.dual(used, opened.best.prices)
        if best.cut is None or best.value > opened.best.value * (1 + _WORTHWHILE):
            return opened
        return _Opened(opened.restricted, used, best)

    def _settled(
        self,
        moves: ChangePoints,
        opened: _Opened,
        start: "_Steps | None",
    ) -> Sequenced | None:
        """The cheapest sequence within the room, from a given start and from the lightest path."""
        tried = (None if start is None else moves.sequenced(*start), self._lightest(moves, opened))
        settled = (moves.settled(first) for first in tried if first is not None)
        return min((found for found in settled if found), key=lambda found: found.cost, default=None)

    def _lightest(self, moves: ChangePoints, opened: _Opened) -> Sequenced | None:
        """The lightest path within the room and in time, at the price of time."""
        restricted, prices = moves.restricted, opened.best.prices
        margins = restricted.margins(prices, opened.chosen)
        order = np.argsort(margins, axis=None, kind="stable")[:_KINDS]
        rows, models = np.unravel_index(order, margins.shape)
        sites = np.array(opened.chosen)[rows]
        epochs, names = restricted.epochs, np.array(restricted.models)[models]
        priced, fastest = restricted.sites.at(prices.time), restricted.sites.fastest
        weights = priced.psi[priced.rows_of(epochs)][:, names, sites]
        times = fastest[np.minimum(np.arange(epochs), len(fastest) - 1)][:, names, sites]
        switches = restricted.changes[np.append(models, len(restricted.models))][:, models]
        usable = np.isfinite(weights)[:, None] & np.isfinite(switches)[None]
        changes = np.where(np.isfinite(switches), switches, 0.0)
        limit = restricted.maximum_time
        problem = AdditiveProblem(
            models=tuple(str(g) for g in range(len(models))),
            weights=np.where(np.isfinite(weights), weights, 0.0),
            times=np.where(np.isfinite(times), times, 0.0),
            losses=restricted.runs[sites, :, models].T[:, None] + changes,
            allowed=usable,
            initial_loss=0.0,
            maximum_loss=restricted.room,
            maximum_time=math.inf if limit is None else limit * (1 + TIME_TOLERANCE),
        )
        limits = replace(self.limits, gap=_LIGHTEST_GAP, progress=None)
        path = least_weight(problem, limits, most_labels=_MOST_LABELS).path
        if path is None or not path.models:
            return None
        kinds = list(path.models)
        return moves.sequenced(models[kinds].astype(np.int64), sites[kinds])

    def _candidate(self, restricted: Restricted, found: Sequenced, loss: FinalLoss) -> Candidate:
        used = [restricted.sites.sites[site] for site in np.unique(found.sites).tolist()]
        return Candidate(
            {site.cluster: site.datasets for site in used},
            tuple(restricted.models[m] for m in found.models.tolist()),
            tuple(int(restricted.clusters[site]) for site in found.sites.tolist()),
            found.cost,
            loss,
        )


_Steps = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Models and sites of a sequence."""
