"""Small instances whose laws are drawn far from usual ones: heavy tails, spreads of many orders, many atoms.

Models, clusters, data and limits of time are those of `depl.instances.generator`; then every law is replaced
by one of a family, and with parameters, drawn anew: valid, but extreme. The target loss is one that a random
plan reaches in a sample. Whether there is a plan under the law is for the methods to find out.
"""

import itertools

import msgspec
import numpy as np

from depl.instances.generator import random_instance, random_plan
from depl.models.evaluation.evaluate import plan_steps
from depl.models.problem.epochs import compose
from depl.models.problem.instance import ConstantImprovement, Instance, InverseSqrtImprovement, Switch
from depl.models.problem.laws import (
    Deterministic,
    Empirical,
    FloatArray,
    Forbidden,
    ImprovementLaw,
    InverseGamma,
    Lognormal,
    Normal,
    StudentT,
    SwitchLaw,
    Zero,
)
from depl.models.problem.learning import Improvement

_SEED = 240214346
_PLANS, _SAMPLE = 20, 400
"""Plans that the target is chosen from, and draws of the loss of each: a guess of its quantile is enough."""

_RUNS = ("inverse_gamma", "lognormal", "normal", "empirical", "deterministic")
_SWITCHES = ("student_t", "truncated", "normal", "empirical", "deterministic", "zero", "forbidden")


def extreme_instance(number: int) -> Instance:
    """The draw of that number; the same whatever else is drawn."""
    rng = np.random.default_rng([_SEED, number])
    plain = random_instance(rng, models=(2, 3), clusters=(1, 3), datasets=(1, 3), maximum_epochs=(3, 12))
    models = tuple(msgspec.structs.replace(model, improvement=_improvement(rng)) for model in plain.models)
    names = [model.name for model in models]
    listed = [pair for pair in itertools.permutations(names, 2) if rng.random() < 0.5]
    drawn = plain.replace(
        name=f"extreme-{number:04d}",
        models=models,
        switches=tuple(
            Switch(previous=first, following=second, law=_switch(rng)) for first, second in listed
        ),
        other_switches=_switch(rng),
        quantile_level=float(rng.choice([0.5, 0.9, 0.99, 0.999, 0.999999])),
    )
    return _with_target(rng, drawn)


def _improvement(rng: np.random.Generator) -> Improvement:
    noise = _run_law(rng)
    if rng.random() < 0.5:
        return ConstantImprovement(noise=noise)
    return InverseSqrtImprovement(scale=1.0, offset=_order(rng, -2, 2), noise=noise)


def _run_law(rng: np.random.Generator) -> ImprovementLaw:
    """Of about the size 1, of any spread that its family allows."""
    kind = str(rng.choice(_RUNS, p=[0.3, 0.25, 0.15, 0.2, 0.1]))
    if kind == "inverse_gamma":
        shape = 1 + _order(rng, -3, 5)
        return InverseGamma(shape=shape, scale=shape)
    if kind == "lognormal":
        spread = _order(rng, -7, 1.3)
        return Lognormal(log_mean=min(-spread / 2, 0.0), log_variance=spread)
    if kind == "normal":
        return Normal(mean=1.0, variance=_order(rng, -12, 4))
    if kind == "empirical":
        return _atoms(rng)
    return Deterministic(value=_order(rng, -3, 1))


def _switch(rng: np.random.Generator) -> SwitchLaw:
    """A loss of a share of an epoch's, of any spread that its family allows."""
    kind = str(rng.choice(_SWITCHES, p=[0.2, 0.25, 0.15, 0.15, 0.1, 0.1, 0.05]))
    location = _order(rng, -3, 0)
    scale = location * _order(rng, -6, 2)
    if kind == "student_t":
        return StudentT(degrees_of_freedom=1 + _order(rng, -2, 3), location=location, scale=scale)
    if kind == "truncated":
        width = scale * _order(rng, -2, 3)
        freedom = _order(rng, -1, 3)
        return StudentT(
            degrees_of_freedom=freedom,
            location=location,
            scale=scale,
            lower=location - width * rng.random(),
            upper=location + width,
        )
    if kind == "normal":
        return Normal(mean=location, variance=scale**2)
    if kind == "empirical":
        return _atoms(rng)
    return {"deterministic": Deterministic(value=location), "zero": Zero(), "forbidden": Forbidden()}[kind]


def _atoms(rng: np.random.Generator) -> Empirical:
    """From two to thousands of values, on a grid or over many orders, with weights of many orders or none."""
    count = round(_order(rng, 0.31, 3.5))
    orders = 0.0 if rng.random() < 0.5 else _order(rng, -1, 0.8)
    values = np.round(rng.normal(1, 0.5, count), 1) if orders == 0 else 10 ** rng.normal(0, orders, count)
    weights = tuple(10 ** rng.uniform(-6, 0, count)) if rng.random() < 0.3 else None
    return Empirical(values=tuple(map(float, values)), weights=weights)


def _order(rng: np.random.Generator, least: float, most: float) -> float:
    """A number between two powers of ten, evenly on a logarithmic scale."""
    return float(10 ** rng.uniform(least, most))


def _with_target(rng: np.random.Generator, drawn: Instance) -> Instance:
    """Put the target loss where the best of some random plans reaches it in a sample, or nearly."""
    level = drawn.target.quantile_level
    falls = [-_sampled_quantile(rng, drawn, level) for _ in range(_PLANS)]
    fall = max(max(falls), 1e-3)
    initial = fall * float(rng.uniform(1.2, 3))
    return drawn.replace(initial_loss=initial, maximum_loss=initial - fall * float(rng.uniform(0.5, 1)))


def _sampled_quantile(rng: np.random.Generator, instance: Instance, level: float) -> float:
    """Of the change of the loss under a random plan [loss]."""
    change = compose(0.0, plan_steps(instance, random_plan(rng, instance)))
    drawn: FloatArray = np.full(_SAMPLE, change.constant)
    for term, count in change.terms:
        drawn = drawn + term.coefficient * term.law.sample(rng, _SAMPLE * count).reshape(count, -1).sum(
            axis=0
        )
    return float(np.quantile(drawn, level))
