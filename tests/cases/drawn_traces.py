"""Traces drawn from the laws of an instance: what a fit is tested on, because the truth is known."""

from collections.abc import Sequence

import numpy as np

from depl.models.problem.epochs import LossStep, loss_step, switch_step
from depl.models.problem.instance import Instance, InverseSqrtImprovement, Model, Switch
from depl.models.problem.laws import FloatArray, InverseGamma, Normal
from depl.models.traces.table import Traces


def two_models(bell: Instance) -> Instance:
    """With a full model and a cut one, whose improvements vary alike, and a jump between them."""
    noise, switch = InverseGamma(mean=1, variance=0.03), Normal(mean=0.4, variance=0.01)
    models = [
        Model(name=name, size=1, demand=2, improvement=InverseSqrtImprovement(scale=2, offset=b, noise=noise))
        for name, b in (("full", 1.0), ("cut", 4.0))
    ]
    return bell.replace(models=models, switches=[Switch(previous="full", following="cut", law=switch)])


def draw_traces(
    instance: Instance,
    models: Sequence[str],
    runs: int,
    rng: np.random.Generator,
    clusters: Sequence[str] = (),
    prefix: str = "",
) -> Traces:
    """All datasets, one model per epoch; ``start_loss`` is the loss right after a switch."""
    places = list(clusters) or [instance.clusters[0].name] * len(models)
    everything = frozenset(item.name for item in instance.datasets)
    end = np.full((runs, len(models) + 1), instance.target.initial_loss)
    start = np.full_like(end, np.nan)
    before = instance.target.initial_model
    for epoch, model in enumerate(models, start=1):
        loss = end[:, epoch - 1]
        if before is not None and before != model:
            change = switch_step(instance, before, model)
            assert change is not None
            loss = _after(change, loss, rng)
        start[:, epoch] = loss
        end[:, epoch] = _after(loss_step(instance, epoch, 0, model, model, everything), loss, rng)
        before = model
    count = len(models) + 1
    return Traces(
        run=np.repeat([f"{prefix}{index}" for index in range(runs)], count),
        epoch=np.tile(np.arange(count), runs),
        model=np.tile([models[0], *models], runs),
        cluster=np.tile([places[0], *places], runs),
        loss=end.ravel(),
        metrics={"start_loss": start.ravel()},
    )


def _after(step: LossStep, loss: FloatArray, rng: np.random.Generator) -> FloatArray:
    drawn = step.retention * loss + step.shift
    for term in step.terms:
        drawn = drawn + term.coefficient * term.law.sample(rng, loss.size)
    return np.asarray(drawn)
