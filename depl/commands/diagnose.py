"""What ``depl diagnose`` does; `depl.arguments.diagnose` declares its options."""

import argparse
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from depl.commands.answer import Answer
from depl.commands.json_text import as_json
from depl.commands.options import figure_files, named_traces, require_outputs
from depl.commands.table import fields, table
from depl.models.estimation.choices import FitBy
from depl.models.estimation.combinations import FitRow, TracesFit, fit_rows, fit_traces
from depl.models.estimation.diagnosis import Diagnosis, diagnose
from depl.models.estimation.facts import LEAST_RUNS, Facts, three_facts
from depl.models.estimation.fit import FittedLaw
from depl.models.estimation.independence import Independence, Tested
from depl.models.foundation.wording import number
from depl.models.traces.table import Traces

_DIGITS = 3
_READING = (
    "shape and p are those of the inverse gamma. p printed: as in the paper, for the positive ratios, with\n"
    "fitted parameters put in. p honest: by a bootstrap that fits anew; 0 where ratios are not positive."
)


def run(options: argparse.Namespace) -> Answer:
    """Fit, test and judge; a verdict against the law is an answer."""
    if options.figure is not None:
        drawn = [file for kind in ("loss", "fits") for file in figure_files(f"{options.figure}-{kind}")]
        require_outputs(drawn, [options.traces])
    traces, by = named_traces(options.traces), FitBy(options.by)
    rng = np.random.default_rng(options.seed)
    found = diagnose(traces, rng, options.metric, options.resamples)
    fit = found.fit
    if by is not FitBy.MODEL:
        fit = fit_traces(traces, rng, by, options.metric, options.resamples)
    facts = _facts(traces, rng, options.metric)
    content = _content(options, traces, found, fit) | {
        "facts": None if facts is None else _finite(asdict(facts))
    }
    text = _text(options.traces, traces, found, fit)
    if facts is not None:
        text += f"\n\n{_facts_text(facts)}"
    return Answer(text, json=as_json(content), aside=_drawn(options, traces, found.fit, fit, rng))


def _facts(traces: Traces, rng: np.random.Generator, metric: str) -> Facts | None:
    if max(map(len, traces.by_schedule().values())) < LEAST_RUNS:
        return None
    return three_facts(traces, rng, metric)


def _drawn(
    options: argparse.Namespace,
    traces: Traces,
    by_model: TracesFit,
    chosen: TracesFit,
    rng: np.random.Generator,
) -> str:
    """Draw what was asked for; p-values are those of every schedule unless ``--by`` chose other ones."""
    if not options.figure:
        return ""
    # Drawing is all that needs matplotlib.
    from depl.benchmarks.figures.canvas import save
    from depl.benchmarks.figures.estimation_figures import fit_figure, loss_band

    target = Path(options.figure)
    if chosen is by_model:
        chosen = fit_traces(traces, rng, FitBy.SCHEDULE, options.metric, options.resamples)
    figures = {"loss": loss_band(traces, options.metric), "fits": fit_figure(by_model, chosen)}
    files = [
        str(path)
        for name, figure in figures.items()
        for path in save(figure, target.parent, f"{target.name}-{name}")
    ]
    return f"drawn in {', '.join(files)}"


def _text(name: str, traces: Traces, found: Diagnosis, fit: TracesFit) -> str:
    verdict = "the independent law may be used" if found.usable else "the independent law must NOT be used"
    parts = [
        f"{name}: {verdict}",
        fields(
            [
                ("runs", f"{len(traces.runs)}, of {len(traces.by_schedule())} schedules"),
                *_independence_fields(found.whole),
            ]
        ),
        f"Improvements, A / sqrt(k + B) X with E[X] = 1:\n{_fit_table(fit_rows(fit.improvements))}",
        _READING,
    ]
    if fit.jumps:
        parts.append(f"Loss of switches:\n{_jump_table(fit)}")
    if found.stages:
        parts.append(f"Variance ratios by model, from switch to switch:\n{_stage_table(found.stages)}")
    if found.levels:
        parts.append(
            f"Final losses of frequent schedules, by the fitted law and in truth:\n{_level_table(found)}"
        )
    parts.append(f"What a promised probability of missing the target is worth:\n{_promise_table(found)}")
    if found.warnings:
        parts.append("Warnings:\n" + "\n".join(f"- {note}" for note in found.warnings))
    return "\n\n".join(parts)


def _independence_fields(whole: Independence) -> list[tuple[str, str]]:
    ratio, bounds = whole.variance_ratio, whole.bounds
    start = whole.start_correlation
    correlations = ", ".join(number(item.value, 2) for item in whole.autocorrelations) or "none"
    return [
        ("compared", f"{whole.runs} runs of {whole.epochs} epochs that share their schedule"),
        (
            "variance ratio",
            f"{number(ratio.value, _DIGITS)}, 95 % interval {number(bounds.lower, _DIGITS)} to "
            f"{number(bounds.upper, _DIGITS)}, p = {number(ratio.p_value, _DIGITS)}; 1 if independent",
        ),
        ("first loss with improvement", "all runs begin alike" if start is None else _tested(start)),
        ("correlations, 1, 2, ... apart", correlations),
    ]


def _tested(item: Tested) -> str:
    return f"correlation {number(item.value, 2)}, p = {number(item.p_value, _DIGITS)}"


def _fit_table(rows: tuple[FitRow, ...]) -> str:
    header = ("model", "runs", "ratios", "<= 0", "A", "B", "shape", "p printed", "p honest", "best law")
    cells = [
        (
            row.combination,
            str(row.runs),
            str(row.ratios),
            f"{100 * row.nonpositive / row.ratios:.3g} %",
            *(number(value, _DIGITS) for value in (row.scale, row.offset, row.gamma_shape)),
            number(row.paper_p_value, _DIGITS),
            number(row.p_value, _DIGITS),
            row.best,
        )
        for row in rows
    ]
    return table(header, cells, right=header[1:-1])


def _jump_table(fit: TracesFit) -> str:
    header = (
        "switch",
        "jumps",
        "estimated",
        "<= 0",
        "mean",
        "deviation",
        "best law",
        "p printed",
        "p honest",
    )
    cells = []
    for (previous, following), found in fit.jumps.items():
        law = found.law("student_t") if found.laws else None
        cells.append(
            (
                f"{previous} -> {following}",
                str(found.jumps.size),
                str(fit.estimated_jumps[previous, following]),
                str(found.nonpositive),
                number(float(found.jumps.mean()), _DIGITS),
                number(float(found.jumps.std()), _DIGITS),
                found.best,
                number(None if law is None else law.goodness.paper_p_value, _DIGITS),
                number(None if law is None else law.p_value, _DIGITS),
            )
        )
    return table(header, cells, right=(*header[1:6], *header[7:]))


def _stage_table(stages: Mapping[str, Independence]) -> str:
    header = ("model", "runs", "variance ratio", "from", "to", "p")
    cells = [
        (
            model,
            str(found.runs),
            *(
                number(value, _DIGITS)
                for value in (
                    found.variance_ratio.value,
                    found.bounds.lower,
                    found.bounds.upper,
                    found.variance_ratio.p_value,
                )
            ),
        )
        for model, found in stages.items()
    ]
    return table(header, cells, right=header[1:])


def _level_table(found: Diagnosis) -> str:
    header = (
        "schedule",
        "runs",
        "mean by law",
        "observed",
        "deviation by law",
        "observed",
        "below .95-quantile",
    )
    cells = [
        (
            item.schedule,
            str(item.runs),
            *(
                number(value, _DIGITS)
                for value in (
                    item.predicted_mean,
                    item.observed_mean,
                    item.predicted_deviation,
                    item.observed_deviation,
                )
            ),
            f"{100 * item.delivered:.3g} %",
        )
        for item in found.levels
    ]
    return table(header, cells, right=header[1:])


def _promise_table(found: Diagnosis) -> str:
    header = ("promised", "as measured", "AR(1) as measured", "AR(1) of .3", "shared factor of .1")
    cells = [[f"{100 * value:.2g} %" for value in asdict(item).values()] for item in found.promises]
    return table(header, cells, right=header)


def _facts_text(facts: Facts) -> str:
    """The three facts of Sec. II in a sentence each per schedule or pair."""
    lines = ["The three facts of Sec. II, for schedules that many runs share:"]
    lines += [
        f"1. {item.schedule}: after epoch {item.epoch} the 1 to 99 % band of {item.runs} runs goes from "
        f"{number(item.lower, _DIGITS)} to {number(item.upper, _DIGITS)}, {number(item.relative, 2)} times "
        "the mean wide"
        for item in facts.spreads
    ]
    lines += [
        f"2. {item.first} | {item.second}: at epoch {item.epoch} means {_both(item.means)}, deviations "
        f"{_both(item.deviations)}; p = {number(item.p_value, 2)} for equal distributions"
        for item in facts.differences
    ]
    lines += [
        f"3. {item.schedule}: in {100 * item.share:.2g} % of the pairs of epochs of a stage (95 % interval "
        f"{100 * item.bounds.lower:.2g} to {100 * item.bounds.upper:.2g} %) the mean falls and the deviation "
        "rises from the first to the second"
        for item in facts.trends
    ]
    return "\n".join(lines)


def _both(pair: tuple[float, float]) -> str:
    return " and ".join(number(value, _DIGITS) for value in pair)


def _content(options: argparse.Namespace, traces: Traces, found: Diagnosis, fit: TracesFit) -> dict[str, Any]:
    return {
        "traces": options.traces,
        "metric": options.metric,
        "runs": len(traces.runs),
        "usable": found.usable,
        "warnings": list(found.warnings),
        "whole": _finite(asdict(found.whole)),
        "stages": {model: _finite(asdict(item)) for model, item in found.stages.items()},
        "levels": [_finite(asdict(item)) for item in found.levels],
        "promises": [asdict(item) for item in found.promises],
        "fits": [_finite(asdict(row)) for row in fit_rows(fit.improvements)],
        "switches": [
            {
                "from": previous,
                "to": following,
                "jumps": item.jumps.size,
                "estimated": fit.estimated_jumps[previous, following],
                "nonpositive": item.nonpositive,
                "best": item.best,
                "laws": [_law(law) for law in item.laws],
            }
            for (previous, following), item in fit.jumps.items()
        ],
        "refused": dict(fit.refused),
    }


def _law(law: FittedLaw) -> Any:
    content = asdict(law) | {"parameters": dict(law.parameters), "goodness": law.goodness._asdict()}
    return _finite(content | {"p_value": law.p_value})


def _finite(content: Any) -> Any:
    """The same with None where a number is not finite."""
    if isinstance(content, dict):
        return {name: _finite(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
