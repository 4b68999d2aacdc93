"""Pages solve the same few instances again and again: what a shipped method answered once is shown again."""

import functools
from types import ModuleType
from typing import Any

import pytest

import depl
from depl.benchmarks.figures import comparison
from depl.models.problem.instance import Instance
from depl.models.solving import methods
from depl.models.solving import solve as solving
from depl.models.solving.result import Result

SHIPPED = {method.name: method for method in methods.registered()}
SOLVE = solving.solve


class Answers:
    """`depl.solve` that keeps its answers; they are those of the same instance, method and options.

    Not kept is what depends on more: on scenarios, on a clock, on a method that a page has registered.
    """

    def __init__(self) -> None:
        functools.update_wrapper(self, SOLVE)
        self.known: dict[tuple[object, ...], Result] = {}

    def __call__(self, instance: Instance, method: str | None = None, **wanted: Any) -> Result:
        name = methods.default_method(instance) if method is None else method
        registered = {item.name: item for item in methods.registered()}
        options = wanted.pop("options", None) or {}
        if wanted or name not in SHIPPED or registered.get(name) is not SHIPPED[name]:
            return SOLVE(instance, method, options=options, **wanted)
        key = (instance.to_json(), name, repr(sorted(options.items())))
        if key not in self.known:
            self.known[key] = SOLVE(instance, method, options=options)
        return self.known[key]


@pytest.fixture(scope="session")
def answers() -> Answers:
    return Answers()


@pytest.fixture(autouse=True)
def solved_once(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pages and their tests find it; commands solve as they are."""
    assert depl.solve is SOLVE
    places: tuple[ModuleType, ...] = (depl, solving, comparison)
    for place in places:
        monkeypatch.setattr(place, "solve", answers)
