"""What both programs share: which epoch trains what, transfers, switches, and the counted quantile.

A plan is a binary w[k, n, D, m] for every epoch k, cluster n, dataset subset D and model m that may be
useful. The paper's variables are sums of it: y(k, n) over D and m, z(d, n) from q[n, D] (a cluster keeps one
subset throughout). Components carry the numbers of the paper's equations:

=====================  ====================================================================================
component              meaning
=====================  ====================================================================================
``w``                  Sec. III: epoch k trains model m on cluster n with its data D (binary)
``q``                  cluster n holds the subset D (binary)
``v``, ``stop``        step from model to model at epoch k; last model before the end (continuous)
``z``                  scenario s may end above l_max (binary)
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

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from depl.models.evaluation.evaluate import INTENT, Reading
from depl.models.exact.choices import Configuration
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.laws import FloatArray
from depl.models.programs.attainable import Attainable

Key = tuple[int, str, str, str]
"""Index of w: epoch, cluster, names of the datasets joined by +, model."""


def plan_frame(
    problem: SampledProblem, bounds: Attainable, reading: Reading = INTENT, *, meet_target: bool = True
) -> pyo.ConcreteModel:
    """The discrete part of the programs, without objective and time; see the module's docstring.

    Parameters
    ----------
    problem : SampledProblem
    bounds : Attainable
        Of the same problem, with `Attainable.possible`.
    reading : depl.models.evaluation.evaluate.Reading
        Intent or letter of (2) and (6).
    meet_target : bool
        Without it, (3) bounds a variable ``reached`` in place of l(0) - l_max, the gain that all but the
        allowed misses reach [loss]; ``bounds`` must have been computed without it, too.

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
    model.w = pyo.Var(list(keys), domain=pyo.Binary)
    _add_epochs(model, problem, bounds)
    _add_data(model, problem, bounds, reading)
    _add_switches(model, problem, bounds)
    _add_quantile(model, problem, bounds, keys, meet_target)
    model.no_goods = pyo.ConstraintList()
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
            "no plan with an epoch can be feasible, so there is no program; ask why_infeasible"
        )
    return {
        (k, *labels(problem, g)): g
        for k in range(1, bounds.longest + 1)
        for index, g in enumerate(problem.configurations)
        if bounds.usable[k - 1, index]
    }


def labels(problem: SampledProblem, chosen: Configuration) -> tuple[str, str, str]:
    """Names of cluster, datasets and model; a + in the name of a dataset is written with a backslash."""
    instance = problem.instance
    names = [item.name for item in instance.datasets if item.name in chosen.datasets]
    held = "+".join(name.replace("\\", "\\\\").replace("+", "\\+") for name in names)
    return instance.clusters[chosen.cluster].name, held, instance.models[chosen.model].name


def linear(coefficients: Iterable[float], variables: Iterable[Any], constant: float = 0.0) -> Any:
    """A linear expression, built at once; zero coefficients are left out."""
    pairs = [(float(c), x) for c, x in zip(coefficients, variables, strict=True) if c != 0]
    return LinearExpression(
        constant=constant, linear_coefs=[c for c, _ in pairs], linear_vars=[x for _, x in pairs]
    )


def read_choices(model: pyo.ConcreteModel, problem: SampledProblem) -> list[Configuration]:
    """The sequence of configurations that the values of w describe, rounded."""
    by_labels = {labels(problem, g): g for g in problem.configurations}
    chosen = [key for key in model.w if (model.w[key].value or 0.0) > 0.5]
    return [by_labels[key[1:]] for key in sorted(chosen)]


def write_choices(
    model: pyo.ConcreteModel, problem: SampledProblem, choices: Sequence[Configuration]
) -> bool:
    """Set w, q, v, stop and z to a plan, as a start; False if the program has no room for it."""
    named = [labels(problem, g) for g in choices]
    wanted = {(k, *row) for k, row in enumerate(named, start=1)}
    if not all(key in model.w for key in wanted):
        return False
    for key in model.w:
        model.w[key].set_value(float(key in wanted))
    for place, held in model.q:
        model.q[place, held].set_value(float(any(row[:2] == (place, held) for row in named)))
    if model.find_component("charged") is not None:
        for k, place, held in model.charged:
            model.charged[k, place, held].set_value(model.q[place, held].value * (k <= len(named)))
    before = [problem.instance.target.initial_model, *(row[2] for row in named)]
    for k, first, second in model.v:
        model.v[k, first, second].set_value(
            float(k <= len(named) and before[k - 1] == first and before[k] == second)
        )
    for k, last in model.stop:
        model.stop[k, last].set_value(float(k == len(named) + 1 and before[k - 1] == last))
    gains = problem.gain(choices)
    for s in model.z:
        model.z[s].set_value(float(gains[s - 1] < problem.needed))
    return True


def add_no_good(
    model: pyo.ConcreteModel, problem: SampledProblem, choices: Sequence[Configuration], same_gain: bool
) -> Any:
    """Exclude one sequence; with ``same_gain`` also those that only use other clusters.

    A sequence of K epochs is another one iff some of its first K epochs differs, or it goes on.
    """
    named = [labels(problem, g) for g in choices]
    terms: list[Any] = []
    for k, row in enumerate(named, start=1):
        start = 1 if same_gain else 0
        terms += [model.w[key] for key in model.w if key[0] == k and key[1 + start :] == row[start:]]
    onward = [model.w[key] for key in model.w if key[0] == len(named) + 1]
    expression = linear([1.0] * len(terms) + [-1.0] * len(onward), terms + onward)
    return model.no_goods.add(expression <= len(named) - 1)


def _add_epochs(model: pyo.ConcreteModel, problem: SampledProblem, bounds: Attainable) -> None:
    """Exactly one configuration per trained epoch, and the trained epochs first."""
    epochs = range(1, bounds.longest + 1)
    by_epoch: dict[int, list[Any]] = {k: [] for k in epochs}
    by_model: dict[tuple[int, str], list[Any]] = {
        (k, item.name): [] for k in epochs for item in problem.instance.models
    }
    for key in model.w:
        by_epoch[key[0]].append(model.w[key])
        by_model[key[0], key[3]].append(model.w[key])
    model.busy = pyo.Expression(epochs, rule=lambda _, k: linear([1.0] * len(by_epoch[k]), by_epoch[k]))
    model.trained = pyo.Expression(
        list(by_model), rule=lambda _, k, m: linear([1.0] * len(by_model[k, m]), by_model[k, m])
    )
    first = range(1, bounds.shortest + 1)
    model.epochs_first = pyo.Constraint(first, rule=lambda b, k: b.busy[k] == 1)
    later = range(bounds.shortest + 1, bounds.longest + 1)
    model.epochs_prefix = pyo.Constraint(
        later, rule=lambda b, k: b.busy[k] <= (1 if k - 1 == bounds.shortest else b.busy[k - 1])
    )
    gaps = [k for k in later if not bounds.lengths[k - 1]]
    model.epochs_no_end = pyo.Constraint(gaps, rule=lambda b, k: b.busy[k] == b.busy[k + 1])
    models, rules = problem.instance.models, problem.instance.rules
    passing = [item.name for item in models if not rules.may_end(item.name)]
    model.last_model = pyo.Constraint(
        [k for k in epochs if any(by_model[k, m] for m in passing)],
        rule=lambda b, k: (
            sum(b.trained[k, m] for m in passing) <= (b.busy[k + 1] if k < bounds.longest else 0)
        ),
    )


def _add_data(
    model: pyo.ConcreteModel, problem: SampledProblem, bounds: Attainable, reading: Reading
) -> None:
    """One subset per cluster, its transfers, and the letter of (2) and (6) where asked for."""
    cost = {
        labels(problem, g)[:2]: problem.transfer_cost(g.cluster, g.datasets) for g in problem.configurations
    }
    trains: dict[tuple[int, str, str], list[Any]] = {}
    for key in model.w:
        trains.setdefault(key[:3], []).append(model.w[key])
    pairs = sorted({(place, held) for _, place, held in trains})
    model.q = pyo.Var(pairs, domain=pyo.Binary)
    model.eq6_data = pyo.Constraint(
        list(trains),
        rule=lambda b, k, n, d: linear([1.0] * len(trains[k, n, d]), trains[k, n, d]) <= b.q[n, d],
    )
    places = sorted({place for place, _ in pairs})
    model.eq6_one_subset = pyo.Constraint(
        places, rule=lambda b, n: sum(b.q[pair] for pair in pairs if pair[0] == n) <= 1
    )
    every = [(k, *pair) for k in range(1, bounds.longest + 1) for pair in pairs]
    if reading.data_requires_every_epoch:
        model.eq6_letter = pyo.Constraint(
            every, rule=lambda b, k, n, d: b.q[n, d] <= sum(trains.get((k, n, d), [])) + 1 - b.busy[k]
        )
    charged: Any = model.q
    if reading.transfer_every_epoch:
        model.charged = pyo.Var(every, bounds=(0, 1))
        model.eq2_letter = pyo.Constraint(
            every, rule=lambda b, k, n, d: b.charged[k, n, d] >= b.q[n, d] + b.busy[k] - 1
        )
        charged = model.charged
    model.transfers = pyo.Expression(
        expr=linear([cost[index[-2:]] for index in charged], [charged[index] for index in charged])
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
    model.v = pyo.Var(steps, bounds=(0, 1))
    ends = sorted({(k, before) for k, before, _ in steps})
    model.stop = pyo.Var(ends, bounds=(0, 1))

    def leaving(block: Any, k: int, before: str) -> Any:
        onward = sum(block.v[step] for step in steps if step[:2] == (k, before))
        came = 1 if k == 1 else block.trained[k - 1, before]
        return onward + block.stop[k, before] == came

    model.switch_from = pyo.Constraint(ends, rule=leaving)
    model.switch_to = pyo.Constraint(
        [(k, after) for k in epochs for after in names],
        rule=lambda b, k, after: (
            sum(b.v[step] for step in steps if (step[0], step[2]) == (k, after)) == b.trained[k, after]
        ),
    )


def _add_quantile(
    model: pyo.ConcreteModel,
    problem: SampledProblem,
    bounds: Attainable,
    keys: dict[Key, Configuration],
    meet_target: bool,
) -> None:
    """Constraint (3), divided by the largest coefficient so that absolute tolerances mean something."""
    coefficients, variables = _gain_terms(model, problem, keys)
    unit = float(np.abs(coefficients).max(initial=0.0)) or 1.0
    counted = [int(s) + 1 for s in np.flatnonzero(~bounds.missed_anyway & ~bounds.met_anyway)]
    wanted = problem.needed
    if not meet_target:
        counted = list(range(1, len(problem.scenarios) + 1))
        wanted = float(np.sort(bounds.greatest_gain)[problem.allowed])
        model.reached = pyo.Var(bounds=(None, wanted))
    optional = [s for s in counted if bounds.lowest_gain[s - 1] < wanted] if bounds.allowed > 0 else []
    model.z = pyo.Var(optional, domain=pyo.Binary)

    def met(block: Any, s: int) -> Any:
        terms, others = list(coefficients[:, s - 1] / unit), []
        if s in block.z:
            terms.append((wanted - float(bounds.lowest_gain[s - 1])) / unit)
            others.append(block.z[s])
        if not meet_target:
            terms.append(-1 / unit)
            others.append(block.reached)
        return linear(terms, [*variables, *others]) >= (wanted / unit if meet_target else 0.0)

    model.eq3_quantile = pyo.Constraint(counted, rule=met)
    if len(optional) > bounds.allowed:
        model.eq3_misses = pyo.Constraint(expr=sum(model.z[s] for s in optional) <= bounds.allowed)


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
