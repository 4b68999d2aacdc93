"""Improvements and jumps read from traces that fit in a comment."""

import math

import numpy as np
import pytest

from depl.models.estimation.observations import observe
from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.table import Traces

#   run  epoch  model  cluster  start  loss
ROWS = [
    ("a", 0, "full", "edge", math.nan, 9.0),
    ("a", 1, "full", "edge", math.nan, 7.0),
    ("a", 2, "full", "edge", math.nan, 6.0),
    ("a", 3, "cut", "far", 6.5, 6.25),
    ("b", 0, "full", "edge", math.nan, 8.0),
    ("b", 1, "full", "edge", math.nan, 8.5),
    ("b", 2, "cut", "far", math.nan, 7.5),
]


def table(with_start: bool = True) -> Traces:
    columns = list(zip(*ROWS, strict=True))
    metrics = {"start_loss": np.array(columns[4])} if with_start else {}
    return Traces(*(np.array(column) for column in columns[:4]), np.array(columns[5]), metrics)


def test_a_switch_that_was_not_evaluated_is_estimated_and_counted() -> None:
    found = observe(table())
    with pytest.raises(InvalidInputError, match="after 1 of 2 switches from 'full' to 'cut'"):
        found.jumps_of("full", "cut")
    jumps, estimated = found.jumps_of("full", "cut", expected=np.array([3.0, 2.0, 1.0]))
    assert (jumps.tolist(), estimated) == ([0.5, 1.0], 1)  # measured 6.5 - 6; estimated 7.5 - 8.5 + 2
    jumps, estimated = observe(table(with_start=False)).jumps_of("full", "cut", np.zeros(3))
    assert (jumps.tolist(), estimated) == ([0.25, -1.0], 2)
    assert found.jumps_of("cut", "full")[0].size == 0


def test_traces_without_training_are_refused() -> None:
    only = Traces(np.array(["a"]), np.array([0]), np.array(["full"]), np.array(["edge"]), np.array([9.0]))
    with pytest.raises(InvalidInputError, match="no run has an epoch of training"):
        observe(only)
