"""Collections of real runs that were made to judge promises, and how some of their runs become known.

``python -m depl.benchmarks.studies.helpers.collections NAME FILE`` trains the runs of one again (five minutes
to half an hour of one core). The page ``docs/estimation.rst`` says what each is for; schedules, seeds and
targets were committed before the first run was trained, and the seeds are those of no shipped trace.
"""

import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.instances.training import names
from depl.instances.training.families import family
from depl.instances.training.recording import record
from depl.instances.training.runs import Epoch
from depl.models.traces.files import read_traces, write_traces
from depl.models.traces.table import Traces, joined

EPOCHS, RUNS, SCHEDULES = 45, 75, 16
FACTORS = (0.25, 0.36, 0.5, 0.75, 0.9)
"""Pruning factors of the models that the families offer."""
FEW = (15, 12, 12, 12)
"""Known runs of four schedules: 51 in all."""
_SEEDS_APART = 1_000

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


class Collection(NamedTuple):
    """Runs of some schedules of a family; ``setup`` has its clusters and models."""

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


OF_FAMILIES = (*names.SHIPPED[:4], "digits-adam", "digits-cosine", *names.SHIPPED[4:], "zen-attention")
"""Collections named after their family; the place of each fixes its schedules and seeds. Three of the
families are no longer trained (`names.RECORDED_ONLY`): their runs are read as they were recorded."""

_TUNED = {
    (0.25, 0.5): (8, 15, 25),
    (0.25, 0.75): (10, 20),
    (0.25, 0.9): (15,),
    (0.36, 0.5): (12,),
    (0.36, 0.75): (8, 18),
    (0.36, 0.9): (12,),
    (0.5, 0.5): (10, 20),
    (0.5, 0.75): (8, 15, 25),
    (0.5, 0.9): (18,),
}
"""Switch epochs by pruning factors, chosen by hand."""

COLLECTIONS: Mapping[str, Collection] = {
    "tuned": Collection(
        names.DIGITS_ALEXNET,
        tuple((*factors, switch) for factors, switches in _TUNED.items() for switch in switches),
        40_000,
        "few-runs.npz",
    ),
    "drawn": Collection(
        names.DIGITS_MOBILENET,
        drawn_schedules(20261123),
        80_000,
        "few-runs-drawn.npz",
        setup=names.DIGITS_MOBILENET,
    ),
    **{name: _of_family(name, number) for number, name in enumerate(OF_FAMILIES)},
}
"""The number of settled epochs was chosen on *tuned*, which therefore cannot judge it; *drawn* can."""


def train(name: str, path: Path, schedules: int = SCHEDULES, runs: int | None = None) -> None:
    """Train the runs of a collection, or of its first schedules alone, and write them to one file."""
    collection, parts = COLLECTIONS[name], []
    count = collection.runs if runs is None else runs
    with TemporaryDirectory() as folder:
        for number, (first, second, switch) in enumerate(collection.schedules[:schedules]):
            after = [Epoch(second, "far-edge")] * (collection.epochs - switch)
            seeds = range(start := collection.first_seed + _SEEDS_APART * number, start + count)
            part = Path(folder) / f"{number}.csv"
            record(family(collection.family), seeds, part, schedule=[Epoch(first, "edge")] * switch + after)
            parts.append(read_traces(part))
    command = f"python -m depl.benchmarks.studies.helpers.collections {name} FILE"
    told = {**parts[0].provenance, "schedule": f"{len(parts)} of them", "command": command}
    write_traces(path, replace(joined(parts), provenance=told))


def shipped_runs(name: str) -> Traces:
    """The runs of a collection."""
    with resources.as_file(resources.files("depl.benchmarks") / "data" / COLLECTIONS[name].file) as path:
        return read_traces(path)


def known_runs(traces: Traces, known: str | int, draw: int) -> NDArray[np.bool_]:
    """Which runs are known in a draw: ``"few"``, every second of every schedule (``"halves"``), or so many.

    Of few, `FEW` runs of four schedules that are drawn, too.
    """
    plans = traces.by_schedule()
    rng = np.random.default_rng([{"halves": 0, "few": 2}.get(str(known), 1), draw])
    if known == "few":
        chosen = [list(plans)[index] for index in rng.permutation(len(plans))[: len(FEW)]]
        sizes = dict(zip(chosen, FEW, strict=True))
    else:
        sizes = {plan: len(runs) // 2 if known == "halves" else int(known) for plan, runs in plans.items()}
    found = np.zeros(len(traces.runs), dtype=bool)
    for plan, runs in plans.items():
        found[rng.permutation(runs)[: sizes.get(plan, 0)]] = True
    return found


if __name__ == "__main__":
    train(sys.argv[1], Path(sys.argv[2]))
