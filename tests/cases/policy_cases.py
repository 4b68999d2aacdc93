"""Tiny policies: two models, one cluster, a decimal lattice; and how what was planned is judged."""

from fractions import Fraction

import msgspec
import numpy as np

from depl.models.problem.laws import Forbidden, Zero
from depl.models.solving.result import Termination
from tests.problems import atoms, instance, model, site


def tiny(small, large, *, prices=(1.0, 2.5), **more):
    """Models ``small`` and ``large`` on the cluster ``site``; an epoch costs the price of its model."""
    given = {"initial_loss": 1.0, "maximum_loss": 0.4, "quantile_level": 0.8, "round_deadline": 1.0}
    fixed = {"name": "tiny-policy", "clusters": site("site", 100, 1, 1), "datasets": {"data": 1}}
    models = model("small", small, prices[0], 0), model("large", large, prices[1], 0)
    return instance(*models, **{"other_switches": Zero(), **given, **fixed, **more})


TWO = tiny(
    atoms(-0.1, 0.1, 0.3, weights=(1.0, 1.0, 2.0)),
    atoms(0.1, 0.4),
    prices=(1.0, 2.1),
    maximum_loss=0.35,
    quantile_level=0.45,
    maximum_epochs=3,
)
"""Two models on one cluster, with few losses: the large one is needed for 0.9."""


def random_tiny(rng, epochs=None, count=2):
    """An instance at random: some with switches that cost or are forbidden, or a model that must be last."""

    def law(mean):
        values = np.sort(rng.choice(np.arange(mean - 3, mean + 4), count, replace=False))
        weights = tuple(rng.integers(1, 4, count).astype(float).tolist()) if rng.random() < 0.5 else None
        return atoms(*(round(0.1 * int(x), 1) for x in values), weights=weights)

    kinds = Zero(), 0.1, atoms(0.0, 0.2), Forbidden()
    pairs = ("small", "large"), ("large", "small")
    extra = {"switches": {pair: kinds[int(rng.integers(0, 4))] for pair in pairs}}
    if rng.random() < 0.25:
        extra["deployable"] = ("large",)
    if rng.random() < 0.25:
        extra["initial_model"] = "small"
    return tiny(
        law(int(rng.integers(1, 4))),
        law(int(rng.integers(2, 6))),
        prices=(1.0, round(float(rng.uniform(1.2, 4.0)), 1)),
        maximum_loss=round(0.1 * int(rng.integers(2, 8)), 1),
        quantile_level=round(float(rng.uniform(0.3, 0.97)), 2),
        maximum_epochs=int(rng.integers(2, 4)) if epochs is None else epochs,
        **extra,
    )


def judge(instance, tree, found):
    """Everything that is claimed of the best policy, and of all of them, against the tree."""
    budget = instance.target.violation_budget
    if found.policy is None:
        if found.termination is Termination.INFEASIBLE:
            assert tree.least_failure() > budget
        return
    rho = Fraction(found.failure_cost)
    best = tree.best(rho, budget)
    assert found.lower_bound <= float(best) * (1 + 1e-9)
    first = found.policy.nodes[found.policy.start].trainings
    start = next(
        item
        for item in tree.starts
        if item.mode is None or not first or item.mode.first == (first[0].model, first[0].cluster)
    )
    cost, failure = tree.followed(found.policy, start)
    assert float(cost) <= found.cost * (1 + 1e-9)
    assert float(1 - failure) >= found.reached - 1e-9
    assert failure <= budget + Fraction(1, 10**12)
    ratio = tree.ratio()
    assert found.ratio[0] <= float(ratio) * (1 + 1e-9)
    assert float(ratio) <= found.ratio[1] * (1 + 1e-9)


def claiming(policy, **claims):
    """The same policy with other claims."""
    return msgspec.structs.replace(policy, certificate=msgspec.structs.replace(policy.certificate, **claims))
