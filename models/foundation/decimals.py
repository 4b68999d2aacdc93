"""Functions of rational numbers by `decimal`, for proofs that rest on more digits than floats have."""

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

DIGITS = 60
"""Decimal digits of roots and logarithms: of no consequence beside the 16 of the floats that are compared."""


def decimal_function(function: Callable[[Decimal], Decimal], argument: Fraction) -> Fraction:
    """A correctly rounded function of `decimal` at a rational argument, to `DIGITS` - 5 digits."""
    with localcontext() as context:
        context.prec = DIGITS + 10
        return Fraction(function(Decimal(argument.numerator) / Decimal(argument.denominator)))
