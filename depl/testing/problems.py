"""Small problems on which all plans can be listed, drawn from a seed."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import numpy as np

from depl.instances.generator import random_instance
from depl.instances.tiny_sampled import sampled_instance
from depl.models.foundation.errors import DeplError
from depl.models.problem.instance import Instance, Switch
from depl.models.problem.laws import Empirical
from depl.models.problem.learning import Improvement, TabledImprovement
from depl.models.scenarios.draws import Scenarios
from depl.models.solving.methods import Meaning


class BrokenPromiseError(DeplError, AssertionError):
    """Something that holds for every method, or for every law, does not hold for this one.

    Attributes
    ----------
    relation : str
        Which one.
    problem : Problem or None
        Where it does not hold; None for a law.
    """

    def __init__(self, who: str, relation: str, found: str, problem: object = None) -> None:
        self.relation, self.problem = relation, problem
        where = "" if problem is None else f", on {problem}"
        super().__init__(f"{who} breaks {relation!r}{where}: {found}")


TARGETS = ("near", "near", "near", "beyond", "start")
"""Which target is drawn: one that a random plan just meets, one below, and that of the start itself."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What a method is asked.

    Attributes
    ----------
    instance : Instance
    scenarios : Scenarios or None
        For methods that count them.
    """

    instance: Instance
    scenarios: Scenarios | None = None

    def __str__(self) -> str:
        """Name it, so that it can be found among `problems`."""
        counted = "" if self.scenarios is None else f" with {len(self.scenarios)} scenarios"
        return f"{self.instance.name!r}{counted}"


def problems(count: int, seed: int = 0, *, meaning: Meaning = Meaning.LAW) -> Iterator[Problem]:
    """Draw problems with up to three models, two clusters and datasets, and four epochs.

    Parameters
    ----------
    count : int
        How many; the first n do not depend on it.
    seed : int
        Equal seeds give equal problems.
    meaning : Meaning
        Those for methods that count scenarios have a sample.
    """
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        yield draw(
            rng,
            meaning,
            clusters=1 + number // 2 % 2,
            datasets=1 + (number + 1) // 2 % 2,
            ruled=rng.random() < 0.4,
            atoms=rng.random() < 0.3,
            target=str(rng.choice(TARGETS)),
        )


def draw(
    rng: np.random.Generator,
    meaning: Meaning,
    *,
    clusters: int,
    datasets: int,
    ruled: bool,
    atoms: bool,
    target: str,
) -> Problem:
    """Draw one problem of so many clusters and datasets.

    Parameters
    ----------
    ruled : bool
        Whether residency, memory and deployable models are restricted.
    atoms : bool
        Whether improvements have two or three values each, so that sums tie with the target. Scenarios are
        drawn from such laws, or not, by themselves.
    target : str
        One of `TARGETS`. That of scenarios is near.
    """
    if meaning is Meaning.SCENARIOS:
        item = sampled_instance(rng, clusters, datasets)
        ready = with_rules(rng, item.instance) if ruled else item.instance
        return Problem(ready, item.scenarios)
    instance = random_instance(
        rng, models=(2, 3), clusters=(clusters,) * 2, datasets=(datasets,) * 2, maximum_epochs=(2, 3)
    )
    if rng.random() < 0.25:
        instance = instance.replace(initial_model=instance.models[-1].name)
    if atoms:
        instance = _with_atoms(rng, instance)
    if ruled:
        instance = with_rules(rng, instance)
    start, end = instance.target.initial_loss, instance.target.maximum_loss
    losses = {"near": end, "beyond": end - 2 * (start - end), "start": start}
    instance = instance.replace(maximum_loss=losses[target])
    return Problem(instance.replace(name=f"drawn-{instance.fingerprint[:8]}"))


def with_rules(rng: np.random.Generator, instance: Instance) -> Instance:
    """The instance with random residency, memory and deployable models; transfers it forbids are left out."""
    places = [item.name for item in instance.clusters]
    datasets = tuple(
        msgspec.structs.replace(item, clusters=_some(rng, places) if rng.random() < 0.5 else None)
        for item in instance.datasets
    )
    clusters = tuple(
        msgspec.structs.replace(item, memory=float(rng.integers(1, 5)) if rng.random() < 0.6 else None)
        for item in instance.clusters
    )
    models = tuple(
        msgspec.structs.replace(item, memory=float(rng.integers(0, 5)) if rng.random() < 0.7 else None)
        for item in instance.models
    )
    homes = {item.name: item.clusters for item in datasets}
    kept = tuple(row for row in instance.transfers if row.cluster in (homes[row.dataset] or places))
    last = _some(rng, [item.name for item in instance.models]) if rng.random() < 0.7 else None
    return instance.replace(
        datasets=datasets, clusters=clusters, models=models, transfers=kept, deployable=last
    )


def _some(rng: np.random.Generator, names: list[str]) -> tuple[str, ...]:
    chosen = rng.random(len(names)) < 0.5
    chosen[rng.integers(len(names))] = True
    return tuple(itertools.compress(names, chosen))


def _with_atoms(rng: np.random.Generator, instance: Instance) -> Instance:
    """Improvements of two or three values on a grid, and switches that gain or lose a step, or nothing."""
    step = round(max(instance.target.initial_loss - instance.target.maximum_loss, 0.1) / 4, 2)

    def coarse(rule: Improvement) -> Improvement:
        if isinstance(rule, TabledImprovement):
            return msgspec.structs.replace(rule, epochs=tuple(coarse(row) for row in rule.epochs))
        size = max(1, round(abs(rule.noise.moments().mean) / step))
        values = tuple(step * factor for factor in (size - 1, size, size + 2)[: int(rng.integers(2, 4))])
        return msgspec.structs.replace(rule, noise=Empirical(values=values))

    models = tuple(msgspec.structs.replace(m, improvement=coarse(m.improvement)) for m in instance.models)
    gain = Empirical(values=(-step, 0.0, step))
    switches = tuple(
        Switch(previous=row.previous, following=row.following, law=row.law if row.law.forbids else gain)
        for row in instance.switches
    )
    others = instance.other_switches if instance.other_switches.forbids else gain
    instance = instance.replace(models=models, switches=switches, other_switches=others)
    level = float(rng.choice([0.5, 0.75, 0.9]))
    count = math.floor((instance.target.initial_loss - instance.target.maximum_loss) / step)
    reached = round(instance.target.initial_loss - count * step, 6)
    return instance.replace(maximum_loss=reached, quantile_level=level)
