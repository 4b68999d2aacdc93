"""All that can be fitted in a set of traces: every model, on every cluster, in every schedule (Fig. 4).

An instance has one improvement law per model, so that `FitBy.MODEL` is what it is assembled from. Fig. 4 of
the paper fits every combination on its own and shows how many p-values exceed 0.05. `FitBy.SCHEDULE` does so
for all runs of a combination together, `FitBy.RUN` curve by curve, which has few ratios and so rejects less.
A combination that cannot be fitted is listed with the reason.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType

import numpy as np

from depl.models.estimation.choices import RESAMPLES, FitBy
from depl.models.estimation.curve import fit_curve
from depl.models.estimation.fit import ImprovementFit, SwitchFit, fit_improvement, fit_switch
from depl.models.estimation.observations import Observations, observe
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import FloatArray
from depl.models.traces.table import Schedule, Texts, Traces


@dataclass(frozen=True)
class Combination:
    """A model, its cluster, and the schedule of the runs or the name of one; "" where these are pooled."""

    model: str
    cluster: str = ""
    schedule: str = ""

    def __str__(self) -> str:
        """Its parts, the pooled ones left out."""
        return " / ".join(filter(None, (self.model, self.cluster, self.schedule)))


@dataclass(frozen=True, eq=False)
class TracesFit:
    """The laws of a set of traces.

    Attributes
    ----------
    improvements : mapping of Combination to ImprovementFit
    jumps : mapping of (str, str) to SwitchFit
        By the models before and after the switch.
    estimated_jumps : mapping of (str, str) to int
        How many jumps were not measured, but estimated from the loss after the next epoch.
    refused : mapping of str to str
        Why a combination or switch was not fitted.
    """

    improvements: Mapping[Combination, ImprovementFit]
    jumps: Mapping[tuple[str, str], SwitchFit]
    estimated_jumps: Mapping[tuple[str, str], int]
    refused: Mapping[str, str]


@dataclass(frozen=True)
class FitRow:
    """One line of the table of fits: what Fig. 4 (centre) shows of each combination, and what it does not.

    Attributes
    ----------
    combination : str
    runs, ratios, nonpositive : int
    scale, offset : float
        A and B of mean ratio 1; B is infinite where the improvement does not decay.
    gamma_shape : float or None
        Of the inverse gamma; None if nothing varies, like all that follows.
    paper_p_value : float or None
        Of the inverse gamma, for the positive ratios, as the paper reads it.
    p_value : float or None
        The honest one, 0 if some ratios are not positive.
    positive_p_value : float or None
        The honest one for the positive ratios alone.
    best : str
        Family of least AIC.
    """

    combination: str
    runs: int
    ratios: int
    nonpositive: int
    scale: float
    offset: float
    gamma_shape: float | None
    paper_p_value: float | None
    p_value: float | None
    positive_p_value: float | None
    best: str


def fit_traces(
    traces: Traces,
    rng: np.random.Generator,
    by: FitBy = FitBy.MODEL,
    metric: str = "loss",
    resamples: int = RESAMPLES,
    constant: bool = False,
) -> TracesFit:
    """Fit every combination and every switch in a set of traces.

    Parameters
    ----------
    by : FitBy
        Which observations share a law. Switches are always pooled by the two models.
    metric : str
        ``loss``, or ``error_rate`` in its place.
    resamples : int
        For intervals and p-values.
    constant : bool
        Whether improvements do not decay.

    Raises
    ------
    InvalidInputError
        If the traces do not hold the metric, or no run trained.
    """
    seen = observe(traces, metric)
    labels = np.array(traces.runs if by is FitBy.RUN else [schedule_label(s) for s in traces.schedules])
    improvements: dict[Combination, ImprovementFit] = {}
    refused: dict[str, str] = {}
    for key, values in _parts(seen, labels, by):
        try:
            improvements[key] = fit_improvement(values, seen.epochs, rng, resamples, constant=constant)
        except InvalidInputError as error:
            refused[str(key)] = str(error)
    jumps, estimated = _fitted_jumps(seen, rng, resamples, constant, refused)
    return TracesFit(
        MappingProxyType(improvements),
        MappingProxyType(jumps),
        MappingProxyType(estimated),
        MappingProxyType(refused),
    )


def fit_rows(fits: Mapping[Combination, ImprovementFit]) -> tuple[FitRow, ...]:
    """The table of fits, in the order of ``fits``."""
    return tuple(_row(str(key), fit) for key, fit in fits.items())


def schedule_label(schedule: Schedule) -> str:
    """For instance ``17 full@edge, 43 cut@far``: epochs, model and cluster of every stage."""
    stages = ((pair, len(list(group))) for pair, group in groupby(schedule))
    return ", ".join(f"{count} {model}@{cluster}" for (model, cluster), count in stages)


def _parts(seen: Observations, labels: Texts, by: FitBy) -> Sequence[tuple[Combination, FloatArray]]:
    if by is FitBy.MODEL:
        models = dict.fromkeys(model for model, _ in seen.combinations())
        return [(Combination(model), seen.improvements_of(model)) for model in models]
    if by is FitBy.CLUSTER:
        return [(Combination(*pair), seen.improvements_of(*pair)) for pair in seen.combinations()]
    pairs = {
        pair: ((seen.model == pair[0]) & (seen.cluster == pair[1])).any(axis=1)
        for pair in seen.combinations()
    }
    improvements = {pair: seen.improvements_of(*pair) for pair in pairs}
    found = []
    for label in Counter(labels.tolist()):
        member = labels == label
        found += [
            (Combination(*pair, label), improvements[pair][member])
            for pair, trained in pairs.items()
            if np.any(trained & member)
        ]
    return found


def _fitted_jumps(
    seen: Observations, rng: np.random.Generator, resamples: int, constant: bool, refused: dict[str, str]
) -> tuple[dict[tuple[str, str], SwitchFit], dict[tuple[str, str], int]]:
    jumps: dict[tuple[str, str], SwitchFit] = {}
    estimated: dict[tuple[str, str], int] = {}
    for previous, following in seen.switches_seen():
        try:
            found = seen.jumps_of(previous, following, _expected(seen, following, rng, constant))
            jumps[previous, following] = fit_switch(found.values, rng, resamples)
            estimated[previous, following] = found.estimated
        except InvalidInputError as error:
            refused[f"{previous} -> {following}"] = str(error)
    return jumps, estimated


def _expected(seen: Observations, model: str, rng: np.random.Generator, constant: bool) -> FloatArray | None:
    """The curve of a model at all epochs, where switches to it were not evaluated before training."""
    if not np.isnan(seen.start[seen.switched & (seen.model == model)]).any():
        return None
    curve = fit_curve(seen.improvements_of(model), seen.epochs, rng, resamples=1, constant=constant)
    return curve.at(seen.epochs)


def _row(name: str, fit: ImprovementFit) -> FitRow:
    law = fit.law("inverse_gamma") if fit.laws else None
    return FitRow(
        combination=name,
        runs=fit.runs,
        ratios=fit.ratios.size,
        nonpositive=fit.nonpositive,
        scale=fit.curve.scale,
        offset=fit.curve.offset,
        gamma_shape=None if law is None else dict(law.parameters)["shape"],
        paper_p_value=None if law is None else law.goodness.paper_p_value,
        p_value=None if law is None else law.p_value,
        positive_p_value=None if law is None else law.goodness.bootstrap_p_value,
        best=fit.best,
    )
