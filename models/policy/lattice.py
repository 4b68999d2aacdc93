"""Whether all changes of the loss in a process lie on a lattice, on which a grid need not round them at all.

Where improvements and switches have finitely many values, these are often multiples of one number, such as
0.1, and some losses meet the target exactly. A grid that does not hold these changes rounds every one of them
up, and so never certifies what depends on them, however fine it is. On one that holds them a run keeps the
distance to its index that its first loss has, which may lie anywhere between two points.
"""

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction

from depl.models.policy.process import Kernel, Process

_LARGEST_DENOMINATOR = 10**6
"""Of a number that counts as a multiple of something: set by hand. Changes are written with few decimals, or
are multiples of the least of them."""

_ALIKE = 1e-13
"""Relative difference from such a fraction that counts as rounding: a few roundings of products of decimals.
Steps are at least 1e-7 of the losses, so this is at most `depl.models.policy.grid.EDGE` of a step."""


def lattice_unit(process: Process) -> Fraction | None:
    """The greatest number that all changes of the loss are multiples of; None without one.

    Only of laws with retention 1 and finitely many values.
    """
    kernels = {item.kernel for node in process.nodes for item in node.trainings}
    if any(kernel.retention != 1 or not _has_values(kernel) for kernel in kernels):
        return None
    size = max(abs(process.limit), abs(process.lowest), abs(process.highest))
    moves = {abs(move) for move in _moves(kernels) if move}
    if not moves:
        return None
    return _divisor(moves, Fraction(1), size) or _divisor(moves, Fraction(min(moves)), size)


def _divisor(numbers: set[float], base: Fraction, size: float) -> Fraction | None:
    """The greatest common divisor of numbers that are simple fractions of a base; None if one is not."""
    unit = Fraction(0)
    for number in numbers:
        found = base * (Fraction(number) / base).limit_denominator(_LARGEST_DENOMINATOR)
        if abs(float(found) - number) > _ALIKE * size:
            return None
        unit = _common(unit, found)
    return unit


def _has_values(kernel: Kernel) -> bool:
    return all(term.law.has_atoms for term in kernel.noise)


def _moves(kernels: Iterable[Kernel]) -> Iterator[float]:
    for kernel in kernels:
        yield kernel.shift
        for term in kernel.noise:
            yield from (term.coefficient * value for value in term.law.atoms()[0].tolist())


def _common(one: Fraction, other: Fraction) -> Fraction:
    """Greatest common divisor."""
    below = math.lcm(one.denominator, other.denominator)
    return Fraction(math.gcd(int(one * below), int(other * below)), below)
