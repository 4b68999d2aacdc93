"""Losses of scenarios under a traced law as the format of scenarios states them, beside `traced_law`."""

import math

import numpy as np

from tests.oracles.traced_law import Place

EPOCHS, MODELS = 4, ("full", "cut")


def stream(seed, size):
    """Uniform numbers of scenarios, found as the format says: by scenario, epoch, models, pairs of models.

    ``numbers(epoch, model)`` and ``numbers(epoch, previous, model)`` have one number per scenario.
    """
    generator = np.random.default_rng(seed)
    per_epoch = len(MODELS) + len(MODELS) ** 2
    flat = [generator.random(EPOCHS * per_epoch) for _ in range(size)]

    def numbers(epoch, *names):
        if len(names) == 1:
            place = MODELS.index(names[0])
        else:
            place = len(MODELS) + MODELS.index(names[0]) * len(MODELS) + MODELS.index(names[1])
        drawn = np.array([row[(epoch - 1) * per_epoch + place] for row in flat])
        return np.maximum(drawn, 2.0**-54)

    return numbers


def quantiles(values, numbers, weights=None):
    """The least value that a share of the weight as large as the number does not exceed."""
    each = np.ones(len(values)) if weights is None else weights
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(each[order])
    return np.array([values[order][reached >= math.ceil(number * reached[-1])][0] for number in numbers])


def by_statement(oracle, schedule, numbers):
    """Epochs, and with them the numbers, are counted from the first one to come."""
    document, first, last = oracle.document, schedule[0][0], schedule[-1][0]
    if oracle.whole(schedule):
        return quantiles(oracle.per_run(schedule), numbers(1, first), oracle.weights(schedule))
    if document.residuals == "per_run":
        losses = _staged(oracle, schedule, numbers)
    else:
        started = oracle.now is not None
        losses = np.zeros(1) + oracle.now if started else oracle.first_losses(schedule[0])
        losses = quantiles(losses, numbers(1, first, first))
        for k, place in enumerate(oracle.ahead(schedule), start=1):
            drawn = quantiles(oracle.residuals(place), numbers(k, place.trained[0]))
            losses = oracle.step(place, losses, drawn)
    if document.deviations:
        losses = losses + quantiles(np.array(document.deviations), numbers(2, last, last))
    return losses


def _staged(oracle, schedule, numbers):
    """Every stage adds one of what its donors leave at the end, one donor more among them."""
    known, added = oracle.now or 0.0, []
    for part, first in oracle.parts(schedule):
        lending = oracle.lending(part, first)
        ended = np.zeros(len(lending))
        if part.previous is None and oracle.now is None:
            ended = oracle.first_losses(part.trained, part.length)
        for age in range(first, part.length + 1):
            place = Place(part.trained, part.previous, age, part.start)
            ended = oracle.step(place, ended, lending[:, age - first])
            row = oracle.row(place)
            known, added = row.retention * known, [row.retention * values for values in added]
        added.append(ended)
    begun = [max(part.start - len(oracle.past), 0) + 1 for part, _ in oracle.parts(schedule)]
    drawn = [
        quantiles(oracle.with_beside(values), numbers(k, part.trained[0]))
        for values, k, (part, _) in zip(added, begun, oracle.parts(schedule), strict=True)
    ]
    return known + np.sum(drawn, axis=0)
