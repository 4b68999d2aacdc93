"""Kernels that may be interpreted give the same bits as compiled: paths, plans and bounds of whole solves."""

import sys

import msgspec
import numpy as np
import pytest

import depl
from depl.benchmarks.studies.helpers.path_problems import FAMILIES, family_problem
from depl.heuristics.paths.search import least_weight
from depl.models.foundation import compiling


def marked():
    """Kernels that may be interpreted, of all modules that are imported."""
    for name, module in list(sys.modules.items()):
        if name.startswith("depl."):
            for item in vars(module).values():
                if isinstance(item, compiling.Kernel) and item.interpreted:
                    yield item


def answers(what, looks):
    """The end, the bound and the plan; or lightest paths."""
    if what == "paths":
        drawn = (family_problem(np.random.default_rng(5), family, 9, 3) for family in FAMILIES)
        return [repr(least_weight(problem)) for problem in drawn]
    found = depl.solve(depl.load("tiny"), what, looks=looks)
    return [found.termination.value, repr(found.lower_bound), repr(msgspec.json.encode(found.plan))]


@pytest.mark.parametrize(("what", "looks"), [("exact", 100), ("depl", 50), ("paths", 0)])
def test_answers_do_not_depend_on_what_is_compiled(what, looks, monkeypatch):
    found = []
    for due in (True, False):
        monkeypatch.setattr(compiling.Kernel, "_is_due", lambda *_, due=due: due)
        for kernel in marked():
            kernel._due = False
        found.append(answers(what, looks))
    assert found[0] == found[1]
    assert len({kernel for kernel in marked() if kernel._spent > 0}) > 3  # they were interpreted
