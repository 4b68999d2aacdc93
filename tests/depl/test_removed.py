"""Whoever asks for a public name that is gone is told what to use in its place."""

import importlib

import pytest

import depl
from depl.benchmarks.measure.catalogue import all_studies
from depl.cli import main
from depl.models.foundation.removed import SUCCESSORS, removed


def refusal(name, capsys):
    """What a user reads who asks for this name in the way it was written."""
    first, _, rest = name.partition(" ")
    if first in ("depl", "study"):
        assert main(rest.split() if first == "depl" else ["bench", "run", rest]) == 2
        return " ".join(capsys.readouterr().err.split())
    if first == "method":
        method, _, option = rest.partition(", option ")
        with pytest.raises(depl.InvalidInputError) as refused:
            depl.solve(depl.load("tiny"), method, options={option: 1} if option else {})
        return str(refused.value)
    module, _, last = name.rpartition(".")
    with pytest.raises(ImportError) as missing:
        getattr(importlib.import_module(module), last)
    return str(missing.value)


@pytest.mark.parametrize("name", SUCCESSORS)
def test_a_name_that_is_gone_is_refused_with_its_successor(name, capsys):
    assert removed(name) in refusal(name, capsys)


def test_no_name_that_is_gone_is_still_there():
    assert not {f"depl.{name}" for name in depl.__all__} & SUCCESSORS.keys()
    assert not {f"method {method.name}" for method in depl.methods()} & SUCCESSORS.keys()
    assert not {f"study {name}" for name in all_studies()} & SUCCESSORS.keys()
