"""Labels of gains at the nodes of a contour, and their sums as if rounded once."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from depl.models.problem.epochs import Term
from depl.models.problem.laws.log_variable import EPSILON, ComplexArray, FloatArray


@dataclass(frozen=True)
class Labels:
    """Additive labels of n gains at the J nodes of one contour; every field is summed over epochs."""

    transform: ComplexArray  # (n, J): log E exp(-s_j Y)
    rounding: FloatArray  # (n, J): Bound of the absolute error of ``transform``
    # (n, 2): Log-modulus at the last two nodes of the factors that decay, bounded below at the first and
    # above at the second; value at t = 0 of the others.
    envelope: FloatArray
    tilted: FloatArray  # (n,): log E exp(-c' Y)
    # (n,): E G, a bound of the error of its summands, and Var G of its finite part.
    mean: FloatArray
    mean_rounding: FloatArray
    variance: FloatArray
    infimum: FloatArray  # (n,): Sum of the finite essential infima of the increments
    # (n,): How many increments have no variance, or no finite infimum.
    infinite_variance: FloatArray
    unbounded: FloatArray

    def __len__(self) -> int:
        """Number of gains."""
        return len(self.tilted)

    def combine(self, counts: NDArray[np.integer] | FloatArray) -> "Labels":
        """Labels of the sums that use row i ``counts[p, i]`` times, shape (p, ...)."""
        weights = np.asarray(counts, dtype=float)
        return LabelSums(self, float(np.abs(weights).sum(axis=1).max(initial=0.0))).combine(weights)

    def __getitem__(self, index: slice | NDArray[np.intp] | NDArray[np.bool_]) -> "Labels":
        """Labels of a selection of the gains."""
        return Labels(*(getattr(self, field.name)[index] for field in fields(self)))

    def followed_by(self, other: "Labels") -> "Labels":
        """Labels of these gains and of others at the same nodes."""
        pairs = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return Labels(*(np.concatenate(pair) for pair in pairs))


class LabelSums:
    """Rows of labels, prepared for sums of up to ``most`` of them.

    Transforms and means are split as `coarse_part` says, so that their sums are as if rounded once.

    Parameters
    ----------
    labels : `depl.models.risk.labels.Labels` of n gains
    most : float
        Sum of the multiplicities of any one sum, at most.
    """

    def __init__(self, labels: Labels, most: float) -> None:
        exact = np.column_stack([np.ascontiguousarray(labels.transform).view(float), labels.mean])
        coarse = coarse_part(exact, most)
        names = [field.name for field in fields(Labels) if field.name not in ("transform", "mean")]
        plain = [getattr(labels, name).reshape(len(labels), -1) for name in names]
        self.most = most
        self._width, ends = exact.shape[1], 2 * exact.shape[1]
        self._table = np.hstack([coarse, exact - coarse, *plain])
        self._places: dict[str, int | slice] = {}
        for name, part in zip(names, plain, strict=True):
            one = name not in ("rounding", "envelope")
            self._places[name] = ends if one else slice(ends, ends + part.shape[1])
            ends += part.shape[1]

    def combine(self, weights: FloatArray, rows: NDArray[np.intp] | None = None) -> Labels:
        """Labels of the sums that use row i, or row ``rows[i]``, ``weights[p, i]`` times, shape (p, ...)."""
        table = self._table if rows is None else self._table.take(rows, axis=0)
        # One product for all; a threaded one costs more than it gains for a few plans.
        sums = np.einsum("pi,ij->pj", weights, table) if len(weights) <= 4 else weights @ table
        total = sums[:, : self._width] + sums[:, self._width : 2 * self._width]
        transform = np.ascontiguousarray(total[:, :-1]).view(complex)
        columns = {name: sums[:, place] for name, place in self._places.items()}
        return Labels(transform=transform, mean=total[:, -1], **columns)


def coarse_part(table: FloatArray, most: float) -> FloatArray:
    """``table`` rounded column by column to so coarse a unit that sums of up to ``most`` rows are exact.

    Since the rest is then too small for its rounding to matter, integer multiples of the rows are added
    as if rounded once, in any order (an error-free transformation, Rump, Ogita and Oishi 2008).
    """
    largest = np.maximum(most * np.abs(table).max(axis=0, initial=0.0), 1e-300)
    unit = np.ldexp(1.0, np.frexp(largest)[1] - 52)
    return np.asarray(np.rint(table / unit) * unit, dtype=float)


def scalar_columns(terms: Sequence[Term]) -> tuple[FloatArray, ...]:
    """The last six fields of `Labels`, from the mean on, one column per term."""
    columns = np.zeros((6, len(terms)))
    for index, term in enumerate(terms):
        weight, moments, support = -term.coefficient, term.law.moments(), term.law.support()
        mean = weight * moments.mean
        bottom = weight * (support[0] if weight > 0 else support[1])
        finite, bounded = math.isfinite(moments.variance), math.isfinite(bottom)
        variance = weight * weight * moments.variance if finite else 0.0
        rounding = EPSILON * abs(weight) * term.law.mean_rounding()
        bottom = bottom if bounded else 0.0
        columns[:, index] = mean, rounding, variance, bottom, not finite, not bounded
    return tuple(columns)
