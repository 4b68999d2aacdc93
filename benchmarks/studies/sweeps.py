"""The studies that sweep: instances, drawn before anything is solved, by methods under limits of time.

Names of studies, instances and configurations are what recorded attempts are found by; whoever changes what
is behind one raises the version. ``tests/data/suite_fingerprints.json`` says what the instances are.
"""

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from depl.benchmarks.analysis.limits import BOUND_FOUND
from depl.benchmarks.measure.registry import Configuration, Draw, Label, Study
from depl.benchmarks.suites.annealing import ANNEALING
from depl.benchmarks.suites.measures import plan_measures, printed_steps
from depl.benchmarks.suites.sizes import BASE, DRAWS_PER_SIZE, LARGE, growing, sized_instance
from depl.benchmarks.suites.stage_orders import ONE_PASS, ORDERS
from depl.instances.completions import TARGETS, completed, completions
from depl.instances.generator import random_instance
from depl.instances.library import describe, load
from depl.instances.perturbed import perturbed
from depl.instances.random_family import competitive_family
from depl.instances.random_laws import extreme_instance
from depl.instances.reductions.chance import Chance, ChanceKnapsack
from depl.models.evaluation.evaluate import evaluate
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.result import Result

_SEED = 240214346
"""That of the case ``ratios``: the suite ``random`` has the first of its thousand instances."""
_PEERS = ("density-greedy", "fastest-cluster", "random")
_LOOP = ("exact", "depl", "depl-paper", "expected-greedy", "expected-cost")
_TIMED = ("depl", "depl-paper", "exact")


def _by(*methods: str, seconds: float, scenarios: int | None = None) -> tuple[Configuration, ...]:
    """Methods under one limit of time."""
    return tuple(Configuration(method, seconds, scenarios=scenarios) for method in methods)


def _annealing(seconds: float) -> Configuration:
    return Configuration("annealing", seconds, own=ANNEALING)


# The paper's instances, as printed and with a deadline (Figs. 5 to 9).


def _paper() -> Sequence[Draw]:
    """Every shipped family of the paper at all its targets."""
    draws = []
    for entry in describe():
        for target in entry.targets if entry.name.startswith("paper-") else ():
            labels: dict[str, Label] = {"family": entry.name, "target": float(target)}
            draws.append(Draw(f"{entry.name}-{target}", labels, partial(load, entry.name, target)))
    return draws


def _paper_measures(draw: Draw, instance: Instance, result: Result) -> Mapping[str, float | None]:
    return {**plan_measures(draw, instance, result), **printed_steps(draw, instance, result)}


_PAPER = Study(
    name="paper",
    summary="The paper's AlexNet and MobileNet instances at all their targets, by every method.",
    draws=_paper,
    configurations=(
        *_by("exact", "enumerate", "depl", "depl-paper", "expected-cost", "expected-greedy", seconds=60.0),
        *_by(*_PEERS, seconds=60.0),
        _annealing(60.0),
    ),
    measure=_paper_measures,
)

ETA = (25, 50, 100, 200, 400)
"""Levels of the expanded graph (Figs. 5 and 6, right; E3): the paper's 200, half, twice of it, and less."""

_PAPER_ETA = Study(
    name="paper-eta",
    summary="The paper's instances by its loop with 25 to 400 levels of time and of loss.",
    draws=_paper,
    configurations=(
        Configuration("exact", time_limit=30.0),
        *(
            Configuration("depl-paper", 20.0, options={"eta": levels}, label=f"depl-paper-{levels}")
            for levels in ETA
        ),
    ),
)


def _completed() -> Sequence[Draw]:
    """Every completion of Table I at both targets; the label ``completion`` holds all answers."""
    draws = []
    for answers, target in itertools.product(completions(), TARGETS):
        name = "-".join(answers.values())
        labels: dict[str, Label] = {"completion": name, "target": float(target), **answers}
        draws.append(Draw(f"{name}-{target}", labels, partial(completed, target, answers)))
    return draws


_RECONSTRUCTION = Study(
    name="reconstruction",
    summary="400 literal completions of Table I at the tightest and the loosest target of Fig. 9.",
    draws=_completed,
    configurations=_by("exact", "depl", "depl-paper", "expected-greedy", "expected-cost", seconds=10.0),
    measure=plan_measures,
)

# Random instances.

COUNT, _SHORT_COUNT = 120, 10


@functools.cache
def _family() -> Sequence[Instance]:
    return competitive_family(np.random.default_rng(_SEED), COUNT)


def instance_of(number: int) -> Instance:
    """The instance of that number in the suite ``random``."""
    return _family()[number]


def _random(count: int) -> Sequence[Draw]:
    labels = {"family": "random"}
    return [Draw(f"random-{number:04d}", labels, partial(instance_of, number)) for number in range(count)]


_RANDOM = Study(
    name="random",
    summary=f"The first {COUNT} instances of the random family, by exact, DepL and its peers.",
    draws=lambda: _random(COUNT),
    configurations=(*_by(*_LOOP, *_PEERS, seconds=10.0), _annealing(10.0)),
    measure=printed_steps,
)

# Whether every method keeps its limit at every size and under any law, and returns what it holds.


def _extreme() -> Sequence[Draw]:
    draws = [Draw(name, {"family": "large"}, build) for name, build in LARGE.items()]
    for number in range(20):
        draws.append(Draw(f"extreme-{number:04d}", {"family": "extreme"}, partial(extreme_instance, number)))
    return draws


def _limited(seconds: float) -> tuple[Configuration, ...]:
    """Every method that limits are measured of, under one limit [s]."""
    counting = ("scenario-search", "milp")
    methods = ("auto", "exact", "depl", "density-greedy", "scenario-search", "milp", "depl-paper")
    return tuple(
        Configuration(method, seconds, scenarios=100 if method in counting else None) for method in methods
    )


def _bound_found(draw: Draw, instance: Instance, result: Result) -> Mapping[str, float | None]:
    """The greatest lower bound of any phase of a solve, and of its dual prices [cost]."""
    bounds = [phase.lower_bound for phase in result.phases]
    if result.dual is not None and result.plan is not None:
        bounds.append(min(result.dual.bound, result.cost or 0.0))
    return {BOUND_FOUND: max(bounds, default=None)}


_LIMITS = Study(
    name="limits",
    summary="Large instances, and small ones with extreme laws, by every kind of method under 5 seconds.",
    draws=_extreme,
    configurations=_limited(5.0),
    measure=_bound_found,
    version=2,
)
_LIMITS_SHORT = Study(
    name="limits-short",
    summary=f"The first {_SHORT_COUNT} instances of the suite random, by every kind of method under half a "
    "second.",
    draws=lambda: _random(_SHORT_COUNT),
    configurations=_limited(0.5),
    measure=_bound_found,
)

# Instances whose law with memory was fitted to real training of pruned networks (Sec. VI-A).

_fitted = functools.cache(load)


def _at_level(family: str, level: float) -> Instance:
    return _fitted(family).replace(quantile_level=level)


def _digits() -> Sequence[Draw]:
    return [
        Draw(f"{family}-{level}", {"family": family, "omega": level}, partial(_at_level, family, level))
        for family in ("digits-alexnet", "digits-mobilenet")
        for level in (0.8, 0.9, 0.95, 0.99)
    ]


_DIGITS = Study(
    name="digits",
    summary="Instances fitted to real training of pruned networks, at four quantile levels.",
    draws=_digits,
    configurations=(
        *_by("enumerate", seconds=30.0),
        *_by("scenario-search", seconds=30.0, scenarios=200),
    ),
    measure=plan_measures,
)

# Clusters, datasets and models that trade off at once (an open question).

_SIZES = {10: (10, 5, 50), 30: (30, 5, 100), 100: (100, 10, 100)}
"""By |N|: |D|, |M| and K_max."""


def _heterogeneous() -> Sequence[Draw]:
    draws = []
    for clusters, sizes in _SIZES.items():
        labels = dict(zip(("clusters", "datasets", "models", "epochs"), (clusters, *sizes), strict=True))
        for number in range(2):
            build = partial(sized_instance, number, **labels)
            draws.append(Draw(f"clusters-{clusters:03d}-{number}", dict(labels), build))
    return draws


_HETEROGENEOUS = Study(
    name="heterogeneous",
    summary="Heterogeneous instances with 10, 30 and 100 clusters, by DepL, the paper's loop and others.",
    draws=_heterogeneous,
    configurations=_by("depl", "depl-paper", *_PEERS, seconds=15.0),
)

# Chance-constrained knapsacks with normal weights, through their reduction to planning (Property 1): items in
# the manner of Pisinger's weakly correlated family, standard deviations of 5 to 30 %, half of all mean weight
# as the capacity.

LEVELS = (0.9, 0.99)


def drawn_knapsack(items: int, level: float, number: int) -> ChanceKnapsack:
    """The knapsack of that number."""
    rng = np.random.default_rng([_SEED, items, round(1000 * level), number])
    means = [int(mean) for mean in rng.integers(10, 101, items)]
    values = [max(1, mean + int(rng.integers(-10, 11))) for mean in means]
    shares = rng.integers(5, 31, items)  # hundredths
    variances = [
        Fraction(round((mean * int(share) / 100) ** 2 * 10), 10)
        for mean, share in zip(means, shares, strict=True)
    ]
    return ChanceKnapsack.of(values, means, variances, sum(means) // 2, level)


def _knapsack_value(draw: Draw, instance: Instance, result: Result) -> Mapping[str, float | None]:
    """``value``: what the items are worth that the plan takes."""
    if result.cost is None:
        return {"value": None}
    labels = draw.labels
    knapsack = drawn_knapsack(int(labels["items"]), float(labels["omega"]), int(labels["number"]))
    return {"value": float(Chance.value_of_cost(knapsack, result.cost))}


def _reduced(items: int, level: float, number: int) -> Instance:
    return Chance.reduce(drawn_knapsack(items, level, number))


def _knapsacks() -> Sequence[Draw]:
    return [
        Draw(
            f"items-{items:03d}-omega-{level}-{number}",
            {"items": items, "omega": level, "number": number},
            partial(_reduced, items, level, number),
        )
        for items in (10, 20, 40)
        for level in LEVELS
        for number in range(2)
    ]


_CHANCE_KNAPSACK = Study(
    name="chance-knapsack",
    summary="Chance-constrained knapsacks of 10 to 40 items, planned through their reduction.",
    draws=_knapsacks,
    configurations=_by("exact", "depl", "density-greedy", seconds=10.0),
    measure=_knapsack_value,
)

# The order of the stages, each decided once, with and without errors in what is planned with (Sec. IV): every
# parameter of every law is a share too high or too low, each on its own, and true laws judge the plan.

_ABLATION_SEED = 7
_TRUTHS = (1, 13, 14, 16, 19, 24, 26, 30, 35, 37, 46, 50, 51, 55, 59)
"""Draws with an optimum that was proved, and with laws whose parameters can be perturbed."""


def truth(number: int) -> Instance:
    """The true instance of that number: two or three models, clusters and datasets, K_max of 6 to 8."""
    rng = np.random.default_rng([_ABLATION_SEED, number])
    return random_instance(rng, models=(2, 3), clusters=(2, 3), datasets=(2, 3), maximum_epochs=(6, 8))


def _delivered(draw: Draw, instance: Instance, result: Result) -> Mapping[str, float | None]:
    """Certified lower bounds of P(l(K) <= l_max) under the true laws and those planned with; true cost."""
    allowed = float(instance.target.violation_budget)
    if result.plan is None or result.violation is None:
        return {"violation_allowed": allowed, "delivered": None, "promised": None, "true_cost": None}
    plan = Plan(data=result.plan.data, epochs=result.plan.epochs)  # without the fingerprint of the other
    judged = evaluate(truth(int(draw.labels["truth"])), plan, quantile=False)
    return {
        "violation_allowed": allowed,
        "delivered": 1 - judged.violation.upper,
        "promised": 1 - result.violation.upper,
        "true_cost": judged.cost,
    }


def _planned(number: int, error: float) -> Instance:
    true = truth(number)
    rng = np.random.default_rng([_ABLATION_SEED, number, round(1000 * error)])
    return perturbed(true, error, rng) if error else true


def _mistaken() -> Sequence[Draw]:
    return [
        Draw(
            f"truth-{number:02d}-error-{error:g}",
            {"error": error, "truth": number},
            partial(_planned, number, error),
        )
        for error in (0.0, 0.05, 0.2, 0.5)
        for number in _TRUTHS
    ]


_ABLATION = Study(
    name="ablation",
    summary="Six orders of deciding data, models and resources once, with errors of 0 to 50 % in the laws.",
    draws=_mistaken,
    configurations=(
        Configuration("exact", time_limit=10.0),
        *(
            Configuration("one-pass", 10.0, options={"order": order}, label=order, own=ONE_PASS)
            for order in ORDERS
        ),
    ),
    measure=_delivered,
)

# Time against one size, all others at one base point (Property 2).


def _scaling() -> Iterator[Study]:
    wide = (2, 4, 8, 16, 32, 64)
    for size, values, words in (
        ("clusters", wide, "2 to 64 clusters"),
        ("datasets", wide, "2 to 64 datasets"),
        ("epochs", (5, 10, 20, 40, 80, 160), "K_max from 5 to 160"),
        ("models", wide, "2 to 64 models"),
    ):
        yield Study(
            name=f"scaling-{size}",
            summary=f"Seconds of DepL, of the paper's loop and of exact search with {words}.",
            draws=partial(growing, size, values),
            configurations=_by(*_TIMED, seconds=10.0),
            measure=printed_steps if size == "datasets" else None,
        )
    yield Study(
        name="scaling-scenarios",
        summary=f"Seconds of scenario search with 16 to 512 scenarios, on {DRAWS_PER_SIZE} instances.",
        draws=partial(growing, "epochs", (BASE["epochs"],)),
        configurations=tuple(
            Configuration("scenario-search", 10.0, scenarios=count, label=f"scenario-search-{count}")
            for count in (16, 32, 64, 128, 256, 512)
        ),
    )


STUDIES = (
    *(_PAPER, _PAPER_ETA, _RECONSTRUCTION, _RANDOM, _LIMITS, _LIMITS_SHORT, _DIGITS, _HETEROGENEOUS),
    *(_CHANCE_KNAPSACK, _ABLATION, *_scaling()),
)
