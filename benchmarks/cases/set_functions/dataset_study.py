"""The study of stage 1: for which (t0, t1, Q0, law) the paper's claim is true, trivial, or beside the point.

``python -m depl.benchmarks.cases.set_functions.dataset_study FOLDER`` draws ``dataset-selection.png`` and
``.svg``. Three panels show the best volume of many small datasets of one density, in closed form; the fourth
draws eight datasets of different densities, solves them by branch and bound, and tries all triples for
submodularity.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from depl.benchmarks.cases.set_functions.random_selections import LAWS
from depl.benchmarks.figures.canvas import panels, save
from depl.benchmarks.figures.legends import make_room, shared_legend
from depl.benchmarks.figures.selection_regions import (
    Regions,
    Share,
    selection_regions,
    selection_shares,
)
from depl.heuristics.data.branching import branch_and_bound
from depl.heuristics.data.conditions import SelectionFunction
from depl.heuristics.data.continuous import best_end
from depl.heuristics.data.epochs_needed import NeededEpochs
from depl.heuristics.data.problem import selection_of_numbers
from depl.heuristics.set_functions.status import exhaustive
from depl.models.problem.learning import InverseLogDataLaw, LogDataLaw, PowerDataLaw

RANGE = 10.0
"""Q(all) / Q0 in the three panels."""
RATIOS = tuple(float(ratio) for ratio in np.geomspace(0.03, 100, 11))
FORMULAS = {"log": "$a - b \\ln Q$", "inverse_log": "$a / \\ln(1 + Q)$", "power": "$a Q^{-p}$"}
"""The number of epochs needed under every data law, for titles and legends."""
_SEED, _DATASETS = 20261001, 8


def regions_of(law: str, points: int = 81) -> Regions:
    """The panel of one data law: t0 / (t1 Q0) across, the law's own parameter down; Q(all) = 10 Q0.

    Parameters
    ----------
    law : str
        ``log`` (down: K(Q0) / b, above ln 10 so that K(all) > 0), ``inverse_log`` (down: Q0) or ``power``
        (down: p; with Q0 = 1, which the power law does not see).
    points : int
        Of each axis.
    """
    across = np.geomspace(0.03, 100, points)
    down, label = {
        "log": (np.geomspace(math.log(RANGE) + 0.02, 20, points), "$K(Q_0) / b$"),
        "inverse_log": (np.geomspace(0.1, 1000, points), "$Q_0$"),
        "power": (np.linspace(0.02, 1.5, points), "$p$"),
    }[law]
    best, concave = [], []
    for value in down.tolist():
        needed, base = _needed(law, value)
        fixed = [(ratio * base + base, RANGE * base - base) for ratio in across.tolist()]
        best.append([best_end(needed, start, 1.0, whole) for start, whole in fixed])
        concave.append([needed.product_is_concave(start, 1.0, whole) for start, whole in fixed])
    return Regions(
        f"$\\hat K = ${FORMULAS[law]}",
        across.tolist(),
        down.tolist(),
        best,
        concave,
        "$t_0 / (t_1 Q_0)$",
        label,
        law != "power",
    )


def share_of(law: str, instances: int, ratios: Sequence[float] = RATIOS) -> Share:
    """Eight datasets, volumes 1/2 ... 3/2 times Q0, densities 1/2 ... 3/2: how many optima lie between.

    Parameters
    ----------
    law : str
        One of `depl.benchmarks.cases.set_functions.random_selections.LAWS`.
    instances : int
        Per ratio.
    ratios : sequence of float
        t0 / (t1 Q0), where t1 = 1 is the mean density.
    """
    between, submodular = [], []
    for place, ratio in enumerate(ratios):
        rng = np.random.default_rng([_SEED, LAWS.index(law), place])
        drawn = [_drawn(rng, law, ratio) for _ in range(instances)]
        found = [branch_and_bound(function.problem) for function in drawn]
        inside = [answer.optimal and 1 < len(answer.subset) < _DATASETS for answer in found]
        between.append(float(np.mean(inside)))
        submodular.append(float(np.mean([exhaustive(function).proved for function in drawn])))
    return Share(FORMULAS[law], tuple(ratios), tuple(between), tuple(submodular))


def main(words: Sequence[str] | None = None) -> int:
    """Draw the figure."""
    parser = argparse.ArgumentParser(
        prog="python -m depl.benchmarks.cases.set_functions.dataset_study", description=__doc__
    )
    parser.add_argument("folder", type=Path, help="where the two files go")
    parser.add_argument("--points", type=int, default=81, help="of each axis")
    parser.add_argument("--instances", type=int, default=60, help="per law and ratio")
    given = parser.parse_args(words)
    figure, axes = panels(4, 2)
    for law, panel in zip(LAWS, axes, strict=False):
        selection_regions(regions_of(law, given.points), panel)
    selection_shares([share_of(law, given.instances) for law in LAWS], axes[3])
    shared_legend(figure)
    make_room(figure)
    given.folder.mkdir(parents=True, exist_ok=True)
    save(figure, given.folder, "dataset-selection")
    return 0


def _needed(law: str, value: float) -> tuple[NeededEpochs, float]:
    """K^ of a panel's row, and its Q0."""
    if law == "log":
        return NeededEpochs(LogDataLaw(a=value, b=1.0, base_volume=1.0)), 1.0
    if law == "inverse_log":
        return NeededEpochs(InverseLogDataLaw(base_volume=value)), value
    return NeededEpochs(PowerDataLaw(p=value, base_volume=1.0)), 1.0


def _drawn(rng: np.random.Generator, law: str, ratio: float) -> SelectionFunction:
    """Q0 = 1; K falls from 3.5 to about 1 (log, b = 1), p = 1/2."""
    volumes, densities = rng.uniform(0.5, 1.5, (2, _DATASETS))
    needed = {
        "log": NeededEpochs(LogDataLaw(a=3.5, b=1.0, base_volume=1.0)),
        "inverse_log": NeededEpochs(InverseLogDataLaw(base_volume=1.0)),
        "power": NeededEpochs(PowerDataLaw(p=0.5, base_volume=1.0)),
    }[law]
    return SelectionFunction(selection_of_numbers(needed, volumes, volumes * densities, ratio + 1.0))


if __name__ == "__main__":
    sys.exit(main())
