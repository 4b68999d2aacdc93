"""Builders of laws, losses, instances and plans for all tests; a number stands for a law that is certain.

What a test does not name is as in the fixture ``steady``: one site, four data, models of demand 2, a loss
that is to fall from 10 to 6 with probability 0.9 in three epochs and, without a round deadline, within 5::

    instance(model("net", 2)).replace(name="steady") == steady
    instance(model("a", BELL), model("b", 1, demand=3), switches={("a", "b"): 0.3}, round_deadline=1)
    plan(("net", "site", 4.0), ("net", "site", 4.0)) == steady_plan
"""

import numpy as np
import pytest

from depl.instances.generator import random_instances
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.instance import Cluster, Dataset, Instance, Model, Switch, Target, Transfer
from depl.models.problem.laws import (
    Deterministic,
    Empirical,
    InverseGamma,
    Law,
    Lognormal,
    Normal,
    StudentT,
)
from depl.models.problem.learning import ConstantImprovement, Improvement, TabledImprovement
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch


def student(degrees, location=0.0, scale=1.0, lower=None, upper=None):
    """A law of Student's t, cut at ``lower`` and ``upper``."""
    return StudentT(degrees_of_freedom=degrees, location=location, scale=scale, lower=lower, upper=upper)


def atoms(*values, weights=None):
    """The law of these values, equally likely or weighted."""
    return Empirical(values=values, weights=weights)


BELL = Normal(mean=1.0, variance=0.2)
GAMMA = InverseGamma(mean=1.0, variance=0.03)
HEAVY = InverseGamma(shape=1.6, scale=1.0)  # of infinite variance
SKEW = Lognormal(mean=1.0, variance=0.5)
COIN = atoms(0.0, 1.0)
DICE = atoms(0.0, 1.0, 5.0, weights=(1.0, 2.0, 1.0))
JUMP = student(3.0, 0.1, 0.05)
CUT = student(2.0, 0.1, 0.2, -1.0, 2.0)
SURE = Deterministic(value=1.0)

GAINS = {
    "normal": BELL,
    "inverse gamma": GAMMA,
    "inverse gamma of infinite variance": HEAVY,
    "lognormal": SKEW,
    "atoms": DICE,
    "certain": SURE,
}
"""An improvement law of every kind."""

SWITCHES = {"normal": BELL, "student t": JUMP, "cut student t": CUT, "atoms": DICE, "certain": SURE}
"""A switch law of every kind that is random or rises."""


def law(value):
    """A number as the law that is certain; a law as it is."""
    return value if isinstance(value, Law) else Deterministic(value=value)


def loss(constant, *terms):
    """A final loss of ``(weight, law)`` or ``(weight, law, count)``."""
    rows = [(*term, 1)[:3] for term in terms]
    summed = tuple((Term(float(weight), law(of)), count) for weight, of, count in rows)
    return FinalLoss(float(constant), summed)


def gain(noise, scale=1.0):
    """The same law at every epoch, times ``scale``."""
    return ConstantImprovement(noise=law(noise), scale=scale)


def gains(*noises):
    """A law, or a law with its scale, for each epoch."""
    return TabledImprovement(
        epochs=tuple(noise if isinstance(noise, ConstantImprovement) else gain(noise) for noise in noises)
    )


def model(name, improvement, demand=2.0, size=1.0, **more):
    """A model by its improvement, or by the number or law that it gains at every epoch."""
    shape = improvement if isinstance(improvement, Improvement) else gain(improvement)
    return Model(name=name, size=size, demand=demand, improvement=shape, **more)


def site(name="site", capacity=10.0, bandwidth=2.0, unit_cost=3.0, **more):
    """A cluster; without arguments the one of ``steady``."""
    return Cluster(name=name, capacity=capacity, bandwidth=bandwidth, unit_cost=unit_cost, **more)


def datasets(**volumes):
    """Datasets by name and volume."""
    return tuple(Dataset(name=name, volume=volume) for name, volume in volumes.items())


def switches(laws):
    """Switches by the models before and after."""
    return tuple(Switch(previous=a, following=b, law=law(of)) for (a, b), of in laws.items())


def transfers(costs):
    """Transfers by dataset and cluster."""
    return tuple(Transfer(dataset=name, cluster=place, cost=cost) for (name, place), cost in costs.items())


def instance(*models, **fields):
    """An instance of these models; ``fields`` of the instance and of its target, the others as in ``steady``.

    ``clusters`` may be one, ``datasets`` may be given by volumes, ``switches`` and ``transfers`` by pairs of
    names, a switch law as a number.
    """
    limits = {"initial_loss": 10, "maximum_loss": 6, "quantile_level": 0.9, "maximum_epochs": 3}
    if fields.get("round_deadline") is None:
        limits["maximum_time"] = 5
    target = {name: fields.pop(name) for name in Target.__struct_fields__ if name in fields}
    for name, built in (("switches", switches), ("transfers", transfers)):
        if isinstance(fields.get(name), dict):
            fields[name] = built(fields[name])
    if isinstance(fields.get("datasets"), dict):
        fields["datasets"] = datasets(**fields["datasets"])
    if isinstance(fields.get("clusters"), Cluster):
        fields["clusters"] = (fields["clusters"],)
    if "other_switches" in fields:
        fields["other_switches"] = law(fields["other_switches"])
    usual = {"name": "made", "clusters": (site(),), "datasets": datasets(data=4)}
    return Instance(models=models, target=Target(**limits | target), **usual | fields)


def plan(*rows, data=("data",), **fields):
    """A plan of rows ``(model, cluster)`` or ``(model, cluster, resources)``, 1 of them where none are named.

    ``data`` are the names that every used cluster holds, or what each holds by its name.
    """
    epochs = [(*row, 1.0)[:3] for row in rows]
    held = data if isinstance(data, dict) else dict.fromkeys((place for _, place, _ in epochs), data)
    return Plan(
        data=tuple(ClusterData(cluster=place, datasets=tuple(names)) for place, names in held.items()),
        epochs=tuple(PlannedEpoch(model=name, cluster=place, resources=x) for name, place, x in epochs),
        **fields,
    )


def steady_epochs(*resources):
    """A plan of ``steady`` by the resources of its epochs."""
    return plan(*(("net", "site", x) for x in resources))


def drawn(seed, count, **ranges):
    """Random instances by a seed; a range that is one number has that number only."""
    pairs = {name: (size, size) if isinstance(size, int) else size for name, size in ranges.items()}
    return random_instances(np.random.default_rng(seed), count, **pairs)


def refusal(call, *arguments, **options):
    """The refusal that a call ends with."""
    with pytest.raises(InvalidInputError) as caught:
        call(*arguments, **options)
    return caught.value
