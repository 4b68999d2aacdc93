"""The two forms of the sampled problem in Pyomo: `cone`, as the paper prints it, and its projection `Price`.

A plan is a binary w[k, n, D, m] for every epoch k, cluster n, set of data D and model m that may be useful.
Both forms share `plan_frame`. The page *Programs* lists all variables and rows with the numbers of the
paper's equations (``components``) and says why switches are a flow, and what the cuts of `Price` say of plans
that keep T_max by its tolerance only (``price-cuts``).
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from depl.models.evaluation.evaluate import INTENT, Reading
from depl.models.exact.choices import Configuration
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.deadline import keep_time
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.allocation import Allocation
from depl.models.problem.epoch_costs import EpochCosts
from depl.models.problem.epochs import Load
from depl.models.problem.laws import FloatArray
from depl.models.programs.attainable import Attainable
from depl.models.programs.notes import RELAXATION, mark

LARGEST_COEFFICIENT = 1e7
"""Cuts with greater ones are left out: HiGHS, whose tolerance they multiply, ends in errors on them."""

_FIRST_PRICES = 8
"""Prices with cuts from the start, each a quarter of the one before: set by hand, over a factor of 16,000.
Others are added where they are violated, so fewer cost rounds and the answer is the same: with the price 0
alone 13 problems took 17.7 CPU s in place of 11.3."""

_LEAST_RELIEF = 1e-6
"""Least coefficient of a scenario's z in (3), in units of the largest one: what a miss adds to the gain may
be more than the gain lacks. HiGHS leaves coefficients up to 1e-9 out, with a warning."""

Key = tuple[int, str, str, str]
"""Index of w: epoch, cluster, names of the datasets joined by +, model."""


class Price:
    """The form ``price``: resources and times projected out onto the price of time, a relaxation at first.

    As one configuration g trains in an epoch, theta >= sum psi_g(lam) w_g - lam T_max for every price lam of
    time is the problem, and any finite set of prices a relaxation. The objective of ``model`` counts in
    ``unit`` units of cost.

    Raises
    ------
    NotCoveredError
        If no plan with an epoch can be feasible, so that there is nothing to write down.
    """

    def __init__(
        self, problem: SampledProblem, bounds: Attainable, reading: Reading = INTENT, unit: float = 1.0
    ) -> None:
        """Write the program down, with cuts at a few prices."""
        self.problem, self.unit = problem, unit
        target, keys = problem.instance.target, usable_keys(problem, bounds)
        self.curves = EpochCosts.of(list(_loads(problem, keys).values()), target.round_deadline)
        self.model = model = plan_frame(problem, bounds, keys, reading)
        mark(model, RELAXATION)
        self._choices, self._known = list(model.w.values()), set[tuple[float, float]]()
        model.theta = pyo.Var(bounds=(0, None), doc="(2): cost of all resources")
        model.eq2_cost = pyo.Objective(
            expr=model.transfers / unit + model.theta, doc="(2): cost of transfers and resources"
        )
        model.eq2_price_cuts = pyo.ConstraintList(doc="(2), (4), (5), round deadline, at one price of time")
        self._latest = math.inf
        if target.maximum_time is not None:
            self._latest = target.maximum_time * (1 + TIME_TOLERANCE)
            shares = linear(self.curves.shortest / target.maximum_time, self._choices)
            model.eq4_time = pyo.Constraint(expr=shares <= 1 + TIME_TOLERANCE, doc="(4) with full resources")
        self.add_cuts(self.first_multipliers())

    def first_multipliers(self) -> list[float]:
        """Prices spread over the range in which resources move; 0 alone without T_max."""
        if self._latest == math.inf or not self.curves.movable.any():
            return [0.0]
        most = float(self.curves.end.max()) ** 2
        return [0.0, *(most * 4.0**-power for power in range(_FIRST_PRICES))]

    def add_cuts(self, multipliers: Iterable[float], time: float | None = None) -> list[Any]:
        """Add the cuts of some prices, those that are there already left out; returns the new ones.

        They hold for sequences that can take the ``time``, which is (1 + 1e-9) T_max unless given.
        """
        time = self._latest if time is None else time
        added = []
        for multiplier in multipliers:
            if (multiplier, time) in self._known or (time == math.inf and multiplier > 0):
                continue
            self._known.add((multiplier, time))
            charge = 0.0 if multiplier == 0 else multiplier * time / self.unit
            psi = self.curves.prices(multiplier) / self.unit
            if max(charge, psi.max(initial=0.0)) <= LARGEST_COEFFICIENT:
                total = linear([*psi, -1.0], [*self._choices, self.model.theta])
                added.append(self.model.eq2_price_cuts.add(total <= charge))
        return added

    def tighten(self, allocation: Allocation) -> list[Any]:
        """Make the program exact at a feasible sequence with these resources; returns the new constraints."""
        maximum = self.problem.instance.target.maximum_time
        time = None if maximum is None else max(maximum, allocation.fastest_time)
        return self.add_cuts([allocation.multiplier], time)


def cone(
    problem: SampledProblem, bounds: Attainable, reading: Reading = INTENT, unit: float = 1.0
) -> pyo.ConcreteModel:
    """The form ``cone``: (2) to (6) with resources x, computing times t, and x t >= c as rotated cones.

    Its optimum is that of the problem without any cut. x and t are of one node and 0 where nothing trains.
    With c_g the work of configuration g, (sum_g sqrt(c_g) w_g)**2 <= x t is x t >= c_g where g trains, as at
    most one w_g of an epoch is 1. It is divided by the greatest work C of epoch and cluster, so that absolute
    tolerances mean something; a solver keeps it to its tolerance, so ask for 1e-8.

    Raises
    ------
    NotCoveredError
        If no plan with an epoch can be feasible, so that there is nothing to write down.
    """
    target, keys = problem.instance.target, usable_keys(problem, bounds)
    model = plan_frame(problem, bounds, keys, reading)
    loads = _loads(problem, keys)
    places: dict[tuple[int, str], tuple[list[Any], EpochCosts]] = {}
    for place in sorted({key[:2] for key in keys}):
        there = [key for key in keys if key[:2] == place]
        costs = EpochCosts.of([loads[key] for key in there], target.round_deadline)
        places[place] = [model.w[key] for key in there], costs
    model.places = pyo.Set(dimen=2, initialize=list(places), doc="epoch, cluster that may train in it")
    model.x = pyo.Var(model.places, bounds=(0, None), doc="Sec. III: resources of a node")
    model.t = pyo.Var(model.places, bounds=(0, None), doc="computing time of the epoch there")
    for key, load in loads.items():
        model.x[key[:2]].setub(load.capacity)
    prices = {place.name: place.nodes * place.unit_cost for place in problem.instance.clusters}
    spent = linear([prices[n] for _, n in places], model.x.values())
    model.eq2_cost = pyo.Objective(
        expr=(model.transfers + spent) / unit, doc="(2): cost of transfers and resources"
    )
    if target.maximum_time is not None:
        shares = [load.communication / target.maximum_time for load in loads.values()]
        shares += [1 / target.maximum_time] * len(places)
        total = linear(shares, [*model.w.values(), *model.t.values()])
        model.eq4_time = pyo.Constraint(expr=total <= 1 + TIME_TOLERANCE, doc="(4), divided by T_max")
    _add_resources(model, places, target.round_deadline)
    return model


def _add_resources(
    model: pyo.ConcreteModel,
    places: Mapping[tuple[int, str], tuple[list[Any], EpochCosts]],
    round_deadline: float | None,
) -> None:
    """Constraint (5), the round deadline, and x t >= c."""
    x, t, every = model.x, model.t, places.items()
    greatest = {place: float(costs.work.max()) for place, (_, costs) in every if costs.work.max() > 0}
    model.busy_places = pyo.Set(dimen=2, initialize=list(greatest), doc="epoch, cluster that may compute")
    model.root = pyo.Var(model.busy_places, bounds=(0, 1), doc="square root of the work, over sqrt(C)")

    def row(variable: Any, numbers: FloatArray, choices: list[Any]) -> Any:
        return variable - linear(numbers, choices)

    most = ((p, row(x[p], costs.most, w) <= 0) for p, (w, costs) in every)
    add_rows(model, "eq5_most", most, "(5): no more than r, and nothing without training")
    least = ((p, row(x[p], costs.least, w) >= 0) for p, (w, costs) in every if costs.least.any())
    add_rows(model, "eq5_least", least, "(5): enough for the round deadline")
    if round_deadline is not None:
        # A deadline that is kept by its tolerance only leaves full resources no more time than c / r.
        left = {p: np.maximum(round_deadline, c.shortest) - c.communication for p, (_, c) in every}
        punctual = ((p, row(t[p], left[p], w) <= 0) for p, (w, _) in every)
        add_rows(model, "round_deadline", punctual, "the epoch ends within tau")
    roots = {p: np.sqrt(places[p][1].work / work) for p, work in greatest.items()}
    sums = ((p, row(model.root[p], roots[p], places[p][0]) == 0) for p in greatest)
    add_rows(model, "work_root", sums, "root of the work that is done")
    cones = ((p, model.root[p] ** 2 - x[p] * t[p] / work <= 0) for p, work in greatest.items())
    add_rows(model, "cones", cones, "(1): computing with x takes c / x")


# --- what both forms share


def usable_keys(problem: SampledProblem, bounds: Attainable) -> dict[Key, int]:
    """Index of w with the configuration that it stands for, by position, epoch by epoch.

    Raises
    ------
    NotCoveredError
        If no plan with an epoch can be feasible.
    """
    if not bounds.possible:
        raise NotCoveredError(
            "no plan with an epoch can be feasible, so there is no program; ask depl.program why"
        )
    named = [labels(problem, g) for g in problem.configurations]
    return {
        (k, *named[index]): index
        for k in range(1, bounds.longest + 1)
        for index in np.flatnonzero(bounds.usable[k - 1]).tolist()
    }


def plan_frame(
    problem: SampledProblem, bounds: Attainable, keys: Mapping[Key, int], reading: Reading
) -> pyo.ConcreteModel:
    """The discrete part of both forms, with an expression ``transfers`` [cost] and empty ``no_goods``."""
    model, instance = pyo.ConcreteModel(name="depl"), problem.instance
    model.epochs = pyo.Set(initialize=range(1, bounds.longest + 1), doc="k: epochs that a plan may have")
    model.models = pyo.Set(initialize=[item.name for item in instance.models], doc="m: models")
    model.clusters = pyo.Set(initialize=[item.name for item in instance.clusters], doc="n: clusters")
    model.scenarios = pyo.Set(initialize=range(1, len(problem.scenarios) + 1), doc="s: scenarios")
    model.choices = pyo.Set(
        dimen=4, initialize=list(keys), doc="epoch, cluster, data joined by +, model that may be useful"
    )
    model.quantile_level = pyo.Param(
        initialize=instance.target.quantile_level,
        doc="omega: probability with which the target is to be met",
    )
    model.w = pyo.Var(
        model.choices, domain=pyo.Binary, doc="Sec. III: the epoch trains the model there, on that data"
    )
    busy = _sums(model.w, lambda key: key[0])
    trained = _sums(model.w, lambda key: (key[0], key[3]))
    _add_epochs(model, problem, bounds, busy, trained)
    _add_data(model, problem, busy, reading)
    _add_switches(model, problem, trained)
    _add_quantile(model, problem, bounds, keys)
    model.no_goods = pyo.ConstraintList(doc="sequences of epochs that are excluded one by one")
    model.cost_rows = pyo.ConstraintList(doc="what single sequences cost at least")
    return model


def _add_epochs(
    model: pyo.ConcreteModel,
    problem: SampledProblem,
    bounds: Attainable,
    busy: Mapping[Any, Any],
    trained: Mapping[Any, Any],
) -> None:
    """At most one configuration in an epoch, the trained epochs first, and a model that may be the last."""
    first, last = bounds.shortest, bounds.longest
    always = ((k, busy[k] == 1) for k in range(1, first + 1))
    add_rows(model, "epochs_first", always, "no feasible plan is shorter")
    later = range(first + 1, last + 1)
    prefix = ((k, busy[k] <= (1 if k - 1 == first else busy[k - 1])) for k in later)
    add_rows(model, "epochs_prefix", prefix, "no epoch after the end")
    gaps = ((k, busy[k] == busy[k + 1]) for k in later if not bounds.lengths[k - 1])
    add_rows(model, "epochs_no_end", gaps, "no feasible plan has that length")
    passing = [m for m in model.models if not problem.instance.rules.may_end(m)]
    ends = (
        (k, sum(trained[k, m] for m in passing) <= (busy[k + 1] if k < last else 0))
        for k in model.epochs
        if any((k, m) in trained for m in passing)
    )
    add_rows(model, "last_model", ends, "an epoch of a model that may not be the last is followed by another")


def _add_data(
    model: pyo.ConcreteModel, problem: SampledProblem, busy: Mapping[Any, Any], reading: Reading
) -> None:
    """One set of data per cluster, by the intent or the letter of (6), and what transfers cost, by (2)."""
    trains = _sums(model.w, lambda key: key[:3])
    pairs = sorted({index[1:] for index in trains})
    model.holdings = pyo.Set(dimen=2, initialize=pairs, doc="cluster, data joined by +")
    model.q = pyo.Var(model.holdings, domain=pyo.Binary, doc="Sec. III: the cluster holds exactly this data")
    held = ((index, total <= model.q[index[1:]]) for index, total in trains.items())
    add_rows(model, "eq6_data", held, "(6): an epoch uses the data that its cluster holds")
    used = ((pair, total >= model.q[pair]) for pair, total in _sums(model.w, lambda key: key[1:3]).items())
    add_rows(model, "eq6_used", used, "a cluster holds data only where it trains")
    subsets = ((n, total <= 1) for n, total in _sums(model.q, lambda pair: pair[0]).items())
    add_rows(model, "eq6_one_subset", subsets, "a cluster holds one set of data")
    every = [(k, *pair) for k in model.epochs for pair in pairs]
    if reading.data_requires_every_epoch:
        letter = ((index, model.q[index[1:]] <= trains[index] + 1 - busy[index[0]]) for index in every)
        add_rows(model, "eq6_letter", letter, "(6) as printed, E1: a cluster with data trains in every epoch")
    charged: Any = model.q
    if reading.transfer_every_epoch:
        charged = pyo.Var(every, bounds=(0, 1), doc="E2: the transfer is charged in that epoch")
        model.charged = charged
        paid = ((index, charged[index] >= model.q[index[1:]] + busy[index[0]] - 1) for index in every)
        add_rows(model, "eq2_letter", paid, "(2) as printed, E2: the transfer is charged in every epoch")
    cost = {
        labels(problem, g)[:2]: problem.transfer_cost(g.cluster, g.datasets) for g in problem.configurations
    }
    model.transfers = pyo.Expression(
        expr=linear([cost[index[-2:]] for index in charged], charged.values()),
        doc="(2): cost of all transfers",
    )


def _add_switches(model: pyo.ConcreteModel, problem: SampledProblem, trained: Mapping[Any, Any]) -> None:
    """The step between the models of neighbouring epochs, as a flow; none where nothing depends on it."""
    names, initial = list(model.models), problem.instance.target.initial_model
    free = problem.may_follow.all() and not problem.switch_losses.any()
    first = 1 if initial is not None else 2
    epochs = [] if free or len(names) == 1 else range(first, len(model.epochs) + 1)
    steps = [
        (k, before, after)
        for k in epochs
        for i, before in enumerate(names)
        for j, after in enumerate(names)
        if problem.may_follow[i, j] and (k > 1 or before == initial)
    ]
    model.steps = pyo.Set(dimen=3, initialize=steps, doc="epoch, model before, model")
    model.v = pyo.Var(model.steps, bounds=(0, 1), doc="1: the epoch goes from one model to the other")
    model.ends = pyo.Set(dimen=2, initialize=sorted({step[:2] for step in steps}), doc="epoch, model before")
    model.stop = pyo.Var(model.ends, bounds=(0, 1), doc="1: training ended with that model before the epoch")
    leaves = _sums(model.v, lambda step: step[:2])
    enters = _sums(model.v, lambda step: (step[0], step[2]))
    onward = (
        ((k, i), leaves[k, i] + model.stop[k, i] == (1 if k == 1 else trained[k - 1, i]))
        for k, i in model.ends
    )
    add_rows(model, "switch_from", onward, "every step leaves the model before")
    places = ((k, j) for k in epochs for j in names if (k, j) in enters or (k, j) in trained)
    came = ((place, enters[place] == trained[place]) for place in places)
    add_rows(model, "switch_to", came, "every step enters the model after")


def _add_quantile(
    model: pyo.ConcreteModel, problem: SampledProblem, bounds: Attainable, keys: Mapping[Key, int]
) -> None:
    """Constraint (3), divided by the largest coefficient so that absolute tolerances mean something.

    z of a scenario is fixed where all feasible plans agree on it; rows of a caller count them all.
    """
    names, needed = list(model.models), problem.needed
    triples = list(problem.position)
    rows = [problem.gains[key[0] - 1, *triples[index][1:]] for key, index in keys.items()]
    rows += [-problem.switch_losses[k - 1, names.index(i), names.index(j)] for k, i, j in model.v]
    variables = [*model.w.values(), *model.v.values()]
    coefficients = np.array(rows).reshape(len(rows), len(problem.scenarios))
    unit = float(np.abs(coefficients).max(initial=0.0)) or 1.0
    missed = [int(s) + 1 for s in np.flatnonzero(bounds.missed_anyway)]
    counted = [int(s) + 1 for s in np.flatnonzero(~bounds.missed_anyway & (bounds.lowest_gain < needed))]
    optional = counted if bounds.allowed > 0 else []
    model.missed_anyway = pyo.Set(initialize=missed, doc="s: scenarios that no plan meets")
    model.undecided = pyo.Set(initialize=optional, doc="s: scenarios that some plan may miss, some meet")
    model.z = pyo.Var(model.scenarios, domain=pyo.Binary, doc="(3): the scenario ends above l_max")
    for s in set(model.scenarios) - set(optional):
        model.z[s].fix(float(s in missed))

    def met(s: int) -> Any:
        relief = max((needed - float(bounds.lowest_gain[s - 1])) / unit, _LEAST_RELIEF)
        missing = [model.z[s]] if s in model.undecided else []
        gains = [*(coefficients[:, s - 1] / unit), *([relief] * len(missing))]
        return linear(gains, [*variables, *missing]) >= needed / unit

    add_rows(
        model,
        "eq3_quantile",
        ((s, met(s)) for s in counted),
        "(3): the gain reaches l(0) - l_max unless the scenario is missed",
    )
    if len(optional) > bounds.allowed:
        model.eq3_misses = pyo.Constraint(
            expr=sum(model.z[s] for s in optional) <= bounds.allowed,
            doc="(3): at most floor((1 - omega) S + 1e-9) misses",
        )


# --- what a sequence of configurations is in a program


def labels(problem: SampledProblem, chosen: Configuration) -> tuple[str, str, str]:
    """Names of cluster, datasets and model; a + in the name of a dataset is written with a backslash."""
    instance = problem.instance
    names = [item.name for item in instance.datasets if item.name in chosen.datasets]
    held = "+".join(name.replace("\\", "\\\\").replace("+", "\\+") for name in names)
    return instance.clusters[chosen.cluster].name, held, instance.models[chosen.model].name


def read_choices(model: pyo.ConcreteModel, problem: SampledProblem) -> list[Configuration]:
    """The sequence of configurations that the values of w describe, rounded."""
    by_labels = {labels(problem, g): g for g in problem.configurations}
    return [by_labels[key[1:]] for key in sorted(model.w) if (model.w[key].value or 0.0) > 0.5]


def add_cost_row(
    model: pyo.ConcreteModel, problem: SampledProblem, choices: Sequence[Configuration], cost: float
) -> Any:
    """Say that one sequence costs at least ``cost``, in the units of the objective; holds for all others.

    The optimality cut of the integer L-shaped method: with K epochs, of which n are as in the sequence, and
    less 1 if it goes on, the cost is at least ``cost`` (n - K + 1), which for every other sequence is at
    most 0. No coefficient is larger than the cost, as those of cuts at high prices of time are.
    """
    same = _likeness(model, problem, choices, same_gain=False)
    return model.cost_rows.add(model.eq2_cost.expr - cost * same >= cost * (1 - len(choices)))


def add_no_good(
    model: pyo.ConcreteModel, problem: SampledProblem, choices: Sequence[Configuration], same_gain: bool
) -> Any:
    """Exclude one sequence; with ``same_gain`` also those that only use other clusters.

    A sequence of K epochs is another one iff some of its first K epochs differs, or it goes on.
    """
    return model.no_goods.add(_likeness(model, problem, choices, same_gain) <= len(choices) - 1)


def _likeness(
    model: pyo.ConcreteModel, problem: SampledProblem, choices: Sequence[Configuration], same_gain: bool
) -> Any:
    """How many epochs are as in the sequence, less 1 if it goes on after them."""
    start = 1 if same_gain else 0
    wanted = {(k, *labels(problem, g)[start:]) for k, g in enumerate(choices, start=1)}
    alike = [model.w[key] for key in model.w if (key[0], *key[1 + start :]) in wanted]
    onward = [model.w[key] for key in model.w if key[0] == len(choices) + 1]
    return linear([1.0] * len(alike) + [-1.0] * len(onward), alike + onward)


def add_rows(model: pyo.ConcreteModel, name: str, rows: Iterable[tuple[Any, Any]], doc: str) -> None:
    """Add a constraint with these rows, by index, and without a rule, which could not be pickled with it."""
    found = {}
    for index, row in rows:
        keep_time()
        found[index] = row
    constraint = pyo.Constraint(list(found), doc=doc)
    setattr(model, name, constraint)
    for index, row in found.items():
        constraint[index] = row


def linear(coefficients: Iterable[float], variables: Iterable[Any]) -> Any:
    """A linear expression, built at once; zero coefficients are left out."""
    pairs = [(float(c), x) for c, x in zip(coefficients, variables, strict=True) if c != 0]
    return LinearExpression(linear_coefs=[c for c, _ in pairs], linear_vars=[x for _, x in pairs])


class _Sums(dict[Any, Any]):
    """Sums by what their terms have in common; those without terms are not listed."""

    def __missing__(self, key: Any) -> Any:
        return linear([], [])


def _sums(variable: Any, part: Callable[[Any], Any]) -> _Sums:
    """Sums of a variable over the indices that share a part."""
    terms: dict[Any, list[Any]] = {}
    for index in variable:
        terms.setdefault(part(index), []).append(variable[index])
    return _Sums({common: linear([1.0] * len(items), items) for common, items in terms.items()})


def _loads(problem: SampledProblem, keys: Mapping[Key, int]) -> dict[Key, Load]:
    """What the choices ask of their clusters."""
    return {key: problem.loads[key[0] - 1][index] for key, index in keys.items()}
