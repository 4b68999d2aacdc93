r"""PARTITION as feasibility of model selection, with laws and work that do not depend on the epoch.

*Construction.* Positive whole numbers a_1, ..., a_n of even sum 2 B. Number i becomes two models, take-i
and skip-i, with work a_i + 1 and 1 and improvements a_i and 0. From a model of number i one may only go to
a model of number i + 1, and this switch improves the loss by G = n max a + 1. r = 1, kappa = 0, K_max = n,
T_max = B + n; the loss has to fall by (n - 1) G + B.

*Proof.* Let a plan of K <= n epochs be feasible. Its runs gain at most n max a = G - 1. With n - 2 switches
or fewer it would gain at most (n - 2) G + G - 1 < (n - 1) G. It has at most K - 1 switches, and at most n -
i if it begins with number i; so K = n, it begins with number 1 and switches before every other epoch: epoch
i takes or skips number i. The numbers taken sum to at least B for the loss, and, as x <= 1, to at most B
for the time. The other way round, the n epochs that take a half and skip the rest, with x = 1, are
feasible.

The numbers of the instance are of the size of n^2 max a: the hardness is that of model selection even where
epochs are all alike. `depl.instances.counterexamples.partition_by_model` needs no law of switches at all, but
numbers of the size of n^n.

*Tolerances* as in `depl.instances.reductions.knapsack_by_time`.
"""

from collections.abc import Iterable, Sequence

from depl.instances.reductions.knapsack import require_items, require_separable
from depl.instances.reductions.partition_data import half_of
from depl.instances.reductions.take_or_skip import DATA, SITE, SKIP, TAKE, gain, site
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Dataset, Instance, Model, Switch, Target
from depl.models.problem.laws import Deterministic, Forbidden
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch


def reduce(numbers: Sequence[int]) -> Instance:
    """The instance that is feasible iff ``numbers`` split into two halves of equal sum.

    Parameters
    ----------
    numbers : sequence of int
        Positive, with an even sum.

    Raises
    ------
    InvalidInputError
        If a number is not positive or the sum is odd.
    NotCoveredError
        If the numbers are too large for the tolerances of time and loss.
    """
    half, count = half_of(numbers), len(numbers)
    switching = count * max(numbers) + 1
    fall = (count - 1) * switching + half
    require_separable("the improvements", count * switching)
    models = tuple(
        Model(
            name=f"{name}-{place}", size=0, demand=float(number * taken + 1), improvement=gain(number * taken)
        )
        for place, number in enumerate(numbers)
        for name, taken in ((TAKE, 1), (SKIP, 0))
    )
    switches = tuple(
        Switch(
            previous=f"{before}-{place}",
            following=f"{after}-{place + 1}",
            law=Deterministic(value=float(-switching)),
        )
        for place in range(count - 1)
        for before in (TAKE, SKIP)
        for after in (TAKE, SKIP)
    )
    return Instance(
        name="partition-of-models",
        clusters=(site(capacity=1, unit_cost=0),),
        datasets=(Dataset(name=DATA, volume=1),),
        models=models,
        target=Target(
            initial_loss=fall,
            maximum_loss=0,
            quantile_level=0.9,
            maximum_epochs=count,
            maximum_time=half + count,
        ),
        switches=switches,
        other_switches=Forbidden(),
    )


def plan_of(numbers: Sequence[int], items: Iterable[int]) -> Plan:
    """The plan that takes some of the numbers, given by their places from 0, and skips the others.

    Raises
    ------
    InvalidInputError
        If one is repeated or does not exist.
    """
    chosen = set(require_items(items, len(numbers)))
    return Plan(
        data=(ClusterData(cluster=SITE, datasets=(DATA,)),),
        epochs=tuple(
            PlannedEpoch(model=f"{TAKE if place in chosen else SKIP}-{place}", cluster=SITE, resources=1.0)
            for place in range(len(numbers))
        ),
    )


def solution_of(plan: Plan) -> tuple[int, ...]:
    """The numbers that a plan takes, by their places; half of the sum if the plan is feasible.

    Raises
    ------
    InvalidInputError
        If the plan is not one of this reduction: it trains other models, or one twice.
    """
    taken = []
    for place, epoch in enumerate(plan.epochs):
        name, _, number = epoch.model.partition("-")
        if name not in (TAKE, SKIP) or not number.isdecimal():
            raise InvalidInputError(
                f"{epoch.model!r} is no number of a partition", f"$.epochs[{place}].model"
            )
        if name == TAKE:
            taken.append(int(number))
    return require_items(taken, len(plan.epochs))
