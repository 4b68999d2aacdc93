"""Traces drawn from known laws by numpy alone: what a fit is tested on, because the truth is known."""

from collections.abc import Sequence

import numpy as np

from depl.models.traces.table import Traces

OFFSETS = {"full": 1.0, "cut": 4.0}
SHAPE = 2 + 1 / 0.03


def draw_traces(
    models: Sequence[str],
    runs: int,
    rng: np.random.Generator,
    clusters: Sequence[str] = (),
    prefix: str = "",
) -> Traces:
    """Runs from a loss of 10 by eq. (8), a model per epoch; ``start_loss`` is the loss right after a switch.

    A is 2, B that of the model, X has an inverse gamma law of mean 1 and variance 0.03; after a switch the
    loss jumps by 0.4 with a standard deviation of 0.1.
    """
    losses, starts = [np.full(runs, 10.0)], [np.full(runs, np.nan)]
    for epoch, model in enumerate(models, start=1):
        switched = epoch > 1 and model != models[epoch - 2]
        starts.append(losses[-1] + (rng.normal(0.4, 0.1, runs) if switched else 0.0))
        ratio = (SHAPE - 1) / rng.standard_gamma(SHAPE, runs)
        losses.append(starts[-1] - 2 / np.sqrt(epoch + OFFSETS[model]) * ratio)
    places, count = list(clusters) or ["site"] * len(models), len(losses)
    return Traces(
        np.repeat([f"{prefix}{index}" for index in range(runs)], count),
        np.tile(np.arange(count), runs),
        np.tile([models[0], *models], runs),
        np.tile([places[0], *places], runs),
        np.array(losses).T.ravel(),
        {"start_loss": np.array(starts).T.ravel()},
    )
