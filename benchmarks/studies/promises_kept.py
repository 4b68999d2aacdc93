"""Do plans that the toolkit chose keep their promises when they are trained for real afterwards.

Each main family is fitted (`depl.models.estimation.instance.fit_instance`, shipped setup), planned, and the
plan trained with seeds made of the plan. Rows:

*never run*: only the 300 runs of the design are known, four per plan. No plan that is chosen was trained as
such before, though the beginning of many runs may be all of it (``runs_before`` counts them: from 19 on they
speak for it, with fewer it needs the margin). *all runs*: the 300 runs of the three fixed plans are
known, too, and plans that begin like them need no margin. *flattered*: never run, and without the margin.

Beside every plan stands what the paper's independent law says of it. The promise 0.99 goes through pilots:
fresh runs of the plan have to certify it (no exceedance among 300, confidence 0.95); where they do not, they
join the traces, and a plan is chosen again.

The goals were written before the full run; hand runs of a hundred seeds had shown that plans without a margin
break their promises, and that the margin of the 0.90-quantile of deviations nearly suffices.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.promises.fresh_promises import Trainer, chosen, piloted
from depl.instances.setups import load_setup
from depl.instances.training.recorded import recorded_traces
from depl.models.estimation.choices import CARE
from depl.models.estimation.instance import fit_instance
from depl.models.estimation.setup import Setup
from depl.models.evaluation.evaluate import evaluate
from depl.models.problem.instance import Instance
from depl.models.traces.table import Traces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TARGETS: Mapping[str, tuple[float, ...]] = {"digits-alexnet": (0.35, 0.45), "digits-mobilenet": (0.4, 0.55)}
_LEVELS = (0.9, 0.95)
_RUNS, _FLATTERED_RUNS, _PILOTS, _ROUNDS = 200, 100, 300, 3
_HIGH = 0.99
_SMOKE_EPOCHS, _SMOKE_TARGETS = 12, (1.0,)
"""Few epochs, and a target within their reach: schedules are few then."""
_SIGNIFICANCE = 0.05
_MANY = 30

Row = dict[str, object]


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    del rng  # seeds are made of plans
    rows: list[Row] = []
    pilots: list[Row] = []
    for name, targets in _TARGETS.items():
        trainer, setup, traces = Trainer(name, 1 if smoke else None), load_setup(name), recorded_traces(name)
        few = traces.select(_of_rare_plans(traces))
        settings: list[tuple[str, Traces, float | None, tuple[float, ...], int]] = [
            ("never run", few, None if smoke else CARE, _SMOKE_TARGETS if smoke else targets, _RUNS)
        ]
        if not smoke:
            settings.append(("all runs", traces, CARE, targets[:1], _RUNS))
            settings.append(("flattered", few, None, targets[:1], _FLATTERED_RUNS))
        for setting, known, care, wanted, runs in settings:
            instance = fit_instance(known, setup, care=care)
            if smoke:
                instance = instance.replace(maximum_epochs=_SMOKE_EPOCHS)
            for target in wanted:
                for level in _LEVELS[:1] if smoke else _LEVELS:
                    kept = _kept(trainer, instance, level, target, 1 if smoke else runs)
                    rows.append({"family": name, "setting": setting, **kept})
        if smoke:
            break
        pilots.append({"family": name, **_pilot(trainer, traces, setup, targets[0])})
    return {**_figures(rows, pilots), "rows": rows, "pilots": pilots}


def _kept(trainer: Trainer, instance: Instance, level: float, target: float, runs: int) -> Row:
    """One promise, and what the independent law says of the same plan."""
    asked, result = chosen(instance, level, target)
    if result.plan is None:
        return {"promised": level, "target": target, "delivered": None, "reason": result.reason}
    kept = trainer.count(asked, result, runs)
    bare = msgspec.structs.replace(kept.plan, instance=None, claims=None)  # the same for another instance
    paper = evaluate(asked.replace(traced_law=None), bare)
    quantile = None if paper.quantile is None else paper.quantile.upper
    return {**kept.told(), "paper_quantile": quantile, "paper_violation": float(paper.violation.lower)}


def _pilot(trainer: Trainer, traces: Traces, setup: Setup, target: float) -> Row:
    found = piloted(trainer, traces, setup, _HIGH, target, _PILOTS, _ROUNDS, _RUNS)
    told: Row = {} if found.kept is None else found.kept.told()
    return {
        **told,
        "rounds": [f"{item.exceedances} of {item.runs}: {item.verdict.value}" for item in found.rounds],
        "certified": found.kept is not None,
    }


def _figures(rows: list[Row], pilots: list[Row]) -> Mapping[str, object]:
    careful = [row for row in rows if row["setting"] != "flattered"]
    flattered = [row for row in rows if row["setting"] == "flattered"]
    families = {str(row["family"]) for row in careful}
    broken = {str(row["family"]) for row in careful if _refuted(row)}
    claimed = [_number(row, "paper_quantile") / _number(row, "observed") for row in careful if _told(row)]
    return {
        "promises": len([row for row in careful if _told(row)]),
        "families_kept": len(families - broken),
        "least_delivered_less_promised": _least(careful),
        "flattered_least_delivered_less_promised": _least(flattered),
        "paper_quantile_over_observed": min(claimed, default=float("nan")),
        "pilots_certified": sum(bool(row["certified"]) for row in pilots),
        "pilots_delivered": min(
            (_number(row, "delivered") for row in pilots if _told(row)), default=float("nan")
        ),
    }


def _refuted(row: Row) -> bool:
    """Not kept: there is no plan, or fewer runs kept the promise than chance allows."""
    return not _told(row) or _number(row, "p_value") <= _SIGNIFICANCE


def _least(rows: list[Row]) -> float:
    differences = [_number(row, "delivered") - _number(row, "promised") for row in rows if _told(row)]
    return min(differences, default=float("nan"))


def _told(row: Row) -> bool:
    return row.get("delivered") is not None


def _number(row: Row, name: str) -> float:
    value = row[name]
    return float(value) if isinstance(value, float | int) else float("nan")


def _of_rare_plans(traces: Traces) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Runs of plans that fewer than thirty runs trained."""
    rare = [runs for runs in traces.by_schedule().values() if len(runs) < _MANY]
    return np.isin(np.arange(len(traces.runs)), np.concatenate(rare))


def _figure(values: Mapping[str, Any]) -> "Figure":
    # Drawing is all that needs matplotlib.
    from depl.benchmarks.studies.promises.promises_figure import promises_figure

    return promises_figure(values)


STUDY = Study(
    name="promises-kept",
    summary="Plans chosen by the toolkit, trained with fresh seeds: promised against delivered frequency.",
    goals=(
        Goal("promises", "promises that could be made and were tested with 200 fresh runs", ">=", 12),
        Goal("families_kept", "families without a promise refuted at the 5 % level", ">=", 2),
        Goal("flattered_least_delivered_less_promised", "without a margin, worst", "<=", -0.1),
        Goal(
            "paper_quantile_over_observed",
            "independent law: quantile over the observed, least",
            ">=",
            1.5,
        ),
        Goal("pilots_certified", "families in which pilot runs end up certifying 0.99", ">=", 1),
    ),
    run=_run,
    draw=_figure,
    seed=20261122,
)
