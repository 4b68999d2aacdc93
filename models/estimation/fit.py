"""The paper's laws from traces (Sec. VI-A): improvements of eq. (8) by combination, and jumps of switches.

An instance has one improvement law per model, `FitBy.MODEL`; Fig. 4 of the paper fits every combination on
its own. Nothing observed is left out in silence. An inverse gamma or lognormal law excludes ratios x <= 0,
which real curves have; it is then fitted to the positive ratios, says how many it excludes, loses every
comparison (its likelihood is 0, its p-value 0), and enters no instance. The honest p-value of an improvement
repeats the whole procedure on every resample: A and B are fitted to it anew, then the law.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from depl.models.estimation.choices import RESAMPLES, FitBy
from depl.models.estimation.curve import (
    Curve,
    checked_improvements,
    fit_curve,
    fitted_curves,
    sums_by_column,
)
from depl.models.estimation.families import (
    LEAST_SAMPLE,
    NO_SPREAD,
    Family,
    GoodnessOfFit,
    family_of,
    goodness_of_fit,
    improvement_families,
    switch_families,
)
from depl.models.estimation.observations import Observations, observe
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import (
    SMALLEST_RELATIVE_VARIANCE,
    Deterministic,
    Empirical,
    FloatArray,
    ImprovementLaw,
    SwitchLaw,
)
from depl.models.problem.learning import ConstantImprovement, InverseSqrtImprovement
from depl.models.traces.stages import stages_of
from depl.models.traces.table import Schedule, Traces

EMPIRICAL, DETERMINISTIC = "empirical", "deterministic"
"""Names of the laws that need no family: the observed values, and their common value."""


@dataclass(frozen=True)
class FittedLaw:
    """One family at its greatest likelihood.

    Attributes
    ----------
    family : str
        Its name.
    parameters : mapping of str to float
    excluded : int
        How many of the observed values the family excludes; the fit is to the others.
    log_likelihood, aic : float
        Of all values: -infinity and infinity if any is excluded.
    goodness : GoodnessOfFit
        Of the values that are not excluded.
    """

    family: str
    parameters: Mapping[str, float]
    excluded: int
    log_likelihood: float
    aic: float
    goodness: GoodnessOfFit

    @property
    def p_value(self) -> float:
        """The honest p-value for all values: 0 if some are excluded."""
        return 0.0 if self.excluded else self.goodness.bootstrap_p_value


@dataclass(frozen=True, eq=False)
class _Fit:
    """Candidates for the law of some numbers, the paper's first; none if these are too few or do not vary."""

    laws: tuple[FittedLaw, ...]

    @property
    def best(self) -> str:
        """The candidate of least AIC; ``deterministic`` if there is none."""
        return min(self.laws, key=lambda item: item.aic).family if self.laws else DETERMINISTIC

    def law(self, family: str) -> FittedLaw:
        """The candidate of that name."""
        for item in self.laws:
            if item.family == family:
                return item
        known = ", ".join(item.family for item in self.laws) or "none: too few values, or nothing varies"
        raise InvalidInputError(f"there is no fit of the family {family!r}; fitted are: {known}")


@dataclass(frozen=True, eq=False)
class ImprovementFit(_Fit):
    """Eq. (8) for one model.

    Attributes
    ----------
    laws : tuple of FittedLaw
        Candidates for X, the paper's first; empty if the ratios do not vary.
    curve : Curve
        A and B, of mean ratio 1.
    ratios, epochs : float array (n,)
        All x = improvement / (A / sqrt(k + B)), whose mean is 1, and the k of each.
    runs : int
        Runs that were observed.
    """

    curve: Curve
    ratios: FloatArray
    epochs: FloatArray
    runs: int

    @property
    def nonpositive(self) -> int:
        """How many ratios are not positive."""
        return int(np.count_nonzero(self.ratios <= 0))

    def as_improvement(self, family: str | None = None) -> InverseSqrtImprovement | ConstantImprovement:
        """The improvement of an instance, with E[X] = 1.

        Parameters
        ----------
        family : str, optional
            ``inverse_gamma``, ``lognormal``, ``normal``, ``empirical`` or ``deterministic``; the best unless
            given.

        Raises
        ------
        InvalidInputError
            If the law is not among the candidates, has no mean, excludes ratios that were observed, or may
            not follow the curve (one that rises, with a heavy tail).
        """
        noise: ImprovementLaw = Deterministic(value=1.0)
        mean = 1.0
        if (chosen := self.best if family is None else family) == EMPIRICAL:
            noise = Empirical(values=tuple(self.ratios.tolist()))
        elif chosen != DETERMINISTIC:
            found = self.law(chosen)
            if found.excluded:
                raise InvalidInputError(
                    f"the {chosen} law excludes {found.excluded} of {self.ratios.size} observed ratios, "
                    "which are not positive; use normal or empirical"
                )
            mean, noise = family_of(chosen).law_of_ratios(list(found.parameters.values()))
        scale = self.curve.scale * mean
        if self.curve.constant:
            return ConstantImprovement(scale=scale, noise=noise)
        return InverseSqrtImprovement(scale=scale, offset=self.curve.offset, noise=noise)


@dataclass(frozen=True, eq=False)
class SwitchFit(_Fit):
    """The jump of the loss at a switch between two models.

    Attributes
    ----------
    laws : tuple of FittedLaw
        Candidates, the paper's Student-t first; empty if the jumps are too few or do not vary.
    jumps : float array (n,)
        Loss right after the switch, less the loss right before it [loss].
    estimated : int
        How many jumps were not measured, but estimated from the loss after the next epoch.
    """

    jumps: FloatArray
    estimated: int = 0

    @property
    def nonpositive(self) -> int:
        """How many jumps are not positive."""
        return int(np.count_nonzero(self.jumps <= 0))

    @property
    def best(self) -> str:
        """The candidate of least AIC; the observed values, or their common one, where there is none."""
        return EMPIRICAL if not self.laws and np.ptp(self.jumps) > 0 else super().best

    def as_switch(self, family: str | None = None) -> SwitchLaw:
        """The law of the switch in an instance.

        Parameters
        ----------
        family : str, optional
            ``student_t`` (a normal law where nu reaches its upper bound), ``normal``, ``empirical`` or
            ``deterministic``; the best unless given.

        Raises
        ------
        InvalidInputError
            If the law is not among the candidates.
        """
        chosen = self.best if family is None else family
        if chosen == DETERMINISTIC:
            return Deterministic(value=float(self.jumps.mean()))
        if chosen == EMPIRICAL:
            return Empirical(values=tuple(self.jumps.tolist()))
        return family_of(chosen).law(list(self.law(chosen).parameters.values()), 1.0)


class Combination(NamedTuple):
    """A model, its cluster, and the schedule of the runs or the name of one; "" where these are pooled."""

    model: str
    cluster: str = ""
    schedule: str = ""

    def __str__(self) -> str:
        """Its parts, the pooled ones left out."""
        return " / ".join(filter(None, self))


class TracesFit(NamedTuple):
    """The laws of a set of traces.

    Attributes
    ----------
    improvements : mapping of Combination to ImprovementFit
    jumps : mapping of (str, str) to SwitchFit
        By the models before and after the switch.
    refused : mapping of str to str
        Why a combination or switch was not fitted.
    """

    improvements: Mapping[Combination, ImprovementFit]
    jumps: Mapping[tuple[str, str], SwitchFit]
    refused: Mapping[str, str]


def fit_traces(
    traces: Traces,
    rng: np.random.Generator,
    by: FitBy = FitBy.MODEL,
    metric: str = "loss",
    resamples: int = RESAMPLES,
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

    Raises
    ------
    InvalidInputError
        If the traces do not hold the metric, or no run trained.
    """
    seen = observe(traces, metric)
    improvements: dict[Combination, ImprovementFit] = {}
    jumps: dict[tuple[str, str], SwitchFit] = {}
    refused: dict[str, str] = {}
    for key, values in _parts(seen, traces, by):
        try:
            improvements[key] = fit_improvement(values, seen.epochs, rng, resamples)
        except InvalidInputError as error:
            refused[str(key)] = str(error)
    for previous, following in seen.switches_seen():
        try:
            expected = _expected(seen, following, rng)
            found, estimated = seen.jumps_of(previous, following, expected)
            jumps[previous, following] = fit_switch(found, rng, resamples, estimated)
        except InvalidInputError as error:
            refused[f"{previous} -> {following}"] = str(error)
    return TracesFit(improvements, jumps, refused)


def fit_improvement(
    improvements: ArrayLike,
    epochs: ArrayLike,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
) -> ImprovementFit:
    """Fit A, B and the law of X to the improvements of one model, on one cluster with one set of data.

    Parameters
    ----------
    improvements : array (r, e)
        l(k-1) - l(k) of r runs, NaN where one was not seen or trained another model [loss].
    epochs : array (e,)
        The k of the columns, counted from the start of the run.
    rng : numpy.random.Generator
        Of everything that is resampled.
    resamples : int
        For the intervals of A and B, and for the p-values.

    Raises
    ------
    InvalidInputError
        If the improvements cannot be used, see `depl.models.estimation.curve.fit_curve`.
    """
    curve = fit_curve(improvements, epochs, rng, resamples)
    values, ks = checked_improvements(improvements, epochs)
    rows, columns = np.nonzero(np.isfinite(values))
    expected = curve.at(ks)[columns]
    ratios = values[rows, columns] / expected

    def again(drawn: FloatArray) -> FloatArray:
        """Ratios (b, n) seen through a curve that is fitted to their own improvements."""
        improved = drawn * expected
        return improved / fitted_curves(ks, sums_by_column(improved, columns)).at(ks)[:, columns]

    laws: tuple[FittedLaw, ...] = ()
    if ratios.var() >= SMALLEST_RELATIVE_VARIANCE:
        laws = tuple(_fitted(family, ratios, rng, resamples, again) for family in improvement_families())
    return ImprovementFit(laws, curve, ratios, ks[columns], len(values))


def fit_switch(
    jumps: ArrayLike, rng: np.random.Generator, resamples: int = RESAMPLES, estimated: int = 0
) -> SwitchFit:
    """Fit the law of the loss change at a switch.

    Parameters
    ----------
    jumps : array (n,)
        One number per switch that was observed; fewer than five are kept as they are [loss].
    rng : numpy.random.Generator
        Of the resamples.
    estimated : int
        How many of them were not measured, but estimated from the loss after the next epoch.

    Raises
    ------
    InvalidInputError
        If there is no jump, or one is not finite.
    """
    values = np.array(jumps, dtype=float).ravel()
    if not values.size or not np.isfinite(values).all():
        raise InvalidInputError("a switch is fitted to finite jumps, at least one")
    laws: tuple[FittedLaw, ...] = ()
    if values.size >= LEAST_SAMPLE and np.ptp(values) > NO_SPREAD * np.abs(values).max():
        laws = tuple(_fitted(family, values, rng, resamples) for family in switch_families())
    return SwitchFit(laws, values, estimated)


def fit_rows(fits: Mapping[Combination, ImprovementFit]) -> list[dict[str, Any]]:
    """The table of fits: what Fig. 4 (centre) shows of each combination, and what it does not.

    A and B are those of mean ratio 1. Shape and p-values are of the inverse gamma, None if nothing varies:
    ``paper_p_value`` for the positive ratios as the paper reads it, ``p_value`` the honest one, 0 if some
    ratios are not positive, ``positive_p_value`` that for the positive ratios alone. ``best`` is of least
    AIC.
    """
    rows = []
    for key, fit in fits.items():
        law = fit.law("inverse_gamma") if fit.laws else None
        rows.append(
            {
                "combination": str(key),
                "runs": fit.runs,
                "ratios": fit.ratios.size,
                "nonpositive": fit.nonpositive,
                "scale": fit.curve.scale,
                "offset": fit.curve.offset,
                "gamma_shape": law and law.parameters["shape"],
                "paper_p_value": law and law.goodness.paper_p_value,
                "p_value": law and law.p_value,
                "positive_p_value": law and law.goodness.bootstrap_p_value,
                "best": fit.best,
            }
        )
    return rows


def schedule_label(schedule: Schedule) -> str:
    """For instance ``17 full@edge, 43 cut@far``: epochs, model and cluster of every stage."""
    return ", ".join(f"{count} {model}@{cluster}" for model, cluster, count in stages_of(schedule))


def _parts(seen: Observations, traces: Traces, by: FitBy) -> Iterator[tuple[Combination, FloatArray]]:
    """The improvements of every combination, those of other combinations NaN."""
    labels = np.full(len(traces.runs), "", dtype=object)
    if by is FitBy.RUN:
        labels = np.array(traces.runs)
    elif by is FitBy.SCHEDULE:
        labels = np.array([schedule_label(schedule) for schedule in traces.schedules])
    places = [(model, "" if by is FitBy.MODEL else cluster) for model, cluster in seen.combinations()]
    for label, (model, cluster) in product(dict.fromkeys(labels.tolist()), dict.fromkeys(places)):
        member, here = labels == label, seen.trained(model, cluster)
        if here[member].any():
            yield Combination(model, cluster, label), np.where(here, seen.improvements, np.nan)[member]


def _expected(seen: Observations, model: str, rng: np.random.Generator) -> FloatArray:
    """The curve of a model at all epochs, if a switch to it was not evaluated before training; else zeros."""
    if not np.isnan(seen.start[seen.switched & (seen.model == model)]).any():
        return np.zeros(seen.epochs.size)
    own = np.where(seen.trained(model), seen.improvements, np.nan)
    return fit_curve(own, seen.epochs, rng, resamples=1).at(seen.epochs)


def _fitted(
    family: Family,
    values: FloatArray,
    rng: np.random.Generator,
    resamples: int,
    again: Callable[[FloatArray], FloatArray] | None = None,
) -> FittedLaw:
    used = values[values > 0] if family.positive else values
    excluded = values.size - used.size
    goodness = goodness_of_fit(family, used, rng, resamples, None if excluded else again)
    parameters = family.fit(used[None, :])
    log_likelihood = -math.inf if excluded else float(family.log_likelihood(parameters, used[None, :])[0])
    return FittedLaw(
        family=family.name,
        parameters=dict(zip(family.names, parameters[0].tolist(), strict=True)),
        excluded=excluded,
        log_likelihood=log_likelihood,
        aic=2 * len(family.names) - 2 * log_likelihood,
        goodness=goodness,
    )
