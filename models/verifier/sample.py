"""The scenarios of a plan, drawn a second time from their documented stream, and the losses they give.

`depl.models.scenarios.draws` defines the stream; this module follows the definition with scipy's quantile
functions and shares no code with it. Quantile functions of two authors differ in their last digits, and so do
two sums; every increment is therefore an interval that contains what any careful computation can give. Where
increments are rounded to decimals, both its ends are: a number near half a unit may be rounded either way.
"""

import hashlib
from dataclasses import dataclass

import numpy as np

from depl.models.problem.instance import Instance
from depl.models.problem.laws import (
    Deterministic,
    Empirical,
    Forbidden,
    ImprovementLaw,
    StudentT,
    SwitchLaw,
    Undeclared,
    Zero,
)
from depl.models.problem.plan import Plan, ScenarioClaim
from depl.models.verifier.laws import FloatArray, RandomLaw, decimal, distribution, integer_atoms
from depl.models.verifier.reading import data_share, given_data, improvement_of, law_of_switch

LARGEST_STREAM = 30_000_000
"""Most uniform numbers that are drawn again."""

_BLOCK = 1 << 21
"""Numbers drawn at once, 16 MiB; the stream is the same."""

_QUANTILE = 1e-12  # relative error allowed to a quantile function
_ROUNDING = 1e-14  # relative error allowed to the few roundings of one increment, or of a sum of them
_PROBABILITY = 4.0 * float(np.finfo(float).eps)
"""Rounding of a probability that is interpolated between two tails, relative to the greater: a product, a
difference and a sum of numbers of scipy, some units of 2**-53 each."""

_ONE = np.ones(1)


@dataclass(frozen=True, eq=False)
class Ends:
    """lower <= number <= upper in every scenario; arrays of one shape."""

    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, eq=False)
class DrawnSample:
    """The noise of an instance in S scenarios.

    Attributes
    ----------
    improvements : Ends
        X of eq. (8), arrays of shape (S, K_max, M) [loss]. Under a traced law these and the next are the
        numbers in (0, 1) that quantiles are taken at.
    switch_losses : Ends
        Loss of every switch, arrays of shape (S, K_max, M, M) [loss].
    decimals : int or None
        Rounding of every increment.
    """

    improvements: Ends
    switch_losses: Ends
    decimals: int | None

    @property
    def size(self) -> int:
        """S."""
        return len(self.improvements.lower)


def given_sample(draws: tuple[FloatArray, FloatArray], decimals: int | None) -> DrawnSample:
    """A sample of numbers that are known exactly."""
    improvements, switches = (np.asarray(array, dtype=float) for array in draws)
    return DrawnSample(Ends(improvements, improvements), Ends(switches, switches), decimals)


def drawn_sample(instance: Instance, claim: ScenarioClaim) -> DrawnSample | None:
    """The sample of a seeded claim, drawn again; None without a seed, or if it is too large for that.

    Scenario s takes the next K_max (M + M**2) numbers of ``default_rng(seed).random``, epoch by epoch, in
    each epoch first one per model, then one per ordered pair of models; each number, at least 2**-54,
    becomes the quantile of its law. Under a traced law, where that depends on the plan, the number stays.
    """
    names = [model.name for model in instance.models]
    models, epochs = len(names), instance.target.maximum_epochs
    width = epochs * (models + models**2)
    if claim.seed is None or claim.size * width > LARGEST_STREAM:
        return None
    numbers = _stream(claim.seed, claim.size, width).reshape(claim.size, epochs, models + models**2)
    if instance.has_memory:
        pairs = numbers[:, :, models:].reshape(claim.size, epochs, models, models)
        return given_sample((numbers[:, :, :models], pairs), claim.decimals)
    runs, changes = (_zeros(claim.size, epochs, models, *extra) for extra in ((), (models,)))
    for k in range(epochs):
        for second, model in enumerate(instance.models):
            amount, law = improvement_of(model, k + 1)
            if amount != 0:
                _put(runs, (slice(None), k, second), law, numbers[:, k, second])
            for first, before in enumerate(names):
                if first != second:
                    column = numbers[:, k, models + first * models + second]
                    law_there = law_of_switch(instance, before, model.name)
                    _put(changes, (slice(None), k, first, second), law_there, column)
    return DrawnSample(runs, changes, claim.decimals)


def origin_digest(instance: Instance, claim: ScenarioClaim) -> str:
    """The first 16 digits of a digest: SHA-256 of the shape (S, K_max, M), the seed and the decimals."""
    shape = (claim.size, instance.target.maximum_epochs, len(instance.models))
    return hashlib.sha256(repr((shape, claim.seed, claim.decimals)).encode()).hexdigest()[:16]


def numbers_digest(draws: tuple[FloatArray, FloatArray]) -> str:
    """The other 48 digits: SHA-256 of both arrays as little-endian doubles."""
    code = hashlib.sha256()
    for array in draws:
        code.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return code.hexdigest()[:48]


def difference(given: DrawnSample, drawn: DrawnSample) -> str:
    """Where numbers given leave the range of those drawn again, in words; empty if they agree."""
    for name in ("improvements", "switch_losses"):
        numbers, expected = getattr(given, name).lower, getattr(drawn, name)
        off = (numbers < expected.lower) | (numbers > expected.upper)
        if off.any():
            scenario, epoch, *models = (int(index) for index in np.argwhere(off)[0])
            found, right = numbers[off][0], expected.lower[off][0]
            place = f"{name}[{scenario}, {epoch}, {', '.join(map(str, models))}]"
            return f"{place} is {found:.12g}; the stream of the seed gives {right:.12g}"
    return ""


def final_losses(instance: Instance, sample: DrawnSample, plan: Plan) -> Ends:
    """l(K) of a plan in every scenario, arrays of shape (S,) [loss].

    The plan must not train longer than K_max or make a forbidden switch.
    """
    position = {model.name: index for index, model in enumerate(instance.models)}
    given = given_data(plan)
    parts: list[Ends] = []
    before = instance.target.initial_model
    for number, epoch in enumerate(plan.epochs, start=1):
        share = np.array([float(data_share(instance, given[epoch.cluster]))])
        gain = gains(instance, sample, number, position[epoch.model], share)
        parts.append(Ends(-gain.upper[0], -gain.lower[0]))
        if before is not None and before != epoch.model:
            parts.append(switch_losses(instance, sample, number, position[before], position[epoch.model]))
        before = epoch.model
    start = instance.target.initial_loss
    slack = _ROUNDING * (abs(start) + sum((np.abs(part.lower) for part in parts), np.zeros(sample.size)))
    lower = sum((part.lower for part in parts), np.full(sample.size, start))
    upper = sum((part.upper for part in parts), np.full(sample.size, start))
    return Ends(lower - slack, upper + slack)


def gains(instance: Instance, sample: DrawnSample, number: int, model: int, shares: FloatArray) -> Ends:
    """By how much epoch ``number`` lowers the loss, switches apart; arrays of shape (H, S) [loss].

    Parameters
    ----------
    shares : float array (H,)
        h(D) > 0 of some sets of data.
    """
    amount, law = improvement_of(instance.models[model], number)
    if isinstance(law, Deterministic):
        return _increment(sample, _constant(sample.size, float(amount * decimal(law.value))), shares[:, None])
    column = (slice(None), number - 1, model)
    noise = Ends(sample.improvements.lower[column], sample.improvements.upper[column])
    return _increment(sample, noise, float(amount) * shares[:, None])


def switch_losses(instance: Instance, sample: DrawnSample, number: int, before: int, after: int) -> Ends:
    """By how much an allowed switch at epoch ``number`` raises the loss; arrays of shape (S,) [loss]."""
    law = law_of_switch(instance, instance.models[before].name, instance.models[after].name)
    if before == after or isinstance(law, Zero):
        return _constant(sample.size, 0.0)
    if isinstance(law, Deterministic):
        return _increment(sample, _constant(sample.size, law.value), _ONE)
    column = (slice(None), number - 1, before, after)
    return _increment(
        sample, Ends(sample.switch_losses.lower[column], sample.switch_losses.upper[column]), _ONE
    )


def quantiles(law: RandomLaw, numbers: FloatArray) -> Ends:
    """The ``numbers``-quantiles of a law as scipy.stats has them, give or take what others may find."""
    if isinstance(law, Empirical):
        found = _atoms_at(law, numbers)
        return Ends(found, found)
    if isinstance(law, StudentT) and law.lower is not None and law.upper is not None:
        return _truncated(law, law.lower, law.upper, numbers)
    points = np.asarray(distribution(law).ppf(numbers), dtype=float)
    return Ends(points - _QUANTILE * np.abs(points), points + _QUANTILE * np.abs(points))


def _increment(sample: DrawnSample, noise: Ends, factors: FloatArray) -> Ends:
    """``factors * noise``, rounded to the decimals of the sample if it has any."""
    ends = factors * noise.lower, factors * noise.upper
    low, high = np.minimum(*ends), np.maximum(*ends)
    if sample.decimals is None:
        return Ends(low, high)
    return Ends(
        np.round(low - _ROUNDING * np.abs(low), sample.decimals),
        np.round(high + _ROUNDING * np.abs(high), sample.decimals),
    )


def _stream(seed: int, size: int, width: int) -> FloatArray:
    """``size`` rows of the generator's numbers, drawn in blocks of rows."""
    source = np.random.default_rng(seed)
    rows = max(1, _BLOCK // max(width, 1))
    blocks = [source.random((min(rows, size - first), width)) for first in range(0, size, rows)]
    return np.maximum(np.concatenate(blocks), 2.0**-54)


def _put(into: Ends, place: tuple[object, ...], law: ImprovementLaw | SwitchLaw, numbers: FloatArray) -> None:
    if not isinstance(law, Deterministic | Zero | Forbidden | Undeclared):
        found = quantiles(law, numbers)
        into.lower[place], into.upper[place] = found.lower, found.upper  # type: ignore[index]


def _atoms_at(law: Empirical, numbers: FloatArray) -> FloatArray:
    """The first value at which the weight of all values up to it reaches the number."""
    atoms = sorted(integer_atoms(law))
    total = sum(weight for _, weight in atoms)
    reached, shares = 0, []
    for _, weight in atoms:
        reached += weight
        shares.append(reached / total)
    values = np.array([float(value) for value, _ in atoms])
    return np.asarray(values[np.searchsorted(np.array(shares), numbers, side="left")])


def _truncated(law: StudentT, lower: float, upper: float, numbers: FloatArray) -> Ends:
    """Quantiles between two bounds, counted in the tail in which the interval lies.

    There the probability that is inverted is a rounded sum: its error, through the density, is the range.
    """
    base = distribution(law)
    if lower > law.location:
        top, bottom = float(base.sf(lower)), float(base.sf(upper))
        tails = top - numbers * (top - bottom)
        ends = [base.isf(tails + sign * _PROBABILITY * top) for sign in (1.0, -1.0)]
    else:
        bottom, top = float(base.cdf(lower)), float(base.cdf(upper))
        tails = bottom + numbers * (top - bottom)
        ends = [base.ppf(tails + sign * _PROBABILITY * top) for sign in (-1.0, 1.0)]
    low, high = (np.nan_to_num(end, nan=edge) for end, edge in zip(ends, (lower, upper), strict=True))
    wide = _QUANTILE * (np.abs(low) + law.scale)
    return Ends(np.clip(low - wide, lower, upper), np.clip(high + wide, lower, upper))


def _constant(size: int, value: float) -> Ends:
    numbers = np.full(size, value)
    return Ends(numbers, numbers)


def _zeros(*shape: int) -> Ends:
    return Ends(np.zeros(shape), np.zeros(shape))
