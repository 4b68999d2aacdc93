"""Traced laws that are worked out by hand, and one of recorded runs; used by tests of the verifier only."""

import functools
import math
from collections.abc import Sequence

import msgspec

from depl.instances.training.recorded import recorded_traces
from depl.models.estimation.affine import fit_affine
from depl.models.problem.affine_law import Scale
from depl.models.problem.traced_law import FittedJump, FittedStep, RecordedRun, Stage, TracedLaw, traced_law

FULL, CUT = ("full", "edge"), ("cut", "far")
Schedule = tuple[tuple[str, str], ...]


def schedule(*parts: tuple[tuple[str, str], int]) -> Schedule:
    return tuple(pair for pair, epochs in parts for _ in range(epochs))


def run(parts: Sequence[tuple[tuple[str, str], int]], losses: Sequence[float]) -> RecordedRun:
    stages = tuple(Stage(model=pair[0], cluster=pair[1], epochs=epochs) for pair, epochs in parts)
    return RecordedRun(stages=stages, losses=tuple(round(loss, 12) for loss in losses))


def step(age: int, intercept: float, retention: float, pair: tuple[str, str] = FULL, **more) -> FittedStep:
    more = {"first": pair == FULL, **more}
    return FittedStep(
        model=pair[0], cluster=pair[1], age=age, intercept=intercept, retention=retention, **more
    )


def jump(intercept: float, retention: float, slope: float = 0.0, **more) -> FittedJump:
    more = {"previous_model": "full", "previous_cluster": "edge", **more}
    return FittedJump(
        model="cut", cluster="far", intercept=intercept, retention=retention, start_slope=slope, **more
    )


def changed(data, **fields):
    return msgspec.structs.replace(data, **fields)


FIRST_STEPS = (step(1, 2, 0.5), step(2, 1, 0.5))


def paired(count: int) -> TracedLaw:
    """Half of the runs are better by 1 in both epochs, half worse, from l(0) = 4."""
    signs = [1 if index % 2 else -1 for index in range(count)]
    runs = tuple(run([(FULL, 2)], (4, 4 + sign, 3 + 1.5 * sign)) for sign in signs)
    return TracedLaw(runs=runs, steps=FIRST_STEPS)


def switched() -> TracedLaw:
    """Six runs switch after 1 epoch, six after 4; only these residuals are not 0.

    In the second epoch of the later ones d = -0.3, -0.2, -0.1, 0.1, 0.2, 0.3; at the switch of earlier ones
    f = 0.5 three times, then -0.5. Without them l = 4, 3, 2, 1.5, 1.5 in the first stage. The switch adds 0.3
    after one epoch, and 0.1 for every doubling of them.
    """
    after_one = [
        run([(FULL, 1), (CUT, 2)], (4, 3, 1.8 + f, 0.9 + f / 2)) for f in (0.5, 0.5, 0.5, -0.5, -0.5, -0.5)
    ]
    after_four = [
        run(
            [(FULL, 4), (CUT, 2)],
            (4, 3, 2 + d, 1.5 + d / 2, 1.5 + d / 4, 1.25 + d / 8, 0.625 + d / 16),
        )
        for d in (-0.3, -0.2, -0.1, 0.1, 0.2, 0.3)
    ]
    first = zip((1, 2, 3, 4), (1, 0.5, 0.5, 0.75), strict=True)
    return TracedLaw(
        runs=(*after_one, *after_four),
        steps=(*(step(age, intercept, 0.5) for age, intercept in first), step(2, 0, 0.5, CUT)),
        jumps=(jump(0.3, 0.5, 0.1 / math.log(2)),),
    )


UNSEEN = schedule((FULL, 2), (CUT, 2))


def exponential(law: TracedLaw) -> TracedLaw:
    """A law that says of ln l what another says of l."""
    runs = tuple(changed(item, losses=tuple(math.exp(loss) for loss in item.losses)) for item in law.runs)
    unseen = None if law.unseen_loss is None else math.exp(law.unseen_loss)
    return changed(law, runs=runs, unseen_loss=unseen, scale="log")


@functools.cache
def recorded_law(scale: Scale = "loss") -> TracedLaw:
    """Fitted to the recorded runs of the AlexNet-like family."""
    return traced_law(fit_affine(recorded_traces("digits-alexnet"), scale=scale))
