"""E exp(-z (X - E X)) of laws that are finite sums: atoms, and the truncated Student-t by quadrature.

Many arguments on one line, as the nodes of a contour are, need few exponentials: they are products.
"""

import math

import numpy as np
from scipy.special import expm1, log1p

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import Law
from depl.models.problem.laws.log_variable import EPSILON, ComplexArray, FloatArray

REMAINDER_BELOW = 1.0
"""Size of z (X - E X) below which the transform is computed as 1 plus a second-order remainder. Both forms
bound their own rounding, so any value is sound; below 1 the remainder is at most of the order of the square
of the size and loses no digits, above 1 nothing is gained."""

_CHUNK = 16_384  # numbers at once: a few such arrays stay in the cache of a core
_LONG, _BLOCK, _ATOMS_AT_ONCE = 16, 64, 4096  # arguments in a block, and atoms of a partial sum
_UNTHREADED = 32_768
"""Products up to so many terms are formed by one thread: on busy cores waiting for others takes 4 to 25 times
as long as the product."""


def finite_sum(law: Law, z: ComplexArray) -> tuple[ComplexArray, FloatArray]:
    """log E exp(-z (X - E X)) and a bound of its absolute error, as in `transforms.centred_log_transform`."""
    found = law.sum_for(z)
    if found is None:
        raise InvalidInputError(f"{type(law).__name__} has a domain of its transform, but offers none")
    points, masses = found
    offsets = points - float(masses @ points)
    offsets -= float(masses @ offsets)  # the mean was rounded in its own size, not in that of the spread
    present = masses > 0
    if present.all():
        return _weighed(z, offsets, masses)
    value, error = _weighed(z, offsets[present], masses[present])
    ends = np.maximum(
        -z.real * offsets.min(), -z.real * offsets.max()
    )  # masses that underflowed, below 1e-300
    return value, error + np.exp(np.minimum(ends - value.real + math.log(1e-300), 700.0))


def _weighed(z: ComplexArray, offsets: FloatArray, masses: FloatArray) -> tuple[ComplexArray, FloatArray]:
    value, error = np.empty(z.shape, dtype=complex), np.empty(z.shape)
    if z.ndim == 2 and z.shape[1] >= _LONG:
        steps = z[:, 1].imag - z[:, 0].imag
        if all(_is_progression(row, step) for row, step in zip(z, steps, strict=True)):
            for index, step in enumerate(steps):
                value[index], error[index] = _sums_on_a_line(z[index], float(step), offsets, masses)
            return value, error
    flat = z.ravel() if z.imag.any() else z.real.ravel()
    values, errors = np.empty(flat.shape, dtype=complex), np.empty(flat.shape)
    rows = max(1, _CHUNK // len(offsets))
    for start in range(0, len(flat), rows):
        part = slice(start, start + rows)
        values[part], errors[part] = _sum_of_atoms(flat[part], offsets, masses)
    return values.reshape(z.shape), errors.reshape(z.shape)


def _sum_of_atoms(
    z: ComplexArray | FloatArray, offsets: FloatArray, masses: FloatArray
) -> tuple[ComplexArray | FloatArray, FloatArray]:
    shifted = z[:, None] * offsets
    sizes = np.abs(shifted)
    reach = sizes.max(axis=1)
    top = np.max(-shifted.real, axis=1)
    heights = np.exp(-shifted - top[:, None])
    total, modulus = heights @ masses, np.abs(heights) @ masses
    small = reach < REMAINDER_BELOW
    excess = np.zeros_like(total)
    excess[small] = (expm1(-shifted[small]) + shifted[small]) @ masses
    with np.errstate(divide="ignore"):  # the transform of atoms may vanish; its bound is infinite there
        value = np.where(small, log1p(excess), np.log(total) + top)
        error = EPSILON * np.where(small, 8 * (sizes @ masses), (16 + 4 * reach) * modulus / np.abs(total))
    return value, error


def _is_progression(z: ComplexArray, step: float) -> bool:
    """Whether z is z_0 + i k step, rounded a few times."""
    wanted = z[0] + 1j * step * np.arange(len(z))
    return bool((np.abs(z - wanted) <= 4 * EPSILON * np.abs(z)).all())


def _sums_on_a_line(
    z: ComplexArray, step: float, offsets: FloatArray, masses: FloatArray
) -> tuple[ComplexArray, FloatArray]:
    """`_sum_of_atoms` where z is an arithmetic progression with one real part.

    exp(-(z + i k step) x) is the product of exp(-z x) and exp(-i k step x): a block of it is one matrix
    product, and there are far fewer exponentials than numbers added.
    """
    exponent = -z[0].real * offsets
    top = float(exponent.max())
    weights = masses * np.exp(exponent - top)
    modulus, spread = float(weights.sum()), float(np.abs(offsets).max())
    width = min(_BLOCK, len(z))
    starts = np.arange(0, len(z), width)
    total: ComplexArray = np.zeros((len(starts), width), dtype=complex)
    few = _UNTHREADED // total.size  # at least 3: a contour has no more than 8192 nodes
    for begin in range(0, len(offsets), _ATOMS_AT_ONCE):
        some = slice(begin, begin + _ATOMS_AT_ONCE)
        atoms, parts, partial = offsets[some], weights[some], np.zeros_like(total)
        for first in range(0, len(atoms), few):
            part = slice(first, first + few)
            turns = np.exp(-1j * step * atoms[part, None] * np.arange(width))
            partial += (parts[part] * np.exp(-1j * z[starts].imag[:, None] * atoms[part])) @ turns
        total += partial
    flat = total.ravel()[: len(z)]
    reach = np.abs(z) * spread
    with np.errstate(divide="ignore"):
        value = np.asarray(np.log(flat) + top, dtype=complex)
        error = EPSILON * (24 + 10 * reach) * modulus / np.abs(flat)
    near = np.flatnonzero(reach < REMAINDER_BELOW)
    if len(near):
        value[near], error[near] = _sum_of_atoms(z[near], offsets, masses)
    return value, error
