"""The law of a sum of atoms by all combinations, in fractions of the decimals that its numbers print as."""

import itertools
import math
from collections import defaultdict
from fractions import Fraction


def written(number):
    """The decimal that a number prints as."""
    return Fraction(repr(float(number)))


def law_of(loss):
    """The probability of every value of a loss whose increments are `Empirical`."""
    sides = []
    for term, count in loss.terms:
        values = term.law.values
        weights = [written(weight) for weight in term.law.weights or (1.0,) * len(values)]
        places = [written(term.coefficient) * written(value) for value in values]
        side = [(place, weight / sum(weights)) for place, weight in zip(places, weights, strict=True)]
        sides += [side] * count
    found = defaultdict(Fraction)
    for chosen in itertools.product(*sides):
        value = written(loss.constant) + sum(place for place, _ in chosen)
        found[value] += math.prod((share for _, share in chosen), start=Fraction(1))
    return dict(found)


def above(loss, value):
    """P(loss > value)."""
    edge = value if isinstance(value, Fraction) else written(value)
    return sum((share for place, share in law_of(loss).items() if place > edge), Fraction(0))
