"""The laws that documents may name: those of the toolkit, and those that are registered, once found sound."""

import functools
import math
import warnings
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec
import numpy as np
from scipy import special

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.mistakes import OpenUnion
from depl.models.problem.laws.finite import Deterministic, Empirical, Forbidden, Undeclared, Zero
from depl.models.problem.laws.inverse_gamma import InverseGamma
from depl.models.problem.laws.law import Law
from depl.models.problem.laws.log_variable import FloatArray
from depl.models.problem.laws.lognormal import Lognormal
from depl.models.problem.laws.normal import Normal
from depl.models.problem.laws.student_t import StudentT

BUILT_IN: tuple[type[Law], ...] = (
    InverseGamma,
    StudentT,
    Normal,
    Lognormal,
    Deterministic,
    Empirical,
    Zero,
    Forbidden,
    Undeclared,
)

_registered: dict[str, type[Law]] = {}


def laws() -> tuple[type[Law], ...]:
    """All classes of laws, those of the toolkit first."""
    return (*BUILT_IN, *_registered.values())


def registered_laws() -> tuple[type[Law], ...]:
    """The classes that were registered."""
    return tuple(_registered.values())


def is_registered(law: object) -> bool:
    """Whether an object follows a class that was registered."""
    return isinstance(law, registered_laws())


def register_law(kind: type[Law]) -> type[Law]:
    """Make a class of laws known: instances may then name it, in Python and in JSON.

    Registering a class again changes nothing. Every process that reads such instances has to register it.

    Parameters
    ----------
    kind : type
        A subclass of `Law`, declared with ``frozen=True, kw_only=True, tag="..."``, that overrides
        ``distribution``.

    Returns
    -------
    type
        ``kind``, so that the function can serve as a decorator.

    Raises
    ------
    InvalidInputError
        If the class is no such class, its tag is taken, or it could stand nowhere.
    """
    _require_law_class(kind)
    for known in laws():
        if known is not kind and known.tag() == kind.tag():
            raise InvalidInputError(
                f"the tag {kind.tag()!r} of {kind.__name__} stands for {known.__name__}; choose another"
            )
    _registered[kind.tag()] = kind
    return kind


def _require_law_class(kind: object) -> None:
    """Refuse what cannot be registered, in words."""
    if not (isinstance(kind, type) and issubclass(kind, Law)):
        shown = kind.__name__ if isinstance(kind, type) else repr(kind)
        raise InvalidInputError(
            f"{shown} is not a class of laws; derive it: class {shown}(depl.Law, frozen=True, kw_only=True, "
            'tag="...")'
        )
    config = kind.__struct_config__
    if not config.frozen:
        raise InvalidInputError(f"{kind.__name__} is not frozen; declare it with frozen=True")
    if not isinstance(config.tag, str) or config.tag_field != "type":
        raise InvalidInputError(
            f'{kind.__name__} has no tag that documents could name it by; declare it with tag="..."'
        )
    shipped = [known.__name__ for known in BUILT_IN if issubclass(kind, known)]
    if shipped:
        raise InvalidInputError(
            f"{kind.__name__} is derived from {shipped[0]}, whose formulas would speak for it; derive it "
            "from depl.Law"
        )
    if kind.distribution is Law.distribution:
        raise InvalidInputError(
            f"{kind.__name__} has no method distribution(), which returns the frozen distribution of "
            "scipy.stats that X has; all else follows from it, or is optional"
        )
    if not (kind.for_improvements or kind.for_switches):
        raise InvalidInputError(
            f"{kind.__name__} is neither for improvements nor for switches, so that no instance could name it"
        )


class _Improvements(OpenUnion):
    @classmethod
    def members(cls) -> tuple[type[msgspec.Struct], ...]:
        """Laws that an improvement may have."""
        return tuple(kind for kind in laws() if kind.for_improvements)


class _Switches(OpenUnion):
    @classmethod
    def members(cls) -> tuple[type[msgspec.Struct], ...]:
        """Laws that the change at a switch may have."""
        return tuple(kind for kind in laws() if kind.for_switches)


if TYPE_CHECKING:
    ImprovementLaw: TypeAlias = Law
    SwitchLaw: TypeAlias = Law
else:
    ImprovementLaw, SwitchLaw = _Improvements, _Switches


_SHIPPED = frozenset(BUILT_IN)

_OFFERED = ("pdf", "cdf", "sf", "ppf", "isf", "rvs", "mean", "var", "support")
"""What a frozen distribution with a density has, as far as it is asked for."""

_REACH = 9.0
"""Logarithm of the farthest distance from the mean that is looked at, in standard deviations, and of the
nearest with its sign changed: from 1e-4 to 8000. Farther out, distribution functions that are integrated
numerically miss the peak."""

_STEPS = (1 / 4, 1 / 8, 1 / 16, 1 / 32)
"""Of these logarithms. With the first, the moments of smooth laws are right to 1e-9; the last one leaves 3 %
open under laws with jumps, of which only upper and lower sums are certain."""

_ROUNDING = 1e-6
"""By which probabilities may contradict each other: the quadratures of scipy's own laws are off by 1e-8."""

_AGREEMENT, _CONVERGED = 1e-4, 1e-7
"""Error of a moment that is passed over, in standard deviations, as of a mean that was written with four
digits; and the change with the step below which a quadrature has converged."""

_LEVELS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])


def require_sound(law: Law, place: str = "") -> None:
    """Refuse a law from outside, at a place, that is none; shipped ones were checked with their parameters.

    Whoever registers a law answers for its accuracy (`Law.tail_error`). What is found here are slips, which
    would end as proofs otherwise: a cdf that is NaN or falls, ends of the support that are crossed, a mean or
    a variance that is another law's.

    Raises
    ------
    InvalidInputError
        With the type of the law and what it contradicts.
    """
    if type(law) in _SHIPPED:
        return
    if type(law) not in laws():
        raise InvalidInputError(
            f"the class {type(law).__name__} is neither shipped nor registered; call depl.register_law", place
        )
    if (fault := _fault_of(law)) is not None:
        told = f"the law {law.tag()!r} cannot be used: {fault}; correct its class {type(law).__name__}"
        raise InvalidInputError(told, place)


@functools.lru_cache(maxsize=8192)  # once for a law, and not for each instance and epoch that it stands in
def _fault_of(law: Law) -> str | None:
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # of quadratures far out
            return _fault(law)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's code may end with anything
        return f"its code fails with {type(error).__name__}: {error}"


class _Said(NamedTuple):
    """What a law says of itself; ``width`` is its standard deviation, or the distance of its quartiles."""

    mean: float
    variance: float
    low: float
    high: float
    width: float


def _fault(law: Law) -> str | None:
    """What is wrong with a law; None if nothing is found."""
    lacking = [name for name in _OFFERED if not callable(getattr(law.scipy, name, None))]
    if lacking:
        return (
            f"what distribution() returns has no {', '.join(lacking)}, as distributions with a density have"
        )
    mean, variance = (float(moment) for moment in law.moments())
    low, high = (float(end) for end in law.support())
    quartiles = law.quantile(_LEVELS)[[1, 3]]
    width = math.sqrt(variance) if 0 < variance < math.inf else float(quartiles[1] - quartiles[0])
    if not math.isfinite(mean):
        return f"its mean is {mean}, and must be finite"
    if not variance > 0:
        return f"its variance is {variance}, and must be positive (inf where it diverges)"
    if not low < high:
        return f"its support goes from {low:.6g} to {high:.6g}, and must go up"
    if not 0 < width < math.inf:
        return f"its quartiles are {quartiles[0]:.6g} and {quartiles[1]:.6g}, and must be numbers that go up"
    said = _Said(mean, variance, low, high, width)
    return _not_of_distribution(law, said) or _wrong_probabilities(law, said) or _wrong_moments(law, said)


def _not_of_distribution(law: Law, said: _Said) -> str | None:
    """The verifier asks the distribution alone: a class that says something itself has to say the same."""
    if (type(law).moments, type(law).support) == (Law.moments, Law.support):
        return None
    drawn = law.scipy
    low, high = drawn.support()
    for what, own, other, size in (
        ("mean", said.mean, float(drawn.mean()), said.width),
        ("variance", said.variance, float(drawn.var()), said.variance),
        ("lower end", said.low, float(low), said.width),
        ("upper end", said.high, float(high), said.width),
    ):
        if own != other and not abs(own - other) <= _AGREEMENT * size + _ROUNDING * abs(own):
            return f"its {what} is {own:.6g}, and that of its distribution {other:.6g}"
    return None


def _wrong_probabilities(law: Law, said: _Said) -> str | None:
    """Numbers from 0 to 1, monotone, adding up to 1, on the support alone; draws and quantiles among them."""
    distances = said.width * _distances(_STEPS[0])
    points = np.concatenate([(said.mean - distances)[::-1], said.mean + distances])
    sides = {"cdf": law.cdf(points), "sf": law.survival(points)}
    followed = (type(law).cdf, type(law).survival) == (Law.cdf, Law.survival)
    asked = sides if followed else {"cdf": law.scipy.cdf(points), "sf": law.scipy.sf(points)}
    for what, values in sides.items():
        if values.shape != points.shape:
            return f"its {what} of {len(points)} numbers has the shape {values.shape}"
        wrong = ~((values >= -_ROUNDING) & (values <= 1 + _ROUNDING))  # NaN, too
        if wrong.any():
            return f"its {what} is {values[wrong][0]:.6g} at {points[wrong][0]:.6g}, and must lie in [0, 1]"
        turned = np.diff(values if what == "cdf" else -values) < -_ROUNDING
        if turned.any():
            return f"its {what} {'falls' if what == 'cdf' else 'rises'} beyond {points[:-1][turned][0]:.6g}"
        other = ~(np.abs(values - asked[what]) <= _ROUNDING)
        if other.any():
            return f"its {what} is not that of its distribution at {points[other][0]:.6g}"
    under, over = sides.values()
    apart = np.abs(under + over - 1) > _ROUNDING
    if apart.any():
        return f"its cdf and its sf add up to {(under + over)[apart][0]:.6g} at {points[apart][0]:.6g}"
    if max(under[points < said.low].max(initial=0.0), over[points > said.high].max(initial=0.0)) > _ROUNDING:
        return f"its support goes from {said.low:.6g} to {said.high:.6g}, and it has mass outside of it"
    return _wrong_values(law, said) or _wrong_words(law, said, points, under)


def _wrong_values(law: Law, said: _Said) -> str | None:
    """Quantiles, draws and densities."""
    quantiles, moved = law.quantile(_LEVELS), _ROUNDING * said.width
    reached = law.cdf(quantiles + moved) >= _LEVELS - _ROUNDING
    if not (reached & (law.cdf(quantiles - moved) <= _LEVELS + _ROUNDING)).all():
        return f"its quantiles {quantiles.tolist()} are not those of its cdf at {_LEVELS.tolist()}"
    drawn = law.sample(np.random.default_rng(1), len(_LEVELS))
    if drawn.shape != _LEVELS.shape or not ((said.low <= drawn) & (drawn <= said.high)).all():
        return f"it draws {drawn.tolist()}, and its support goes from {said.low:.6g} to {said.high:.6g}"
    densities = law.density(quantiles)
    if not (densities >= 0).all():
        return f"its density at {quantiles.tolist()} is {densities.tolist()}, and must be at least 0"
    return None


def _wrong_words(law: Law, said: _Said, points: FloatArray, under: FloatArray) -> str | None:
    """What the class says of all its members, as far as these points can tell."""
    if law.constant is not None or law.has_atoms or law.forbids or not law.declared:
        return "it says that it has no density (constant, has_atoms, forbids or not declared)"
    if law.positive and said.low < 0:
        return f"it says that it is positive, and its support begins at {said.low:.6g}"
    normal = special.ndtr((points - said.mean) / said.width)
    if law.is_normal and not (np.abs(under - normal) <= _ROUNDING).all():
        return "it says that it is normal, and its cdf is not that of the normal law"
    return None


def _distances(step: float) -> FloatArray:
    """Distances from the mean in units of the width."""
    return np.asarray(np.exp(np.arange(-_REACH, _REACH + step / 2, step)))


def _wrong_moments(law: Law, said: _Said) -> str | None:
    """The mean and the variance against quadratures of the tails on both sides of the mean.

    With Y = (X - mean) / width, E Y = int_0^inf P(Y > y) - P(Y < -y) dy, E Y^2 = int_0^inf 2 y P(|Y| > y) dy
    and E |Y|^3 = int_0^inf 3 y^2 P(|Y| > y) dy. Trapezoidal sums in ln y are exact but for exp(-c / step)
    where the law is smooth; elsewhere upper and lower sums of the monotone tails enclose the integrals.
    """
    found: list[tuple[float, float]] = []
    for step in _STEPS:
        y = _distances(step)
        above, below = law.survival(said.mean + said.width * y), law.cdf(said.mean - said.width * y)
        both = np.maximum(above + below, 0.0)
        first = y[0] * (above[0] - below[0]) + float(np.trapezoid(y * (above - below), dx=step))
        second = y[0] ** 2 * both[0] + float(np.trapezoid(2 * y**2 * both, dx=step))
        found.append((first, second))
        if _fits(said, y, both, (first, first), (second, second)):
            third = said.width**3 * float(np.trapezoid(3 * y**3 * both, dx=step))
            less = law.third_moment() < third * (1 - _AGREEMENT)
            return f"its third_moment is {law.third_moment():.6g}, less than {third:.6g}" if less else None
    changes = np.abs(np.diff(np.array(found[-3:]), axis=0)).max()
    if changes > _CONVERGED and _fits(said, y, both, *_enclosures(y, above, below)):
        return None
    return (
        f"its mean {said.mean:.6g} and variance {said.variance:.6g} are not those of its cdf, which are "
        f"about {said.mean + said.width * first:.6g} and {said.width**2 * (second - first**2):.6g}"
    )


def _enclosures(
    y: FloatArray, above: FloatArray, below: FloatArray
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Lower and upper sums of E Y and E Y^2, where nothing but monotone tails is granted."""
    lengths, squares, both = np.diff(y), np.diff(y**2), above + below
    least, most = float(lengths @ (above[1:] - below[:-1])), float(lengths @ (above[:-1] - below[1:]))
    return (least - y[0], most + y[0]), (float(squares @ both[1:]), float(squares @ both[:-1]) + y[0] ** 2)


def _fits(
    said: _Said, y: FloatArray, both: FloatArray, first: tuple[float, float], second: tuple[float, float]
) -> bool:
    """Whether E Y may be 0 and E Y^2 1, with what lies beyond the last point as far as that can be told.

    There the tail is taken to go on with its last exponent; where that has no moment, nothing is said of it.
    """
    left = [0.0, 0.0]
    if both[-1] > 0:
        power = math.log(both[-2] / both[-1]) / math.log(y[-1] / y[-2])
        for order in (1, 2):
            moment = order * y[-1] ** order * both[-1]
            left[order - 1] = moment / (power - order) if power > order else math.inf
    doubt = _AGREEMENT + _ROUNDING * abs(said.mean) / said.width
    centred = first[0] - left[0] - doubt <= 0 <= first[1] + left[0] + doubt
    if math.isinf(said.variance):
        return centred
    return centred and second[0] - doubt <= 1 <= second[1] + 2 * left[1] + doubt
