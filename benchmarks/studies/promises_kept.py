"""Do plans that the toolkit chose keep their promises when they are trained for real afterwards.

Each main family is fitted, planned, and the plan trained with seeds made of the plan. *never run*: only the
300 runs of the design are known, four per plan; *all runs*: those of the three fixed plans, too; *flattered*:
never run, and without the margin. The promise 0.99 goes through pilots. The goals were written before the
full run, for a law that promised more (page ``docs/estimation.rst``).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from depl.benchmarks.figures.style import make_room, panels, series_style, set_title, shared_legend
from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.promises.afresh import Row, chosen, count, piloted
from depl.instances.setups import load_setup
from depl.instances.training.recorded import recorded_traces
from depl.models.estimation.choices import CARE
from depl.models.estimation.instance import fit_instance
from depl.models.evaluation.evaluate import evaluate
from depl.models.problem.instance import Instance
from depl.models.traces.table import Traces

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TARGETS: Mapping[str, tuple[float, ...]] = {"digits-alexnet": (0.35, 0.45), "digits-mobilenet": (0.4, 0.55)}
_LEVELS, _HIGH = (0.9, 0.95), 0.99
_RUNS, _FLATTERED_RUNS, _PILOTS = 200, 100, 300
_SMOKE_EPOCHS, _SMOKE_TARGETS = 12, (1.0,)
"""Few epochs, and a target within their reach: schedules are few then."""
_SIGNIFICANCE = 0.05
_MANY = 30
_LEGEND = {
    "never run": "plan never run, with margin",
    "all runs": "all runs known, with margin",
    "flattered": "plan never run, no margin",
    "piloted": "settled by a pilot",
}
"""What stands in the legend for them."""
_SPREAD = 0.006
"""Between equal promises, in probability."""


def promises_figure(values: Mapping[str, Any]) -> "Figure":
    """Promised against delivered, from ``rows`` and ``pilots``: a panel per family."""
    told = [*values["rows"], *({**row, "setting": "piloted"} for row in values["pilots"])]
    families = list(dict.fromkeys(row["family"] for row in values["rows"]))
    figure, axes = panels(max(len(families), 1))
    for family, panel in zip(families, axes, strict=False):
        _draw_promises(
            panel, [row for row in told if row["family"] == family and row.get("delivered") is not None]
        )
        set_title(panel, family)
    lowest, highest = (end(panel.get_ylim()[side] for panel in axes) for side, end in enumerate((min, max)))
    for panel in axes:
        panel.set_ylim(lowest, highest)  # families stand side by side to be compared
    shared_legend(figure)
    make_room(figure)
    return figure


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    del rng  # seeds are made of plans
    rows: list[dict[str, Any]] = []
    pilots: list[dict[str, Any]] = []
    for name, targets in _TARGETS.items():
        setup, traces = load_setup(name), recorded_traces(name)
        for setting, known, care, wanted, runs in _settings(traces, targets, smoke):
            instance = fit_instance(known, setup, care=care)
            if smoke:
                instance = instance.replace(maximum_epochs=_SMOKE_EPOCHS)
            for target in wanted:
                for level in _LEVELS[:1] if smoke else _LEVELS:
                    rows.append(
                        {"family": name, "setting": setting, **_kept(name, instance, level, target, runs)}
                    )
        if smoke:
            break
        rounds, kept = piloted(name, traces, setup, (_HIGH, targets[0]), _PILOTS, _RUNS)
        told = [f"{item.exceedances} of {item.runs}: {item.verdict.value}" for item in rounds]
        pilots.append({"family": name, **(kept or {}), "rounds": told, "certified": kept is not None})
    return {**_figures(rows, pilots), "rows": rows, "pilots": pilots}


def _settings(
    traces: Traces, targets: tuple[float, ...], smoke: bool
) -> Iterator[tuple[str, Traces, float | None, tuple[float, ...], int]]:
    """Name, known runs, margin, targets and fresh runs."""
    rare = [runs for runs in traces.by_schedule().values() if len(runs) < _MANY]
    few = traces.select(np.isin(np.arange(len(traces.runs)), np.concatenate(rare)))
    if smoke:
        yield "never run", few, None, _SMOKE_TARGETS, 1
        return
    yield "never run", few, CARE, targets, _RUNS
    yield "all runs", traces, CARE, targets[:1], _RUNS
    yield "flattered", few, None, targets[:1], _FLATTERED_RUNS


def _kept(name: str, instance: Instance, level: float, target: float, runs: int) -> Row:
    """One promise, and what the paper's independent law says of the same plan."""
    asked, result = chosen(instance, level, target)
    if result.plan is None:
        return {"promised": level, "target": target, "delivered": None}
    bare = msgspec.structs.replace(result.plan, instance=None, claims=None)  # the same for another instance
    paper = evaluate(asked.replace(traced_law=None), bare).quantile
    quantile = None if paper is None else paper.upper
    return {**count(name, asked, result, runs), "paper_quantile": quantile}


def _figures(rows: Sequence[Mapping[str, Any]], pilots: Sequence[Mapping[str, Any]]) -> dict[str, object]:
    careful = [row for row in rows if row["setting"] != "flattered"]
    made = [row for row in careful if row["delivered"] is not None]
    broken = {row["family"] for row in careful if row not in made or row["p_value"] <= _SIGNIFICANCE}
    flattered = [row for row in rows if row["setting"] == "flattered" and row["delivered"] is not None]
    claimed = [row["paper_quantile"] / row["observed"] for row in made if row["paper_quantile"] is not None]
    short = [row["delivered"] - row["promised"] for row in flattered]
    return {
        "promises": len(made),
        "families_kept": len({row["family"] for row in careful} - broken),
        "flattered_least_delivered_less_promised": min(short, default=float("nan")),
        "paper_quantile_over_observed": min(claimed, default=float("nan")),
        "pilots_certified": sum(bool(row["certified"]) for row in pilots),
    }


def _draw_promises(axes: "Axes", rows: Sequence[Mapping[str, Any]]) -> None:
    """An interval per plan, around the share of fresh runs that kept its promise."""
    levels = sorted({row["promised"] for row in rows})
    for level in levels:
        own = sorted((row for row in rows if row["promised"] == level), key=lambda row: row["setting"])
        for index, row in enumerate(own):
            place = level + (index - (len(own) - 1) / 2) * _SPREAD
            colour, marker, _ = series_style(list(_LEGEND).index(row["setting"]))
            axes.plot([place, place], [row["lower"], row["upper"]], color=colour, linewidth=1)
            axes.plot(place, row["delivered"], marker, color=colour, markersize=4.5)
        ends = [level - (len(own) + 1) / 2 * _SPREAD, level + (len(own) + 1) / 2 * _SPREAD]
        axes.plot(ends, [level, level], color="0.4", linestyle="--", linewidth=1)
    for index, (setting, label) in enumerate(_LEGEND.items()):
        if any(row["setting"] == setting for row in rows):
            colour, marker, _ = series_style(index)
            axes.plot([], [], marker, color=colour, markersize=4.5, label=label)
    axes.plot([], [], color="0.4", linestyle="--", linewidth=1, label="as promised")
    axes.set_xticks(levels, [f"{level:g}" for level in levels])
    axes.set_xlabel("promised probability")
    axes.set_ylabel("delivered by fresh runs,\n95 % interval")


STUDY = Study(
    name="promises-kept",
    summary="Plans chosen by the toolkit, trained with fresh seeds: promised against delivered frequency.",
    goals=(
        Goal("promises", "promises that could be made and were tested with 200 fresh runs", ">=", 12),
        Goal("families_kept", "families without a promise refuted at the 5 % level", ">=", 2),
        Goal("flattered_least_delivered_less_promised", "without a margin, worst", "<=", -0.1),
        Goal("paper_quantile_over_observed", "independent law: quantile over the observed, least", ">=", 1.5),
        Goal("pilots_certified", "families in which pilot runs end up certifying 0.99", ">=", 1),
    ),
    run=_run,
    draw=promises_figure,
    seed=20261122,
)
