"""What would take too much memory is refused before it is begun: what, how much, and what to do."""

import numpy as np
import pytest

import depl
from depl.instances.heterogeneous import heterogeneous_instance
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.memory import MEMORY, memory_ceiling, require_memory
from depl.models.solving import methods
from depl.models.solving.methods import Outcome
from depl.models.solving.result import Termination

SMALL = 0.001
"""GiB: a megabyte."""


def drawn(**sizes: int) -> depl.Instance:
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
        ("milp", {"maximum_epochs": 60}, "take fewer scenarios"),
        ("exact", {"datasets": 6, "models": 8, "maximum_epochs": 20}, "would take .* GiB of memory"),
        ("enumerate", {"maximum_epochs": 40, "models": 3}, "the list of all plans .* lower maximum_epochs"),
        ("density-greedy", {"models": 80}, "the law of switches of 80 models would take"),
        ("depl-paper", {"models": 40, "maximum_epochs": 10}, "leave out models, or epochs"),
    ],
)
def test_every_kind_of_method_refuses_what_is_too_large_in_words(method, sizes, said):
    instance = drawn(**sizes)
    with pytest.raises(NotCoveredError, match=said):
        depl.solve(instance, method, time_limit=20, memory=SMALL)


def test_what_fits_is_solved_under_a_ceiling(tiny):
    assert depl.solve(tiny, "exact", memory=0.01).termination is Termination.OPTIMAL


@pytest.mark.parametrize("memory", [0, -1, float("nan"), "8", True, None])
def test_a_ceiling_that_is_no_positive_number_is_refused(tiny, memory):
    with pytest.raises(InvalidInputError, match="positive number of GiB"):
        depl.solve(tiny, "exact", memory=memory)


def test_where_memory_ends_all_the_same_the_method_is_named(tiny, monkeypatch):
    def greedy(instance: depl.Instance, limits: object) -> Outcome:
        raise MemoryError("Unable to allocate 224. GiB")

    depl.solve(tiny, "exact")  # the registry is filled
    monkeypatch.setattr(methods, "_REGISTRY", dict(methods._REGISTRY))
    depl.register("takes-all", greedy)
    with pytest.raises(NotCoveredError, match=r"'takes-all' needs more memory than there is .*224\. GiB"):
        depl.solve(tiny, "takes-all")


def test_the_command_has_the_same_ceiling(ask):
    code, _, error = ask("solve", "tiny", "--method", "scenario-search", "--memory", "0.00001")
    assert code == 2
    assert "GiB of memory" in error
    assert "--memory" in error
