"""Model and cluster selection on the real cost: speed at K = 40, |M| = 3, |N| = 2, and agreement up to K = 7.

Instances are of the random family, every cluster with data drawn for it, the loss by its mean. Agreement is
with all classes of plans (`depl.models.exact.plan_classes`), which know neither labels nor bounds. Seconds
are those of the search, tables of the problem included, in a process whose kernels are compiled; an instance
that is not proved counts with infinite seconds. The ranking of the hundred cheapest is timed on a few
instances.
"""

import math
import time
from collections.abc import Mapping

import numpy as np

from depl.benchmarks.runner.registry import Case, Goal
from depl.heuristics.paths.real_cost_problem import real_cost_problem
from depl.heuristics.paths.real_cost_ranking import k_best
from depl.heuristics.paths.real_cost_search import RealCostAnswer, cheapest_sequence
from depl.instances.generator import random_instance
from depl.models.exact.enumeration import loss_classes
from depl.models.exact.plan_classes import plan_classes
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.problem.instance import Instance
from depl.models.solving.methods import Limits
from depl.models.solving.result import Termination

_PROOFS = (Termination.OPTIMAL, Termination.INFEASIBLE)
_AGREEMENT = 1e-9
_SMALL, _LARGE, _LARGER = 200, 100, 20
_SECONDS, _PATIENCE = 2.0, 60.0
_RANKED, _PREFIXES = 100, 300_000

Data = dict[str, frozenset[str]]


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    small, large, larger = (3, 2, 1) if smoke else (_SMALL, _LARGE, _LARGER)
    _timed(*_drawn(rng, 3, 2, 2))  # compiles
    return {
        **_agreement(rng, small),
        **_speed(rng, large, "forty_epochs", 6 if smoke else 40, 3, 2),
        **_speed(rng, larger, "two_hundred_epochs", 8 if smoke else 200, 5, 3),
        **_ranking(rng, larger, 6 if smoke else 40),
    }


def _agreement(rng: np.random.Generator, count: int) -> dict[str, object]:
    """Every answer against the cheapest of all plan classes whose mean reaches the target."""
    differences, disagreements, feasible, two_clusters, switching = [0.0], 0, 0, 0, 0
    for _ in range(count):
        epochs = int(rng.integers(2, 8))
        instance, data = _drawn(rng, epochs, 3 if epochs <= 5 else 2, 2)
        found, _ = _timed(instance, data)
        least = _least_of_all_classes(instance, data)
        difference = 0.0 if found.cost == least else abs(found.cost - least) / max(found.cost, least)
        differences.append(difference)
        disagreements += not difference <= _AGREEMENT or found.termination not in _PROOFS
        feasible += least < math.inf
        chosen = [divmod(g, len(instance.models)) for g in found.sequence or ()]
        two_clusters += len({place for place, _ in chosen}) > 1
        switching += len({model for _, model in chosen}) > 1
    return {
        "instances": count,
        "disagreements": disagreements,
        "largest_difference": max(differences),
        "feasible": feasible,
        "two_cluster_optima": two_clusters,
        "switching_optima": switching,
    }


def _speed(
    rng: np.random.Generator, count: int, name: str, epochs: int, models: int, clusters: int
) -> dict[str, object]:
    seconds, labels, rows = [], [], []
    for _ in range(count):
        instance, data = _drawn(rng, epochs, models, clusters, exactly=True)
        found, spent = _timed(instance, data)
        proved = found.termination in _PROOFS
        seconds.append(spent if proved else math.inf)
        labels.append(found.labels)
        rows.append({"instance": instance.name, "ending": found.termination.value, "seconds": spent})
    return {
        f"{name}_instances": count,
        f"{name}_unproven": sum(math.isinf(spent) for spent in seconds),
        f"{name}_median_seconds": float(np.median(seconds)),
        f"{name}_largest_seconds": max(seconds),
        f"{name}_median_labels": float(np.median(labels)),
        f"{name}_largest_labels": max(labels),
        f"{name}_rows": rows,
    }


def _ranking(rng: np.random.Generator, count: int, epochs: int) -> dict[str, object]:
    """Seconds to the hundred cheapest sequences."""
    seconds, found = [], []
    for _ in range(count):
        instance, data = _drawn(rng, epochs, 3, 2, exactly=True)
        start = time.perf_counter()
        sequences, _ = k_best(
            real_cost_problem(instance, data), _RANKED, Limits(time_limit=_SECONDS), _PREFIXES
        )
        seconds.append(time.perf_counter() - start)
        found.append(len(sequences))
    return {
        "ranked_instances": count,
        "ranked_median_seconds": float(np.median(seconds)),
        "ranked_largest_seconds": max(seconds),
        "ranked_sequences": found,
    }


def _timed(instance: Instance, data: Data) -> tuple[RealCostAnswer, float]:
    start = time.perf_counter()
    found = cheapest_sequence(real_cost_problem(instance, data), Limits(time_limit=_PATIENCE))
    return found, time.perf_counter() - start


def _drawn(
    rng: np.random.Generator, epochs: int, models: int, clusters: int, exactly: bool = False
) -> tuple[Instance, Data]:
    """An instance, and for each of its clusters all datasets or a random nonempty part of them."""
    least = (models, clusters) if exactly else (2, 1)
    instance = random_instance(
        rng,
        models=(least[0], models),
        clusters=(least[1], clusters),
        datasets=(1, 3),
        maximum_epochs=(epochs, epochs),
    )
    names = [item.name for item in instance.datasets]
    data = {}
    for place in instance.clusters:
        part = frozenset(name for name in names if rng.random() < 0.7)
        data[place.name] = part or frozenset(names)
    return instance, data


def _least_of_all_classes(instance: Instance, data: Data) -> float:
    target = instance.target
    if target.initial_loss <= target.maximum_loss + ATOM_TOLERANCE:
        return 0.0
    classes = plan_classes(instance, data, cutoff=math.inf, allowed=10**7)
    if classes is None or len(classes.levels) < 2:
        return math.inf
    transfers = [
        math.fsum(instance.transfer_cost(item, place) for item in sorted(chosen))
        for place, chosen in data.items()
    ]
    rows, costs = [], []
    for epochs, level in enumerate(classes.levels[1:], start=1):
        for row, cost in enumerate(level.costs.tolist()):
            opened = [paid for n, paid in enumerate(transfers) if level.used[row] >> n & 1]
            rows.append((cost, epochs, row))
            costs.append(math.fsum([cost, *opened]))
    means = loss_classes(classes, rows, target.initial_loss).means()
    reached = means <= target.maximum_loss + ATOM_TOLERANCE
    return float(np.array(costs)[reached].min(initial=math.inf))


CASE = Case(
    name="real-cost",
    summary="Stage 3 inside stage 2: exact sequences of (model, cluster) on the real cost, data given.",
    goals=(
        Goal("instances", "instances compared with all plan classes, K <= 7", ">=", _SMALL),
        Goal("disagreements", "costs that differ by more than 1e-9, or unproven", "==", 0),
        Goal("forty_epochs_unproven", "K = 40, 3 models, 2 clusters: answers without proof", "==", 0),
        Goal("forty_epochs_largest_seconds", "K = 40, 3 models, 2 clusters: seconds", "<=", _SECONDS),
    ),
    run=_run,
    seed=20260415,
)
