"""An instance from traces and a setup: what ``depl fit`` does, see docs/estimation.rst (fitted-instance).

The instance carries the paper's laws, fitted as in Sec. VI-A (`depl.models.estimation.fit`) where they are
honest, else what was observed; and unless told otherwise the affine law besides
(`depl.models.estimation.affine`), which then takes their place. Sums of many numbers differ in their last
digits from processor to processor, and a minimum is found to half of them only: numbers are rounded, so that
the same traces give the same file on every machine, and what follows from them is computed after rounding.
"""

import json
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Literal, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from depl.models.estimation.affine import FEWEST, fit_affine, margin
from depl.models.estimation.choices import CARE
from depl.models.estimation.fit import Combination, ImprovementFit, SwitchFit, TracesFit, fit_traces
from depl.models.estimation.setup import Setup
from depl.models.evaluation.traced_law import runs_to_carry
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.mistakes import opened
from depl.models.foundation.wording import counted
from depl.models.problem.affine_law import Scale
from depl.models.problem.counting import MOST_DIVERGED
from depl.models.problem.instance import Instance, Provenance, Switch
from depl.models.problem.laws import Deterministic, Empirical, FloatArray, Forbidden, SwitchLaw
from depl.models.problem.learning import ConstantImprovement, Improvement, InverseSqrtImprovement
from depl.models.problem.traced_law import MOST_WHOLE_RUNS, Residuals, TracedLaw, traced_law
from depl.models.traces.fingerprints import fingerprints
from depl.models.traces.lost import AT_RANDOM, DIVERGED, LEAVE_OUT, ledger, listed
from depl.models.traces.metrics import TARGETS
from depl.models.traces.same_runs import ToldApart, told_apart
from depl.models.traces.table import Traces

LawOfLoss = Literal["affine", "independent"]
"""Whether the affine law is part of the instance, or the paper's laws stand alone."""

HONEST = 0.05
"""Least bootstrap p-value of a law that is taken for the observed values."""

SETTLED_EPOCHS = 3
"""Above a loss count as many runs as were above it after any of the last so many epochs.

A solver ends a plan at the first epoch at which enough runs happen to be below the target. By hand, on the
collection *tuned* of the study ``promises-held-out``: with the last epoch alone promises of 0.80 and 0.90
delivered 0.75 to 0.79 and 0.87 to 0.89, with the last two 0.85 and 0.89 to 0.92, with the last three 0.87 to
0.89 and 0.92 to 0.94, all with 12 to 60 runs of a plan. More epochs refuse more and deliver more than is
promised.
"""

MOST_VALUES = 200
"""Most observed values that are a law one by one."""

CLOSED_FORM_DIGITS, SEARCHED_DIGITS = 7, 5
"""Significant digits of coefficients in closed form, and of parameters that a search has found."""

_RUNS = "$.traced_law.runs"
_LOSS_KEY = re.compile(r"imported [^;]*, loss ([^;]+)")
_RESAMPLES = 99
"""Resamples of the tests behind a fit: p-values are multiples of 1 / 100, since laws are taken by their
likelihood and a p-value is told only. Set by hand; more take proportionate time."""

_BINS_PER_DEVIATION = 20
"""Bins of a deviation: values in a bin vary by a quarter of its squared width at most, here 1 / 1600 of the
variance."""

_Struct = TypeVar("_Struct", bound=msgspec.Struct)


def fit_instance(
    traces: Traces,
    setup: Setup,
    *,
    law: LawOfLoss = "affine",
    residuals: Residuals = "per_run",
    scale: Scale | None = None,
    metric: str = "loss",
    care: float | None = CARE,
    confidence: float | None = None,
    diverged: int | None = None,
    name: str | None = None,
    rng: np.random.Generator | None = None,
) -> Instance:
    """Fit the laws of learning to traces and put them into a setup.

    Parameters
    ----------
    traces : Traces
        Runs, if they were evaluated before training with that loss, at epoch 0. A run that is there twice
        counts once, and of runs that share their first epochs one with every plan and stage
        (`depl.models.traces.same_runs`).
    setup : Setup
        Its models are those of the traces; under the affine law its clusters, too, are where they trained.
    law, residuals : str
        Whether to add the affine law ("affine" or "independent"), and how that keeps its residuals ("per_run"
        or "independent", see `depl.models.problem.traced_law.TracedLaw`).
    scale : "loss" or "log", optional
        The scale of the affine law; the logarithm by default where all losses are positive.
    metric : str
        ``loss``, or ``error_rate`` in its place: what the target of the setup bounds.
    care : float, optional
        Plans that too few runs went through get the margin that this share of held-out plans did not exceed
        (`depl.models.estimation.affine.margin`), and are refused where too few plans tell; None or 0 for no
        margin.
    confidence : float, optional
        At least 0.5: promise only for plans that enough runs went through, counting so many misses as the
        runs leave possible with this confidence; None for promises that are right on average. Both hold for
        a plan that the runs did not choose.
    diverged : int, optional
        How many runs were lost in all; those of `depl.models.traces.table.Traces.lost` by default, and no
        fewer. Each counts as a miss of every plan, and of every stage of a plan that too few runs went
        through (`depl.models.evaluation.traced_law`): careful wherever they were lost.
    name : str, optional
        Of the instance; that of the setup by default.
    rng : numpy.random.Generator, optional
        Of the p-values that say whether a law is honest; one with seed 0 by default.

    Returns
    -------
    Instance
        With the fingerprints of its runs, which `depl.models.estimation.certificate` refuses as judges.

    Raises
    ------
    InvalidInputError
        If models or clusters of traces and setup do not match, a run has no epoch, or a model's improvements
        are too few or do not move; if runs that diverged cannot be counted with this law; or if the loss
        before training had to be estimated and would meet the target.
    """
    _require_match(traces, setup, law)
    apart = told_apart(traces)
    once, whole_runs = apart.once_per_schedule, law == "affine" and residuals == "per_run"
    diverged = _lost(apart.traces.lost, diverged, whole_runs)
    _require_confidence(confidence, whole_runs)
    rng, level, affine = rng or np.random.default_rng(0), setup.target.quantile_level, None
    with apart.in_refusals():
        fit = fit_traces(once, rng, metric=metric, resamples=_RESAMPLES)
        improvements = _improvements(setup, fit)
        if law == "affine":
            affine = _affine(apart, metric, residuals, scale, care or None, confidence, level, diverged)
    return setup.with_improvements(
        improvements,
        _initial_loss(once, setup, metric, fit, affine is None),
        name=setup.name if name is None else name,
        switches=tuple(
            Switch(previous=pair[0], following=pair[1], law=switch_law(found))
            for pair, found in fit.jumps.items()
        ),
        other_switches=Forbidden(),
        traced_law=affine,
        run_fingerprints=fingerprints(apart.traces),
        provenance=(*setup.provenance, *_provenance(apart, setup, fit, affine, metric)),
    )


def observed_law(values: FloatArray) -> Empirical:
    """Observed values as a law: one by one, or neighbours together where they are more than `MOST_VALUES`.

    The mean is kept, and at least 1 - 1 / 1600 of the variance.
    """
    if values.size <= MOST_VALUES:
        return Empirical(values=_rounded_all(np.sort(values)))
    width = significant(float(values.std()) / _BINS_PER_DEVIATION, 2)
    _, member, counts = np.unique(np.floor(values / width), return_inverse=True, return_counts=True)
    means = np.bincount(member, weights=values) / counts
    return Empirical(values=_rounded_all(means), weights=tuple(counts.astype(float).tolist()))


def switch_law(fit: SwitchFit) -> SwitchLaw:
    """The Student-t of a switch where it is honest, else the observed jumps."""
    if fit.laws and fit.law("student_t").p_value >= HONEST:
        return rounded(fit.as_switch("student_t"), SEARCHED_DIGITS)
    if not np.ptp(fit.jumps):
        return Deterministic(value=significant(float(fit.jumps[0]), CLOSED_FORM_DIGITS))
    return observed_law(fit.jumps)


def improvement_law(fit: ImprovementFit) -> Improvement:
    """Eq. (8) with an inverse gamma where it is honest, else with the observed ratios."""
    if fit.laws and fit.curve.scale > 0 and fit.law("inverse_gamma").p_value >= HONEST:
        with suppress(InvalidInputError):  # fitted to few runs, it may have no mean
            return rounded(fit.as_improvement("inverse_gamma"), SEARCHED_DIGITS)
    offset = significant(fit.curve.offset, SEARCHED_DIGITS)
    improvements = fit.ratios * fit.curve.at(fit.epochs)
    unscaled = improvements / replace(fit.curve, scale=1.0, offset=offset).at(fit.epochs)
    scale = significant(float(unscaled.mean()), CLOSED_FORM_DIGITS)
    noise = observed_law(unscaled / scale) if fit.laws else Deterministic(value=1.0)
    if fit.curve.constant:
        return ConstantImprovement(scale=scale, noise=noise)
    return InverseSqrtImprovement(scale=scale, offset=offset, noise=noise)


def significant(value: float, digits: int) -> float:
    """``value`` rounded to so many significant digits; what is infinite stays so."""
    return float(f"{value:.{digits - 1}e}") if math.isfinite(value) else value


def rounded(record: _Struct, digits: int) -> _Struct:
    """A record with all its numbers rounded to so many significant digits."""
    text = msgspec.json.encode(record)
    content = json.loads(text, parse_float=lambda number: significant(float(number), digits))
    return msgspec.convert(content, type(record), dec_hook=opened)


def _rounded_all(values: FloatArray) -> tuple[float, ...]:
    return tuple(significant(value, CLOSED_FORM_DIGITS) for value in values.tolist())


def _require_match(traces: Traces, setup: Setup, law: LawOfLoss) -> None:
    """Refuse models, and for the affine law clusters, that only one of the two knows."""
    if law not in ("affine", "independent"):
        raise InvalidInputError(f"must be affine or independent, not {law!r}", ".law")
    if not traces.epoch.max():
        raise InvalidInputError("no run has an epoch of training", ".epoch")
    trained = {place for schedule in traces.schedules for place in schedule}
    for number, (field, column, on) in enumerate((("models", "model", ""), ("clusters", "cluster", "on "))):
        if field == "clusters" and law != "affine":
            continue
        seen = sorted({place[number] for place in trained})
        given = [item.name for item in getattr(setup, field)]
        if untrained := [index for index, name in enumerate(given) if name not in seen]:
            raise InvalidInputError(
                f"no run trained {on}{given[untrained[0]]!r}, so nothing is known of it; the runs trained "
                f"{on}{', '.join(seen)}",
                f".{field}[{untrained[0]}].name",
            )
        if unknown := [name for name in seen if name not in given]:
            row = int(np.argmax(getattr(traces, column) == unknown[0]))
            raise InvalidInputError(
                f"{unknown[0]!r} is not among the {field} of the setup, which are {', '.join(given)}; add it "
                "there, or leave such runs out",
                f".{column}[{row}]",
            )


def _unevaluated(traces: Traces) -> NDArray[np.bool_]:
    """Which runs begin at epoch 1."""
    return np.asarray(traces.epoch[traces.bounds[:-1]] == 1)


def _initial_loss(traces: Traces, setup: Setup, metric: str, fit: TracesFit, alone: bool) -> float:
    """The mean metric before training, estimated for runs that were not evaluated then.

    Where the paper's laws stand alone, an estimate that would meet the target is refused: nobody has seen it.
    """
    table, without = traces.matrix(metric), _unevaluated(traces)
    found = table[:, 0].copy()
    for index in np.flatnonzero(without).tolist():
        curve = fit.improvements[Combination(traces.schedules[index][0][0])].curve
        found[index] = table[index, 1] + float(curve.at(np.array([1.0]))[0])
    mean = significant(float(found.mean()), CLOSED_FORM_DIGITS)
    estimated = alone and setup.target.initial_loss is None and without.any()
    if estimated and mean <= setup.target.maximum_loss:
        raise InvalidInputError(
            f"not every run was evaluated before training, and the {mean:g} estimated for it would meet the "
            "target without an epoch: give initial_loss in the target of the setup, evaluate before the "
            "first epoch, or lower maximum_loss",
            ".epoch",
        )
    return mean


def _improvements(setup: Setup, fit: TracesFit) -> dict[str, Improvement]:
    found: dict[str, Improvement] = {}
    for index, model in enumerate(setup.models):
        key = Combination(model.name)
        if key not in fit.improvements:
            message = f"the improvements of {model.name!r} cannot be fitted: {fit.refused[str(key)]}"
            raise InvalidInputError(message, f".models[{index}].name")
        found[model.name] = improvement_law(fit.improvements[key])
    return found


def _lost(known: dict[str, str], told: int | None, whole_runs: bool) -> int:
    """How many runs are lost: as many as is told, but none that the traces know of is forgotten."""
    count = len(known) if told is None else told
    if type(count) is not int or not 0 <= count <= MOST_DIVERGED:
        raise InvalidInputError(
            f"must be a whole number of runs from 0 to {MOST_DIVERGED}, not {count!r}", ".diverged"
        )
    if count < len(known):
        raise InvalidInputError(
            f"{count} runs were lost as is told, but the traces know of {len(known)}: {listed(known)}; give "
            f"their number in all, {DIVERGED} {len(known)} or more, or leave runs out, {LEAVE_OUT} NAME",
            ".diverged",
        )
    if count and not whole_runs:
        of_traces = f", as are known of these traces: {listed(known)}" if known else ""
        raise InvalidInputError(
            "runs that diverged or were lost are counted beside whole runs: use the affine law with "
            f"residuals per_run, or leave them out, {LEAVE_OUT} NAME{of_traces}",
            ".diverged",
        )
    return count


def _require_confidence(confidence: float | None, whole_runs: bool) -> None:
    if confidence is not None and not 0.5 <= confidence < 1:
        raise InvalidInputError(f"must be at least 0.5 and below 1, not {confidence}", ".confidence")
    if confidence is not None and not whole_runs:
        raise InvalidInputError(
            "a confidence counts whole runs: use the affine law with residuals per_run", ".confidence"
        )


def _affine(
    apart: ToldApart,
    metric: str,
    residuals: Residuals,
    scale: Scale | None,
    care: float | None,
    confidence: float | None,
    level: float,
    diverged: int,
) -> TracedLaw:
    """The law as part of an instance, with rounded coefficients."""
    traces = apart.traces
    scale = scale or ("log" if traces.target(metric).min() > 0 else "loss")
    law = fit_affine(traces, metric, scale=scale, origins=apart.origins)
    if not any(first and age == 1 for _, first, age, _ in law.rows):
        raise InvalidInputError(
            f"the runs are too few for the affine law: it takes {FEWEST} that begin with the same model",
            ".run",
        )
    found = () if care is None or confidence is not None else margin(traces, metric, scale, care)
    deviations, whole_runs = _rounded_all(np.array(found)), FEWEST  # plans never run are refused without one
    if care is None or deviations:  # the law of a plan alone is of as many runs as can carry the promise
        whole_runs = min(MOST_WHOLE_RUNS, max(FEWEST, runs_to_carry(level, diverged=diverged)))
    made = traced_law(
        law,
        residuals,
        float(traces.target(metric).max()) if residuals == "per_run" else None,
        deviations,
        care=care,
        confidence=confidence,
        whole_runs=whole_runs,
        settled_epochs=SETTLED_EPOCHS,
        diverged=diverged,
        cut_at_random=len(ledger(traces.provenance, AT_RANDOM).keys() & {*traces.runs}),
    )
    return msgspec.structs.replace(
        made,
        steps=tuple(rounded(item, CLOSED_FORM_DIGITS) for item in made.steps),
        jumps=tuple(rounded(item, CLOSED_FORM_DIGITS) for item in made.jumps),
    )


def _provenance(
    apart: ToldApart, setup: Setup, fit: TracesFit, affine: TracedLaw | None, metric: str
) -> Iterator[Provenance]:
    """What was measured, and in how many runs."""
    runs = len(apart.traces.runs)
    if setup.target.initial_loss is None:
        without = int(_unevaluated(apart.traces).sum())
        told = f", in {counted(without, 'run')} estimated from epoch 1 on" if without else ""
        yield _measured("target.initial_loss", f"mean {metric} before training{told}", runs)
    for index, model in enumerate(setup.models):
        found = fit.improvements[Combination(model.name)]
        what = f"Sec. VI-A: {found.ratios.size} ratios, {found.nonpositive} of them not positive"
        yield _measured(f"models[{index}].improvement", what, found.runs)
    for index, jumps in enumerate(fit.jumps.values()):
        yield _measured(f"switches[{index}]", "Sec. VI-A", jumps.jumps.size)
    yield _measured("other_switches", "never made", runs)
    yield _measured("run_fingerprints", "of the losses, to know the runs again", runs)
    for what, words in apart.said():
        yield _measured("run_fingerprints", f"{what}: {words}", runs)
    if affine is None:
        return
    yield _measured("traced_law", "fitted", runs)
    origin = "; ".join([metric, *(f"{name} {value}" for name, value in apart.traces.provenance.items())])
    yield Provenance(path=_RUNS, source="measured", note=origin)
    if affine.diverged:
        what = listed(apart.traces.lost) or "told: runs that diverged and are not among those recorded"
        yield _measured("traced_law.diverged", what, affine.diverged)
    if affine.deviations:
        what = "margin for plans never run, from plans held out of the fit"
        yield _measured("traced_law.deviations", what, runs)


def metric_of(instance: Instance) -> str:
    """The metric whose law was fitted, as the provenance says; the loss where it says nothing."""
    notes = [row.note.partition(";")[0] for row in instance.provenance if row.path == _RUNS]
    return next((metric for metric in notes if metric in TARGETS), TARGETS[0])


def loss_key_of(chosen: Traces | Instance) -> str | None:
    """What the logs call their loss of which runs were read; None where the provenance does not say it."""
    rows = (
        [f"imported {chosen.provenance.get('imported')}"]
        if isinstance(chosen, Traces)
        else [row.note for row in chosen.provenance if row.path == _RUNS]
    )
    return next((found[1] for row in rows if (found := _LOSS_KEY.search(row))), None)


def _measured(path: str, what: str, runs: int) -> Provenance:
    return Provenance(path=f"$.{path}", source="measured", note=f"{what}; {counted(runs, 'run')}")
