"""Scenarios: joint draws of everything that is random in an instance, the same for all plans.

A scenario fixes the noise X of every model at every epoch and the loss S of every switch at every epoch.
Constraint (3) of the paper then reads: at most floor((1 - omega) S) of the S scenarios may end above
l_max (sample average approximation). All plans meet the same noise, so comparisons between them are fair.

The stream is part of the format, so that anyone can draw the same numbers again: scenario s takes the
next K_max (M + M**2) uniform numbers of ``numpy.random.Generator.random``, epoch by epoch, and in every
epoch first one per model, then one per ordered pair of models (previous, following), in the order of the
instance; the number u, at least 2**-54, becomes the u-quantile of the law. Unused numbers are drawn, too.
Hence the first S scenarios of a larger sample with the same seed are the smaller sample.
"""

import hashlib
import io
import math
import operator
import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from depl.models.evaluation.evaluate import law_of_end
from depl.models.evaluation.loss_law import loss_law
from depl.models.foundation.archives import read_npz_arrays
from depl.models.foundation.deadline import keep_time
from depl.models.foundation.documents import write_bytes
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.memory import require_memory
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.foundation.wording import counted
from depl.models.problem.instance import Instance
from depl.models.problem.laws import NO_LAW, FloatArray
from depl.models.problem.plan import Plan, ScenarioClaim
from depl.models.risk.sampling import MonteCarloEstimate, monte_carlo_violation

FORMAT = "depl-scenarios"
VERSION = 1
"""Version of the format."""

_ARRAYS = "improvements", "switch_losses"
_LONGEST_SEED = 1000
"""Digits; Python itself reads about 4300."""


_ON_THE_WAY = 32
"""Bytes per number while they are drawn: the stream, what is taken of it, and the quantiles."""


@dataclass(frozen=True, eq=False)
class Scenarios:
    """S joint draws for the models of one instance, in its order.

    Attributes
    ----------
    improvements : float array (S, K, M)
        X of model m at epoch k, before its coefficient [loss]; 0 where the improvement is certain. Under a
        traced law these and the switches are the uniform numbers themselves
        (`depl.models.evaluation.in_scenarios`).
    switch_losses : float array (S, K, M, M)
        Loss of the switch from the first model to the second at epoch k [loss]; 0 where it is certain.
    seed : int or None
        Of the stream they were drawn from; None for numbers of the user's own.
    decimals : int or None
        If given, every gain of an epoch and every loss of a switch is rounded to so many decimals, which
        makes sums, and therefore ties, exact.
    """

    improvements: FloatArray
    switch_losses: FloatArray
    seed: int | None = None
    decimals: int | None = None

    def __len__(self) -> int:
        """S."""
        return len(self.improvements)

    @property
    def digest(self) -> str:
        """64 hexadecimal digits: 16 of SHA-256 of shape, seed and decimals, then 48 of that of the numbers.

        The first part can be recomputed by who draws again with another quantile function, which may give
        other last digits of the numbers.
        """
        origin = hashlib.sha256(repr((self.improvements.shape, self.seed, self.decimals)).encode())
        numbers = hashlib.sha256()
        for array in (self.improvements, self.switch_losses):
            numbers.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
        return origin.hexdigest()[:16] + numbers.hexdigest()[:48]

    def rounded(self, losses: FloatArray) -> FloatArray:
        """Increments on the decimal grid, if there is one."""
        return losses if self.decimals is None else np.round(losses, self.decimals)


def draw_scenarios(instance: Instance, size: int, seed: int = 0, decimals: int | None = None) -> Scenarios:
    """Draw scenarios from the laws of an instance; the module's docstring defines the stream.

    Parameters
    ----------
    size : int
        S >= 1.
    seed : int
        The generator is ``numpy.random.default_rng(seed)``.
    decimals : int, optional
        0 to 8, see `Scenarios`.

    Raises
    ------
    InvalidInputError
        If an argument is out of range.
    NotCoveredError
        If a law is undeclared; or for more numbers than memory may hold.
    """
    if not instance.declares_laws:
        raise NotCoveredError(NO_LAW)
    size, seed = operator.index(size), operator.index(seed)  # numpy's whole numbers are written otherwise
    if size < 1:
        raise InvalidInputError(f"at least one scenario is needed, not {size}")
    if seed < 0:
        raise InvalidInputError(f"the seed must be at least 0, not {seed}")
    _require_decimals(decimals)
    law = loss_law(instance)
    if law.memory and decimals is not None:
        raise NotCoveredError("losses under a traced law are not rounded to decimals; leave them out")
    models, epochs = len(instance.models), instance.target.maximum_epochs
    remedy = "take fewer scenarios, leave out models, or use a method that plans under the law"
    told = f"drawing {size} scenarios of {epochs} epochs and {models} models"
    require_memory(_ON_THE_WAY * size * epochs * (models + models**2), told, remedy)
    rng, uniform = np.random.default_rng(seed), np.empty((size, epochs, models + models**2))
    for numbers in uniform:
        keep_time()
        # the generator may return 0, where quantiles are infinite
        np.maximum(rng.random(numbers.shape), 2.0**-54, out=numbers)
    pairs = uniform[:, :, models:].reshape(size, epochs, models, models)
    return Scenarios(*law.drawn(uniform[:, :, :models], pairs), seed, decimals)


def given_scenarios(
    instance: Instance,
    improvements: ArrayLike,
    switch_losses: ArrayLike | None = None,
    decimals: int | None = None,
) -> Scenarios:
    """Scenarios of the user's own, for instance from training runs.

    Parameters
    ----------
    improvements : array (S, K, M)
        The noise X of each model at each epoch up to K_max [loss].
    switch_losses : array (S, K, M, M), optional
        The loss of each switch [loss]; zero if not given.

    Raises
    ------
    InvalidInputError
        If an array is not of numbers, a shape does not fit the instance or a number is not finite.
    """
    _require_decimals(decimals)
    if instance.has_memory:
        raise InvalidInputError("scenarios of a traced law are drawn from its runs; give a number of them")
    runs = _numbers(improvements, ".improvements")
    models, epochs = len(instance.models), instance.target.maximum_epochs
    if runs.ndim != 3 or len(runs) < 1 or runs.shape[1:] != (epochs, models):
        raise InvalidInputError(f"improvements need the shape (S, {epochs}, {models}), not {runs.shape}")
    changes = np.zeros((*runs.shape, models))
    if switch_losses is not None:
        changes = _numbers(switch_losses, ".switch_losses")
    if changes.shape != (*runs.shape, models):
        raise InvalidInputError(f"switch_losses need the shape {(*runs.shape, models)}, not {changes.shape}")
    for name, array in (("improvements", runs), ("switch_losses", changes)):
        if not np.isfinite(array).all():
            place = [int(index) for index in np.argwhere(~np.isfinite(array))[0]]
            raise InvalidInputError(f"is {array[tuple(place)]}; replace it", f".{name}{place}")
    return Scenarios(runs, changes, None, decimals)


def require_fitting(instance: Instance, scenarios: Scenarios) -> None:
    """Refuse scenarios that were made for other models, or for another number of epochs.

    Raises
    ------
    InvalidInputError
        With the shapes that are needed.
    """
    models, epochs = len(instance.models), instance.target.maximum_epochs
    _, drawn_epochs, drawn_models = scenarios.improvements.shape
    if (drawn_models, drawn_epochs) != (models, epochs):
        raise InvalidInputError(
            f"the scenarios are of {counted(drawn_models, 'model')} and {counted(drawn_epochs, 'epoch')}, "
            f"the instance has {counted(models, 'model')} and allows "
            f"{counted(epochs, 'epoch')}; draw them for this instance"
        )


def allowed_misses(instance: Instance, size: int) -> int:
    """How many of ``size`` scenarios may end above l_max: floor((1 - omega) S + 1e-9)."""
    return math.floor(instance.target.violation_budget * size + Fraction(1, 10**9))


def scenario_losses(instance: Instance, scenarios: Scenarios, plan: Plan) -> FloatArray:
    """l(K) of a plan in every scenario, shape (S,) [loss]."""
    return loss_law(instance).in_scenarios(plan, scenarios)


def count_misses(instance: Instance, losses: FloatArray) -> int:
    """How many of the losses are above l_max by more than the atom tolerance, on the scale of the law."""
    maximum = instance.target.maximum_loss
    if loss_law(instance).scale == "log":
        maximum = math.log(maximum) if maximum > 0 else -math.inf
        losses = np.log(np.maximum(losses, sys.float_info.min))
    return int((losses > maximum + ATOM_TOLERANCE).sum())


FRESH_SIZE = 10_000
"""Fresh draws on which a plan is judged: set by hand. A share of 1 % is known to 10 %; four times as many
halve that, in four times the time."""


class ScenarioEvidence(ScenarioClaim, frozen=True, kw_only=True, omit_defaults=False):
    """Counts on the scenarios of a solve, and on fresh ones.

    A plan that was optimised on S scenarios misses fewer of them than it will miss later (optimism), so its
    promise is judged on scenarios that the optimisation never saw, with a Clopper-Pearson interval.

    Attributes
    ----------
    fresh : MonteCarloEstimate or None
        Count on a second sample, drawn from the laws, with its Clopper-Pearson interval; None without laws,
        or where there was no time for it.
    """

    fresh: MonteCarloEstimate | None


def scenario_evidence(
    instance: Instance,
    scenarios: Scenarios,
    plan: Plan,
    rng: np.random.Generator | None,
    fresh_size: int = FRESH_SIZE,
) -> ScenarioEvidence:
    """Count the misses of a plan on its scenarios, and on ``fresh_size`` new draws by ``rng``, if given."""
    law, target, fresh = law_of_end(instance, plan), instance.target.maximum_loss, None
    if instance.declares_laws and rng is not None:
        beyond = float(law.beyond)
        fresh = monte_carlo_violation(law.scaled, law.limit(target), fresh_size, rng, beyond=beyond)
    return ScenarioEvidence(
        size=len(scenarios),
        misses=count_misses(instance, scenario_losses(instance, scenarios, plan)),
        allowed=allowed_misses(instance, len(scenarios)),
        seed=scenarios.seed,
        decimals=scenarios.decimals,
        digest=scenarios.digest,
        fresh=fresh,
    )


def save_scenarios(scenarios: Scenarios, path: str | Path) -> None:
    """Write scenarios so that a reader sees the old file or the new one, never half of it.

    It is numpy's npz, never a pickle, with ``format``, ``version``, ``improvements`` and ``switch_losses``,
    and ``seed`` and ``decimals`` where the scenarios have them. Other programs read it by ``numpy.load``; for
    arrays of another origin there is `given_scenarios`.

    Raises
    ------
    InvalidInputError
        If the file cannot be written.
    """
    content: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    content |= {name: getattr(scenarios, name) for name in _ARRAYS}
    for name in ("seed", "decimals"):
        if (value := getattr(scenarios, name)) is not None:
            content[name] = str(value)  # seeds have no limit
    page = io.BytesIO()
    np.savez_compressed(page, **content)
    write_bytes(path, page.getvalue())


def load_scenarios(path: str | Path, instance: Instance) -> Scenarios:
    """Read scenarios for an instance.

    Raises
    ------
    InvalidInputError
        If the file cannot be read, is of another format or version, or lacks an array; or if an array has
        another shape than the instance needs or holds what is not a finite number. The path names the
        file and the array.
    """
    content = read_npz_arrays(path)

    def refuse(name: str, message: str) -> InvalidInputError:
        return InvalidInputError(message, f"{path}: {name}")

    for name in ("format", "version", *_ARRAYS):
        if name not in content:
            raise refuse(name, "is missing in the file; write it with save_scenarios")
    form, version = str(content["format"]), str(content["version"])
    if form != FORMAT:
        raise refuse("format", f"is {form!r}; a {FORMAT!r} file is needed here")
    if version != str(VERSION):
        message = f"{version} is not known to this depl, which reads {VERSION}; update one of them"
        raise refuse("version", message)
    numbers: dict[str, int] = {}
    for name in {"seed", "decimals"} & set(content):
        text = str(content[name])
        if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_SEED):
            raise refuse(name, f"must be a whole number from 0 on, not {text[:40]}")
        numbers[name] = int(text)
    for name in _ARRAYS:
        if content[name].dtype.kind not in "fiu":
            raise refuse(name, f"holds {content[name].dtype}, not numbers")
    try:
        improvements, switches = (content[name] for name in _ARRAYS)
        scenarios = given_scenarios(instance, improvements, switches, numbers.get("decimals"))
    except InvalidInputError as error:
        place = f"{path}: {error.path.removeprefix('.')}" if error.path else str(path)
        raise InvalidInputError(error.message, place) from error
    return replace(scenarios, seed=numbers.get("seed"))


def _numbers(array: ArrayLike, place: str) -> FloatArray:
    try:
        return np.array(array, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"is no array of numbers ({error})", place) from error


def _require_decimals(decimals: int | None) -> None:
    if decimals is not None and not 0 <= decimals <= 8:
        raise InvalidInputError(f"decimals must lie between 0 and 8, not {decimals}")
