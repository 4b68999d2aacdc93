"""What ``depl front --expected`` does: the least weight of model selection; no plan of it keeps a promise."""

import argparse
import csv
import io
import json
import math
from typing import Any

from depl.commands.answer import Answer, ExitCode
from depl.commands.figures import saved
from depl.commands.json_text import as_json
from depl.commands.options import figure_files, read_instance, require_outputs
from depl.commands.table import fields, table
from depl.heuristics.data.most_capable import most_capable_cluster
from depl.heuristics.paths.additive_problem import AdditivePath, AdditiveProblem, additive_problem
from depl.heuristics.paths.fronts import FrontPoint, front, spread_budgets, whole_front
from depl.heuristics.paths.readings import Against, Weight
from depl.models.evaluation.evaluate import law_of_end
from depl.models.foundation.csv_cells import shown
from depl.models.foundation.documents import write_text
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import interval, number, rounded_down
from depl.models.problem.allocation import allocate
from depl.models.problem.epochs import load
from depl.models.problem.instance import Instance
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.solving.methods import Limits, require_limits
from depl.models.solving.result import Termination

_COLUMNS = (
    "budget",
    "termination",
    "weight",
    "lower_bound",
    "cost",
    "epochs",
    "time",
    "expected_loss",
    "violation",
)
_BUDGETS = {Against.LOSS: "bound on the expected loss", Against.TIME: "limit of time"}
_MEANING = {
    Weight.FULL_RESOURCES: "sum of kappa r",
    Weight.COMPUTE: "sum of kappa c",
    Weight.FULL_RESOURCES_TIME: "sum of kappa (c + r s / b)",
    Weight.ROOT: "sum of sqrt(kappa c)",
    Weight.LEAST_RESOURCES: "sum of kappa c / (tau - s / b)",
}
_DIGITS = 5
_NO_PROMISE = """\
These are no plans that keep a promise of {}: what is bounded is the expected loss, and what is minimised is
the weight, not the cost. The last column is certified. Plans that keep the promise: depl front without
--expected."""
_STOPPED = (Termination.TIME_LIMIT, Termination.INTERRUPTED, Termination.EXHAUSTED)


def run(options: argparse.Namespace) -> Answer:
    """Find the front, write and draw it where asked for."""
    require_outputs([options.out, *figure_files(options.figure)], [options.instance])
    require_limits(options.gap, options.time_limit)
    if options.between and not all(map(math.isfinite, options.between)):
        raise InvalidInputError("both ends must be finite numbers", "--between")
    instance = read_instance(options)
    cluster, datasets = _place(instance, options)
    weight = None if options.weight is None else Weight(options.weight)
    problem = additive_problem(instance, datasets, cluster, weight=weight)
    against = Against(options.against)
    points = _points(problem, against, options)
    rows = [_row(instance, datasets, cluster, against, point) for point in points]
    if weight is None:
        weight = Weight.LEAST_RESOURCES if instance.target.maximum_time is None else Weight.ROOT
    content = {
        "instance": instance.name,
        "against": against.value,
        "cluster": cluster,
        "datasets": sorted(datasets),
        "weight": weight.value,
        "weight_is": _MEANING[weight],
        "bounded": "the expected loss",
        "omega_used": False,
        "points": rows,
    }
    aside = _written(options, against, content, rows)
    return Answer(_text(instance, against, content, rows), _exit_code(points), as_json(content), aside)


def _place(instance: Instance, options: argparse.Namespace) -> tuple[str, frozenset[str]]:
    datasets = [item.name for item in instance.datasets]
    if options.datasets is not None:
        datasets = options.datasets.split(",")
    return options.cluster or most_capable_cluster(instance).name, frozenset(datasets)


def _points(
    problem: AdditiveProblem, against: Against, options: argparse.Namespace
) -> tuple[FrontPoint, ...]:
    limits = Limits(gap=options.gap, time_limit=options.time_limit)
    if options.whole:
        low, high = options.between or (-math.inf, math.inf)
        loosest = problem.maximum_loss if against is Against.LOSS else problem.maximum_time
        if options.between:
            loosest = high
        there = (
            (problem.maximum_time, loosest) if against is Against.LOSS else (loosest, problem.maximum_loss)
        )
        found = whole_front(problem.within(*there), against, options.points, limits)
        return tuple(point for point in found if point.budget >= low)
    if options.between:
        low, high = options.between
        if not low <= high:
            raise InvalidInputError(f"the first, {low:g}, must not exceed the second, {high:g}", "--between")
        count = options.points
        budgets = tuple(low + (high - low) * i / max(count - 1, 1) for i in range(count))
    else:
        budgets = spread_budgets(problem, against, max(options.points, 2), limits)
    return front(problem, against, budgets, limits)


def _row(
    instance: Instance, datasets: frozenset[str], cluster: str, against: Against, point: FrontPoint
) -> dict[str, Any]:
    outcome = point.outcome
    path = outcome.path
    return {
        "budget": point.budget,
        "termination": outcome.termination.value,
        "weight": None if path is None else path.weight,
        "lower_bound": outcome.lower_bound if math.isfinite(outcome.lower_bound) else None,
        "cost": None if path is None else _cost(instance, datasets, cluster, against, point.budget, path),
        "epochs": None if path is None else len(path.models),
        "time": None if path is None else path.time,
        "expected_loss": None if path is None else path.loss,
        "violation": None if path is None else _violation(instance, datasets, cluster, against, point),
        "models": None if path is None else [instance.models[index].name for index in path.models],
    }


def _cost(
    instance: Instance,
    datasets: frozenset[str],
    cluster: str,
    against: Against,
    budget: float,
    path: AdditivePath,
) -> float | None:
    """What the path costs with its resources optimised, and the transfers; None if they do not suffice."""
    latest = instance.target.maximum_time
    if against is Against.TIME:
        latest = budget if math.isfinite(budget) else None
    loads = [
        load(instance, k, instance.models[index].name, cluster, datasets)
        for k, index in enumerate(path.models, start=1)
    ]
    cost = allocate(loads, latest, instance.target.round_deadline).cost
    if path.models:
        cost += math.fsum(instance.transfer_cost(dataset, cluster) for dataset in sorted(datasets))
    return cost if math.isfinite(cost) else None


def _violation(
    instance: Instance, datasets: frozenset[str], cluster: str, against: Against, point: FrontPoint
) -> dict[str, float]:
    """Certified bounds of the probability that the path ends above the bound, or above l_max."""
    path = point.outcome.path
    models = () if path is None else path.models
    place = instance.cluster(cluster)
    plan = Plan(
        data=(ClusterData(cluster=cluster, datasets=tuple(sorted(datasets))),) if models else (),
        epochs=tuple(
            PlannedEpoch(model=instance.models[index].name, cluster=cluster, resources=place.capacity)
            for index in models
        ),
    )  # the law of the loss does not know the resources
    bound = point.budget if against is Against.LOSS else instance.target.maximum_loss
    violation = law_of_end(instance, plan).violation(bound)
    return {"lower": float(violation.lower), "upper": float(violation.upper)}


def _text(instance: Instance, against: Against, content: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    pairs = [
        (content["instance"], f"least weight against the {_BUDGETS[against]}; omega is NOT used"),
        ("data", f"{', '.join(content['datasets'])} on {content['cluster']}"),
        ("weight", f"{content['weight']}: {content['weight_is']}"),
    ]
    missed = "the bound" if against is Against.LOSS else number(instance.target.maximum_loss)
    names = {"budget": _BUDGETS[against], "violation": f"P(l(K) > {missed})", "cost": "cost of that path"}
    header = [names.get(name, name.replace("_", " ")) for name in _COLUMNS]
    cells = [[_cell(name, row[name]) for name in _COLUMNS] for row in rows]
    drawn = table(header, cells, right=[*header[:1], *header[2:]])
    return f"{fields(pairs)}\n\n{drawn}\n\n{_NO_PROMISE.format(number(instance.target.quantile_level))}"


def _cell(name: str, value: object) -> str:
    if isinstance(value, dict):
        return interval(value["lower"], value["upper"], _DIGITS)
    if isinstance(value, float):
        return rounded_down(value) if name == "lower_bound" else number(value)
    return "-" if value is None else str(value)


def _written(
    options: argparse.Namespace, against: Against, content: dict[str, Any], rows: list[dict[str, Any]]
) -> str:
    said = []
    if options.out:
        text = json.dumps(content, indent=2) + "\n" if options.out.endswith(".json") else _csv(rows)
        write_text(options.out, text)
        said.append(f"front written to {options.out}")
    if options.figure:
        # Drawing is all that needs matplotlib.
        from depl.benchmarks.figures.canvas import panels
        from depl.benchmarks.figures.front import front_figure
        from depl.benchmarks.figures.legends import make_room

        figure, (axes,) = panels(1)
        pairs = [(row["budget"], row["weight"]) for row in rows]
        front_figure(pairs, against.value, content["weight_is"], content["instance"], axes)
        make_room(figure)
        said.append(f"drawn in {' and '.join(saved(figure, options.figure))}")
    return "\n".join(said)


def _csv(rows: list[dict[str, Any]]) -> str:
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow([*_COLUMNS[:-1], "violation_lower", "violation_upper", "models"])
    for row in rows:
        missed = row["violation"] or {"lower": None, "upper": None}
        cells = [*(row[name] for name in _COLUMNS[:-1]), missed["lower"], missed["upper"]]
        writer.writerow(map(shown, (*cells, " ".join(row["models"] or ()))))
    return page.getvalue()


def _exit_code(points: tuple[FrontPoint, ...]) -> ExitCode:
    if any(point.outcome.termination in _STOPPED for point in points):
        held = any(point.outcome.path is not None for point in points)
        return ExitCode.STOPPED if held else ExitCode.NOTHING
    if all(point.outcome.termination is Termination.INFEASIBLE for point in points):
        return ExitCode.INFEASIBLE
    return ExitCode.ANSWERED
