"""Traces drawn from the laws of an instance: what a fit is tested on, because the truth is known."""

from collections.abc import Sequence

import numpy as np

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epochs import LossStep, loss_step, switch_step
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.traces.table import Traces


def draw_traces(
    instance: Instance,
    models: Sequence[str],
    runs: int,
    rng: np.random.Generator,
    clusters: Sequence[str] | None = None,
    prefix: str = "",
) -> Traces:
    """Train ``runs`` times on paper: all datasets, one model per epoch, losses drawn from the laws.

    Parameters
    ----------
    models : sequence of str
        Model of epochs 1, ..., K.
    runs : int
        At least 1; all begin at l(0).
    clusters : sequence of str, optional
        Cluster of every epoch; the first of the instance unless given. No law depends on it.
    prefix : str
        In front of the names of the runs, 0, 1, ...

    Returns
    -------
    Traces
        With the metric ``start_loss``, the loss right after the switch (or at the start) of every epoch.

    Raises
    ------
    InvalidInputError
        If there is no epoch or run, a name is unknown, or a switch is forbidden.
    """
    if runs < 1 or not models:
        raise InvalidInputError(f"at least one run of one epoch is needed, not {runs} of {len(models)}")
    places = [instance.clusters[0].name] * len(models) if clusters is None else list(clusters)
    unknown = sorted({*models} - {item.name for item in instance.models})
    unknown += sorted({*places} - {item.name for item in instance.clusters})
    if unknown or len(places) != len(models):
        what = f"{unknown[0]!r} is not defined" if unknown else "there is one cluster per epoch"
        raise InvalidInputError(what)
    end, start = _losses(instance, models, runs, rng)
    count = len(models) + 1
    return Traces(
        run=np.repeat([f"{prefix}{index}" for index in range(runs)], count),
        epoch=np.tile(np.arange(count), runs),
        model=np.tile([models[0], *models], runs),
        cluster=np.tile([places[0], *places], runs),
        loss=end.ravel(),
        metrics={"start_loss": start.ravel()},
        provenance={"source": f"drawn from the laws of {instance.name}"},
    )


def _losses(
    instance: Instance, models: Sequence[str], runs: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Losses after and at the start of epochs 0, ..., K, both of shape (runs, K + 1); no start of epoch 0."""
    everything = frozenset(item.name for item in instance.datasets)
    end = np.full((runs, len(models) + 1), instance.target.initial_loss)
    start = np.full_like(end, np.nan)
    before = instance.target.initial_model
    for epoch, model in enumerate(models, start=1):
        loss = end[:, epoch - 1]
        if before is not None and before != model:
            change = switch_step(instance, before, model)
            if change is None:
                raise InvalidInputError(f"the switch from {before!r} to {model!r} is forbidden")
            loss = _after(change, loss, rng)
        start[:, epoch] = loss
        end[:, epoch] = _after(loss_step(instance, epoch, 0, model, model, everything), loss, rng)
        before = model
    return end, start


def _after(step: LossStep, loss: FloatArray, rng: np.random.Generator) -> FloatArray:
    drawn = step.retention * loss + step.shift
    for term in step.terms:
        drawn = drawn + term.coefficient * term.law.sample(rng, loss.size)
    return np.asarray(drawn)
