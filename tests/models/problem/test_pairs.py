"""Instances with more pairs of models than a table may hold are refused in words, by every method."""

import itertools

import pytest

import depl
from depl.heuristics.bounds.learning import Learning
from depl.models.foundation import memory
from depl.models.foundation.deadline import OutOfTimeError
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.instance import Instance
from depl.models.scenarios import draws
from depl.models.scenarios.draws import draw_scenarios
from depl.models.solving.methods import Limits
from depl.models.solving.result import Termination

METHODS = [item.name for item in depl.methods()]
"""All but expected-greedy, which takes one model after the other, have a table of pairs."""
ONE_PLACE = ("expected-cost", "expected-greedy")


@pytest.mark.parametrize("method", [name for name in METHODS if name != "expected-greedy"])
def test_every_method_refuses_more_pairs_than_it_can_hold(
    tiny: Instance, bell: Instance, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "MOST_ENTRIES", 0)
    monkeypatch.setattr(draws, "MOST_NUMBERS", 0)
    with pytest.raises(NotCoveredError, match=r"pair.* of (at most|models)"):
        depl.solve(bell if method in ONE_PLACE else tiny, method)


def test_the_refusal_names_the_numbers(tiny: Instance) -> None:
    many = tiny.replace(
        models=tuple(
            tiny.models[0].__class__(
                name=f"net{index}", size=1, demand=1, improvement=tiny.models[0].improvement
            )
            for index in range(4001)
        ),
        switches=(),
    )
    with pytest.raises(NotCoveredError, match=r"4001 models make 1\.6e\+07 entries, of at most 1\.6e\+07"):
        depl.solve(many, "depl")
    with pytest.raises(NotCoveredError, match=r"100 scenarios of 3 epochs are 4\.8e\+09 numbers"):
        draw_scenarios(many, 100)


@pytest.mark.parametrize("most", range(6))
def test_laws_are_read_only_as_long_as_there_is_time(tiny: Instance, most: int) -> None:
    asked = itertools.count()
    with pytest.raises(OutOfTimeError):
        Learning.of(tiny, lambda: next(asked) < most)
    assert next(asked) == most + 1


@pytest.mark.parametrize("method", ["depl", "density-greedy"])
def test_a_method_whose_time_is_up_while_it_reads_the_laws_says_so(
    tiny: Instance, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Limits, "expired", lambda _: True)
    result = depl.solve(tiny, method, time_limit=1)
    assert (result.termination, result.plan) == (Termination.TIME_LIMIT, None)
    assert result.reason == "stopped before there was a plan; allow more time"
