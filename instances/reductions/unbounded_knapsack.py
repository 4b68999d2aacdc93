r"""Unbounded knapsack: what the paper's proof of Property 1 encodes, because models may be repeated (E6).

*Construction.* In whole numbers: item j is model j, which improves the loss by v_j in every epoch and has
work w_j > 0. r = 1, kappa = 0, T_max = W, K_max = floor(W / min w), and the loss has to fall by V.

*Proof.* A plan is a sequence of models; let it contain item j n_j times. It gains sum of n_j v_j. With x <=
1 it takes at least, and with x = 1 exactly, sum of n_j w_j. So a feasible plan is a multiset of weight at
most W and value at least V. A multiset of weight at most W has at most floor(W / min w) members, so a plan
may train them in any order with x = 1, and is feasible iff their value is at least V. (With a smaller K_max
the number of items would be limited as well.) All plans cost 0.

*Tolerances* are those of `depl.instances.reductions.knapsack_by_time`. Values of K_max epochs are summed, so
K_max times max v must be at most 1e14.
"""

import math

from depl.instances.reductions.knapsack import LARGEST_LOSS, Knapsack, Number, require_separable
from depl.instances.reductions.take_or_skip import DATA, gain, site
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.instance import Dataset, Instance, Model, Target
from depl.models.problem.laws import Zero


def reduce(knapsack: Knapsack, value: Number) -> Instance:
    """The instance that is feasible iff a knapsack that may repeat items reaches ``value``.

    Raises
    ------
    InvalidInputError
        If an item has no weight: it could be taken for ever.
    NotCoveredError
        If no item fits, or numbers are too large for the tolerances of time and loss.
    """
    whole = knapsack.whole
    if not min(whole.weights):
        raise InvalidInputError("an item without weight could be repeated for ever; remove it", "weights")
    epochs = whole.capacity // min(whole.weights)
    if not epochs:
        raise NotCoveredError("no item fits, so there is nothing to plan; raise the capacity")
    wanted = math.ceil(value / whole.value_unit)
    require_separable("capacity and weights", whole.capacity + max(whole.weights))
    require_separable("values of as many items as fit", epochs * max(whole.values), LARGEST_LOSS)
    require_separable("wanted values", wanted, LARGEST_LOSS)
    models = tuple(
        Model(name=f"item-{item}", size=0, demand=float(weight), improvement=gain(each))
        for item, (each, weight) in enumerate(zip(whole.values, whole.weights, strict=True))
    )
    return Instance(
        name="unbounded-knapsack",
        clusters=(site(capacity=1, unit_cost=0),),
        datasets=(Dataset(name=DATA, volume=1),),
        models=models,
        target=Target(
            initial_loss=wanted,
            maximum_loss=0,
            quantile_level=0.9,
            maximum_epochs=epochs,
            maximum_time=whole.capacity,
        ),
        other_switches=Zero(),
    )
