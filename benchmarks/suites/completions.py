"""Literal completions of Table I: every combination of stated answers to what Sec. VI-B does not print.

The answers stand at erratum E13. 5 and 13 are the tightest and the loosest target of Fig. 9. Class B is
dominated by class A throughout, for its bandwidth is not printed (E13). ``any`` order is left out with decay,
where the cost-aware reading of best-exp cannot list its plans.
"""

import dataclasses
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from depl.benchmarks.measure.registry import Draw
from depl.models.problem.instance import (
    Cluster,
    ConstantImprovement,
    Dataset,
    Improvement,
    Instance,
    InverseSqrtImprovement,
    Model,
    Switch,
    Target,
)
from depl.models.problem.laws import Forbidden, InverseGamma, Normal, StudentT, SwitchLaw, Zero

TARGETS = (5, 13)
"""The tightest and the loosest guaranteed loss of Fig. 9."""
TABLE = {
    "alexnet": ((1.02, 0.031, 2.6), (1.00, 0.010, 1.4), (0.98, 0.007, 1.0)),
    "mobilenet": ((1.02, 0.029, 1.8), (0.95, 0.012, 1.0), (0.92, 0.006, 0.6)),
}
"""Table I: mean and variance of the improvement, normalised needed resources; fast, intermediate, slow."""
MODELS = ("fast-unsteady", "intermediate", "slow-steady")

_DECAYS = {"constant": None, "slower-last": (5, 20, 80), "common": (20, 20, 20), "steep": (0, 0, 0)}
_LIMITS = ("deadline", "budget", "tight", "middle", "loose")
_TIGHTNESS = {"tight": 1.1, "middle": 1.4, "loose": 2.0}
_ORDERED = (*((decay, "pruning") for decay in _DECAYS), ("constant", "any"))
_START = {"printed": (20, 1, 2), "halved": (15, 2, 3)}
"""l(0), what means are divided by, and how many epochs E has for the quantile."""
_COMMUNICATION, _AVERAGED = 0.9, 15
_MOST_EPOCHS = 30
"""K_max without a limit on communication; plans that meet a target with more epochs cost more."""


@dataclass(frozen=True)
class Completion:
    """One answer to everything that is not printed; erratum E13 says what the answers mean."""

    network: str
    noise: str
    improvement: str
    decay: str
    order: str
    switching: str
    limits: str

    @property
    def name(self) -> str:
        """All answers, joined by hyphens."""
        return "-".join(self.labels.values())

    @property
    def labels(self) -> dict[str, str]:
        """Every factor with its answer."""
        return dataclasses.asdict(self)

    def instance(self, target: int) -> Instance:
        """The problem at a target."""
        timed = self.limits != "deadline"
        return Instance(
            name=f"{self.name}-{target}",
            clusters=(
                Cluster(name="A", capacity=100, bandwidth=1, unit_cost=1),
                Cluster(name="B", capacity=50, bandwidth=1, unit_cost=1.2),
            ),
            datasets=(Dataset(name="training-data", volume=1),),
            models=tuple(self._models()),
            target=Target(
                initial_loss=_START[self.improvement][0],
                maximum_loss=target,
                quantile_level=0.99,
                maximum_epochs=_MOST_EPOCHS,
                maximum_time=self._maximum_time(target) if timed else None,
                round_deadline=None if timed else 1,
            ),
            switches=tuple(self._switches()),
            other_switches=self._switch_law() if self.order == "any" else Forbidden(),
        )

    @property
    def _communicates(self) -> bool:
        return self.limits not in ("deadline", "budget")

    def _maximum_time(self, target: int) -> float:
        initial, divisor, more = _START[self.improvement]
        epochs = (initial - target) * divisor + more
        if not self._communicates:
            return float(epochs)
        return round(_TIGHTNESS[self.limits] * _COMMUNICATION * epochs, 9)

    def _models(self) -> Iterator[Model]:
        size = _COMMUNICATION if self._communicates else 0.0
        for index, (name, (mean, variance, demand)) in enumerate(
            zip(MODELS, TABLE[self.network], strict=True)
        ):
            law = InverseGamma if self.noise == "inverse-gamma" else Normal
            noise = law(mean=mean / _START[self.improvement][1], variance=variance)
            improvement = self._improvement(index, noise)
            yield Model(name=name, size=size, demand=demand, improvement=improvement)

    def _improvement(self, index: int, noise: InverseGamma | Normal) -> Improvement:
        offsets = _DECAYS[self.decay]
        if offsets is None:
            return ConstantImprovement(noise=noise)
        offset = offsets[index]
        mean = float(np.mean(1 / np.sqrt(np.arange(1, _AVERAGED + 1) + offset)))
        return InverseSqrtImprovement(scale=round(1 / mean, 12), offset=offset, noise=noise)

    def _switch_law(self) -> SwitchLaw:
        if self.switching == "free":
            return Zero()
        # The scale that gives a Student-t with 5 degrees of freedom, cut to [0, 0.6], the deviation 0.1.
        return StudentT(degrees_of_freedom=5, location=0.3, scale=0.08910909295478969, lower=0, upper=0.6)

    def _switches(self) -> Iterator[Switch]:
        if self.order == "pruning":
            for previous, following in itertools.combinations(MODELS, 2):
                yield Switch(previous=previous, following=following, law=self._switch_law())


def completions() -> tuple[Completion, ...]:
    """All of them, in a fixed order."""
    answers = itertools.product(
        TABLE, ("inverse-gamma", "normal"), _START, _ORDERED, ("free", "costly"), _LIMITS
    )
    return tuple(
        Completion(network, noise, improvement, decay, order, switching, limits)
        for network, noise, improvement, (decay, order), switching, limits in answers
    )


def completion_draws() -> tuple[Draw, ...]:
    """A draw for every completion and target; the label ``completion`` holds all answers."""
    return tuple(
        Draw(
            f"{item.name}-{target}",
            {"completion": item.name, "target": float(target), **item.labels},
            partial(item.instance, target),
        )
        for item in completions()
        for target in TARGETS
    )
