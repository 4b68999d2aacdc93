"""The studies that sweep: instances, drawn before anything is solved, by methods under limits of time.

Names of studies, instances and configurations are what recorded attempts are found by; whoever changes what
is behind one raises the version. ``tests/data/suite_fingerprints.json`` says what the instances are.
"""

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from depl.benchmarks.measure.attempt import BOUND_FOUND
from depl.benchmarks.measure.registry import Configuration, Draw, Label, Made, Study
from depl.benchmarks.suites.annealing import ANNEALING
from depl.benchmarks.suites.measures import plan_measures, printed_steps
from depl.benchmarks.suites.sizes import BASE, DRAWS_PER_SIZE, LARGE, growing, sized_instance
from depl.benchmarks.suites.stage_orders import ONE_PASS, ORDERS
from depl.instances.completions import TARGETS, completed, completions
from depl.instances.generator import competitive_family, random_instance
from depl.instances.hard_knapsacks import with_normal_weights
from depl.instances.library import load
from depl.instances.perturbed import perturbed
from depl.instances.random_laws import extreme_instance
from depl.instances.reductions.chance import Chance, ChanceKnapsack
from depl.instances.reductions.knapsack import Knapsack
from depl.instances.shipped import describe
from depl.models.evaluation.evaluate import evaluate
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.result import Result

_SEED, _ABLATION_SEED = 240214346, 7
"""The first is that of the study ``ratios``, of whose thousand instances ``random`` has the first."""
COUNT, _SHORT_COUNT = 120, 10
_PEERS = ("density-greedy", "fastest-cluster", "random")
_LOOP = ("exact", "depl", "depl-paper", "expected-greedy", "expected-cost")
_LIMITED = ("auto", "exact", "depl", "density-greedy", "scenario-search", "milp", "depl-paper")
_SIZES = {10: (10, 5, 50), 30: (30, 5, 100), 100: (100, 10, 100)}
"""By |N|: |D|, |M| and K_max, where clusters, datasets and models trade off at once (an open question)."""
ETA = (25, 50, 100, 200, 400)
"""Levels of the expanded graph (Figs. 5 and 6, right; E3): the paper's 200, half, twice of it, and less."""
LEVELS = (0.9, 0.99)
_TRUTHS = (1, 13, 14, 16, 19, 24, 26, 30, 35, 37, 46, 50, 51, 55, 59)
"""Draws with an optimum that was proved, and with laws whose parameters can be perturbed."""


def _by(*methods: str, seconds: float, scenarios: int | None = None) -> tuple[Configuration, ...]:
    """Methods under one limit of time; only some count scenarios."""
    return tuple(
        Configuration(
            method,
            seconds,
            scenarios=scenarios if method in ("scenario-search", "milp") else None,
            own=ANNEALING if method == ANNEALING.name else None,
        )
        for method in methods
    )


def _grid(
    name: str, build: Callable[..., Made], axes: Mapping[str, Sequence[Label]], family: str = ""
) -> Sequence[Draw]:
    """An instance for every combination, which names, labels and builds it; or labelled by a family alone."""
    rows = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    return [
        Draw(name.format(**row), {"family": family} if family else row, partial(build, **row)) for row in rows
    ]


def _paper() -> Sequence[Draw]:
    """Every shipped family of the paper at all its targets."""
    return [
        Draw(f"{entry.name}-{at}", {"family": entry.name, "target": float(at)}, partial(load, entry.name, at))
        for entry in describe()
        for at in (entry.targets if entry.name.startswith("paper-") else ())
    ]


def _completed() -> Sequence[Draw]:
    """Every completion of Table I at both targets; the label ``completion`` holds all answers."""
    return [
        Draw(
            f"{name}-{target}",
            {"completion": name, "target": float(target), **answers},
            partial(completed, target, answers),
        )
        for answers, target in itertools.product(completions(), TARGETS)
        for name in ("-".join(answers.values()),)
    ]


def _paper_measures(draw: Draw, instance: Instance, result: Result) -> Mapping[str, float | None]:
    return {**plan_measures(draw, instance, result), **printed_steps(draw, instance, result)}


@functools.cache
def _family() -> Sequence[Instance]:
    return competitive_family(np.random.default_rng(_SEED), COUNT)


def instance_of(number: int) -> Instance:
    """The instance of that number in the suite ``random``."""
    return _family()[number]


def _random(count: int) -> Sequence[Draw]:
    return _grid("random-{number:04d}", instance_of, {"number": range(count)}, "random")


def _extreme() -> Sequence[Draw]:
    large = [Draw(name, {"family": "large"}, build) for name, build in LARGE.items()]
    return [*large, *_grid("extreme-{number:04d}", extreme_instance, {"number": range(20)}, "extreme")]


def _bound_found(draw: Draw, instance: Instance, result: Result) -> Mapping[str, float | None]:
    """The greatest lower bound of any phase of a solve, and of its dual prices [cost]."""
    bounds = [phase.lower_bound for phase in result.phases]
    if result.dual is not None and result.plan is not None:
        bounds.append(min(result.dual.bound, result.cost or 0.0))
    return {BOUND_FOUND: max(bounds, default=None)}


_fitted = functools.cache(load)


def _at_level(family: str, omega: float) -> Instance:
    return _fitted(family).replace(quantile_level=omega)


def _heterogeneous() -> Sequence[Draw]:
    sizes = [dict(zip(BASE, (clusters, *others), strict=True)) for clusters, others in _SIZES.items()]
    return [
        Draw(f"clusters-{size['clusters']:03d}-{number}", size, partial(sized_instance, number, **size))
        for size in sizes
        for number in range(2)
    ]


def drawn_knapsack(items: int, omega: float, number: int) -> ChanceKnapsack:
    """The knapsack of that number, in the manner of Pisinger's weakly correlated family."""
    rng = np.random.default_rng([_SEED, items, round(1000 * omega), number])
    means = [int(mean) for mean in rng.integers(10, 101, items)]
    values = [max(1, mean + int(rng.integers(-10, 11))) for mean in means]
    return with_normal_weights(Knapsack.of(values, means, sum(means) // 2), omega, rng)


def true_instance(number: int) -> Instance:
    """The true instance of that number: two or three models, clusters and datasets, K_max of 6 to 8."""
    rng = np.random.default_rng([_ABLATION_SEED, number])
    return random_instance(rng, models=(2, 3), clusters=(2, 3), datasets=(2, 3), maximum_epochs=(6, 8))


def _planned(error: float, truth: int) -> Instance:
    """With every parameter of every law a share too high or too low, each on its own."""
    rng = np.random.default_rng([_ABLATION_SEED, truth, round(1000 * error)])
    return perturbed(true_instance(truth), error, rng) if error else true_instance(truth)


def _delivered(draw: Draw, instance: Instance, result: Result) -> Mapping[str, float | None]:
    """Certified lower bound of P(l(K) <= l_max) under the true laws; true cost."""
    allowed = float(instance.target.violation_budget)
    if result.plan is None or result.violation is None:
        return {"violation_allowed": allowed, "delivered": None, "true_cost": None}
    plan = Plan(data=result.plan.data, epochs=result.plan.epochs)  # without the fingerprint of the other
    judged = evaluate(true_instance(int(draw.labels["truth"])), plan, quantile=False)
    return {
        "violation_allowed": allowed,
        "delivered": 1 - judged.violation.upper,
        "true_cost": judged.cost,
    }


STUDIES = (
    Study(
        "paper",
        "The paper's AlexNet and MobileNet instances at all their targets, by every method.",
        draws=_paper,
        configurations=_by(
            *("exact", "enumerate", "depl", "depl-paper", "expected-cost", "expected-greedy"),
            *(*_PEERS, "annealing"),
            seconds=60.0,
        ),
        measure=_paper_measures,
    ),
    Study(
        "paper-eta",
        "The paper's instances by its loop with 25 to 400 levels of time and of loss.",
        draws=_paper,
        configurations=(
            Configuration("exact", 30.0),
            *(Configuration("depl-paper", 20.0, options={"eta": n}, label=f"depl-paper-{n}") for n in ETA),
        ),
    ),
    Study(
        "reconstruction",
        "400 literal completions of Table I at the tightest and the loosest target of Fig. 9.",
        draws=_completed,
        configurations=_by(*_LOOP, seconds=10.0),
        measure=plan_measures,
    ),
    Study(
        "random",
        f"The first {COUNT} instances of the random family, by exact, DepL and its peers.",
        draws=partial(_random, COUNT),
        configurations=_by(*_LOOP, *_PEERS, "annealing", seconds=10.0),
        measure=printed_steps,
    ),
    # Whether every method keeps its limit at every size and under any law, and returns what it holds.
    Study(
        "limits",
        "Large instances, and small ones with extreme laws, by every kind of method under 5 seconds.",
        draws=_extreme,
        configurations=_by(*_LIMITED, seconds=5.0, scenarios=100),
        measure=_bound_found,
        version=2,
    ),
    Study(
        "limits-short",
        f"The first {_SHORT_COUNT} instances of the suite random, by every kind of method under half a "
        "second.",
        draws=partial(_random, _SHORT_COUNT),
        configurations=_by(*_LIMITED, seconds=0.5, scenarios=100),
        measure=_bound_found,
    ),
    # Their law with memory was fitted to real training of pruned networks (Sec. VI-A).
    Study(
        "digits",
        "Instances fitted to real training of pruned networks, at four quantile levels.",
        draws=lambda: _grid(
            "{family}-{omega}",
            _at_level,
            {"family": ("digits-alexnet", "digits-mobilenet"), "omega": (0.8, 0.9, 0.95, 0.99)},
        ),
        configurations=_by("enumerate", "scenario-search", seconds=30.0, scenarios=200),
        measure=plan_measures,
    ),
    Study(
        "heterogeneous",
        "Heterogeneous instances with 10, 30 and 100 clusters, by DepL, the paper's loop and others.",
        draws=_heterogeneous,
        configurations=_by("depl", "depl-paper", *_PEERS, seconds=15.0),
    ),
    # Normal weights, through their reduction to planning (Property 1).
    Study(
        "chance-knapsack",
        "Chance-constrained knapsacks of 10 to 40 items, planned through their reduction.",
        draws=lambda: _grid(
            "items-{items:03d}-omega-{omega}-{number}",
            lambda **axes: Chance.reduce(drawn_knapsack(**axes)),
            {"items": (10, 20, 40), "omega": LEVELS, "number": range(2)},
        ),
        configurations=_by("exact", "depl", "density-greedy", seconds=10.0),
    ),
    # The order of the stages, with and without errors in what is planned with (Sec. IV); true laws judge.
    Study(
        "ablation",
        "Six orders of deciding data, models and resources once, with errors of 0 to 50 % in the laws.",
        draws=lambda: _grid(
            "truth-{truth:02d}-error-{error:g}",
            _planned,
            {"error": (0.0, 0.05, 0.2, 0.5), "truth": _TRUTHS},
        ),
        configurations=(
            Configuration("exact", 10.0),
            *(Configuration("one-pass", 10.0, options={"order": n}, label=n, own=ONE_PASS) for n in ORDERS),
        ),
        measure=_delivered,
    ),
    # Time against one size, all others at one base point (Property 2).
    *(
        Study(
            f"scaling-{size}",
            f"Seconds of DepL, of the paper's loop and of exact search with {words}.",
            draws=partial(growing, size, values),
            configurations=_by("depl", "depl-paper", "exact", seconds=10.0),
            measure=printed_steps if size == "datasets" else None,
        )
        for size, values, words in (
            *(
                (size, (2, 4, 8, 16, 32, 64), f"2 to 64 {size}")
                for size in ("clusters", "datasets", "models")
            ),
            ("epochs", (5, 10, 20, 40, 80, 160), "K_max from 5 to 160"),
        )
    ),
    Study(
        "scaling-scenarios",
        f"Seconds of scenario search with 16 to 512 scenarios, on {DRAWS_PER_SIZE} instances.",
        draws=partial(growing, "epochs", (BASE["epochs"],)),
        configurations=tuple(
            Configuration("scenario-search", 10.0, scenarios=count, label=f"scenario-search-{count}")
            for count in (16, 32, 64, 128, 256, 512)
        ),
    ),
)
