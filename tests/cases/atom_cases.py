"""Tiny instances whose laws are atoms, with targets at atoms of a plan's own loss."""

from fractions import Fraction

import msgspec
import numpy as np

from depl.instances.generator import random_instance, random_plan
from depl.models.evaluation.evaluate import final_loss
from depl.models.problem.instance import Instance, Model, Switch
from depl.models.problem.laws import Deterministic, Empirical, Normal
from depl.models.risk.certify import certified_quantile
from tests.problems import gain

LEVELS = (0.5, 0.7, 0.75, 0.9, 0.95)


def atomic(seed: int) -> Instance:
    """Up to three models, two clusters, two datasets and four epochs; about two in three have a plan.

    l_max is the quantile of a random plan, or a little less, so an atom decides.
    """
    rng = np.random.default_rng([seed, 21])
    drawn = random_instance(rng, models=(1, 3), clusters=(1, 2), datasets=(1, 2), maximum_epochs=(2, 4))
    models = tuple(_atomic_model(rng, model) for model in drawn.models)
    names = [model.name for model in models]
    switches = tuple(
        Switch(previous=before, following=after, law=_switch(rng))
        for before in names
        for after in names
        if before != after and rng.random() < 0.8
    )
    instance = drawn.replace(models=models, switches=switches, quantile_level=float(rng.choice(LEVELS)))
    quantiles = []
    for _ in range(4):
        loss = final_loss(instance, random_plan(rng, instance))
        quantiles.append(certified_quantile(loss, 1 - Fraction(str(instance.target.quantile_level))).upper)
    least = min(quantiles)
    drop = float(rng.choice([0.0, 0.0, 0.05, 0.2])) * abs(instance.target.initial_loss - least)
    target = min(least - drop, instance.target.initial_loss - 0.01)
    return instance.replace(maximum_loss=target, name=f"atomic-{seed}")


def _atomic_model(rng: np.random.Generator, model: Model) -> Model:
    if rng.random() < 0.25:
        noise = Deterministic(value=float(rng.integers(1, 6)) / 2)
    else:
        noise = Empirical(values=tuple(float(value) for value in rng.integers(0, 7, rng.integers(2, 6)) / 2))
    return msgspec.structs.replace(model, improvement=gain(noise))


def _switch(rng: np.random.Generator) -> Deterministic | Empirical | Normal:
    kind = rng.random()
    if kind < 0.4:
        return Deterministic(value=float(rng.integers(0, 3)) / 2)
    if kind < 0.85:
        return Empirical(values=tuple(float(value) for value in rng.integers(-1, 4, 3) / 2))
    return Normal(mean=0.5, variance=0.1)
