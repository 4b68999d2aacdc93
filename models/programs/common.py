"""What the forms share: which epoch trains what, transfers, switches, and the counted quantile.

A plan is a binary w[k, n, D, m] for every epoch k, cluster n, dataset subset D and model m that may be
useful. The paper's variables are sums of it: y(k, n) over D and m, z(d, n) from q[n, D] (a cluster keeps one
subset throughout). Components carry the numbers of the paper's equations:

=====================  ====================================================================================
component              meaning
=====================  ====================================================================================
``w``                  Sec. III: epoch k trains model m on cluster n with its data D (binary)
``q``                  cluster n holds the subset D (binary)
``v``, ``stop``        step from model to model at epoch k; last model before the end (continuous)
``z``                  scenario s ends above l_max (binary; fixed where no feasible plan has a choice)
``eq2_cost``           (2): transfers, once, and resources; in units of ``cost_unit``
``eq2_letter``         (2) as printed, E2: the transfer is charged in every epoch
``eq3_quantile``       (3): the gain of scenario s reaches l(0) - l_max unless z_s
``eq3_misses``         (3): at most floor((1 - omega) S + 1e-9) misses
``eq6_data``           (6): an epoch uses the subset that its cluster holds
``eq6_one_subset``     a cluster holds one subset
``eq6_letter``         (6) as printed, E1: a cluster with data trains in every epoch
``epochs_first``       the first epochs, without which no plan meets the target, are trained
``epochs_prefix``      no epoch after the end
``epochs_no_end``      lengths that cannot meet the target or the time limits
``last_model``         an epoch of a model that may not be the last is followed by another
``switch_from/to``     flow: every step leaves the model before and enters the model after
=====================  ====================================================================================

Why flow equations. The product v = u u' of consecutive models is often written v >= u + u' - 1. That bounds v
from below only: if a sampled switch *lowers* the loss, the program sets v = 1 without switching and is wrong.
The two equalities leave v no freedom as soon as w is integer: with u[k-1, i] = 1 and u[k, j] = 1 all other
rows force their v to 0 and so v[k, i, j] = 1. Steps at which no loss is at stake and none is forbidden are
left out altogether.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo

from depl.models.evaluation.evaluate import INTENT, Reading
from depl.models.exact.choices import Configuration
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.deadline import keep_time
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.laws import FloatArray
from depl.models.programs.attainable import Attainable
from depl.models.programs.components import add_expressions, add_rows, linear
from depl.models.programs.sequences import labels

Key = tuple[int, str, str, str]
"""Index of w: epoch, cluster, names of the datasets joined by +, model."""

_LEAST_RELIEF = 1e-6
"""Least coefficient of a scenario's z in (3), in units of the largest one: what a miss adds to the gain may
be more than the gain lacks. HiGHS leaves coefficients up to 1e-9 out, with a warning."""


def plan_frame(
    problem: SampledProblem,
    bounds: Attainable,
    reading: Reading = INTENT,
) -> pyo.ConcreteModel:
    """The discrete part of the programs, without objective and time; see the module's docstring.

    Parameters
    ----------
    problem : SampledProblem
    bounds : Attainable
        Of the same problem, with `Attainable.possible`.
    reading : depl.models.evaluation.evaluate.Reading
        Intent or letter of (2) and (6).

    Returns
    -------
    pyomo.environ.ConcreteModel
        With an expression ``transfers`` [cost] and an empty list ``no_goods``.

    Raises
    ------
    NotCoveredError
        If no plan with an epoch can be feasible.
    """
    model = pyo.ConcreteModel(name="depl")
    keys = usable_keys(problem, bounds)
    _add_sets(model, problem, bounds, keys)
    model.quantile_level = pyo.Param(
        initialize=problem.instance.target.quantile_level,
        doc="omega: probability with which the target is to be met",
    )
    model.w = pyo.Var(
        model.choices, domain=pyo.Binary, doc="Sec. III: the epoch trains the model there, on that data"
    )
    _add_epochs(model, problem, bounds)
    _add_data(model, problem, bounds, reading)
    _add_transfers(model, problem, bounds, reading)
    _add_switches(model, problem, bounds)
    _add_quantile(model, problem, bounds, keys)
    model.no_goods = pyo.ConstraintList(doc="sequences of epochs that are excluded one by one")
    model.cost_rows = pyo.ConstraintList(doc="what single sequences cost at least")
    return model


def usable_keys(problem: SampledProblem, bounds: Attainable) -> dict[Key, Configuration]:
    """Index of w with the configuration that it stands for, epoch by epoch.

    Raises
    ------
    NotCoveredError
        If no plan with an epoch can be feasible.
    """
    if not bounds.possible:
        raise NotCoveredError(
            "no plan with an epoch can be feasible, so there is no program; ask depl.program why"
        )
    return {
        (k, *labels(problem, g)): g
        for k in range(1, bounds.longest + 1)
        for index, g in enumerate(problem.configurations)
        if bounds.usable[k - 1, index]
    }


def _add_sets(
    model: pyo.ConcreteModel, problem: SampledProblem, bounds: Attainable, keys: Iterable[Key]
) -> None:
    """What the components are indexed by; names are those of the instance."""
    instance = problem.instance
    model.epochs = pyo.Set(initialize=range(1, bounds.longest + 1), doc="k: epochs that a plan may have")
    model.models = pyo.Set(initialize=[item.name for item in instance.models], doc="m: models")
    model.clusters = pyo.Set(initialize=[item.name for item in instance.clusters], doc="n: clusters")
    model.choices = pyo.Set(
        dimen=4, initialize=list(keys), doc="epoch, cluster, data joined by +, model that may be useful"
    )
    model.scenarios = pyo.Set(initialize=range(1, len(problem.scenarios) + 1), doc="s: scenarios")


def _add_epochs(model: pyo.ConcreteModel, problem: SampledProblem, bounds: Attainable) -> None:
    """Exactly one configuration per trained epoch, and the trained epochs first."""
    by_epoch: dict[int, list[Any]] = {k: [] for k in model.epochs}
    by_model: dict[tuple[int, str], list[Any]] = {
        (k, item.name): [] for k in model.epochs for item in problem.instance.models
    }
    for key in model.w:
        by_epoch[key[0]].append(model.w[key])
        by_model[key[0], key[3]].append(model.w[key])
    add_expressions(
        model,
        "busy",
        model.epochs,
        lambda k: linear([1.0] * len(by_epoch[k]), by_epoch[k]),
        "1: the epoch is trained",
    )
    add_expressions(
        model,
        "trained",
        list(by_model),
        lambda k, m: linear([1.0] * len(by_model[k, m]), by_model[k, m]),
        "1: the epoch trains the model",
    )
    first, later = range(1, bounds.shortest + 1), range(bounds.shortest + 1, bounds.longest + 1)
    add_rows(model, "epochs_first", first, lambda k: model.busy[k] == 1, "no feasible plan is shorter")
    add_rows(
        model,
        "epochs_prefix",
        later,
        lambda k: model.busy[k] <= (1 if k - 1 == bounds.shortest else model.busy[k - 1]),
        "no epoch after the end",
    )
    gaps = [k for k in later if not bounds.lengths[k - 1]]
    add_rows(
        model,
        "epochs_no_end",
        gaps,
        lambda k: model.busy[k] == model.busy[k + 1],
        "no feasible plan has that length",
    )
    _add_last_model(model, problem, bounds, by_model)


def _add_last_model(
    model: pyo.ConcreteModel,
    problem: SampledProblem,
    bounds: Attainable,
    by_model: Mapping[tuple[int, str], list[Any]],
) -> None:
    """Plans end with a model that may be the last one."""
    models, rules = problem.instance.models, problem.instance.rules
    passing = [item.name for item in models if not rules.may_end(item.name)]
    add_rows(
        model,
        "last_model",
        [k for k in model.epochs if any(by_model[k, m] for m in passing)],
        lambda k: (
            sum(model.trained[k, m] for m in passing) <= (model.busy[k + 1] if k < bounds.longest else 0)
        ),
        "an epoch of a model that may not be the last is followed by another",
    )


def _add_data(
    model: pyo.ConcreteModel, problem: SampledProblem, bounds: Attainable, reading: Reading
) -> None:
    """One subset per cluster, and the letter of (6) where asked for."""
    trains: dict[tuple[int, str, str], list[Any]] = {}
    for key in model.w:
        trains.setdefault(key[:3], []).append(model.w[key])
    pairs = sorted({(place, held) for _, place, held in trains})
    model.holdings = pyo.Set(dimen=2, initialize=pairs, doc="cluster, data joined by +")
    model.q = pyo.Var(model.holdings, domain=pyo.Binary, doc="Sec. III: the cluster holds exactly this data")
    add_rows(
        model,
        "eq6_data",
        list(trains),
        lambda k, n, d: linear([1.0] * len(trains[k, n, d]), trains[k, n, d]) <= model.q[n, d],
        "(6): an epoch uses the data that its cluster holds",
    )
    add_rows(
        model,
        "eq6_one_subset",
        sorted({place for place, _ in pairs}),
        lambda n: sum(model.q[pair] for pair in pairs if pair[0] == n) <= 1,
        "a cluster holds one set of data",
    )
    every = [(k, *pair) for k in range(1, bounds.longest + 1) for pair in pairs]
    if reading.data_requires_every_epoch:
        add_rows(
            model,
            "eq6_letter",
            every,
            lambda k, n, d: model.q[n, d] <= sum(trains.get((k, n, d), [])) + 1 - model.busy[k],
            "(6) as printed, E1: a cluster with data trains in every epoch",
        )


def _add_transfers(
    model: pyo.ConcreteModel, problem: SampledProblem, bounds: Attainable, reading: Reading
) -> None:
    """What all transfers cost; once, or by the letter of (2) in every epoch."""
    cost = {
        labels(problem, g)[:2]: problem.transfer_cost(g.cluster, g.datasets) for g in problem.configurations
    }
    every = [(k, *pair) for k in range(1, bounds.longest + 1) for pair in model.holdings]
    charged: Any = model.q
    if reading.transfer_every_epoch:
        model.charged = pyo.Var(every, bounds=(0, 1), doc="E2: the transfer is charged in that epoch")
        add_rows(
            model,
            "eq2_letter",
            every,
            lambda k, n, d: model.charged[k, n, d] >= model.q[n, d] + model.busy[k] - 1,
            "(2) as printed, E2: the transfer is charged in every epoch",
        )
        charged = model.charged
    model.transfers = pyo.Expression(
        expr=linear([cost[index[-2:]] for index in charged], [charged[index] for index in charged]),
        doc="(2): cost of all transfers",
    )


def _add_switches(model: pyo.ConcreteModel, problem: SampledProblem, bounds: Attainable) -> None:
    """The step between the models of neighbouring epochs, as a flow."""
    names = [item.name for item in problem.instance.models]
    initial = problem.instance.target.initial_model
    free = problem.may_follow.all(), not problem.switch_losses.any()
    first = 1 if initial is not None else 2
    epochs = [] if all(free) or len(names) == 1 else range(first, bounds.longest + 1)
    steps = [
        (k, before, after)
        for k in epochs
        for i, before in enumerate(names)
        for j, after in enumerate(names)
        if problem.may_follow[i, j] and (k > 1 or before == initial)
    ]
    model.steps = pyo.Set(dimen=3, initialize=steps, doc="epoch, model before, model")
    model.v = pyo.Var(model.steps, bounds=(0, 1), doc="1: the epoch goes from one model to the other")
    ends = sorted({(k, before) for k, before, _ in steps})
    model.ends = pyo.Set(dimen=2, initialize=ends, doc="epoch, model before")
    model.stop = pyo.Var(model.ends, bounds=(0, 1), doc="1: training ended with that model before the epoch")

    leaves: dict[tuple[int, str], list[Any]] = defaultdict(list)
    enters: dict[tuple[int, str], list[Any]] = defaultdict(list)
    for k, before, after in steps:
        keep_time()
        leaves[k, before].append(model.v[k, before, after])
        enters[k, after].append(model.v[k, before, after])

    def leaving(k: int, before: str) -> Any:
        onward = sum(leaves[k, before])
        came = 1 if k == 1 else model.trained[k - 1, before]
        return onward + model.stop[k, before] == came

    add_rows(model, "switch_from", model.ends, leaving, "every step leaves the model before")
    add_rows(
        model,
        "switch_to",
        [(k, after) for k in epochs for after in names],
        lambda k, after: sum(enters[k, after]) == model.trained[k, after],
        "every step enters the model after",
    )


def _add_quantile(
    model: pyo.ConcreteModel,
    problem: SampledProblem,
    bounds: Attainable,
    keys: dict[Key, Configuration],
) -> None:
    """Constraint (3), divided by the largest coefficient so that absolute tolerances mean something."""
    coefficients, variables = _gain_terms(model, problem, keys)
    unit = float(np.abs(coefficients).max(initial=0.0)) or 1.0
    missed = [int(s) + 1 for s in np.flatnonzero(bounds.missed_anyway)]
    model.missed_anyway = pyo.Set(initialize=missed, doc="s: scenarios that no plan meets")
    counted = [int(s) + 1 for s in np.flatnonzero(~bounds.missed_anyway & ~bounds.met_anyway)]
    needed = problem.needed
    optional = [s for s in counted if bounds.lowest_gain[s - 1] < needed] if bounds.allowed > 0 else []
    _add_misses_of_scenarios(model, missed, optional)

    def met(s: int) -> Any:
        terms, others = list(coefficients[:, s - 1] / unit), []
        if s in model.undecided:
            terms.append(max((needed - float(bounds.lowest_gain[s - 1])) / unit, _LEAST_RELIEF))
            others.append(model.z[s])
        return linear(terms, [*variables, *others]) >= needed / unit

    add_rows(
        model,
        "eq3_quantile",
        counted,
        met,
        "(3): the gain reaches l(0) - l_max unless the scenario is missed",
    )
    if len(optional) > bounds.allowed:
        model.eq3_misses = pyo.Constraint(
            expr=sum(model.z[s] for s in optional) <= bounds.allowed,
            doc="(3): at most floor((1 - omega) S + 1e-9) misses",
        )


def _add_misses_of_scenarios(model: pyo.ConcreteModel, missed: list[int], optional: list[int]) -> None:
    """z of every scenario, as rows of a caller count them; fixed where all feasible plans agree on it."""
    model.undecided = pyo.Set(initialize=optional, doc="s: scenarios that some plan may miss, some meet")
    model.z = pyo.Var(model.scenarios, domain=pyo.Binary, doc="(3): the scenario ends above l_max")
    for s in model.scenarios:
        if s not in model.undecided:
            model.z[s].fix(float(s in missed))


def _gain_terms(
    model: pyo.ConcreteModel, problem: SampledProblem, keys: dict[Key, Configuration]
) -> tuple[FloatArray, list[Any]]:
    """What each variable adds to the gain of every scenario, (variables, S), and the variables."""
    names = [item.name for item in problem.instance.models]
    subset = {held: index for index, held in enumerate(problem.subsets)}
    rows = [problem.gains[key[0] - 1, subset[g.datasets], g.model] for key, g in keys.items()]
    rows += [-problem.switch_losses[k - 1, names.index(i), names.index(j)] for k, i, j in model.v]
    variables = [*(model.w[key] for key in keys), *(model.v[step] for step in model.v)]
    return np.array(rows).reshape(len(rows), len(problem.scenarios)), variables
