"""The order of the stages, each decided once, with and without errors in what is planned with (Sec. IV).

The instances have two or three models, clusters and datasets each, and K_max of 6 to 8. With an error, every
parameter of every law is a share too high or too low, each on its own; the plan is judged under the true
laws.
"""

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from depl.benchmarks.suites.perturbed import perturbed
from depl.benchmarks.suites.stage_orders import ONE_PASS, ORDERS
from depl.benchmarks.suites.suite import Configuration, Draw, Suite
from depl.instances.generator import random_instance
from depl.models.evaluation.evaluate import evaluate
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.result import Result

ERRORS = (0.0, 0.05, 0.2, 0.5)
"""By how much parameters are off, as a share."""
_SEED = 7
_TRUTHS = (1, 13, 14, 16, 19, 24, 26, 30, 35, 37, 46, 50, 51, 55, 59)
"""Draws with an optimum that was proved, and with laws whose parameters can be perturbed."""


def truth(number: int) -> Instance:
    """The true instance of that number."""
    return random_instance(
        np.random.default_rng([_SEED, number]),
        models=(2, 3),
        clusters=(2, 3),
        datasets=(2, 3),
        maximum_epochs=(6, 8),
    )


def delivered(draw: Draw, instance: Instance, result: Result) -> Mapping[str, float | None]:
    """Probability and cost of the plan under the true laws.

    Returns
    -------
    mapping
        ``delivered``: certified lower bound of P(l(K) <= l_max) under the true laws; ``promised``: the same
        under those that were planned with; ``true_cost`` [cost]; ``violation_allowed``: 1 - omega.
    """
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
    if not error:
        return true
    rng = np.random.default_rng([_SEED, number, round(1000 * error)])
    return perturbed(true, error, rng)


def _draws() -> Iterator[Draw]:
    for error in ERRORS:
        for number in _TRUTHS:
            labels = {"error": error, "truth": number}
            yield Draw(f"truth-{number:02d}-error-{error:g}", labels, partial(_planned, number, error))


SUITE = Suite(
    name="ablation",
    summary="Six orders of deciding data, models and resources once, with errors of 0 to 50 % in the laws.",
    draws=lambda: tuple(_draws()),
    configurations=(
        Configuration("exact", time_limit=10.0),
        *(
            Configuration("one-pass", time_limit=10.0, options={"order": order}, label=order, own=ONE_PASS)
            for order in ORDERS
        ),
    ),
    measure=delivered,
)
