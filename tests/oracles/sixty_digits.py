"""K^ T^ and sums in rational numbers, with logarithms, roots and powers in 60 digits."""

from decimal import Context, Decimal
from fractions import Fraction

from depl.models.problem.learning import InverseLogDataLaw, LogDataLaw

_CONTEXT = Context(prec=60)


def total(numbers, chosen):
    """The sum of some of the numbers."""
    return sum((Fraction(float(numbers[place])) for place in chosen), Fraction(0))


def digits(name, number):
    """``ln``, ``sqrt`` or ``exp``."""
    given = _CONTEXT.divide(Decimal(number.numerator), Decimal(number.denominator))
    return Fraction(getattr(given, name)(context=_CONTEXT))


def exact_product(problem, chosen):
    """K^ T^ and transfers of some datasets of a problem whose data law has a formula."""
    chosen = list(chosen)
    law, volume = problem.needed.law, total(problem.volumes, chosen)
    volume += Fraction(law.base_volume)
    if isinstance(law, LogDataLaw):
        epochs = Fraction(law.a) - Fraction(law.b) * digits("ln", volume)
    elif isinstance(law, InverseLogDataLaw):
        epochs = Fraction(law.a) / digits("ln", 1 + volume)
    else:
        epochs = Fraction(law.a) / digits("exp", Fraction(law.p) * digits("ln", volume))
    length = Fraction(problem.fixed_duration) + total(problem.durations, chosen)
    return epochs * length + total(problem.transfers, chosen)
