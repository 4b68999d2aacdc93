"""Promises from few runs, judged on runs that nobody had seen: 1200 real runs of 16 schedules.

``python -m depl.benchmarks.few_runs FILE`` trains them again (about a quarter of an hour on one core); the
file that is shipped, `SHIPPED`, was made so. Every schedule has 75 runs of 45 epochs with seeds that no
shipped trace has.

A *draw* deals the runs: some are known, the others judge. The known runs go through `fit_instance`; for every
target and omega the cheapest plan is chosen under the fitted law; the judges that went through the plan say
how often its promise was kept. What is refused is counted beside it.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np
from numpy.typing import NDArray

from depl.instances.setups import load_setup
from depl.instances.training.families import family
from depl.instances.training.recording import record
from depl.instances.training.runs import Epoch
from depl.models.estimation.binomial import refuting_p_value
from depl.models.estimation.instance import fit_instance
from depl.models.memory.search import search_under_law
from depl.models.methods import Limits
from depl.models.problem import Instance
from depl.models.traces.files import read_traces, write_traces
from depl.models.traces.table import Schedule, Traces, joined

FAMILY = "digits-alexnet"
EPOCHS, RUNS = 45, 75
SCHEDULES = (
    (0.25, 0.5, 8),
    (0.25, 0.5, 15),
    (0.25, 0.5, 25),
    (0.25, 0.75, 10),
    (0.25, 0.75, 20),
    (0.25, 0.9, 15),
    (0.36, 0.5, 12),
    (0.36, 0.75, 8),
    (0.36, 0.75, 18),
    (0.36, 0.9, 12),
    (0.5, 0.5, 10),
    (0.5, 0.5, 20),
    (0.5, 0.75, 8),
    (0.5, 0.75, 15),
    (0.5, 0.75, 25),
    (0.5, 0.9, 18),
)
"""Pruning factors on the edge and on the far edge, and epochs on the edge."""

LEVELS = (0.8, 0.9, 0.95, 0.99)
TARGETS = (0.3, 0.35, 0.4, 0.5, 0.6, 0.8)
"""l_max. Chosen after trials by hand on these runs: at 0.25, left out, were nearly all refusals."""

CONFIDENCES = (0.8, 0.9, 0.95)
FEW = (15, 12, 12, 12)
"""Known runs of four schedules: 51 in all."""

_FIRST_SEED, _SEEDS_APART = 40_000, 1_000
_COMMAND = "python -m depl.benchmarks.few_runs FILE"
SHIPPED = "few-runs.npz"


@dataclass(frozen=True)
class Promise:
    """One problem of one draw.

    Attributes
    ----------
    draw : int
    level, target : float
        omega and l_max.
    confidence : float or None
        None for a marginal promise.
    known : int
        Known runs that went through the plan; 0 where none was promised.
    judges, kept : int
        Runs held out that went through the plan, and those that ended at the target or below.
    """

    draw: int
    level: float
    target: float
    confidence: float | None
    known: int = 0
    judges: int = 0
    kept: int = 0

    @property
    def made(self) -> bool:
        """Whether there was a promise."""
        return self.judges > 0

    @property
    def refuted(self) -> bool:
        """Whether the judges refute it: one-sided exact test at 5 %."""
        return self.made and refuting_p_value(self.judges - self.kept, self.judges, self.level) <= 0.05


def train(path: Path, schedules: Sequence[tuple[float, float, int]] = SCHEDULES, runs: int = RUNS) -> None:
    """Train all runs and write them to one file of traces."""
    with TemporaryDirectory() as folder:
        parts = []
        for number, (first, second, switch) in enumerate(schedules):
            schedule = [Epoch(first, "edge")] * switch + [Epoch(second, "far-edge")] * (EPOCHS - switch)
            start = _FIRST_SEED + _SEEDS_APART * number
            part = Path(folder) / f"{number}.npz"
            record(family(FAMILY), range(start, start + runs), part, schedule=schedule)
            parts.append(read_traces(part))
        told = {**parts[0].provenance, "schedule": f"{len(schedules)} of them", "command": _COMMAND}
        write_traces(path, replace(joined(parts), provenance=told))


def shipped_runs() -> Traces:
    """The 1200 runs."""
    with resources.as_file(resources.files("depl.benchmarks") / "data" / SHIPPED) as path:
        return read_traces(path)


def halves(traces: Traces, draws: int) -> Iterator[NDArray[np.bool_]]:
    """Which runs are known: every second of every schedule in a random order; draw i has seed i."""
    for draw in range(draws):
        rng = np.random.default_rng([0, draw])
        yield _known(traces, {plan: len(runs) // 2 for plan, runs in traces.by_schedule().items()}, rng)


def of_every_schedule(traces: Traces, size: int, draws: int) -> Iterator[NDArray[np.bool_]]:
    """The same with so many known runs of every schedule."""
    for draw in range(draws):
        yield _known(traces, dict.fromkeys(traces.by_schedule(), size), np.random.default_rng([1, draw]))


def few(traces: Traces, draws: int) -> Iterator[NDArray[np.bool_]]:
    """The same with `FEW` runs of four schedules that are drawn, too."""
    plans = list(traces.by_schedule())
    for draw in range(draws):
        rng = np.random.default_rng([2, draw])
        chosen = [plans[index] for index in rng.permutation(len(plans))[: len(FEW)]]
        yield _known(traces, dict(zip(chosen, FEW, strict=True)), rng)


def judged(
    traces: Traces,
    known: NDArray[np.bool_],
    draw: int,
    levels: Sequence[float] = LEVELS,
    confidences: Sequence[float | None] = (None, *CONFIDENCES),
    targets: Sequence[float] = TARGETS,
) -> list[Promise]:
    """All promises of one draw."""
    fitted = _fitted(traces.select(known))
    judges = traces.select(~known)
    table, schedules = judges.matrix(), judges.schedules
    found = []
    for confidence in confidences:
        instance = _counted(fitted, confidence)
        for level in levels:
            for target in targets:
                asked = instance.replace(quantile_level=level, maximum_loss=target)
                schedule = _chosen(asked)
                promise = Promise(draw, level, target, confidence)
                if schedule is not None:
                    promise = _delivered(promise, asked, schedule, table, schedules)
                found.append(promise)
    return found


def delivered(promises: Sequence[Promise]) -> Mapping[str, float | int | None]:
    """Mean share of promises kept by the draws, its standard error, and what was refuted and refused."""
    made = [promise for promise in promises if promise.made]
    by_draw: dict[int, list[float]] = {}
    for promise in made:
        by_draw.setdefault(promise.draw, []).append(promise.kept / promise.judges)
    means = np.array([np.mean(shares) for shares in by_draw.values()])
    return {
        "promises": len(made),
        "refused": 1 - len(made) / len(promises),
        "delivered": float(means.mean()) if means.size else None,
        "standard_error": float(means.std(ddof=1) / np.sqrt(means.size)) if means.size > 1 else None,
        "refuted": sum(promise.refuted for promise in made) / len(made) if made else None,
    }


def _fitted(known: Traces) -> Instance:
    """The instance of the models that were trained."""
    setup, trained = load_setup(FAMILY), {model for plan in known.schedules for model, _ in plan}
    models = tuple(model for model in setup.models if model.name in trained)
    return fit_instance(known, msgspec.structs.replace(setup, models=models, provenance=()))


def _counted(fitted: Instance, confidence: float | None) -> Instance:
    if fitted.traced_law is None:
        raise ValueError("the fitted instance has a traced law")
    return fitted.replace(traced_law=msgspec.structs.replace(fitted.traced_law, confidence=confidence))


def _chosen(instance: Instance) -> Schedule | None:
    plan = search_under_law(instance, Limits()).plan
    return None if plan is None else plan.schedule


def _delivered(
    promise: Promise,
    instance: Instance,
    schedule: Schedule,
    table: NDArray[np.float64],
    plans: Sequence[Schedule],
) -> Promise:
    """With what the judges say; a plan that none of them went through is no promise that can be judged."""
    length = len(schedule)
    through = np.array([plan[:length] == schedule for plan in plans])
    law = instance.traced_law
    known = 0 if law is None else sum(run.trained[:length] == schedule for run in law.law.records)
    final = table[through, length]
    return Promise(
        promise.draw,
        promise.level,
        promise.target,
        promise.confidence,
        known,
        int(through.sum()),
        int((final <= promise.target).sum()),
    )


def _known(traces: Traces, sizes: Mapping[Schedule, int], rng: np.random.Generator) -> NDArray[np.bool_]:
    known = np.zeros(len(traces.runs), dtype=bool)
    for plan, runs in traces.by_schedule().items():
        known[rng.permutation(runs)[: sizes.get(plan, 0)]] = True
    return known


if __name__ == "__main__":
    train(Path(sys.argv[1]))
