"""The problems of the behaviour record: shipped instances, constructed ones, random ones of one seed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec
import numpy as np

from depl.benchmarks.suites.random_family import competitive_family
from depl.benchmarks.suites.tiny_sampled import tiny_sampled
from depl.instances import library
from depl.instances.counterexamples import (
    almost_one_level,
    partition_by_epoch,
    partition_by_model,
    short_epochs,
)
from depl.instances.generator import Range, random_instance
from depl.instances.heterogeneous import heterogeneous_instance
from depl.instances.spent_promise import spent_promise
from depl.models.problem.instance import Instance
from depl.models.problem.laws import Undeclared
from depl.models.problem.learning import ConstantImprovement
from depl.models.scenarios.draws import Scenarios, draw_scenarios, given_scenarios

SEED = 20
"""Of all random problems, with the numbers of the family and of the problem behind it."""

SMALL, RANDOM, HETEROGENEOUS, SAMPLED = 78, 4, 8, 20
"""How many random problems of each family; 110 in all."""

_SMALL: dict[str, Range] = {
    "models": (2, 3),
    "clusters": (1, 2),
    "datasets": (1, 2),
    "maximum_epochs": (2, 6),
}
"""Sizes at which every method ends in a second or so; those of the competitive family take up to a minute."""

_LEADING = 3
"""How many problems of a random family are leading ones."""

_TRACED = ("digits-alexnet", "digits-mobilenet")
_SHORT = (2, 3, 4)
"""K_max to which instances with a traced law are cut, besides their own of 60."""

Made = Instance | tuple[Instance, Scenarios]


@dataclass(frozen=True, eq=False)
class Problem:
    """An instance by the name that it has in the record, made when it is asked for.

    ``leading`` problems are asked more settings than the others.
    """

    name: str
    make: Callable[[], Made]
    leading: bool = True

    def made(self) -> tuple[Instance, Scenarios | None]:
        """The instance, and its own scenarios; without them, methods that count draw their own."""
        found = self.make()
        return found if isinstance(found, tuple) else (found, None)


def problems() -> Iterator[Problem]:
    """All problems, in the order of the record; each name once."""
    yield from _shipped()
    yield from _cut_short()
    yield from _constructed()
    yield from _random()


def _shipped() -> Iterator[Problem]:
    """Every shipped instance, every family at each of its targets; the middle one leads."""
    for entry in library.describe():
        middle = len(entry.targets) // 2
        for index, target in enumerate(entry.targets or (None,)):
            name = entry.name if target is None else f"{entry.name}-{target}"
            yield Problem(name, _loading(entry.name, target), leading=index == middle)


def _loading(name: str, target: str | None) -> Callable[[], Instance]:
    return lambda: library.load(name, target)


def _cut_short() -> Iterator[Problem]:
    """Instances with a traced law at a small K_max, at a target that most plans of that length meet."""
    for name in _TRACED:
        for epochs in _SHORT:
            yield Problem(f"{name}-K{epochs}", _cutting(name, epochs))


def _cutting(name: str, epochs: int) -> Callable[[], Instance]:
    def cut() -> Instance:
        instance = library.load(name)
        reached = instance.target.initial_loss * (1 - 0.2 * epochs)
        return instance.replace(maximum_epochs=epochs, maximum_loss=reached)

    return cut


def _constructed() -> Iterator[Problem]:
    """Instances whose answer is known by construction; scenarios beside a law, and without any."""
    yield Problem("short-epochs", lambda: short_epochs(24))
    yield Problem("almost-one-level", lambda: almost_one_level(3.0, 20))
    yield Problem("partition-by-epoch", lambda: partition_by_epoch((3, 1, 1, 2, 2, 1)))
    yield Problem("no-partition-by-epoch", lambda: partition_by_epoch((9, 1, 1, 1, 1, 1)))
    yield Problem("partition-by-model", lambda: partition_by_model((1, 2, 3)))
    yield Problem("spent-promise", spent_promise)
    yield Problem("tiny-given-scenarios", _with_scenarios)
    yield Problem("tiny-without-laws", _without_laws)


def _with_scenarios() -> tuple[Instance, Scenarios]:
    tiny = library.load("tiny")
    return tiny, draw_scenarios(tiny, 50, SEED)


def _without_laws() -> tuple[Instance, Scenarios]:
    tiny, drawn = _with_scenarios()
    unknown = ConstantImprovement(noise=Undeclared())
    lawless = tiny.replace(
        models=tuple(msgspec.structs.replace(model, improvement=unknown) for model in tiny.models),
        switches=tuple(msgspec.structs.replace(row, law=Undeclared()) for row in tiny.switches),
        other_switches=Undeclared(),
    )
    return lawless, given_scenarios(lawless, drawn.improvements, drawn.switch_losses)


def _random() -> Iterator[Problem]:
    """Small random problems of every generator; each has a seed of its own, whatever comes before it."""
    families: tuple[tuple[str, int, Callable[[np.random.Generator, int], Made]], ...] = (
        ("small", SMALL, lambda rng, _: random_instance(rng, **_SMALL)),
        ("random", RANDOM, lambda rng, _: competitive_family(rng, 1)[0]),
        ("heterogeneous", HETEROGENEOUS, _heterogeneous),
        ("sampled", SAMPLED, _sampled),
    )
    for number, (family, count, draw) in enumerate(families):
        for index in range(count):
            yield Problem(f"{family}-{index}", _drawing(draw, number, index), leading=index < _LEADING)


def _drawing(draw: Callable[[np.random.Generator, int], Made], family: int, index: int) -> Callable[[], Made]:
    return lambda: draw(np.random.default_rng([SEED, family, index]), index)


def _heterogeneous(rng: np.random.Generator, index: int) -> Instance:
    """Two or three clusters, one or two datasets, K_max of 4 to 7."""
    size = {"clusters": 2 + index // 4, "datasets": 1 + index % 2, "maximum_epochs": 4 + index % 4}
    return heterogeneous_instance(rng, models=2, **size)


def _sampled(rng: np.random.Generator, index: int) -> tuple[Instance, Scenarios]:
    """With scenarios of its own; those at odd positions have two clusters, two datasets, or both."""
    *_, last = tiny_sampled(rng, 1 + index % 6)
    return last.instance, last.scenarios
