"""Compiled inner loop: depth-first search with laws in place of scenarios.

Like `depl.models.exact.kernels.descend`, but what is kept per prefix is the transform of its tilted law.
"""

from typing import NamedTuple

import numpy as np

from depl.models.exact.kernels import (
    CELL_ROUNDING,
    FINISHED,
    LEAF,
    PAUSED,
    Booleans,
    Charges,
    Integers,
    affordable,
    interpreted,
)
from depl.models.exact.law_grid import ComplexArray, rounded_units, transform_units
from depl.models.problem.laws import FloatArray


class Paths(NamedTuple):
    """What a child adds to a prefix, and what still may follow it; see `law_completions`.

    Attributes
    ----------
    transforms, clipped : complex array (K, M + 1, J, F)
    rises : int array (K, M + 1, J)
    allowed : bool array (M + 1, J)
    models : int array (J,)
    first_model : int
        Model before epoch 1; M for none.
    table : complex array (K + 1, M, cells, F)
    norms : float array (K + 1, M, cells)
    least : int array (K + 1, M)
    highest : int
        Top of the grid.
    most : float
        A child is kept iff its violation may be at most this.
    rounding : float
        What a violation may be off, relative to mass times norm; see `product_rounding`.
    """

    transforms: ComplexArray
    clipped: ComplexArray
    rises: Integers
    allowed: Booleans
    models: Integers
    first_model: int
    table: ComplexArray
    norms: FloatArray
    least: Integers
    highest: int
    most: float
    rounding: float


def product_rounding(epochs: int, points: int) -> float:
    r"""What the violation of a prefix and its rest may be off, relative to tilted mass times norm of V.

    Proofs rest on it. With u = 2**-53 and n points, for so many epochs: transforms of run and switch err by
    `transform_units` each in every entry, relative to their masses; their product, the share and the product
    with the epochs before by 8 u (a product of complex numbers by sqrt(5) u, compiled or not, or less where
    products and sums are fused). So the transform of the prefix errs by the sum of these over the epochs,
    relative to its mass. The row of the table errs by one transform in the 2-norm; a sum of n/2 + 1 terms, in
    any order, by n/2 + 1 roundings, and the sum of their moduli is at most mass times norm (Parseval and
    Cauchy). The page "Exact search" has the proof.

    Parameters
    ----------
    epochs : int
        Of the longest prefix, K.
    points : int
        n, size of the grid.
    """
    transform = transform_units(points)
    return rounded_units(epochs * (2 * transform + 8) + transform + points // 2 + 16)


@interpreted
def descend_laws(
    paths: Paths,
    charges: Charges,
    scale: float,
    order: Integers,
    state: Integers,
    reached: ComplexArray,
    tops: Integers,
    nodes: int,
) -> int:
    """Search the kinds of K epochs depth first, from where it stopped, for at most ``nodes`` children.

    Children that may still meet the target are visited by increasing violation, so that a plan that meets it
    is found early if there is one.

    Parameters
    ----------
    scale : float
        Cells of the table per unit of charge 0.
    order : int array (K, J + 1)
        Changed: [k] are the kinds to visit at depth k, their number last.
    state : int array (K + 2,)
        Changed: [k] is the number of kinds visited at depth k, [K + 1] the depth.
    reached : complex array (K + 1, F)
        Changed: transforms after k epochs.
    tops : int array (K + 1,)
        Changed: largest change of the loss after k epochs, in steps.

    Returns
    -------
    int
        `FINISHED`, `LEAF` or `PAUSED`. At a leaf the choices are order[k, state[k] - 1].
    """
    length, kinds = order.shape[0], order.shape[1] - 1
    depth = state[length + 1]
    while depth >= 0:
        if depth == length:
            state[length + 1] = depth - 1
            return LEAF
        if state[depth] == 0:
            if nodes <= 0:
                state[length + 1] = depth
                return PAUSED
            nodes -= kinds
            before = paths.first_model if depth == 0 else paths.models[order[depth - 1, state[depth - 1] - 1]]
            _expand(paths, charges, scale, order[depth], reached[depth], tops[depth], depth, before)
        if state[depth] >= order[depth, kinds]:
            state[depth] = 0
            depth -= 1
            continue
        kind = order[depth, state[depth]]
        state[depth] += 1
        if affordable(charges, depth, kind):
            before = paths.first_model if depth == 0 else paths.models[order[depth - 1, state[depth - 1] - 1]]
            change, rise = _change(paths, tops[depth], depth, before, kind)
            for f in range(len(change)):  # one by one: assigning whole rows takes two seconds more to compile
                reached[depth + 1, f] = reached[depth, f] * change[f]
            tops[depth + 1] = tops[depth] + rise
            depth += 1
    state[length + 1] = depth
    return FINISHED


@interpreted
def _expand(
    paths: Paths,
    charges: Charges,
    scale: float,
    order: Integers,
    now: ComplexArray,
    top: int,
    depth: int,
    before: int,
) -> None:
    """Write the kinds of the next epoch that may still meet the target, by increasing violation."""
    kinds = order.size - 1
    violations = np.empty(kinds)
    count = 0
    for kind in range(kinds):
        if not paths.allowed[before, kind] or not affordable(charges, depth, kind):
            continue
        left = charges.limits[0] - charges.spent[0, depth + 1] - charges.rest[0, depth + 1]
        cell = min(int(left * scale + CELL_ROUNDING), paths.table.shape[2] - 1)
        violation = _least_violation(paths, now, top, depth, before, kind, cell)
        if violation > paths.most:
            continue
        place = count
        while place > 0 and violations[place - 1] > violation:
            violations[place], order[place] = violations[place - 1], order[place - 1]
            place -= 1
        violations[place], order[place] = violation, kind
        count += 1
    order[kinds] = count


@interpreted
def _least_violation(
    paths: Paths, now: ComplexArray, top: int, depth: int, before: int, kind: int, cell: int
) -> float:
    """At most what every completion of a child misses the target with; 2 if there is none."""
    model = paths.models[kind]
    if cell < paths.least[depth + 1, model]:
        return 2.0
    change = _change(paths, top, depth, before, kind)[0]
    rest = paths.table[depth + 1, model, cell]
    violation = 0.0
    for f in range(now.size):
        value = now[f] * change[f]
        violation += value.real * rest[f].real - value.imag * rest[f].imag
    doubt = paths.rounding * abs(now[0].real * change[0].real) * paths.norms[depth + 1, model, cell]
    return float(violation - doubt)


@interpreted
def _change(paths: Paths, top: int, depth: int, before: int, kind: int) -> tuple[ComplexArray, int]:
    """Transform of an epoch and by how much it may raise the loss, without rises near the top of the grid."""
    rise = paths.rises[depth, before, kind]
    if top + rise > paths.highest:
        return paths.clipped[depth, before, kind], 0
    return paths.transforms[depth, before, kind], rise
