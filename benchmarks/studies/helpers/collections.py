"""Collections of real runs that were made to judge promises, and how some of their runs become known.

Schedules, seeds and targets were committed before the first run was trained, and the seeds, which name the
runs, are those of no shipped trace. Tests draw the
schedules again, and train runs again.
"""

from importlib import resources

import numpy as np
from numpy.typing import NDArray

from depl.instances.training import names
from depl.models.traces.files import read_traces
from depl.models.traces.table import Traces

OF_FAMILIES = (*names.SHIPPED[:4], "digits-adam", "digits-cosine", *names.SHIPPED[4:], "zen-attention")
"""Collections named after their family: 400 runs of 20 epochs of two schedules that switch after 5 to 15
epochs. The place of each fixed its schedules and seeds. Three of the families are no longer trained
(`names.RECORDED_ONLY`): their runs are read as they were recorded."""
COLLECTIONS = {
    "tuned": "few-runs.npz",
    "drawn": "few-runs-drawn.npz",
    **{name: f"runs-per-plan-{name}.npz" for name in OF_FAMILIES},
}
"""By file. *tuned* and *drawn* have 75 runs of 45 epochs of 16 schedules each. The number of settled epochs
was chosen on *tuned*, which therefore cannot judge it; *drawn* can."""
FEW = (15, 12, 12, 12)
"""Known runs of four schedules: 51 in all."""


def shipped_runs(name: str) -> Traces:
    """The runs of a collection."""
    with resources.as_file(resources.files("depl.benchmarks") / "data" / COLLECTIONS[name]) as path:
        return read_traces(path)


def setup_of(name: str) -> str:
    """The setup that has the clusters and models of a collection."""
    return names.DIGITS_MOBILENET if name == "drawn" else names.DIGITS_ALEXNET


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
