"""Before a clock runs, whatever a method lets run is compiled."""

import pytest

from depl.benchmarks.measure import solving
from depl.instances.library import load


@pytest.mark.parametrize(
    ("method", "expected"), [("depl", ["depl"]), ("auto", ["exact", "density-greedy", "depl"])]
)
def test_the_methods_that_a_method_lets_run_are_warm(method, expected, monkeypatch):
    asked = []
    solving.warm_up.cache_clear()  # another test of this process may have asked for the same method
    monkeypatch.setattr(
        solving, "solve", lambda instance, name, time_limit: asked.append((instance.name, name))
    )
    solving.warm_up(method)
    solving.warm_up.cache_clear()  # nothing was compiled here: who asks next shall get what is promised
    wanted = [(load(instance).name, name) for name in expected for instance in solving._WARM]
    assert asked == wanted


def test_the_phases_of_the_default_are_those_that_are_warmed(tiny):
    """With time for none of them to end, all of them get a turn."""
    found = solving.solve(tiny, "auto", looks=30)  # too few for any of them to end
    assert {phase.method for phase in found.phases} == set(solving._LETS_RUN["auto"])
