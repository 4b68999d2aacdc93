"""Numbers and intervals in words, for every text that depl prints.

Plain ASCII, so that any terminal shows it. Bounds are rounded outward: a printed interval contains the
certified one, and a printed lower bound is a lower bound.
"""

import math
import shlex
import sys
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction


def number(value: float | None, digits: int = 6) -> str:
    """``value`` to a few significant digits, "none" for None and "infinite" where it is."""
    if value is None:
        return "none"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    return f"{value + 0.0:.{digits}g}"


def probability(value: float, digits: int = 6) -> str:
    """A probability to a few significant digits, and to more where fewer would show 1 in place of less."""
    return _below(1, value, digits)


def percentage(share: float, digits: int = 3) -> str:
    """A share as a percentage of so many significant digits, and never as a power of ten from 1 % on.

    What is less than the whole is never "100 %", and what is positive never "0 %".
    """
    value = 100 * share
    text = _below(100, value, digits)
    return f"{value:.0f} %" if "e+" in text else f"{text} %"


def rounded_down(value: float | Fraction, digits: int = 7) -> str:
    """The greatest number of so many significant digits that does not exceed ``value``."""
    return _directed(value, digits, ROUND_FLOOR)


def rounded_up(value: float | Fraction, digits: int = 7) -> str:
    """The least number of so many significant digits that is at least ``value``."""
    return _directed(value, digits, ROUND_CEILING)


def at_most(value: float, digits: int = 7) -> str:
    """The upper end of a quantile that counts runs, in words; an infinite one is that of no run seen."""
    return "beyond all runs seen" if math.isinf(value) else f"at most {rounded_up(value, digits)}"


def one_end(value: float, low: bool, digits: int = 7) -> str:
    """A bound of which the other end is not known, in words."""
    return f"at least {rounded_down(value, digits)}" if low else f"at most {rounded_up(value, digits)}"


def counter_probability(violation: float | Fraction, digits: int = 7) -> str:
    """1 - violation, subtracted exactly and then rounded down; 0 for a violation above 1."""
    return rounded_down(max(1 - Fraction(violation), Fraction(0)), digits)


def interval(lower: float, upper: float, digits: int = 7) -> str:
    """The shortest "[lower, upper]" of so many significant digits that contains the given one."""
    return f"[{rounded_down(lower, digits)}, {rounded_up(upper, digits)}]"


def counted(count: int, noun: str, plural: str = "") -> str:
    """``count`` with its noun, which takes an s in the plural where none is given."""
    return f"{count} {noun}" if count == 1 else f"{count} {plural or noun + 's'}"


def installing(extra: str) -> str:
    """The command that adds an extra of depl to this Python, which the shell's ``pip`` may not belong to."""
    return f"{shlex.quote(sys.executable or 'python')} -m pip install 'depl[{extra}]'"


def choices_of(count: int) -> str:
    """How many sets ``count`` things have: written out without the empty one, or as a power of two."""
    return f"{2**count - 1}" if count < 64 else f"2^{count}"


def _directed(value: float | Fraction, digits: int, rounding: str) -> str:
    if not math.isfinite(value):
        return number(float(value))
    exact, context = Fraction(value), Context(prec=digits, rounding=rounding)
    rounded = context.divide(Decimal(exact.numerator), Decimal(exact.denominator)).normalize()
    if not rounded:
        return "0"
    if 1e-5 <= abs(float(value)) < 10**digits:
        return f"{rounded:f}"
    mantissa, exponent = f"{rounded:e}".split("e")
    return f"{mantissa}e{int(exponent):+03d}"  # 1e-07, as doubles are written


def _below(whole: int, value: float, digits: int) -> str:
    """``value``, with more than so many significant digits where it would be rounded up to the whole."""
    while value < whole <= float(f"{value:.{digits}g}"):
        digits += 1
    return f"{value:.{digits}g}"


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows as indented lines whose columns start below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return [f"  {line}".rstrip() for line in padded]
