"""Traced laws to test with: random ones under every reading, and one small enough to work out by hand."""

import functools
from fractions import Fraction

import numpy as np

from depl.models.problem.traced_law import FittedJump, FittedStep, TracedLaw
from depl.models.verifier.distribution import tail_probability
from depl.models.verifier.laws import decimal
from depl.models.verifier.traces import traced_loss
from tests.cases.memory_cases import FAR, FULL, every_schedule, instance_of, random_law, run_of
from tests.oracles.traced_law import Oracle
from tests.problems import plan

READINGS = [
    {"residuals": residuals, "deviations": deviations, "unseen_loss": unseen, "scale": scale}
    for scale in ("loss", "log")
    for residuals in ("per_run", "independent")
    for deviations, unseen in (((), None), ((-0.07, 0.02, 0.11), 2.5))
]
"""Ways to read a law, the first ones as they were before runs unlike all seen were counted in stages."""

COUNTS = [
    {},
    {"whole_runs": 6, "settled_epochs": 2},
    {"unseen_loss": 2.6, "whole_runs": 30, "diverged": 1},
    {"unseen_loss": 1.1, "whole_runs": 6, "settled_epochs": 3, "deviations": (), "care": 0.9},
    {"unseen_loss": 2.6, "whole_runs": 6, "confidence": 0.9, "settled_epochs": 2, "residuals": "per_run"},
    {"care": 0.8, "whole_runs": 7, "unseen_loss": 0.9},
    {"unseen_loss": 2.6, "whole_runs": 6, "settled_epochs": 2, "diverged": 2},
    {"unseen_loss": 2.6, "whole_runs": 6, "confidence": 0.9, "diverged": 3, "residuals": "per_run"},
]
"""How runs are counted in them."""


def reading(seed):
    """One of all ways to read a law and to count its runs."""
    found = {**READINGS[seed % len(READINGS)], **COUNTS[(seed + seed // len(READINGS)) % len(COUNTS)]}
    if found["residuals"] == "independent":  # which count no whole runs
        return {**found, "confidence": None, "diverged": 0}
    return found


@functools.cache
def cases(count):
    """Random laws under all readings, each with its oracle and its supported schedules of up to 4 epochs."""
    found = []
    for seed in range(count):
        document = random_law(np.random.default_rng(1000 + seed), **reading(seed))
        oracle = Oracle(document)
        schedules = every_schedule(instance_of(document))
        found.append((document, oracle, [item for item in schedules if oracle.supported(item)]))
    return found


def verified(document, schedule, maximum):
    """P(l(K) > maximum) by the verifier, which has the atoms exactly."""
    found = traced_loss(document, schedule)
    assert found.outside is None
    limit = decimal(document.on_scale(maximum) + 1e-9) - found.certain
    tail = tail_probability(found.increments, limit)
    assert tail.lower == tail.upper
    return found.beyond + (1 - found.beyond) * Fraction(tail.lower)


def plan_of(schedule):
    held = dict.fromkeys(sorted({name for _, name in schedule}), ("data",))
    return plan(*((*pair, 2.0 + k) for k, pair in enumerate(schedule)), data=held)


def halves(count=8, **fields):
    """``count`` runs full-far of losses 4, 3 or 2, 1 or 2, by turns; all residuals are zero or one half.

    Retention 0 after the switch: what the first stage lends does not matter then.
    """
    runs = [run_of([(FULL, 1), (FAR, 1)], [4.0, 2.0 + index % 2, 1.0 + index % 2]) for index in range(count)]
    return full_then_far(runs, 0.0, **fields)


def full_then_far(runs, retention, **fields):
    """A law of runs full-far: l(1) = 0.5 + 0.5 l(0) + e, then l(2) = 1.5 + retention l(1) + e."""
    jump = FittedJump(
        previous_model="full",
        previous_cluster="edge",
        model="cut",
        cluster="far",
        intercept=1.5,
        retention=retention,
    )
    step = FittedStep(model="full", cluster="edge", first=True, age=1, intercept=0.5, retention=0.5)
    return TracedLaw(runs=runs, steps=[step], jumps=[jump], **fields)
