"""What would take too much memory is refused before it is begun: what, how much, and what to do."""

import math

import numpy as np
import pytest

import depl
from depl.instances.heterogeneous import heterogeneous_instance
from depl.models.foundation import memory
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.memory import MEMORY, memory_ceiling, require_memory
from depl.models.scenarios import draws

SMALL = 0.001
"""GiB: a megabyte."""


def drawn(**sizes):
    usual = {"clusters": 2, "datasets": 2, "models": 2, "maximum_epochs": 8}
    return heterogeneous_instance(np.random.default_rng(3), **{**usual, **sizes})


def test_a_table_up_to_the_ceiling_is_begun_and_a_larger_one_is_not():
    require_memory(MEMORY * 2**30, "a table", "do less")
    said = r"a table would take 9 GiB of memory, of at most 8 GiB that are allowed; do less, or allow more"
    with pytest.raises(NotCoveredError, match=said):
        require_memory(9 * 2**30, "a table", "do less")
    with memory_ceiling(10.0):
        require_memory(9 * 2**30, "a table", "do less")
    with pytest.raises(NotCoveredError):
        require_memory(9 * 2**30, "a table", "do less")


@pytest.mark.parametrize(
    ("method", "sizes", "said"),
    [
        ("scenario-search", {"maximum_epochs": 60}, "drawing 100 scenarios of 60 epochs and 2 models would"),
        ("exact", {"datasets": 6, "models": 8, "maximum_epochs": 20}, "would take .* GiB of memory"),
        ("enumerate", {"maximum_epochs": 40, "models": 3}, "the list of all plans .* lower maximum_epochs"),
        ("density-greedy", {"models": 80}, r"the law of switches \(every pair of 80 models\) would take"),
        ("depl-paper", {"models": 40, "maximum_epochs": 10}, "leave out models, or epochs"),
    ],
)
def test_every_kind_of_method_refuses_what_is_too_large_in_words(method, sizes, said):
    instance = drawn(**sizes)
    with pytest.raises(NotCoveredError, match=said):
        depl.solve(instance, method, time_limit=20, memory=SMALL)


@pytest.mark.parametrize("ceiling", [0, float("nan"), "8", True])
def test_a_ceiling_that_is_no_positive_number_is_refused(tiny, ceiling):
    with pytest.raises(InvalidInputError, match="positive number of GiB"):
        depl.solve(tiny, "exact", memory=ceiling)


def test_where_memory_ends_all_the_same_the_method_is_named(tiny, own_methods):
    def greedy(instance, limits):
        raise MemoryError("Unable to allocate 224. GiB")

    depl.register("takes-all", greedy)
    with pytest.raises(NotCoveredError, match=r"'takes-all' needs more memory than there is .*224\. GiB"):
        depl.solve(tiny, "takes-all")


# --- pairs of models, of which tables hold so many only -----------------------------------------------


@pytest.mark.parametrize("method", [item.name for item in depl.methods() if item.name != "expected-greedy"])
def test_every_method_refuses_more_pairs_than_it_can_hold(tiny, bell, method, monkeypatch):
    """All but expected-greedy, which takes one model after the other, have a table of pairs."""
    monkeypatch.setattr(memory, "_ENTRY", math.inf)
    monkeypatch.setattr(draws, "_ON_THE_WAY", math.inf)
    with pytest.raises(NotCoveredError, match=r"(pair|drawing).* of at most"):
        depl.solve(bell if method == "expected-cost" else tiny, method)
