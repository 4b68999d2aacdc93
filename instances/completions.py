"""Literal completions of Table I: every combination of stated answers to what Sec. VI-B does not print.

The answers stand at erratum E13. 5 and 13 are the tightest and the loosest target of Fig. 9. Class B is
dominated by class A throughout, for its bandwidth is not printed (E13). ``any`` order is left out with decay,
where the cost-aware reading of best-exp cannot list its plans.
"""

import itertools
from collections.abc import Iterator, Mapping

import numpy as np

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

_FACTORS = ("network", "noise", "improvement", "decay", "order", "switching", "limits")
_DECAYS: Mapping[str, tuple[int, ...] | None] = {
    "constant": None,
    "slower-last": (5, 20, 80),
    "common": (20, 20, 20),
    "steep": (0, 0, 0),
}
_LIMITS = ("deadline", "budget", "tight", "middle", "loose")
_TIGHTNESS = {"tight": 1.1, "middle": 1.4, "loose": 2.0}
_ORDERED = (*((decay, "pruning") for decay in _DECAYS), ("constant", "any"))
_START = {"printed": (20, 1, 2), "halved": (15, 2, 3)}
"""l(0), what means are divided by, and how many epochs E has for the quantile."""
_COMMUNICATION, _AVERAGED = 0.9, 15
_MOST_EPOCHS = 30
"""K_max without a limit on communication; plans that meet a target with more epochs cost more."""


def completions() -> Iterator[dict[str, str]]:
    """Every factor with its answer, in a fixed order; erratum E13 says what the answers mean."""
    answers = (TABLE, ("inverse-gamma", "normal"), _START, _ORDERED, ("free", "costly"), _LIMITS)
    for network, noise, improvement, (decay, order), switching, limits in itertools.product(*answers):
        given = (network, noise, improvement, decay, order, switching, limits)
        yield dict(zip(_FACTORS, given, strict=True))


def completed(target: int, answers: Mapping[str, str]) -> Instance:
    """The problem at a target, by the answers to all factors."""
    limits, (initial, divisor, more) = answers["limits"], _START[answers["improvement"]]
    size = 0.0 if limits in ("deadline", "budget") else _COMMUNICATION
    switch: SwitchLaw = Zero()
    if answers["switching"] == "costly":
        # The scale that gives a Student-t with 5 degrees of freedom, cut to [0, 0.6], the deviation 0.1.
        switch = StudentT(degrees_of_freedom=5, location=0.3, scale=0.08910909295478969, lower=0, upper=0.6)
    pairs = itertools.combinations(MODELS, 2) if answers["order"] == "pruning" else ()
    time = float((initial - target) * divisor + more)
    if size:
        time = round(_TIGHTNESS[limits] * size * time, 9)
    return Instance(
        name=f"{'-'.join(answers.values())}-{target}",
        clusters=(
            Cluster(name="A", capacity=100, bandwidth=1, unit_cost=1),
            Cluster(name="B", capacity=50, bandwidth=1, unit_cost=1.2),
        ),
        datasets=(Dataset(name="training-data", volume=1),),
        models=tuple(
            Model(name=name, size=size, demand=row[2], improvement=_improvement(answers, index, *row[:2]))
            for index, (name, row) in enumerate(zip(MODELS, TABLE[answers["network"]], strict=True))
        ),
        target=Target(
            initial_loss=initial,
            maximum_loss=target,
            quantile_level=0.99,
            maximum_epochs=_MOST_EPOCHS,
            maximum_time=None if limits == "deadline" else time,
            round_deadline=1 if limits == "deadline" else None,
        ),
        switches=tuple(Switch(previous=one, following=other, law=switch) for one, other in pairs),
        other_switches=switch if answers["order"] == "any" else Forbidden(),
    )


def _improvement(answers: Mapping[str, str], index: int, mean: float, variance: float) -> Improvement:
    law = InverseGamma if answers["noise"] == "inverse-gamma" else Normal
    noise = law(mean=mean / _START[answers["improvement"]][1], variance=variance)
    offsets = _DECAYS[answers["decay"]]
    if offsets is None:
        return ConstantImprovement(noise=noise)
    share = float(np.mean(1 / np.sqrt(np.arange(1, _AVERAGED + 1) + offsets[index])))
    return InverseSqrtImprovement(scale=round(1 / share, 12), offset=offsets[index], noise=noise)
