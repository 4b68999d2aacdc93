"""`depl.submodular`: what it minimises, what it says of a claim, and the Lovász extension against sets."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from depl import submodular
from depl.heuristics.submodular.function import Verdict
from depl.models.foundation.errors import InvalidInputError


def test_a_claim_is_needed_by_no_list_of_all_sets_and_stays_where_triples_are_too_many():
    """That it stays a condition of the answer, and a cut, are examples of the page on engines."""
    own = submodular.claimed(4, lambda chosen: len(chosen) * (3 - len(chosen)), "concave in the size")
    assert submodular.minimise(own, method="brute-force").words == "optimal"
    large = submodular.claimed(19, lambda chosen: Fraction(len(chosen)), "a rank")
    assert submodular.submodularity(large).verdict is Verdict.TOLD


def test_a_function_of_which_nothing_is_known_is_tried_on_all_subsets_or_left_without_a_claim():
    found = submodular.minimise(lambda chosen: abs(len(chosen) - 2), size=4)
    assert (found.value, found.words) == (0, "optimal")
    large = submodular.minimise(lambda chosen: abs(len(chosen) - 2), size=25)
    assert (large.optimal, large.lower_bound) == (False, -np.inf)
    assert "submodularity is" in large.words


def test_the_lovasz_extension_is_the_function_on_sets_and_a_mean_over_levels_between():
    rng = np.random.default_rng(1)
    table = rng.normal(size=16)

    def value(chosen):
        return float(table[sum(1 << i for i in chosen)])

    for index in range(16):
        chosen = [float(index >> i & 1) for i in range(4)]
        assert submodular.lovasz_extension(value, chosen, size=4) == pytest.approx(table[index])
    x = rng.uniform(0, 1, 4)
    levels = [0.0, *np.sort(x).tolist(), 1.0]
    mean = sum(
        (high - low) * value(frozenset(np.flatnonzero(x > (low + high) / 2).tolist()))
        for low, high in itertools.pairwise(levels)
    )
    assert submodular.lovasz_extension(value, x, size=4) == pytest.approx(mean)


REFUSED = {
    "how many elements": lambda: submodular.minimise(len),
    "must be a set function": lambda: submodular.minimise(3),
    "known are": lambda: submodular.minimise(submodular.cut(2, [(0, 1)], 1), method="simplex"),
    "size: must not be negative": lambda: submodular.claimed(-1, len, "no"),
    "x: must be 2 finite numbers": lambda: submodular.lovasz_extension(len, [0.5], size=2),
    "must be 2 finite": lambda: submodular.lovasz_extension(len, [0.5, np.nan], size=2),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_asked_is_refused_in_words(words):
    with pytest.raises(InvalidInputError, match=words):
        REFUSED[words]()
