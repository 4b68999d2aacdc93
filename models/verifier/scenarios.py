"""Plans on scenarios: their sample drawn or taken again, their losses in it, and equation (3) as a count.

`depl.models.scenarios.draws` defines the stream; this module follows the definition with scipy's quantile
functions and shares no code with it. Two careful computations differ in their last digits, so every number is
an interval that contains what any of them can give, and so is a count of misses. What is compared, drawn
again or left open: "Plans on scenarios" on the page of the verifier.
"""

import hashlib
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from depl.models.problem.instance import Instance
from depl.models.problem.laws import (
    Deterministic,
    Empirical,
    FloatArray,
    Forbidden,
    Law,
    StudentT,
    Undeclared,
    Zero,
)
from depl.models.problem.plan import Plan, ScenarioClaim
from depl.models.problem.traced_law import TracedLaw
from depl.models.verifier.findings import CLAIM, Finding, Kind, failed, noted, passed, repeated, undecided
from depl.models.verifier.laws import (
    Bracket,
    Increment,
    cut_of,
    decimal,
    distribution,
    shares_of,
)
from depl.models.verifier.reading import (
    budget_of,
    data_share,
    given_data,
    has_laws,
    improvement_of,
    law_of_switch,
)
from depl.models.verifier.tolerances import ATOM_TOLERANCE
from depl.models.verifier.traces import traced_loss

Draws = tuple[FloatArray, FloatArray]
"""Improvements and switches of the user's own, arrays of shapes (S, K_max, M) and (S, K_max, M, M)."""

Ends = FloatArray
"""Least and greatest of what a number may be: the two halves of the first axis."""

LARGEST_STREAM = 30_000_000
"""Most uniform numbers that are drawn again."""

_QUANTILE = 1e-12  # relative error allowed to a quantile function
_ROUNDING = 1e-14  # relative error allowed to the few roundings of one increment, or of a sum of them
_PROBABILITY = 4.0 * float(np.finfo(float).eps)
"""Rounding of a probability that is interpolated between two tails, relative to the greater: a product, a
difference and a sum of numbers of scipy, some units of 2**-53 each."""

_PRODUCT = 2.0**-51  # relative error allowed to a number times how many equally likely values there are
_TRACED_ROUNDING = 1e-12
"""Of a sum under a traced law, relative to 1 and what is added: residuals are differences of such numbers."""

_OUTWARDS = np.array([[-1.0], [1.0]])

_NAME = f"{CLAIM}scenarios"
_REMEDY = "give them by 'depl check --scenarios FILE.npz' or verify(..., draws=(improvements, switches))"


class DrawnSample(NamedTuple):
    """The noise of an instance in S scenarios.

    ``improvements`` holds X of eq. (8), shape (2, S, K_max, M), ``switch_losses`` the loss of every switch,
    shape (2, S, K_max, M, M) [loss]; under a traced law both are the numbers that quantiles are taken at.
    Every increment is rounded to ``decimals``, if there are any.
    """

    improvements: Ends
    switch_losses: Ends
    decimals: int | None

    @property
    def size(self) -> int:
        """S."""
        return int(self.improvements.shape[1])


class Count(NamedTuple):
    """Bounds of the misses of a plan, equal unless a loss is at l_max to the last digits; how many may."""

    certain: int
    possible: int
    allowed: int

    def __str__(self) -> str:
        return str(self.certain) if self.certain == self.possible else f"{self.certain} to {self.possible}"


def claimed_sample(
    instance: Instance, claim: ScenarioClaim | None, draws: Draws | None, brief: bool = False
) -> tuple[DrawnSample | None, list[Finding]]:
    """The scenarios of a claim, None if there is none or they cannot be had; and what there is to say.

    ``brief``: scenarios that are given are not drawn again from their seed.
    """
    if claim is None:
        told = noted(_NAME, "the plan claims none; those given are not used")
        return None, [] if draws is None else [told]
    if instance.traced_law is not None and (wrong := traced_fault(instance.traced_law, instance, claim)):
        return None, [undecided(_NAME, wrong)]
    origin = _origin_digest(instance, claim)
    if claim.digest[:16] != origin:
        message = f"begins with {claim.digest[:16]}; S, seed and decimals as claimed give {origin}"
        return None, [failed(f"{_NAME}.digest", message)]
    if claim.seed is not None and not has_laws(instance):
        return None, [failed(f"{_NAME}.seed", f"{claim.seed}: there is no law to draw from")]
    if draws is None:
        return _drawn_again(instance, claim, origin)
    if wrong := _shape_fault(instance, claim, draws):
        return None, [failed(_NAME, wrong)]
    digest = _digest_finding(claim, origin + numbers_digest(draws), "given")
    if not digest.ok:
        return None, [digest]
    sample = given_sample(draws, claim.decimals)
    findings = [passed(_NAME, f"{claim.size} given"), digest]
    if claim.seed is not None:
        findings.append(_seed_finding(instance, claim, sample, brief))
    return sample, findings


def given_sample(draws: Draws, decimals: int | None) -> DrawnSample:
    """A sample of numbers that are known exactly."""
    runs, changes = (np.broadcast_to(np.asarray(array, float), (2, *np.shape(array))) for array in draws)
    return DrawnSample(runs, changes, decimals)


def drawn_sample(instance: Instance, claim: ScenarioClaim) -> DrawnSample | None:
    """The sample of a seeded claim, drawn again; None without a seed, or if it is too large for that.

    Scenario s takes the next K_max (M + M**2) numbers of ``default_rng(seed).random``, epoch by epoch, in
    each epoch first one per model, then one per ordered pair of models; each number, at least 2**-54,
    becomes the quantile of its law. Under a traced law, where that depends on the plan, the number stays.
    """
    names = [model.name for model in instance.models]
    models, epochs = len(names), instance.target.maximum_epochs
    shape = claim.size, epochs, models + models**2
    if claim.seed is None or math.prod(shape) > LARGEST_STREAM:
        return None
    numbers = np.maximum(np.random.default_rng(claim.seed).random(shape), 2.0**-54)
    runs, pairs = numbers[:, :, :models], numbers[:, :, models:].reshape(claim.size, epochs, models, models)
    if instance.has_memory:
        return given_sample((runs, pairs), claim.decimals)
    found, changes = np.zeros((2, *runs.shape)), np.zeros((2, *pairs.shape))
    certain = Deterministic | Zero | Forbidden | Undeclared
    for k in range(epochs):
        for after, model in enumerate(instance.models):
            amount, law = improvement_of(model, k + 1)
            if amount != 0 and not isinstance(law, certain):
                found[:, :, k, after] = quantiles(law, runs[:, k, after])
            for before, name in enumerate(names):
                change = law_of_switch(instance, name, model.name)
                if before != after and not isinstance(change, certain):
                    changes[:, :, k, before, after] = quantiles(change, pairs[:, k, before, after])
    return DrawnSample(found, changes, claim.decimals)


def numbers_digest(draws: Draws) -> str:
    """The other 48 digits of a digest: SHA-256 of both arrays as little-endian doubles."""
    code = hashlib.sha256()
    for array in draws:
        code.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return code.hexdigest()[:48]


def counted(instance: Instance, sample: DrawnSample, plan: Plan) -> Count:
    """Count the misses of a plan of at most K_max epochs whose loss is defined."""
    law, thresholds = instance.traced_law, [instance.target.maximum_loss + ATOM_TOLERANCE]
    if law is None or (law.observed is not None and not plan.epochs):
        losses = final_losses(instance, sample, plan)
    elif plan.epochs:
        losses = traced_final_losses(law, instance, sample, plan)
        thresholds = traced_thresholds(law, instance.target.maximum_loss)
    else:
        worst = math.inf if law.unseen_loss is not None else max(run.losses[0] for run in law.runs)
        losses = np.full((2, sample.size), worst)
    certain, possible = (losses[0] > max(thresholds)).sum(), (losses[1] > min(thresholds)).sum()
    return Count(int(certain), int(possible), allowed_misses(instance, sample.size))


def allowed_misses(instance: Instance, size: int) -> int:
    """floor((1 - omega) S + 1e-9), omega in the decimals that were written."""
    return math.floor(budget_of(instance) * size + Fraction(1, 10**9))


def count_findings(claim: ScenarioClaim, count: Count) -> Iterator[Finding]:
    """The verdict on (3), and on the numbers that are claimed about it."""
    found, excess = f"{count} of {claim.size} scenarios end above l_max", count.possible - count.allowed
    over = count.certain - count.allowed
    if excess <= 0:
        yield passed("(3)", f"{found}, at most {count.allowed} may", float(excess))
    elif over > 0:
        yield failed("(3)", f"{found}, {over} more than the {count.allowed} that may", float(over))
    else:
        ok = count.certain <= claim.misses <= count.allowed
        message = f"{found}, {count.allowed} may: undecided within rounding"
        yield Finding("(3)", ok, message, float(excess), Kind.UNDECIDED)
    told = f"floor((1 - omega) S + 1e-9) = {count.allowed}"
    for name, claimed, least, most, shown in (
        ("misses", claim.misses, count.certain, count.possible, f"recounted {count}"),
        ("allowed", claim.allowed, count.allowed, count.allowed, told),
    ):
        if away := claimed - min(max(claimed, least), most):
            yield failed(f"{_NAME}.{name}", f"{claimed} are claimed, {shown}: off by {away}", float(away))
        else:
            yield passed(f"{_NAME}.{name}", f"{claimed}, {shown}", 0.0)


def law_note(found: Bracket, budget: Fraction, declared: bool) -> Finding:
    """What the law says of a plan that was made for scenarios; it never fails one."""
    if not declared:
        return noted("(3) under the law", "no law is declared: nothing is said")
    meets = "meets" if found.upper <= budget else "exceeds" if found.lower > budget else "may exceed"
    message = f"P(l(K) > l_max) {found} {meets} 1 - omega = {float(budget):.12g}"
    return noted("(3) under the law", message, float(found.upper - budget))


def final_losses(instance: Instance, sample: DrawnSample, plan: Plan) -> Ends:
    """l(K) of a plan in every scenario, shape (2, S) [loss].

    The plan must not train longer than K_max or make a forbidden switch.
    """
    position = {model.name: index for index, model in enumerate(instance.models)}
    given = given_data(plan)
    start = instance.target.initial_loss
    total, size = np.full((2, sample.size), start), np.full(sample.size, abs(start))
    before = instance.target.initial_model
    for number, epoch in enumerate(plan.epochs, start=1):
        share = np.array([float(data_share(instance, given[epoch.cluster]))])
        parts = [-gains(instance, sample, number, position[epoch.model], share)[::-1, 0]]
        if before is not None and before != epoch.model:
            parts.append(switch_losses(instance, sample, number, position[before], position[epoch.model]))
        before = epoch.model
        for part in parts:
            total, size = total + part, size + np.abs(part[0])
    return np.asarray(total + _ROUNDING * _OUTWARDS * size)


def gains(instance: Instance, sample: DrawnSample, number: int, model: int, shares: FloatArray) -> Ends:
    """By how much epoch ``number`` lowers the loss, switches apart, shape (2, H, S) [loss].

    ``shares``, shape (H,), are h(D) > 0 of some sets of data.
    """
    amount, law = improvement_of(instance.models[model], number)
    if isinstance(law, Deterministic):
        noise, factors = np.full((2, sample.size), float(amount * decimal(law.value))), shares
    else:
        noise, factors = sample.improvements[:, :, number - 1, model], float(amount) * shares
    return _increment(sample, factors[:, None] * noise[:, None])


def switch_losses(instance: Instance, sample: DrawnSample, number: int, before: int, after: int) -> Ends:
    """By how much an allowed switch at epoch ``number`` raises the loss, shape (2, S) [loss]."""
    law = law_of_switch(instance, instance.models[before].name, instance.models[after].name)
    if before == after or isinstance(law, Zero):
        return np.zeros((2, sample.size))
    if isinstance(law, Deterministic):
        return _increment(sample, np.full((2, sample.size), law.value))
    return _increment(sample, sample.switch_losses[:, :, number - 1, before, after])


def quantiles(law: Law, numbers: FloatArray) -> Ends:
    """The ``numbers``-quantiles of a law as scipy has them, give or take what others may find."""
    if isinstance(law, Empirical):
        return _atoms_at(*shares_of(Increment(Fraction(1), law)), numbers, 0.0)
    if isinstance(law, StudentT) and (cut := cut_of(law)):
        return _truncated(law, *cut, numbers)
    points = np.asarray(distribution(law).ppf(numbers), dtype=float)
    return np.asarray(points + _QUANTILE * _OUTWARDS * np.abs(points))


def traced_fault(law: TracedLaw, instance: Instance, claim: ScenarioClaim) -> str:
    """Why a claim cannot be one of scenarios under a traced law; empty if it can."""
    if claim.seed is None:
        return "under a traced law scenarios are drawn from a seed, and the claim has none"
    if claim.decimals is not None:
        return "under a traced law losses are not rounded to decimals, as the claim says"
    if law.deviations and instance.target.maximum_epochs < 2:
        return "the stream has the numbers of deviations at epoch 2, after K_max"
    return ""


def traced_final_losses(law: TracedLaw, instance: Instance, sample: DrawnSample, plan: Plan) -> Ends:
    """l(K) under a traced law of a plan of 1 to K_max epochs inside its support, shape (2, S) [loss].

    `depl.models.verifier.traces` says which number of the stream belongs to which part of the loss. Of n
    equally likely values the quantile at u is that of rank ceil(u n), and u n may be rounded to either side.
    """
    names = [model.name for model in instance.models]
    found = traced_loss(law, [(epoch.model, epoch.cluster) for epoch in plan.epochs])
    total = np.full((2, sample.size), float(found.certain))
    size = 1.0 + np.abs(total[0])
    for item in found.increments:
        atoms, shares = shares_of(item)
        if item.alike < 1:  # runs unlike all seen lie above
            atoms, shares = np.append(atoms, math.inf), np.append(float(item.alike) * shares, 1.0)
        *before, model = (names.index(name) for name in item.number.models)
        taken = sample.switch_losses[:, :, :, before[0]] if before else sample.improvements
        ends = _atoms_at(atoms, shares, taken[0, :, item.number.epoch - 1, model], _PRODUCT)
        total = total + ends
        size += np.where(np.isfinite(ends), np.abs(ends), 0.0).max(axis=0)
    total = np.asarray(total + _TRACED_ROUNDING * _OUTWARDS * size)
    if law.scale == "loss":
        return total
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.exp(total))


def traced_thresholds(law: TracedLaw, maximum_loss: float) -> list[float]:
    """Up to which loss a target is met: 1e-9 above it, on either scale under a law of the logarithm.

    A loss between the two may be counted either way.
    """
    if law.scale == "loss":
        return [maximum_loss + ATOM_TOLERANCE]
    return [maximum_loss + ATOM_TOLERANCE, max(maximum_loss, 0.0) * math.exp(ATOM_TOLERANCE)]


def _drawn_again(
    instance: Instance, claim: ScenarioClaim, origin: str
) -> tuple[DrawnSample | None, list[Finding]]:
    sample = drawn_sample(instance, claim)
    if sample is None:
        message = f"more than {LARGEST_STREAM} numbers would have to be drawn again"
        if claim.seed is None:
            message = f"the {claim.size} scenarios of this plan are not of a seeded stream"
        return None, [undecided(_NAME, f"{message}; {_REMEDY}")]
    if instance.has_memory:  # numbers of a generator are the same everywhere, to the last digit
        numbers = numbers_digest((sample.improvements[0], sample.switch_losses[0]))
        digest = _digest_finding(claim, origin + numbers, "drawn again")
    else:
        told = "of scenarios drawn again the last digits may differ, so it is not compared"
        digest = repeated(f"{_NAME}.digest", f"{claim.digest[:12]}: {told}")
    return sample, [passed(_NAME, f"{claim.size} drawn again with seed {claim.seed}"), digest]


def _origin_digest(instance: Instance, claim: ScenarioClaim) -> str:
    """The first 16 digits of a digest: SHA-256 of the shape (S, K_max, M), the seed and the decimals."""
    shape = (claim.size, instance.target.maximum_epochs, len(instance.models))
    return hashlib.sha256(repr((shape, claim.seed, claim.decimals)).encode()).hexdigest()[:16]


def _digest_finding(claim: ScenarioClaim, found: str, how: str) -> Finding:
    if found == claim.digest:
        return passed(f"{_NAME}.digest", found[:12])
    return failed(f"{_NAME}.digest", f"{claim.digest} is claimed, those {how} have the digest {found}", None)


def _shape_fault(instance: Instance, claim: ScenarioClaim, draws: Draws) -> str:
    """Why arrays cannot be the scenarios of a claim; empty if they can."""
    shape = claim.size, instance.target.maximum_epochs, len(instance.models)
    wanted = {"improvements": shape, "switches": (*shape, shape[-1])}
    for (name, expected), array in zip(wanted.items(), draws, strict=True):
        if np.shape(array) != expected:
            return f"{name} of shape {np.shape(array)} were given, the claim needs {expected}"
        if not np.isfinite(array).all():
            return f"{name} were given with numbers that are not finite"
    return ""


def _seed_finding(instance: Instance, claim: ScenarioClaim, sample: DrawnSample, brief: bool) -> Finding:
    """Whether numbers that are given are those of the seed, or that they are not compared."""
    name, again = f"{_NAME}.seed", None if brief else drawn_sample(instance, claim)
    if again is None:
        why = "taken as given; 'depl check' draws them again"
        why = why if brief else f"more than {LARGEST_STREAM} numbers are not drawn again"
        return repeated(name, f"{claim.seed}: {why}")
    for part in ("improvements", "switch_losses"):
        numbers, expected = getattr(sample, part)[0], getattr(again, part)
        off = (numbers < expected[0]) | (numbers > expected[1])
        if off.any():
            place = ", ".join(map(str, np.argwhere(off)[0]))
            message = f"{numbers[off][0]:.12g}; the stream of the seed gives {expected[0][off][0]:.12g}"
            return failed(name, f"{part}[{place}] is {message}", None)
    return passed(name, f"{claim.seed}: drawing again gives the same")


def _increment(sample: DrawnSample, ends: Ends) -> Ends:
    """An increment from its ends in either order, rounded to the decimals of the sample if it has any."""
    ordered = np.stack((np.minimum(*ends), np.maximum(*ends)))
    if sample.decimals is None:
        return ordered
    outwards = _OUTWARDS.reshape(2, *[1] * (ordered.ndim - 1))  # a number near half a unit goes either way
    return np.asarray(np.round(ordered + outwards * _ROUNDING * np.abs(ordered), sample.decimals))


def _atoms_at(values: FloatArray, shares: FloatArray, numbers: FloatArray, slack: float) -> Ends:
    """The first value with a share up to the number, which may be off by a relative ``slack``; (2, S)."""
    wanted = np.minimum(numbers * (1.0 + slack * _OUTWARDS), 1.0)
    return np.asarray(values[np.searchsorted(shares, wanted)])


def _truncated(law: StudentT, lower: float, upper: float, numbers: FloatArray) -> Ends:
    """Quantiles between two bounds, counted in the tail in which the interval lies.

    There the probability that is inverted is a rounded sum: its error, through the density, is the range.
    """
    base = distribution(law)
    above = lower > law.location
    tail, inverse = (base.sf, base.isf) if above else (base.cdf, base.ppf)
    near, far = float(tail(lower)), float(tail(upper))
    doubt = _PROBABILITY * max(near, far) * (-_OUTWARDS if above else _OUTWARDS)
    found = inverse(near + numbers * (far - near) + doubt)
    low, high = (np.nan_to_num(end, nan=edge) for end, edge in zip(found, (lower, upper), strict=True))
    wide = _QUANTILE * (np.abs(low) + law.scale)
    return np.asarray(np.clip([low - wide, high + wide], lower, upper))
