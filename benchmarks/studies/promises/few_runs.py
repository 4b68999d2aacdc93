"""Promises from few runs, judged on runs that nobody had seen: collections of real runs.

``python -m depl.benchmarks.studies.promises.few_runs NAME FILE`` trains the runs of a collection again
(`COLLECTIONS`; five minutes to half an hour on one core); the files that are shipped were made so. The seeds
are those of no shipped trace. *tuned* and *drawn* have 75 runs of 45 epochs of each of 16 schedules; one more
collection for every family (`OF_FAMILIES`) has 400 runs of 20 epochs of two schedules that were drawn, so
that 300 runs of one plan can be known and 100 judge. These, too, were committed before their first run was
trained.

*tuned* (AlexNet-like networks, 16 schedules chosen by hand) is the collection on which the rule
``settled_epochs`` of `fit_instance` was chosen. It therefore cannot judge that rule. *drawn* can: another
kind of network, and schedules that a generator drew; both, and the rule for the targets, were committed
before the first of its runs was trained.

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
from depl.instances.training import names
from depl.instances.training.families import family
from depl.instances.training.recording import record
from depl.instances.training.runs import Epoch
from depl.models.estimation.binomial import refuting_p_value
from depl.models.estimation.instance import fit_instance
from depl.models.exact.traced_search import search_under_law
from depl.models.problem.instance import Instance
from depl.models.solving.methods import Limits
from depl.models.traces.files import read_traces, write_traces
from depl.models.traces.table import Schedule, Traces, joined

EPOCHS, RUNS, SCHEDULES = 45, 75, 16
FACTORS = (0.25, 0.36, 0.5, 0.75, 0.9)
"""Pruning factors of the models that the families offer."""

_Stages = tuple[float, float, int]
"""Pruning factors on the edge and on the far edge, and epochs on the edge."""


def drawn_schedules(seed: int, count: int = SCHEDULES, latest: int = 30) -> tuple[_Stages, ...]:
    """Different ones: two factors, the smaller first, and 5 to ``latest`` epochs before the switch."""
    rng = np.random.default_rng(seed)
    found: dict[_Stages, None] = {}
    while len(found) < count:
        first, second = sorted(rng.choice(FACTORS, size=2, replace=False).tolist())
        found[first, second, int(rng.integers(5, latest + 1))] = None
    return tuple(found)


@dataclass(frozen=True)
class Collection:
    """Runs that were made for this benchmark alone.

    Attributes
    ----------
    family : str
        What was trained.
    schedules : tuple of (float, float, int)
        Pruning factors on the edge and on the far edge, and epochs on the edge.
    first_seed : int
        Of the first run of the first schedule.
    file : str
        Where the runs are shipped.
    epochs, runs : int
        Of every schedule.
    setup : str
        Whose clusters and models: those of all families have the same names.
    """

    family: str
    schedules: tuple[_Stages, ...]
    first_seed: int
    file: str
    epochs: int = EPOCHS
    runs: int = RUNS
    setup: str = names.DIGITS_ALEXNET


def _of_family(name: str, number: int) -> Collection:
    """400 runs of 20 epochs of two schedules that switch after 5 to 15."""
    schedules = drawn_schedules(20261124 + number, 2, 15)
    seed = 400_000 + 10 * _SEEDS_APART * number
    return Collection(name, schedules, seed, f"runs-per-plan-{name}.npz", epochs=20, runs=400)


_SEEDS_APART = 1_000

OF_FAMILIES = (*names.SHIPPED[:4], "digits-adam", "digits-cosine", *names.SHIPPED[4:], "zen-attention")
"""Collections named after their family; the place of each fixes its schedules and seeds. Three of the
families are no longer trained (`names.RECORDED_ONLY`): their runs are read as they were recorded."""

COLLECTIONS: Mapping[str, Collection] = {
    "tuned": Collection(
        "digits-alexnet",
        (
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
        ),
        40_000,
        "few-runs.npz",
    ),
    "drawn": Collection(
        "digits-mobilenet",
        drawn_schedules(20261123),
        80_000,
        "few-runs-drawn.npz",
        setup=names.DIGITS_MOBILENET,
    ),
    **{name: _of_family(name, number) for number, name in enumerate(OF_FAMILIES)},
}

LEVELS = (0.8, 0.9, 0.95, 0.99)
QUANTILES = (0.15, 0.3, 0.45, 0.6, 0.75, 0.9)
"""The targets l_max are these quantiles of the last losses of all runs of a collection: no target is left out
because it is difficult, and the lowest are out of reach of most schedules."""

CONFIDENCES = (0.8, 0.9, 0.95)
FEW = (15, 12, 12, 12)
"""Known runs of four schedules: 51 in all."""

_COMMAND = "python -m depl.benchmarks.studies.promises.few_runs"


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
    promised : bool
        Whether there was a promise; one for a plan that nobody went through has no judges.
    refused_before : bool
        Whether the rule that came before refuses this problem, too (`carried_before`).
    """

    draw: int
    level: float
    target: float
    confidence: float | None
    known: int = 0
    judges: int = 0
    kept: int = 0
    promised: bool = False
    refused_before: bool = False

    @property
    def judged(self) -> bool:
        """whether there was a promise that can be judged."""
        return self.judges > 0

    @property
    def refuted(self) -> bool:
        """Whether the judges refute it: one-sided exact test at 5 %."""
        return self.judged and refuting_p_value(self.judges - self.kept, self.judges, self.level) <= 0.05


def train(name: str, path: Path, schedules: int = SCHEDULES, runs: int | None = None) -> None:
    """Train the runs of a collection, or of its first schedules alone, and write them to one file."""
    collection = COLLECTIONS[name]
    count = collection.runs if runs is None else runs
    with TemporaryDirectory() as folder:
        parts = []
        for number, (first, second, switch) in enumerate(collection.schedules[:schedules]):
            schedule = [Epoch(first, "edge")] * switch + [Epoch(second, "far-edge")] * (
                collection.epochs - switch
            )
            start = collection.first_seed + _SEEDS_APART * number
            part = Path(folder) / f"{number}.csv"
            record(family(collection.family), range(start, start + count), part, schedule=schedule)
            parts.append(read_traces(part))
        told = {
            **parts[0].provenance,
            "schedule": f"{len(parts)} of them",
            "command": f"{_COMMAND} {name} FILE",
        }
        write_traces(path, replace(joined(parts), provenance=told))


def shipped_runs(name: str) -> Traces:
    """The runs of a collection."""
    with resources.as_file(resources.files("depl.benchmarks") / "data" / COLLECTIONS[name].file) as path:
        return read_traces(path)


def targets_of(traces: Traces) -> tuple[float, ...]:
    """The target losses that are asked for, by `QUANTILES`, with three decimals."""
    last = traces.matrix()[:, -1]
    return tuple(np.round(np.quantile(last, QUANTILES), 3).tolist())


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
    collection: str,
    traces: Traces,
    known: NDArray[np.bool_],
    draw: int,
    levels: Sequence[float] = LEVELS,
    confidences: Sequence[float | None] = (None, *CONFIDENCES),
    targets: Sequence[float] | None = None,
) -> list[Promise]:
    """All promises of one draw; for the targets of `targets_of` unless others are given."""
    seen, judges = traces.select(known), traces.select(~known)
    fitted = _fitted(collection, seen)
    table, schedules = judges.matrix(), judges.schedules
    found = []
    for confidence in confidences:
        instance = _counted(fitted, confidence)
        for level in levels:
            for target in targets_of(traces) if targets is None else targets:
                asked = instance.replace(quantile_level=level, maximum_loss=target)
                schedule = _chosen(asked)
                promise = Promise(
                    draw, level, target, confidence, refused_before=not carried_before(seen, level, target)
                )
                if schedule is not None:
                    promise = _delivered(promise, asked, schedule, table, schedules)
                found.append(promise)
    return found


def carried_before(known: Traces, level: float, target: float) -> bool:
    """Whether some plan that known runs went through passed the rule that came before.

    It asked for (x + 1)/(n + 1) <= 1 - omega, x of the n runs above the target after the last epoch of the
    plan.
    """
    table, schedules = known.matrix(), np.array([hash(plan) for plan in known.schedules])
    begun: dict[Schedule, NDArray[np.bool_]] = {}
    for plan in set(known.schedules):
        for length in range(1, len(plan) + 1):
            begun.setdefault(plan[:length], np.zeros(len(schedules), dtype=bool))
            begun[plan[:length]] |= schedules == hash(plan)
    for plan, through in begun.items():
        final = table[through, len(plan)]
        if (np.sum(final > target) + 1) / (final.size + 1) <= 1 - level:
            return True
    return False


def delivered(promises: Sequence[Promise]) -> Mapping[str, float | int | None]:
    """Mean share of promises kept by the draws, its standard error, and what was refuted and refused."""
    judged = [promise for promise in promises if promise.judged]
    by_draw: dict[int, list[float]] = {}
    for promise in judged:
        by_draw.setdefault(promise.draw, []).append(promise.kept / promise.judges)
    means = np.array([np.mean(shares) for shares in by_draw.values()])
    return {
        "promises": sum(promise.promised for promise in promises),
        "judged": len(judged),
        "refused": sum(not promise.promised for promise in promises) / len(promises),
        "refused_before": sum(promise.refused_before for promise in promises) / len(promises),
        "delivered": float(means.mean()) if means.size else None,
        "standard_error": float(means.std(ddof=1) / np.sqrt(means.size)) if means.size > 1 else None,
        "refuted": sum(promise.refuted for promise in judged) / len(judged) if judged else None,
    }


def _fitted(collection: str, known: Traces) -> Instance:
    """The instance of the models that were trained."""
    setup = load_setup(COLLECTIONS[collection].setup)
    trained = {model for plan in known.schedules for model, _ in plan}
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
    """With what the judges say."""
    length = len(schedule)
    through = np.array([plan[:length] == schedule for plan in plans])
    law = instance.traced_law
    known = 0 if law is None else sum(run.trained[:length] == schedule for run in law.law.records)
    final = table[through, length]
    return replace(
        promise,
        promised=True,
        known=known,
        judges=int(through.sum()),
        kept=int((final <= promise.target).sum()),
    )


def _known(traces: Traces, sizes: Mapping[Schedule, int], rng: np.random.Generator) -> NDArray[np.bool_]:
    known = np.zeros(len(traces.runs), dtype=bool)
    for plan, runs in traces.by_schedule().items():
        known[rng.permutation(runs)[: sizes.get(plan, 0)]] = True
    return known


if __name__ == "__main__":
    train(sys.argv[1], Path(sys.argv[2]))
