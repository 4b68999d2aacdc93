r"""Knapsacks as planning problems, and back: each class or function is one reduction, with its proof.

``reduce`` writes a knapsack as an instance, ``plan_of`` writes items as a plan, ``solution_of`` reads
items from a plan; `solve_knapsack` goes both ways. Two models, *take* and *skip*: epoch k decides on item
k. One cluster with bandwidth 1, one dataset, no data law, free switches, models of size 0. Laws and work
depend on the epoch and are given by tables.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from depl.instances.reductions.knapsack import (
    LARGEST_LOSS,
    Knapsack,
    Number,
    Valued,
    require_items,
    require_separable,
    whole_cost,
)
from depl.models.foundation.deadline import now
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.instance import Cluster, ComputeTable, Dataset, Instance, Model, Target
from depl.models.problem.laws import Deterministic, Zero
from depl.models.problem.learning import ConstantImprovement, TabledImprovement
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.solving.limits import require_limits
from depl.models.solving.methods import Meaning, find
from depl.models.solving.result import Result, Termination
from depl.models.solving.solve import solve

TAKE, SKIP, SITE, DATA = "take", "skip", "site", "data"

_LARGEST_FALL = 1024
"""Sum of losses that can be told apart to 1e-9 over 10,000 epochs, as ``depl`` asks."""

_LEAST_UNIT = 2.0**-20
"""A thousand times the tolerance of a loss, 1e-9."""

_SLACK = 2e-9
"""Costs may be 1e-9 below what they stand for, lower bounds 5e-10 below what they prove."""


class TakeOrSkip:
    """What the reductions from knapsacks share."""

    @staticmethod
    def solution_of(plan: Plan) -> tuple[int, ...]:
        """The items that a plan takes, by their places from 0; it takes none that it does not decide on."""
        for place, epoch in enumerate(plan.epochs):
            if epoch.model not in (TAKE, SKIP):
                raise InvalidInputError(
                    f"trains {epoch.model!r}, and the instance of a knapsack has {TAKE!r} and {SKIP!r} only",
                    f"$.epochs[{place}].model",
                )
        return tuple(place for place, epoch in enumerate(plan.epochs) if epoch.model == TAKE)


class ByCost(TakeOrSkip):
    r"""0/1 knapsack by cost: the least cost is the total value less that of the best knapsack (erratum E6 b).

    *Construction.* In whole numbers, with w the weights, W the capacity and w(all) the sum of all
    weights: epoch k takes or skips item k. Skipping has work v_k and improves the loss by w_k; taking
    does nothing. Epoch n improves it by another w(all) + 1, whatever it decides. The loss has to fall by
    2 w(all) + 1 - W; K_max = n, kappa = 1, tau = 1, r = max v, no T_max.

    *Proof.* Before epoch n no plan has gained more than w(all), which is not enough as W <= w(all)
    without loss of generality; so a feasible plan has n epochs. If it takes the items I, it gains w(all)
    - w(I) + w(all) + 1, which is enough iff w(I) <= W, iff I fits. The deadline asks for x >= v_k where
    item k is skipped (and x = 0 where it is taken), and r allows it. So the plan with x = v_k is feasible
    iff I fits, it costs the sum of v over what is skipped, and no plan that takes I costs less. The least
    cost is the sum of v less the best knapsack.

    (Gains lower by w_k, so that taking raises the loss and skipping leaves it, make the same plans. But then
    almost all of what is asked for comes from one epoch, and a price of gain that suits it suits no other:
    bounds by prices are weak.)

    *Units.* Losses are told in a unit of 2^-u items' weights, the greatest for which all of them sum to
    at most 1024 (`loss_unit`): whole numbers are rounded by no power of two, and methods that count
    losses in steps of 1e-9 reach as far.

    *Tolerances.* tau may be exceeded by 1e-9 of itself, so a plan may cost 1e-9 less than that,
    relatively, and a search stops 5e-10 below its incumbent; an l_max 1e-9 higher is met. With values
    that sum to at most 6e8, the cost is less than 1 off, and sets of items of different value differ by
    1.
    """

    @staticmethod
    def reduce(knapsack: Knapsack) -> Instance:
        """The instance whose cheapest plan takes the best knapsack.

        Raises
        ------
        NotCoveredError
            If numbers are too large for the tolerances of cost and loss.
        """
        whole, count = knapsack.whole, len(knapsack)
        require_separable("values", sum(whole.values))
        require_separable("weights", sum(whole.weights), LARGEST_LOSS)
        total = sum(whole.weights)
        needed = 2 * total + 1 - min(whole.capacity, total)
        unit = loss_unit(2 * total + 1)
        last = [0] * (count - 1) + [total + 1]
        return take_or_skip(
            "knapsack-by-cost",
            Decisions([gain(end * unit) for end in last], [0] * count),
            Decisions(
                [gain((end + each) * unit) for end, each in zip(last, whole.weights, strict=True)],
                whole.values,
            ),
            fall(needed * unit, count, round_deadline=1),
            site(capacity=max(1, *whole.values), unit_cost=1),
        )

    @staticmethod
    def plan_of(knapsack: Knapsack, items: Iterable[int]) -> Plan:
        """The cheapest plan that takes different ``items``, given by their places from 0."""
        return plan_taking(items, [0.0] * len(knapsack), [float(value) for value in knapsack.whole.values])

    @staticmethod
    def value_of_cost(knapsack: Knapsack, cost: float) -> Fraction:
        """The value of the items taken by a plan of cheapest resources that costs ``cost``."""
        whole = knapsack.whole
        return (sum(whole.values) - whole_cost(cost)) * whole.value_unit


class ByTime(TakeOrSkip):
    r"""0/1 knapsack by time: whether any plan is feasible is the knapsack decision problem (erratum E6 a).

    *Construction.* In whole numbers, with values v, weights w, capacity W and a wanted value V: epoch k
    takes or skips item k. Taking improves the loss by v_k and has work w_k, skipping neither. r = 1,
    kappa = 0, T_max = W, K_max = n, and the loss has to fall by V.

    *Proof.* A plan of K epochs that takes the items I gains sum of v over I. With x <= r = 1 its epochs
    take at least, and with x = 1 exactly, sum of w over I. So if I has weight at most W and value at
    least V, the plan that takes I with x = 1 is feasible. If a plan is feasible, the items it takes among
    the first K have weight at most W and value at least V. With kappa = 0 all plans cost 0: a cheapest
    plan is any feasible one.

    *Tolerances.* T_max may be exceeded by 1e-9 of itself, x <= r by 1e-12, l_max by 1e-9. With W at most
    6e8 that is less than 1, the least difference of two sums.
    """

    @staticmethod
    def reduce(knapsack: Knapsack, value: Number) -> Instance:
        """The instance that is feasible iff a knapsack reaches ``value``; every plan costs 0.

        Parameters
        ----------
        knapsack : Knapsack
        value : int or Fraction
            V.

        Raises
        ------
        NotCoveredError
            If numbers are too large for the tolerances of time and loss.
        """
        whole = knapsack.whole
        require_separable("values", sum(whole.values), LARGEST_LOSS)
        require_separable("capacity", whole.capacity)
        return take_or_skip(
            "knapsack-by-time",
            Decisions([gain(each) for each in whole.values], whole.weights),
            Decisions([gain(0)] * len(knapsack), [0] * len(knapsack)),
            # the time must be positive; no weight is between 0 and 1
            fall(_wanted(knapsack, value), len(knapsack), maximum_time=whole.capacity or 0.5),
            site(capacity=1, unit_cost=0),
        )

    @staticmethod
    def plan_of(knapsack: Knapsack, items: Iterable[int]) -> Plan:
        """The plan that takes different ``items``, given by their places from 0, with full resources."""
        taken = [float(weight > 0) for weight in knapsack.weights]
        return plan_taking(items, taken, [0.0] * len(knapsack))


class FreeResources(TakeOrSkip):
    r"""Knapsack with free resources: the least cost is the least weight that reaches a value, squared (E6 c).

    *Construction.* In whole numbers: epoch k takes or skips item k. Taking improves the loss by v_k and
    has work w_k^2, skipping neither. kappa = 1, T_max = 1, no round deadline, r = max w times sum of w,
    K_max = n, and the loss has to fall by V. Nothing limits the weight but its price.

    *Proof.* A plan that takes the items I is in time iff sum of w_k^2 / x_k over I is at most 1. By
    Cauchy and Schwarz, (sum of w)^2 = (sum of (w_k / sqrt x_k) sqrt x_k)^2 <= (sum of w_k^2 / x_k)(sum of
    x_k) <= sum of x_k, with equality for x_k = w_k sum of w, which r allows. So the least cost of taking
    I is the square of its weight; I gains V iff its value is at least V.

    *Tolerances.* T_max may be exceeded by 1e-9 of itself, so the cost may be 1e-9 lower, relatively, and
    a search stops 5e-10 below its incumbent. Squares of neighbouring whole numbers up to 6e8 differ by
    more than 3e-9, relatively; so works above 2^53, which are not exact, decide nothing either.
    """

    @staticmethod
    def reduce(knapsack: Knapsack, value: Number) -> Instance:
        """The instance whose cheapest plan takes the lightest items of at least ``value``.

        Parameters
        ----------
        knapsack : Knapsack
            Its capacity plays no part.
        value : int or Fraction
            V.

        Raises
        ------
        NotCoveredError
            If numbers are too large for the tolerances of cost and loss.
        """
        whole, count = knapsack.whole, len(knapsack)
        require_separable("values", sum(whole.values), LARGEST_LOSS)
        require_separable("weights", sum(whole.weights))
        return take_or_skip(
            "knapsack-free-resources",
            Decisions([gain(each) for each in whole.values], [weight**2 for weight in whole.weights]),
            Decisions([gain(0)] * count, [0] * count),
            fall(_wanted(knapsack, value), count, maximum_time=1),
            site(capacity=max(1, max(whole.weights) * sum(whole.weights)), unit_cost=1),
        )

    @staticmethod
    def plan_of(knapsack: Knapsack, items: Iterable[int]) -> Plan:
        """The cheapest plan that takes different ``items``, given by their places from 0."""
        whole, chosen = knapsack.whole, require_items(items, len(knapsack))
        total = sum(whole.weights[item] for item in chosen)
        return plan_taking(chosen, [float(each * total) for each in whole.weights], [0.0] * len(knapsack))

    @staticmethod
    def weight_of_cost(knapsack: Knapsack, cost: float) -> Fraction:
        """The weight of the items taken by a plan of cheapest resources that costs ``cost``."""
        return round(math.sqrt(cost)) * knapsack.whole.weight_unit


def unbounded(knapsack: Knapsack, value: Number) -> Instance:
    r"""The instance that is feasible iff a knapsack that may repeat items reaches ``value``.

    What the paper's proof of Property 1 encodes, because models may be repeated (E6).

    *Construction.* In whole numbers: item j is model j, which improves the loss by v_j in every epoch and has
    work w_j > 0. r = 1, kappa = 0, T_max = W, K_max = floor(W / min w), and the loss has to fall by V.

    *Proof.* A plan is a sequence of models; let it contain item j n_j times. It gains sum of n_j v_j.
    With x <= 1 it takes at least, and with x = 1 exactly, sum of n_j w_j. So a feasible plan is a
    multiset of weight at most W and value at least V. A multiset of weight at most W has at most floor(W
    / min w) members, so a plan may train them in any order with x = 1, and is feasible iff their value is
    at least V. (With a smaller K_max the number of items would be limited as well.) All plans cost 0.

    *Tolerances* are those of `ByTime`. Values of K_max epochs are summed, so
    K_max times max v must be at most 1e14.

    Raises
    ------
    NotCoveredError
        If no item fits, or numbers are too large for the tolerances of time and loss.
    """
    whole = knapsack.whole
    if not min(whole.weights):
        raise InvalidInputError("an item without weight could be repeated for ever; remove it", "weights")
    epochs = whole.capacity // min(whole.weights)
    if not epochs:
        raise NotCoveredError("no item fits, so there is nothing to plan; raise the capacity")
    require_separable("capacity and weights", whole.capacity + max(whole.weights))
    require_separable("values of as many items as fit", epochs * max(whole.values), LARGEST_LOSS)
    models = tuple(
        Model(name=f"item-{item}", size=0, demand=float(weight), improvement=gain(each))
        for item, (each, weight) in enumerate(zip(whole.values, whole.weights, strict=True))
    )
    target = fall(_wanted(knapsack, value), epochs, maximum_time=whole.capacity)
    return certain("unbounded-knapsack", models, target, site(capacity=1, unit_cost=0))


# --- solving by way of a reduction

Solver = Callable[[Instance], Result]


@dataclass(frozen=True)
class Answer:
    """What is known of a knapsack.

    Attributes
    ----------
    items : tuple of int or None
        The best set found, by places from 0.
    value : Fraction or None
        Its value.
    proved : bool
        Whether the method has proved that no set that fits has more.
    bound : Fraction
        No set that fits has more value.
    results : tuple of Result
        Of every solve, in order.
    """

    items: tuple[int, ...] | None
    value: Fraction | None
    proved: bool
    bound: Fraction
    results: tuple[Result, ...]


def solver(method: str, time_limit: float | None, seed: int = 0) -> Solver:
    """Solve by a registered method; all solves together keep the time limit.

    In instances without chance one scenario says it all, so methods that count scenarios get one.
    """
    require_limits(time_limit=time_limit, seed=seed)
    scenarios = 1 if find(method).meaning is Meaning.SCENARIOS else None
    started = now()

    def run(instance: Instance) -> Result:
        left = None if time_limit is None else max(1e-3, time_limit - (now() - started))
        return solve(instance, method, time_limit=left, seed=seed, scenarios=scenarios)

    return run


def solve_knapsack(knapsack: Knapsack, reduction: str, solve_instance: Solver) -> Answer:
    """The best knapsack by way of one of `REDUCTIONS`.

    Raises
    ------
    NotCoveredError
        If the numbers are too large for the reduction.
    """
    if reduction != "by-cost":
        return _bisected(knapsack, REACHING[reduction], solve_instance)
    whole = knapsack.whole
    return by_least_cost(
        knapsack, ByCost.reduce(knapsack), sum(whole.values), whole.value_unit, solve_instance
    )


def by_least_cost(
    knapsack: Valued, instance: Instance, total: int, unit: Fraction, solve_instance: Solver
) -> Answer:
    """What the least cost of an instance says whose plans cost what they leave behind of ``total`` units."""
    result = solve_instance(instance)
    bound = (total - _least_cost(result, total)) * unit
    items = None if result.plan is None else TakeOrSkip.solution_of(result.plan)
    value = None if items is None else knapsack.value_of(items)
    return Answer(items, value, result.termination is Termination.OPTIMAL, bound, (result,))


def _least_cost(result: Result, most: int) -> int:
    """The least whole cost that a result has not excluded."""
    if result.lower_bound >= most:
        return most
    return max(0, math.ceil(result.lower_bound - _SLACK * abs(result.lower_bound) - _SLACK))


def _bisected(
    knapsack: Knapsack, reduction: type[ByTime] | type[FreeResources], solve_instance: Solver
) -> Answer:
    """The largest value that can be reached; for free, not if the lightest items of it are too heavy."""
    whole, results = knapsack.whole, []
    best: tuple[int, ...] = ()
    low, high = 0, sum(whole.values)
    while low < high:
        middle = (low + high + 1) // 2
        result = solve_instance(reduction.reduce(knapsack, middle * whole.value_unit))
        results.append(result)
        items = None if result.plan is None else reduction.solution_of(result.plan)
        if items is not None and knapsack.holds(items):
            best, low = items, sum(whole.values[item] for item in items)
        elif result.termination is (Termination.INFEASIBLE if items is None else Termination.OPTIMAL):
            high = middle - 1
        else:
            break
    value = knapsack.value_of(best)
    return Answer(best, value, low == high, high * whole.value_unit, tuple(results))


REACHING: dict[str, type[ByTime] | type[FreeResources]] = {
    "by-time": ByTime,
    "free-resources": FreeResources,
}


# --- instances of take and skip


@dataclass(frozen=True)
class Decisions:
    """What a model does in every epoch: its improvements of the loss, and its work [resource x time]."""

    improvements: Sequence[ConstantImprovement]
    work: Sequence[float]


def gain(value: float) -> ConstantImprovement:
    """A certain improvement of the loss; negative raises it."""
    return ConstantImprovement(noise=Deterministic(value=float(value)))


def take_or_skip(name: str, take: Decisions, skip: Decisions, target: Target, cluster: Cluster) -> Instance:
    """The instance with these two models."""
    models = tuple(
        Model(
            name=model,
            size=0,
            improvement=TabledImprovement(epochs=tuple(decisions.improvements)),
            compute=(ComputeTable(epochs=tuple(float(work) for work in decisions.work)),),
        )
        for model, decisions in ((TAKE, take), (SKIP, skip))
    )
    return certain(name, models, target, cluster)


def certain(name: str, models: Iterable[Model], target: Target, cluster: Cluster) -> Instance:
    """The instance with these models, one dataset and free switches."""
    return Instance(
        name=name,
        clusters=(cluster,),
        datasets=(Dataset(name=DATA, volume=1),),
        models=tuple(models),
        target=target,
        other_switches=Zero(),
    )


def site(capacity: float, unit_cost: float) -> Cluster:
    """The cluster."""
    return Cluster(name=SITE, capacity=capacity, bandwidth=1, unit_cost=unit_cost)


def plan_taking(items: Iterable[int], taken: Sequence[float], skipped: Sequence[float]) -> Plan:
    """The plan that takes some items and decides on all.

    Parameters
    ----------
    items : iterable of int
        Places from 0.
    taken, skipped : sequence of float
        x of an epoch that takes its item, and of one that skips it [resource].
    """
    chosen = set(require_items(items, len(taken)))
    return Plan(
        data=(ClusterData(cluster=SITE, datasets=(DATA,)),),
        epochs=tuple(
            PlannedEpoch(
                model=TAKE if item in chosen else SKIP,
                cluster=SITE,
                resources=taken[item] if item in chosen else skipped[item],
            )
            for item in range(len(taken))
        ),
    )


def loss_unit(total: int) -> float:
    """A power of two, 1 or less, by which whole losses that sum to ``total`` are multiplied.

    The product is at most `_LARGEST_FALL` unless the unit would come near the tolerance of a loss.
    """
    return max(_LEAST_UNIT, 2.0 ** -max(0, math.ceil(math.log2(total / _LARGEST_FALL))))


def fall(
    by: float, epochs: int, maximum_time: float | None = None, round_deadline: float | None = None
) -> Target:
    """The target: the loss falls by so much in at most so many epochs; nothing is random."""
    return Target(
        initial_loss=by,
        maximum_loss=0,
        quantile_level=0.9,
        maximum_epochs=epochs,
        maximum_time=maximum_time,
        round_deadline=round_deadline,
    )


def _wanted(knapsack: Knapsack, value: Number) -> int:
    """A value in whole numbers, rounded up."""
    wanted = math.ceil(value / knapsack.whole.value_unit)
    require_separable("wanted values", wanted, LARGEST_LOSS)
    return wanted
