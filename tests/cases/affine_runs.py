"""Runs of an affine law that is known, with independent residuals."""

import numpy as np

from depl.models.problem.affine_law import maturity, positions
from depl.models.traces.table import joined
from tests.cases.fit_cases import traces_of

FULL, CUT = ("full", "edge"), ("cut", "edge")
EPOCHS = 8
STARTS = (2, 3, 5)


def schedule(start):
    return (FULL,) * start + (CUT,) * (EPOCHS - start)


def truth(item, slope=0.004):
    """Intercept, slope of the start and retention that the traces are drawn from."""
    if item.previous is None:
        return 0.2 + 0.01 * item.age, 0.0, 0.5 + 0.03 * item.age
    return 0.3 - 0.02 * item.age, slope * item.age, 0.1 if item.age == 1 else 0.9 - 0.05 * item.age


def drawn(runs, noise, seed, starts=STARTS, slope=0.004):
    """``runs`` runs of every start, from a random loss, with normal residuals."""
    rng, tables = np.random.default_rng(seed), []
    for start in starts:
        losses = [2 + rng.uniform(size=runs)]
        for item in positions(schedule(start)):
            intercept, of_start, retention = truth(item, slope)
            shift = intercept + of_start * maturity(item.start)
            losses.append(shift + retention * losses[-1] + noise * rng.normal(size=runs))
        names = [model for model, _ in schedule(start)]
        tables.append(traces_of(np.array(losses).T, names, "edge", f"{start}-"))
    return joined(tables)


def coefficients(row):
    """What is fitted of a row of the law; what was seen in its pool is apart."""
    return row.intercept, row.start_slope, row.retention, row.ages, row.pooled
