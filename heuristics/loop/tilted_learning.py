r"""What epochs learn under an exponential tilt: tables by law, one `Tilt` for every class of plans.

At a rate s every plan has a divergence H(s) = KL(Q_s | P), a sum over its increments, which rises with s. Let
s_1 < ... < s_J be rates in the ratio r, and h > 0. A plan with H(s_1) < h <= H(s_J) has a first j with
H(s_j) >= h. Because H(r u) <= r**2 H(u) for every run (the variance under the tilt falls in u), H(s_j) < rho h
with rho = r**2, or more where a switch asks for it. So all plans are divided into

- class j: h <= H(s_j) <= rho h, looked at with the rate s_j, near their own saddle point;
- the plans with H(s_J) < h, of next to no variance;
- none with H(s_1) > h, if s_1 is small enough for the largest H.
"""

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from depl.heuristics.loop.learning import Learning
from depl.heuristics.loop.requirement import Requirement, VarianceRange, fall_of
from depl.models.epochs import NoiseLaw, Term
from depl.models.laws import FloatArray, Normal
from depl.models.problem import Instance
from depl.models.risk.tilted_bound import furthest, tilted_margins
from depl.models.risk.tilted_laws import STEP, Extent, TiltedSwitch, TiltedTable, covers, unit_of

_STEPS = 20
"""Nodes of a table from one rate to the next: r = e**0.2."""

_LEAST_SPREAD = 5e-4
_MOST_TABLES = 400
_LEAST_SCORE = 0.7
_PIECES, _PARTS = 2, 16


@dataclass(frozen=True, eq=False)
class Tilt:
    """A class of plans, and all increments under its tilt.

    Attributes
    ----------
    rate : float
        s [1 / loss].
    requirement : Requirement
        What the plans of the class gain at least under the tilt; H takes the place of the variance.
    places : ndarray
        Columns of the tables at h = 1, shape (K, M).
    switch_losses, switch_divergences : ndarray
        Shape (M + 1, M) [loss], [1].
    """

    rate: float
    requirement: Requirement
    places: FloatArray
    switch_losses: FloatArray
    switch_divergences: FloatArray


@dataclass(eq=False)
class TiltedLearning:
    """Tables of all laws of an instance.

    Parameters
    ----------
    instance : Instance
    learning : Learning
    least_factor : float
        Least positive h that occurs.

    Attributes
    ----------
    rates : list of float
        Rising.
    rows : int array (K, M)
        Table of every epoch and model; the last one, of zeros, for epochs without randomness.
    lost, low, high : ndarray
        D and H at the nodes of all tables, one row each (`depl.models.risk.tilted_laws.TiltedTable`).
    """

    instance: Instance
    learning: Learning
    least_factor: float
    rates: list[float] = field(init=False)
    rows: NDArray[np.int64] = field(init=False)
    lost: FloatArray = field(init=False)
    low: FloatArray = field(init=False)
    high: FloatArray = field(init=False)

    @staticmethod
    def covers(instance: Instance, learning: Learning) -> bool:
        """Whether every run follows a law of `depl.models.risk.tilted_laws`, and some are random."""
        terms = {term for row in learning.runs for step in row for term in step.terms}
        known = all(covers(t.law) and (t.coefficient < 0 or isinstance(t.law, Normal)) for t in terms)
        return known and 0 < len({term.law for term in terms}) <= _MOST_TABLES and fall_of(instance) > 0

    def __post_init__(self) -> None:
        """Find the rates that matter and tabulate the laws for them."""
        budget = float(self.instance.target.violation_budget)
        self._goal = max(float(-special.ndtri(budget)), _LEAST_SCORE) ** 2 / 2
        changes = [step for row in self.learning.switches for step in row if step is not None]
        self._changes = list(dict.fromkeys(itertools.chain.from_iterable(step.terms for step in changes)))
        laws = self._read_runs()
        greatest = math.sqrt(2 * self._goal) / (_LEAST_SPREAD * fall_of(self.instance))
        first = self._surely_least(laws)
        self._tabulate(laws, first, greatest)
        self.rates = self._rates(first, greatest)

    def tilts(self) -> list[Tilt]:
        """All classes, those of much variance first."""
        found = []
        for before, rate in itertools.pairwise(self.rates):
            growth = max([math.exp(2 * STEP * _STEPS), *self._switch_growth(before, rate)])
            found.append(self._tilt(rate, np.geomspace(1.0, growth, _PIECES * _PARTS + 1) * self._goal))
        return [*found, self._tilt(self.rates[-1], np.linspace(0.0, self._goal, _PIECES * _PARTS + 1))]

    def penalties(self, lost_price: float, divergence_price: float) -> FloatArray:
        """lost_price D + divergence_price H at all nodes, from below; falls nowhere to the left."""
        h = self.low if divergence_price >= 0 else self.high
        values = lost_price * self.lost + divergence_price * h
        values[:, 0] = np.minimum(values[:, 0], np.minimum(divergence_price * h[:, 0], 0.0))
        return np.asarray(np.minimum.accumulate(values[:, ::-1], axis=1)[:, ::-1])

    def read(self, table: FloatArray, rows: NDArray[np.int64], places: FloatArray) -> FloatArray:
        """Values of a table at some columns, as the kernel reads them."""
        places = np.maximum(places, 0.0)
        columns = np.minimum(places.astype(np.int64), table.shape[1] - 2)
        share = places - columns
        return np.asarray(table[rows, columns] * (1 - share) + table[rows, columns + 1] * share)

    def _tilt(self, rate: float, ends: FloatArray) -> Tilt:
        switches = {term: TiltedSwitch.of(term, rate) for term in self._changes}
        extent = self._extent(rate, list(switches.values()), ends)
        ranges = []
        for first in range(0, len(ends) - 1, _PARTS):
            piece = ends[first : first + _PARTS + 1]
            budget = float(self.instance.target.violation_budget)
            low, high = (value / rate for value in tilted_margins(budget, piece, extent).line())
            ranges.append(VarianceRange(float(piece[0]), float(piece[-1]), low, high))
        return Tilt(
            rate,
            Requirement(fall_of(self.instance), tuple(ranges)),
            (self._logarithms + math.log(rate) - self._starts[self.rows]) / STEP,
            *self._switch_tables(switches),
        )

    def _extent(self, rate: float, switches: Sequence[TiltedSwitch], ends: FloatArray) -> Extent:
        """Of all increments under a tilt, with Y and the decay beyond it."""
        shift = math.log(rate)
        spans = [(low + shift, high + shift) for low, high in self._spans]
        tables = list(zip(self._tables, spans, strict=True))
        parts = [table.extent(*span) for table, span in tables] + [item.extent() for item in switches]
        extent = functools.reduce(Extent.joined, parts)
        longest = furthest(extent, max(ends[0], ends[_PARTS]) if ends[0] == 0 else ends[0], ends[-1])
        decays = [table.decay(*span, longest) for table, span in tables]
        decays += [item.decay(longest) for item in switches]
        return replace(extent, widest=longest, decay=max(0.0, min(decays)))

    def _read_runs(self) -> list[NoiseLaw]:
        """Table and scale of every epoch and model."""
        shape = self.learning.gains.shape
        self.rows, self._logarithms = np.full(shape, -1, dtype=np.int64), np.full(shape, -math.inf)
        position: dict[NoiseLaw, int] = {}
        for k, m in np.ndindex(*shape):
            for term in self.learning.runs[k][m].terms:
                self.rows[k, m] = position.setdefault(term.law, len(position))
                self._logarithms[k, m] = math.log(abs(term.coefficient) * unit_of(term.law))
        self.rows[self.rows < 0] = len(position)
        self._spans = []
        for index in range(len(position)):
            own = self._logarithms[self.rows == index]
            self._spans.append((float(own.min()) + math.log(self.least_factor), float(own.max())))
        return list(position)

    def _surely_least(self, laws: Sequence[NoiseLaw]) -> float:
        """A rate at which all runs together have less than H = h: H(u) <= u, for normal laws u**2 / 2."""
        scales = np.exp(self._logarithms)
        normal = np.array([*(isinstance(law, Normal) for law in laws), False])[self.rows]
        straight = float(np.where(normal, 0.0, scales).max(axis=1).sum())
        squares = float(np.where(normal, scales**2, 0.0).max(axis=1).sum())
        rates = [self._goal / (4 * straight)] if straight else []
        return min([*rates, math.sqrt(self._goal / squares)] if squares else rates)

    def _tabulate(self, laws: Sequence[NoiseLaw], least: float, greatest: float) -> None:
        """One table for each law, over all rates and factors that may occur."""
        ends = math.log(least) - 2 * STEP * _STEPS, math.log(max(greatest, least)) + 2 * STEP * _STEPS
        self._tables = [
            TiltedTable.of(law, low + ends[0], high + ends[1])
            for law, (low, high) in zip(laws, self._spans, strict=True)
        ]
        count = max(len(table.low) for table in self._tables)
        self._starts = np.array([*(table.start for table in self._tables), 0.0])
        self.lost, self.low, self.high = np.zeros((3, len(laws) + 1, count))
        for index, table in enumerate(self._tables):
            for target, values in (
                (self.lost, table.lost_low),
                (self.low, table.low),
                (self.high, table.high),
            ):
                target[index] = np.pad(values, (0, count - len(values)), mode="edge")

    def _rates(self, first: float, greatest: float) -> list[float]:
        """From the greatest down to one at which no plan has H = h."""
        rates = [max(greatest, first)]
        while rates[-1] > first and self._largest(rates[-1]) > self._goal:
            rates.append(rates[-1] * math.exp(-STEP * _STEPS))
        while self._largest(rates[-1]) > self._goal:  # switches alone
            rates.append(rates[-1] * math.exp(-STEP * _STEPS))
        return rates[::-1]

    def _largest(self, rate: float) -> float:
        """At least H of every plan at a rate."""
        places = (self._logarithms + math.log(rate) - self._starts[self.rows]) / STEP
        runs = self.read(self.high, self.rows, places).max(axis=1).sum()
        switches = max((TiltedSwitch.of(term, rate).divergence for term in self._changes), default=0.0)
        return float(runs) + len(self.rows) * switches

    def _switch_growth(self, before: float, rate: float) -> list[float]:
        pairs = [(TiltedSwitch.of(term, before), TiltedSwitch.of(term, rate)) for term in self._changes]
        return [b.divergence / a.divergence for a, b in pairs if b.divergence > 0]

    def _switch_tables(self, switches: Mapping[Term, TiltedSwitch]) -> tuple[FloatArray, FloatArray]:
        """Mean losses under the tilt and divergences of all switches, shape (M + 1, M)."""
        losses, divergences = self.learning.switch_losses.copy(), np.zeros_like(self.learning.switch_losses)
        for p, row in enumerate(self.learning.switches):
            for m, step in enumerate(row):
                if step is not None and step.terms:
                    tilted = [switches[term] for term in step.terms]
                    losses[p, m] = step.shift + math.fsum(item.loss for item in tilted)
                    divergences[p, m] = math.fsum(item.divergence for item in tilted)
        return losses, divergences
