r"""Two epochs in which planning again with the same omega spends a promise that was made for the whole run.

Epoch 1 trains ``full``, which brings the loss from 3 to 1 (lucky) or only to 2 (unlucky, with probability u).
For epoch 2 there are ``distilled`` (gains 2, or 1 with probability p / u) and ``pruned`` (gains 1, or nothing
with probability p), p = 1/20; the target is 0 with omega = 19/20. Costs are 2, 3 and 1. The cheapest plan is
full, then distilled: it reaches the target with probability 1 - u p / u = omega. Seen from the lucky state,
pruned is good enough for omega and cheaper, so whoever plans again takes it; from the unlucky state nothing
reaches omega. Who then gives up delivers (1 - u)(1 - p), who goes on with the old plan u - p more: with
u = 5/19 exactly 0.70 and 347/380 = 0.913.
"""

from fractions import Fraction

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import (
    Cluster,
    ConstantImprovement,
    Dataset,
    Instance,
    Model,
    Switch,
    Target,
)
from depl.models.problem.laws import Empirical, Forbidden, Zero
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch

VIOLATION = Fraction(1, 20)
"""p = 1 - omega."""

COSTS = {"full": 2.0, "distilled": 3.0, "pruned": 1.0}
"""Of an epoch; also its work, as unit cost and round deadline are 1."""


def spent_promise(unlucky: Fraction = Fraction(5, 19)) -> Instance:
    """The instance.

    Parameters
    ----------
    unlucky : Fraction
        u, above 9/40 (or two epochs of full, missed with probability u squared, would do) and below 1.

    Raises
    ------
    InvalidInputError
        If u is out of range.
    """
    if not Fraction(9, 40) <= unlucky < 1:
        raise InvalidInputError(f"must be at least 9/40 and below 1, not {unlucky}", "unlucky")
    gains = {
        "full": (2, 1, unlucky),
        "distilled": (2, 1, VIOLATION / unlucky),
        "pruned": (1, 0, VIOLATION),
    }
    ways = (("full", "distilled"), ("full", "pruned"), ("distilled", "pruned"))
    return Instance(
        name="spent-promise",
        description=f"Planning again with the same omega spends the promise; unlucky with {unlucky}.",
        clusters=(Cluster(name="site", capacity=3, bandwidth=1, unit_cost=1),),
        datasets=(Dataset(name="data", volume=1),),
        models=tuple(_model(name, *gain) for name, gain in gains.items()),
        target=Target(
            initial_loss=3,
            maximum_loss=0,
            quantile_level=float(1 - VIOLATION),
            maximum_epochs=2,
            round_deadline=1,
        ),
        switches=tuple(Switch(previous=before, following=after, law=Zero()) for before, after in ways),
        other_switches=Forbidden(),  # what was compressed stays so
    )


def promised_plan() -> Plan:
    """The cheapest plan: full, then distilled."""
    return Plan(
        data=(ClusterData(cluster="site", datasets=("data",)),),
        epochs=tuple(
            PlannedEpoch(model=name, cluster="site", resources=COSTS[name]) for name in ("full", "distilled")
        ),
    )


def _model(name: str, high: float, low: float, share: Fraction) -> Model:
    """Gains ``high``, or ``low`` with probability ``share``; whole weights keep the probabilities exact."""
    weights = (share.denominator - share.numerator, share.numerator)
    law = Empirical(values=(high, low), weights=weights)
    return Model(name=name, size=0, demand=COSTS[name], improvement=ConstantImprovement(noise=law))
