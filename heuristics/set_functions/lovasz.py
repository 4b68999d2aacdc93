"""Greedy bases and the Lovász extension: the bridge from sets to convex optimisation.

    f^L(x) = f(0) + max { s . x : s in the base polytope },

and the greedy base of any order in which x falls attains the maximum (Edmonds). f^L agrees with f on
indicators, and is convex iff f is submodular; then min f = min of f^L over the unit cube, and some set
{i : x_i > t} is at least as good as x, because f^L(x) is an average of f over these sets.
"""

from typing import NamedTuple

import numpy as np

from depl.heuristics.set_functions.functions import FloatArray, IntArray, SetFunction, as_set


class GreedyBase(NamedTuple):
    """The greedy base of an order, with the best prefix met on the way.

    Attributes
    ----------
    order : ndarray
        The permutation, shape (n,).
    values : ndarray
        f on its prefixes, shape (n + 1,).
    base : ndarray
        s, by element, shape (n,).
    """

    order: IntArray
    values: FloatArray
    base: FloatArray

    @property
    def best_prefix(self) -> frozenset[int]:
        """The first of the best prefixes."""
        return as_set(self.order[: int(np.argmin(self.values))])


def greedy_base(function: SetFunction, order: IntArray) -> GreedyBase:
    """The greedy base of an order; one chain."""
    values = function.chain(order)
    base = np.empty(function.size)
    base[order] = np.diff(values)
    return GreedyBase(order, values, base)


def steepest_base(function: SetFunction, x: FloatArray) -> GreedyBase:
    """The greedy base of the order in which x falls: a subgradient of the Lovász extension at x."""
    return greedy_base(function, np.argsort(-x, kind="stable"))


def lovasz_extension(function: SetFunction, x: FloatArray) -> float:
    """f^L(x), defined for every real x [as f]."""
    found = steepest_base(function, x)
    return float(found.values[0] + found.base @ x)
