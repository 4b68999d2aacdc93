"""Runs under way under random traced laws, with all rests of up to four epochs; used by tests only."""

import msgspec
import numpy as np

from tests.cases.memory_cases import every_schedule, instance_of, random_law
from tests.cases.traced_law_cases import reading
from tests.oracles.traced_law import Oracle


def observed_cases(count):
    """Random laws without a confidence, each gone on with from a few states of its own runs.

    A state is one that a run was in, or one a little off: up to 3 epochs trained, its loss times a factor.
    """
    found = []
    for seed in range(count):
        rng = np.random.default_rng(7000 + seed)
        document = random_law(rng, **{**reading(seed), "confidence": None})
        run = document.runs[int(rng.integers(len(document.runs)))]
        trained = tuple(stage.trained for stage in run.stages for _ in range(stage.epochs))
        for epochs in sorted({0, 1, int(rng.integers(2, 4))}):
            if epochs > len(trained):
                continue
            loss = run.losses[epochs] * (1.0 if rng.random() < 0.5 else float(rng.uniform(0.97, 1.03)))
            rest = document.after(trained[:epochs], loss)
            oracle, schedules = Oracle(rest), every_schedule(rest_of(rest))
            found.append((rest, oracle, [item for item in schedules if oracle.supported(item)]))
    return found


def rest_of(document, **target):
    """The instance of a law that records a run under way."""
    observed = document.observed
    last = observed.stages[-1].model if observed.stages else None
    epochs = 4 - min(3, len(document.trained_before))
    given = {"initial_loss": observed.loss, "initial_model": last, "maximum_epochs": epochs, **target}
    return msgspec.structs.replace(instance_of(None, **given), traced_law=document)
