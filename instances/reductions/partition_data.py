r"""PARTITION inside the choice of data: the hardness needs no second model, epoch or cluster.

*Construction.* Positive whole numbers a_1, ..., a_n of even sum W become datasets of volume and work a_i.
One model that improves the loss by h(D) = K^(all) / K^(D), with K^(Q) = 1 / Q (power law, p = 1, Q0 = 0),
so by the share of the volume that is used. One cluster, r = 1, kappa = 0, demand 1, K_max = 1, l(0) = 1,
l_max = 1/2, T_max = W / 2.

*Proof.* The only epoch that a plan may have trains on a set D of datasets, of sum Q. It gains Q / W, which
must be at least 1/2; it takes at least Q, with x = 1 exactly Q, which must be at most W / 2. So a plan is
feasible only if Q = W / 2, and with x = 1 also if it is. Without an epoch the loss is 1.

*Tolerances.* A loss 1e-9 above l_max is met, T_max may be exceeded by 1e-9 of itself. Next to W / 2 the share
changes by 1 / W and the time by 2 / W of itself; W is at most 6e8. h(D) is computed with a relative error of
a few 1e-16.
"""

from collections.abc import Iterable, Sequence

from depl.instances.reductions.knapsack import require_items, require_separable
from depl.instances.reductions.take_or_skip import SITE, gain, site
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Dataset, Instance, Model, Target
from depl.models.problem.learning import PowerDataLaw
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch

_PREFIX = "number-"


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
        If the sum is too large for the tolerances of time and loss.
    """
    half = half_of(numbers)
    return Instance(
        name="partition-of-data",
        clusters=(site(capacity=1, unit_cost=0),),
        datasets=tuple(
            Dataset(name=f"{_PREFIX}{place}", volume=number) for place, number in enumerate(numbers)
        ),
        models=(Model(name="only", size=0, improvement=gain(1)),),
        target=Target(
            initial_loss=1, maximum_loss=0.5, quantile_level=0.9, maximum_epochs=1, maximum_time=half
        ),
        data_law=PowerDataLaw(p=1),
    )


def plan_of(numbers: Sequence[int], items: Iterable[int]) -> Plan:
    """The plan that trains on some of the numbers, given by their places from 0.

    Raises
    ------
    InvalidInputError
        If there is none, or one is repeated or does not exist.
    """
    chosen = require_items(items, len(numbers))
    if not chosen:
        raise InvalidInputError("an epoch needs data; choose at least one number", "items")
    return Plan(
        data=(ClusterData(cluster=SITE, datasets=tuple(f"{_PREFIX}{item}" for item in chosen)),),
        epochs=(PlannedEpoch(model="only", cluster=SITE, resources=1.0),),
    )


def solution_of(plan: Plan) -> tuple[int, ...]:
    """The numbers that a plan trains on, by their places; half of the sum iff the plan is feasible.

    Raises
    ------
    InvalidInputError
        If the plan is not one of this reduction.
    """
    names = plan.datasets(SITE)
    if any(not name.removeprefix(_PREFIX).isdecimal() for name in names):
        raise InvalidInputError("the datasets are not numbers of a partition", "$.data")
    return tuple(sorted(int(name.removeprefix(_PREFIX)) for name in names))


def half_of(numbers: Sequence[int]) -> int:
    """Half of the sum of positive whole numbers.

    Raises
    ------
    InvalidInputError
        If there are none, one is not positive, or the sum is odd: then no halves are equal.
    NotCoveredError
        If the sum is too large for the tolerances.
    """
    if not numbers or min(numbers) < 1:
        raise InvalidInputError("must be positive whole numbers, at least one", "numbers")
    if sum(numbers) % 2:
        raise InvalidInputError(f"the sum {sum(numbers)} is odd, so there is no partition", "numbers")
    require_separable("numbers", sum(numbers))
    return sum(numbers) // 2
