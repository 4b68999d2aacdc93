"""The laws of an instance from what was observed: improvements of eq. (8), jumps of switches (Sec. VI-A).

Nothing observed is left out in silence. An inverse gamma or lognormal law excludes ratios x <= 0, which real
curves have; such a law is then fitted to the positive ratios, says how many it excludes, loses every
comparison (its likelihood is 0, its p-value 0), and enters an instance only where the caller accepts that.
Laws on the whole line, and the observed ratios themselves, remain.

The honest p-value of an improvement repeats the whole procedure on every resample: ratios drawn from the
fitted law become improvements along the fitted curve, A and B are fitted to them anew, then the law.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from depl.models.estimation.choices import RESAMPLES
from depl.models.estimation.curve import (
    Curve,
    EpochSums,
    checked_improvements,
    curve_values,
    fit_curve,
    least_squares,
    mean_ratio,
)
from depl.models.estimation.families import Family, family_of, improvement_families, switch_families
from depl.models.estimation.goodness import (
    LEAST_SAMPLE,
    GoodnessOfFit,
    block_sizes,
    checked_sample,
    distances,
    exceedance,
    goodness_of_fit,
    paper_p_value,
)
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

EMPIRICAL, DETERMINISTIC = "empirical", "deterministic"
"""Names of the laws that need no family: the observed values, and their common value."""

_NO_SPREAD = 1e-12
"""Relative range of values that are the same but for rounding: differences of losses of like size are off by
some units of 2**-53, and a law of no spread cannot be fitted."""


@dataclass(frozen=True)
class FittedLaw:
    """One family at its greatest likelihood.

    Attributes
    ----------
    family : str
        Its name.
    parameters : tuple of (str, float)
        By name.
    excluded : int
        How many of the observed values the family excludes; the fit is to the others.
    log_likelihood, aic : float
        Of all values: -infinity and infinity if any is excluded.
    goodness : GoodnessOfFit
        Of the values that are not excluded.
    """

    family: str
    parameters: tuple[tuple[str, float], ...]
    excluded: int
    log_likelihood: float
    aic: float
    goodness: GoodnessOfFit

    @property
    def p_value(self) -> float:
        """The honest p-value for all values: 0 if some are excluded."""
        return 0.0 if self.excluded else self.goodness.bootstrap_p_value


@dataclass(frozen=True, eq=False)
class ImprovementFit:
    """Eq. (8) for one model.

    Attributes
    ----------
    curve : Curve
        A and B, of mean ratio 1.
    ratios : float array (n,)
        All x = improvement / (A / sqrt(k + B)), whose mean is 1.
    runs : int
        Runs that were observed.
    nonpositive : int
        How many ratios are not positive.
    laws : tuple of FittedLaw
        Candidates for X, the paper's first; empty if the ratios do not vary.
    """

    curve: Curve
    ratios: FloatArray
    runs: int
    nonpositive: int
    laws: tuple[FittedLaw, ...]

    @property
    def best(self) -> str:
        """The candidate of least AIC; ``deterministic`` if nothing varies."""
        return _best(self.laws)

    def law(self, family: str) -> FittedLaw:
        """The candidate of that name."""
        return _named(self.laws, family)

    def as_improvement(
        self, family: str | None = None, accept_excluded: bool = False
    ) -> InverseSqrtImprovement | ConstantImprovement:
        """The improvement of an instance, with E[X] = 1.

        Parameters
        ----------
        family : str, optional
            ``inverse_gamma``, ``lognormal``, ``normal``, ``empirical`` or ``deterministic``; the best unless
            given.
        accept_excluded : bool
            Whether to take a law that excludes some of the observed ratios.

        Raises
        ------
        InvalidInputError
            If the law is not among the candidates, has no mean, excludes ratios that were observed, or may
            not follow the curve (one that rises, with a heavy tail).
        """
        chosen = self.best if family is None else family
        if chosen == DETERMINISTIC:
            return self._with_noise(1.0, Deterministic(value=1.0))
        if chosen == EMPIRICAL:
            return self._with_noise(1.0, Empirical(values=tuple(self.ratios.tolist())))
        found = self.law(chosen)
        if found.excluded and not accept_excluded:
            raise InvalidInputError(
                f"the {chosen} law excludes {found.excluded} of {self.ratios.size} observed ratios, which "
                "are not positive; use normal or empirical, or accept that they are excluded"
            )
        mean, noise = family_of(chosen).law_of_ratios(_values(found))
        return self._with_noise(1.0 if found.excluded else mean, noise)

    def _with_noise(self, mean: float, noise: ImprovementLaw) -> InverseSqrtImprovement | ConstantImprovement:
        """The curve with this noise, the scale multiplied by ``mean``."""
        scale = self.curve.scale * mean
        if self.curve.constant:
            return ConstantImprovement(scale=scale, noise=noise)
        return InverseSqrtImprovement(scale=scale, offset=self.curve.offset, noise=noise)


@dataclass(frozen=True, eq=False)
class SwitchFit:
    """The jump of the loss at a switch between two models.

    Attributes
    ----------
    jumps : float array (n,)
        Loss right after the switch, less the loss right before it [loss].
    nonpositive : int
        How many are not positive.
    laws : tuple of FittedLaw
        Candidates, the paper's Student-t first; empty if the jumps are too few or do not vary.
    """

    jumps: FloatArray
    nonpositive: int
    laws: tuple[FittedLaw, ...]

    @property
    def best(self) -> str:
        """The candidate of least AIC; the observed values, or their common one, where there is none."""
        if not self.laws and np.ptp(self.jumps) > 0:
            return EMPIRICAL
        return _best(self.laws)

    def law(self, family: str) -> FittedLaw:
        """The candidate of that name."""
        return _named(self.laws, family)

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
        return family_of(chosen).law_of_jumps(_values(self.law(chosen)))


def fit_improvement(
    improvements: ArrayLike,
    epochs: ArrayLike,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
    confidence: float = 0.95,
    constant: bool = False,
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
    confidence : float
        Level of the intervals.
    constant : bool
        Whether the improvement does not decay, as in the instances of Table I.

    Raises
    ------
    InvalidInputError
        If the improvements cannot be used, see `depl.models.estimation.curve.fit_curve`.
    """
    curve = fit_curve(improvements, epochs, rng, resamples, confidence, constant)
    values, ks = checked_improvements(improvements, epochs)
    rows, columns = np.nonzero(np.isfinite(values))
    ratios = values[rows, columns] / curve.at(ks)[columns]
    laws: tuple[FittedLaw, ...] = ()
    if ratios.var() >= SMALLEST_RELATIVE_VARIANCE:
        design = None if constant else _Design(curve, ks, columns)
        laws = tuple(_fitted(family, ratios, rng, resamples, design) for family in improvement_families())
    return ImprovementFit(
        curve=curve,
        ratios=ratios,
        runs=int(np.isfinite(values).any(axis=1).sum()),
        nonpositive=int(np.count_nonzero(ratios <= 0)),
        laws=laws,
    )


def fit_switch(jumps: ArrayLike, rng: np.random.Generator, resamples: int = RESAMPLES) -> SwitchFit:
    """Fit the law of the loss change at a switch.

    Parameters
    ----------
    jumps : array (n,)
        One number per switch that was observed; fewer than five are kept as they are [loss].
    rng : numpy.random.Generator
        Of the resamples.

    Raises
    ------
    InvalidInputError
        If there is no jump, or one is not finite.
    """
    values = np.array(jumps, dtype=float).ravel()
    if not values.size or not np.isfinite(values).all():
        raise InvalidInputError("a switch is fitted to finite jumps, at least one")
    laws: tuple[FittedLaw, ...] = ()
    if values.size >= LEAST_SAMPLE and np.ptp(values) > _NO_SPREAD * np.abs(values).max():
        laws = tuple(_fitted(family, values, rng, resamples) for family in switch_families())
    return SwitchFit(values, int(np.count_nonzero(values <= 0)), laws)


@dataclass(frozen=True)
class _Design:
    """At which epoch each ratio was observed, for fitting A and B anew: ``epochs[columns]``."""

    curve: Curve
    epochs: FloatArray
    columns: NDArray[np.intp]

    def refitted(self, ratios: FloatArray) -> FloatArray:
        """Ratios (b, n) of the model seen through a curve that is fitted to their own improvements."""
        improvements = ratios * self.curve.at(self.epochs)[self.columns]
        member = np.eye(len(self.epochs))[self.columns]
        counts = np.broadcast_to(member.sum(axis=0), (len(ratios), len(self.epochs)))
        sums = EpochSums(self.epochs, counts, improvements @ member)
        scale, offset = least_squares(sums)
        scale = scale * mean_ratio(sums, scale, offset)
        return improvements / curve_values(self.epochs, scale, offset)[:, self.columns]


def _fitted(
    family: Family,
    values: FloatArray,
    rng: np.random.Generator,
    resamples: int,
    design: _Design | None = None,
) -> FittedLaw:
    used = values[values > 0] if family.positive else values
    excluded = values.size - used.size
    sample = checked_sample(used, positive=family.positive)[None, :]
    parameters = family.fit(sample)
    log_likelihood = -math.inf if excluded else float(family.log_likelihood(parameters, sample)[0])
    if design is None or excluded:
        goodness = goodness_of_fit(family, used, rng, resamples)
    else:
        goodness = _goodness_along(design, family, sample, parameters, rng, resamples)
    return FittedLaw(
        family=family.name,
        parameters=tuple(zip(family.names, parameters[0].tolist(), strict=True)),
        excluded=excluded,
        log_likelihood=log_likelihood,
        aic=2 * len(family.names) - 2 * log_likelihood,
        goodness=goodness,
    )


def _goodness_along(
    design: _Design,
    family: Family,
    sample: FloatArray,
    parameters: FloatArray,
    rng: np.random.Generator,
    resamples: int,
) -> GoodnessOfFit:
    """As `goodness_of_fit`, with A and B fitted again on every resample."""
    size = sample.shape[1]
    statistic = float(distances(family, parameters, sample)[0])
    found = []
    for rows in block_sizes(size, resamples):
        block = design.refitted(family.draw(parameters[0], rng, (rows, size)))
        found.append(distances(family, family.fit(block), block))
    return GoodnessOfFit(
        statistic, paper_p_value(statistic, size), exceedance(np.concatenate(found), statistic)
    )


def _best(laws: Sequence[FittedLaw]) -> str:
    return min(laws, key=lambda item: item.aic).family if laws else DETERMINISTIC


def _named(laws: Sequence[FittedLaw], family: str) -> FittedLaw:
    for item in laws:
        if item.family == family:
            return item
    known = ", ".join(item.family for item in laws) or "none: too few values, or nothing varies"
    raise InvalidInputError(f"there is no fit of the family {family!r}; fitted are: {known}")


def _values(found: FittedLaw) -> FloatArray:
    return np.array([value for _, value in found.parameters])
