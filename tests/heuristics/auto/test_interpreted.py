"""Kernels that may be interpreted give the same bits as compiled: plans and bounds of whole solves."""

import sys
from collections.abc import Iterator

import msgspec
import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import depl
from depl.instances.generator import random_instances
from depl.models.foundation import compiling
from depl.models.problem.instance import Instance


def marked() -> Iterator[Dispatcher]:
    """Kernels that may be interpreted, of all modules that are imported."""
    for name, module in list(sys.modules.items()):
        if name.startswith("depl."):
            for item in vars(module).values():
                if isinstance(item, Dispatcher) and "_spent" in vars(item):
                    yield item


def answer(instance: Instance, method: str, looks: int) -> tuple[str, float, bytes]:
    """The end, the bound and the plan."""
    found = depl.solve(instance, method, looks=looks)
    return found.termination.value, found.lower_bound, msgspec.json.encode(found.plan)


@pytest.mark.parametrize(("method", "looks"), [("exact", 200), ("depl", 100)])
def test_answers_do_not_depend_on_what_is_compiled(method, looks, monkeypatch):
    rng = np.random.default_rng(4)
    shape = {"clusters": (2, 2), "datasets": (1, 2), "models": (2, 3), "maximum_epochs": (4, 5)}
    instances = [depl.load("tiny"), *random_instances(rng, 1, **shape)]
    answers = []
    for due in (True, False):
        monkeypatch.setattr(compiling._Interpreted, "_is_due", lambda *_, due=due: due)
        for kernel in marked():
            kernel.__class__ = compiling._Interpreted
        answers.append([answer(instance, method, looks) for instance in instances])
    assert answers[0] == answers[1]
    assert len({kernel for kernel in marked() if kernel._spent > 0}) > 3  # they were interpreted
