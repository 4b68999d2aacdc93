"""Policies that watch the run, on real training: promised against delivered, and what they cost.

Protocol and findings are on the page ``docs/measured.rst``. Laws are fitted to 640 seeds of a
family, of each of which one switch epoch was trained; 120 other seeds, of which all 16 were trained, judge.
The goals are those of the issues that asked for the measurement; the target of the halves is one at which the
promise of 0.95 binds.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.helpers.collections import known_runs
from depl.benchmarks.studies.helpers.delivered import delivered, delivered_figure, mean_cost
from depl.instances.setups import load_setup
from depl.instances.training.recorded import recorded_counterfactuals, recorded_traces
from depl.models.estimation.binomial import binomial_p_values
from depl.models.policy.dynamic import FAILURE_FACTOR, Actions, Price, Table, failed
from depl.models.policy.follow import counted, replay
from depl.models.policy.grid import Expectations, Grid
from depl.models.policy.planning import solve_policy
from depl.models.policy.process import Process, Training, process
from depl.models.policy.request import Request, policy_of
from depl.models.policy.result import PolicyResult
from depl.models.problem.affine_law import AffineLaw, Position, following
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.policy import STOP, Certificate, Policy
from depl.models.solving.solve import solve
from depl.models.traces.counterfactuals import Counterfactuals
from depl.models.traces.table import Traces
from depl.runs import fit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TARGETS = {"digits-alexnet-slow": (0.75, 0.9, 1.0, 1.2), "digits-mobilenet": (0.55, 0.6, 0.65, 0.7)}
"""l_max: reached by the clairvoyant after about half to two thirds of the epochs. Those of digits-mobilenet
were chosen from first passages of the judging seeds, before any policy was planned; nothing is fitted."""
TIGHT = {"digits-alexnet-slow": (1.0, 1.2), "digits-mobilenet": (0.7,)}
"""l_max that are also asked for with `TIGHT_EPOCHS`."""
EPOCHS, TIGHT_EPOCHS = 47, 30
LEVELS = (0.9, 0.95)

FIXED, STOPPED, CLAIRVOYANT, RESET = "fixed", "fixed, stopped", "clairvoyant", "reset rule"
OPTIMAL_COUNTED, OPTIMAL_LEDGER = "optimal, counted", "optimal, ledger"
POLICIES = ("static, counted", OPTIMAL_COUNTED, "static, ledger", OPTIMAL_LEDGER)
"""Those with a certified promise: rung of `depl.solve_policy`, and certificate."""
_ORDER = (FIXED, STOPPED, *POLICIES, RESET)
_PROBLEM = ("family", "maximum_loss", "maximum_epochs", "omega")

_LAWS: Mapping[str, Mapping[str, Any]] = {
    "whole": {},  # only plans that runs went through count, each by its own runs
    "counted": {"care": None},  # residuals stay together per run; policies count combinations of runs
    "ledger": {"care": None, "residuals": "independent"},
}
_SIGNIFICANCE, _ERRORS = 0.05, 2.0
"""Of tests, and standard errors that a share may be below omega by."""
_HIGHEST = 0.999999
"""The greatest promise that the exact test takes."""
_GAP, _SECONDS = 0.02, 240.0
"""Of a policy on the ledger: reached on the first grid by most problems, and where it stays wider the wall
time ends the search on ever finer grids. Counted policies have no limit, as work is counted."""
_CELLS = 2_048
"""Of the grid of the reset rule: set by hand, 0.2 % of a loss each, far below what an epoch changes."""
_HALVED = {"family": "digits-mobilenet", "maximum_loss": 0.65, "maximum_epochs": EPOCHS, "omega": 0.95}

Row = dict[str, Any]
Task = Mapping[str, Any]
Ended = tuple[NDArray[np.bool_], NDArray[np.int64], FloatArray]
"""Of every seed whether it reached the target, its epochs, and its cost."""


def _tasks(rng: np.random.Generator, smoke: bool) -> Iterator[Row]:
    """A problem with its levels, the prices of a failure of a family, or a split into halves."""
    del rng  # nothing is drawn but the halves, by seeds of their own
    if smoke:
        problem = {"family": "digits-alexnet-slow", "maximum_loss": 1.2, "maximum_epochs": TIGHT_EPOCHS}
        told = {"levels": [0.9], "rungs": [OPTIMAL_LEDGER], "every": 16, "cells": 256}
        yield {"kind": "problem", **problem, **told}
        yield {"kind": "half", **_HALVED, "split": 0, "every": 4, "switches": [12]}
        return
    for family in TARGETS:
        for targets, epochs in ((TARGETS, EPOCHS), (TIGHT, TIGHT_EPOCHS)):
            for target in targets[family]:
                problem = {"family": family, "maximum_loss": target, "maximum_epochs": epochs}
                yield {"kind": "problem", **problem, "levels": LEVELS, "rungs": POLICIES, "cells": _CELLS}
        problem = {"maximum_loss": TARGETS[family][0], "maximum_epochs": EPOCHS, "omega": LEVELS[0]}
        yield {"kind": "price", "family": family, **problem}
    for split in range(20):
        yield {"kind": "half", **_HALVED, "split": split}


def _run(task: Task) -> Row:
    made = {"problem": _problem, "price": _price, "half": _half}[task["kind"]]
    return {"rows": list(made(task))}


@cache
def _runs(family: str, every: int) -> Traces:
    """What laws are fitted to: one of ``every`` runs."""
    runs = recorded_traces(f"{family}-fitting")
    return runs.select(np.arange(0, len(runs.runs), every))


@cache
def _fitted(family: str, every: int, law: str) -> Instance:
    return fit(_runs(family, every), load_setup("closed-loop"), **_LAWS[law])


def _asked(task: Task, law: str) -> Instance:
    """The problem under one of the laws."""
    asked = {name: task[name] for name in ("maximum_loss", "maximum_epochs")}
    return _fitted(task["family"], task.get("every", 1), law).replace(quantile_level=task["omega"], **asked)


def _policy(task: Task, branches: Counterfactuals, rung: str, **options: Any) -> PolicyResult:
    law = rung.rpartition(", ")[2]
    return solve_policy(
        _asked(task, law),
        "static" if rung.startswith("static") else "optimal",
        switch_epochs=branches.switch_epochs,
        gap=0.0 if law == "counted" else _GAP,
        time_limit=None if law == "counted" else _SECONDS,
        **options,
    )


def epoch_prices(
    instance: Instance, switches: Sequence[int], stages: Sequence[tuple[str, str]]
) -> list[float]:
    """Of an epoch in either stage, under a law with independent residuals [cost]."""
    nodes = process(instance, switch_epochs=switches).nodes
    found = {(item.model, item.cluster): item.price for node in nodes for item in node.trainings}
    return [found[stage] for stage in stages]


def _problem(task: Task) -> Iterator[Row]:
    """What each rung promised and delivered.

    A policy that keeps 0.95 although 0.90 was asked for, or that there is none for 0.90, answers 0.95, too.
    """
    branches = recorded_counterfactuals(task["family"])
    known: dict[str, PolicyResult] = {}
    for level in task["levels"]:
        asked = {**task, "omega": level}
        told = {name: asked[name] for name in ("family", "maximum_loss", "maximum_epochs", "omega")}
        for rung in task["rungs"]:
            old = known.get(rung)
            if old is None or (old.reached is not None and old.reached < level):
                known[rung] = _policy(asked, branches, rung)
        for rung, row in _rungs(asked, branches, known):
            yield {"rung": rung, **told, **row}


def _rungs(
    asked: Task, branches: Counterfactuals, known: Mapping[str, PolicyResult]
) -> Iterator[tuple[str, Row]]:
    limit, level, most = asked["maximum_loss"], asked["omega"], asked["maximum_epochs"]
    prices = epoch_prices(_asked(asked, "ledger"), branches.switch_epochs, branches.stages)
    plan = solve(_asked(asked, "whole"), time_limit=60).plan
    if plan is not None:
        switch = sum(epoch.model == branches.stages[0][0] for epoch in plan.epochs)
        for rung, left in ((FIXED, False), (STOPPED, True)):
            yield rung, told(fixed(branches, prices, limit, switch, len(plan.epochs), left=left), level)
    for rung, result in known.items():
        yield rung, _promised(result, branches, level)
    rule = reset_rule(_asked(asked, "ledger"), branches.switch_epochs, asked["cells"])
    yield RESET, _followed(rule, branches, level)
    worth = max(result.failure_cost or 0.0 for result in known.values())
    yield CLAIRVOYANT, told(clairvoyant(branches, prices, limit, most, worth), level)


def told(ended: Ended, level: float) -> Row:
    """What runs did; those that were given up before epoch 1 are counted."""
    reached, epochs, costs = ended
    cost, error = mean_cost(costs.tolist())
    return {
        **delivered(int((~reached).sum()), len(reached), level),
        "cost": cost,
        "cost_error": error,
        "abandoned_at_start": int((~reached & (epochs == 0)).sum()),
    }


def _promised(result: PolicyResult, branches: Counterfactuals, level: float) -> Row:
    """What a policy promises, and what it delivered."""
    if result.policy is None:
        return {"promised": None}
    row = _followed(result.policy, branches, level)
    return {"promised": result.reached, "promised_cost": result.cost, **row}


def _followed(policy: Policy, branches: Counterfactuals, level: float) -> Row:
    runs = replay(policy, branches).runs
    reached, epochs = np.array([(run.end == "reached", run.epochs) for run in runs]).T
    return told((reached > 0, epochs, np.array([run.cost for run in runs])), level)


def _first_met(branches: Counterfactuals, limit: float, switch: int, most: int) -> NDArray[np.int64]:
    """Of every seed the first epoch after the switch, up to ``most``, that meets the target; 0 if none."""
    met = branches.table[:, branches.switch_epochs.index(switch), : most + 1] <= limit
    met[:, : switch + 1] = False
    return np.asarray(met.argmax(axis=1))


def _cost(prices: Sequence[float], switch: int, epochs: NDArray[np.int64]) -> FloatArray:
    """Of runs that stop after so many epochs."""
    return prices[0] * np.minimum(switch, epochs) + prices[1] * np.maximum(0, epochs - switch)


def fixed(
    branches: Counterfactuals, prices: Sequence[float], limit: float, switch: int, epochs: int, *, left: bool
) -> Ended:
    """A plan that switches once: trained to its end, where its *final* loss counts, or left when met."""
    final = branches.table[:, branches.switch_epochs.index(switch), epochs]
    met = _first_met(branches, limit, switch, epochs) if left else np.where(final <= limit, epochs, 0)
    ends = np.where(met, met, epochs)
    return met > 0, ends, _cost(prices, switch, ends)


def clairvoyant(
    branches: Counterfactuals, prices: Sequence[float], limit: float, most: int, failure_cost: float
) -> Ended:
    """Of every seed the cheapest first passage of all switch epochs, known before it begins.

    A seed that never reaches the target, or only at the price of a failure or more, is not trained. So no
    policy has less cost and price of failures on these seeds.
    """
    met = np.array([_first_met(branches, limit, switch, most) for switch in branches.switch_epochs])
    passages = zip(branches.switch_epochs, met, strict=True)
    costs = np.array([np.where(row, _cost(prices, switch, row), np.inf) for switch, row in passages])
    seeds = np.arange(met.shape[1])
    best = costs.argmin(axis=0)
    reached = costs[best, seeds] < failure_cost
    return reached, np.where(reached, met[best, seeds], 0), np.where(reached, costs[best, seeds], 0.0)


def reset_rule(instance: Instance, switch_epochs: Sequence[int], cells: int = _CELLS) -> Policy:
    """The negative example, as a policy on the observed loss, of which nothing is certified.

    After every epoch it forgets what was promised before and chooses again: of all fixed rests of the run,
    each left as soon as the target is reached, the one of least expected cost that reaches the target with
    probability omega from the loss just seen; where none does, the one that reaches it most often. So good
    luck is spent at once, and bad luck is not made up for.

    The instance has independent residuals, and losses are rounded up on a grid. What is decided is when to
    switch: with the last model it trains until the target is reached or no epoch is left, as a rest of one
    more epoch can always be chosen.
    """
    chain = process(instance, switch_epochs=switch_epochs)
    grid = Grid.of(chain, cells)
    actions = _reset_actions(chain, Expectations(grid, up=True), float(instance.target.violation_budget))
    longest = chain.greatest_cost()
    request = Request(instance, instance, switch_epochs=tuple(switch_epochs))
    table = Table(actions, 0, longest, 1.0, longest)
    made = policy_of(request, chain, grid, table, Price(longest, (0.0, longest)), "observed")
    return msgspec.structs.replace(made, certificate=Certificate(method="none", cost=longest, reached=0.0))


def _reset_actions(chain: Process, expectations: Expectations, budget: float) -> tuple[Actions, ...]:
    """What the rule does, by node and index of the loss: all fixed rests from every node, backwards.

    Rests have their expected cost and P(fail), shape (2, rests, cells).
    """
    grid = expectations.grid
    found: list[Actions] = [np.full(grid.cells, STOP, dtype=np.int16)] * len(chain.nodes)
    after: dict[int, FloatArray] = {}
    for numbers in chain.by_epoch():
        later, after = after, {}
        for number in numbers:
            node = chain.nodes[number]
            above = failed(node, grid) > 0
            stopped = np.where(above, 1.0, 0.0)
            ending = np.stack([np.zeros(grid.cells), stopped])[:, None]
            after[number] = ending
            if node.trainings:
                begun = [_earlier(item, later[item.following], expectations) for item in node.trainings]
                rests = np.concatenate(begun, axis=1) * stopped
                first = np.repeat(np.arange(len(begun), dtype=np.int16), [item.shape[1] for item in begun])
                keeping = rests[1] <= budget
                cost = np.where(keeping, rests[0], np.inf)
                best = np.where(keeping.any(axis=0), cost.argmin(axis=0), rests[1].argmin(axis=0))
                found[number] = np.where(above, first[best], STOP).astype(np.int16)
                after[number] = np.concatenate([ending, rests], axis=1) if node.may_stop else rests
    return tuple(found)


def _earlier(training: Training, rests: FloatArray, expectations: Expectations) -> FloatArray:
    """Rests of the node that a training leads to, seen before it; off the grid a run has failed."""
    kernel, many = training.kernel, rests.shape[1]
    images = expectations.grid.images(kernel.shift, kernel.retention, up=True)
    rows = rests.reshape(2 * many, -1)
    ends = (0.0,) * many + (1.0,) * many
    beyond = [(float(row[0]), above) for row, above in zip(rows, ends, strict=True)]
    found = expectations.bounds(rows, beyond, images, kernel.noise).reshape(2, many, -1)
    return np.stack([found[0] + training.price, np.minimum(found[1], 1.0)])


def _price(task: Task) -> Iterator[Row]:
    """Policies at the least price of a failure and at 1.5 times it, leaving before epoch 1 or not."""
    branches = recorded_counterfactuals(task["family"])
    ratio = _policy(task, branches, OPTIMAL_LEDGER).ratio
    for factor, least in () if ratio is None else ((1.0, ratio[1]), (FAILURE_FACTOR, ratio[1])):
        for leaves in (False, True):
            options = {"failure_cost": factor * least, "abandon_at_start": leaves}
            result = _policy(task, branches, OPTIMAL_LEDGER, **options)
            row = _promised(result, branches, task["omega"])
            yield {"family": task["family"], "factor": factor, "abandon_at_start": leaves, **row}


def _half(task: Task) -> Iterator[Row]:
    """A policy planned on a half of the fitting seeds: what the other half and the judging seeds deliver.

    A policy is chosen among many on the runs that it is counted on, so its promise may be too bold; what it
    is on runs that had no part in the choice says by how much. The policy of one half, its rows and its grid,
    is counted under a law that is fitted to the other half alone, runs unlike all seen left out. As pairs of
    runs share runs, the standard error is at most that of as many independent runs as the stage with the
    fewest donors has; that end is taken.
    """
    runs, setup = _runs(task["family"], task.get("every", 1)), load_setup("closed-loop")
    branches, omega = recorded_counterfactuals(task["family"]), task["omega"]
    mask = known_runs(runs, "halves", task["split"])
    planning, counting = (fit(runs.select(half), setup, care=None) for half in (mask, ~mask))
    asked = {name: task[name] for name in ("maximum_loss", "maximum_epochs")}
    switches = task.get("switches", branches.switch_epochs)
    policy = solve_policy(
        planning.replace(quantile_level=omega, **asked), switch_epochs=switches, time_limit=None
    ).policy
    if policy is None or counting.traced_law is None:
        yield {"split": task["split"], "counted": None, "judged": None}
        return
    other = counted(refitted(policy, counting.traced_law.law), counting.traced_law)
    share, judged = float(other.reached / (1 - other.unlike)), replay(policy, branches)
    yield {
        "split": task["split"],
        "counted": share,
        "counted_kept": kept(share, other.runs, omega),
        "judged": judged.delivered,
        "judged_kept": kept(judged.delivered, len(judged.runs), omega),
    }


def kept(share: float, runs: int, level: float) -> bool:
    """Whether a share is at least omega, but for two standard errors."""
    return share >= level - _ERRORS * math.sqrt(share * (1 - share) / runs)


def refitted(policy: Policy, law: AffineLaw) -> Policy:
    """The same rows, with the shifts and retentions of another law."""
    places: dict[int, Position | None] = {policy.start: None}
    nodes = []
    for number, node in enumerate(policy.nodes):  # later epochs stand behind earlier ones
        trainings = []
        for training in node.trainings:
            place = following(places[number], (training.model, training.cluster))
            places[training.following], step = place, law.step(place)
            shift = step.shift(place.start)
            trainings.append(msgspec.structs.replace(training, shift=shift, retention=step.retention))
        nodes.append(msgspec.structs.replace(node, trainings=tuple(trainings)))
    return msgspec.structs.replace(policy, nodes=tuple(nodes))


def closed_loop_figure(values: Mapping[str, Any]) -> "Figure":
    """Promised against delivered, from ``rows``: a column for each family and a row for each omega."""
    asked = [row for row in values["rows"] if row["rung"] in _ORDER]
    held = [{name: row[name] for name in ("rung", *_PROBLEM)} for row in asked]
    places = [dict(place) for place in dict.fromkeys(tuple(row.items())[1:] for row in held)]
    none = [{"rung": rung, **place} for place in places for rung in _ORDER]
    rows = [
        {
            **row,
            "asked": row["omega"],
            "problem": f"{row['maximum_loss']:g} in {row['maximum_epochs']}",
            "certified": row.get("promised"),
        }
        for row in [*asked, *(row for row in none if row not in held)]
    ]
    return delivered_figure(rows, _ORDER, "target loss in this many epochs")


def _figures(answers: Sequence[Mapping[str, Any]]) -> Row:
    rows, prices, halves = (
        [row for answer in answers if answer["kind"] == kind for row in answer["rows"]]
        for kind in ("problem", "price", "half")
    )
    policies = [row for row in rows if row["rung"] in POLICIES and row.get("promised") is not None]
    values: Row = {"promises": len(policies), "refuted_omega": refuted([row["p_value"] for row in policies])}
    for kind in ("counted", "ledger"):
        values[f"refuted_{kind}"] = refuted([of_promise(row) for row in policies if kind in row["rung"]])
    values["refuted_cost"] = refuted([of_cost(row) for row in policies])
    values["reset_refuted"] = refuted([row["p_value"] for row in rows if row["rung"] == RESET])
    values["given_up_at_start"] = sum(row["abandoned_at_start"] for row in policies)
    for level in LEVELS:
        own, least = cost_ratios(rows, level), cost_ratios(rows, level, CLAIRVOYANT)
        values[f"ratio_{100 * level:.0f}"] = max(own, default=math.nan)
        values[f"mean_ratio_{100 * level:.0f}"] = _mean(own)
        values[f"least_ratio_{100 * level:.0f}"] = _mean(least)
    for kind in ("counted", "judged"):
        values[f"{kind}_broken"] = sum(row.get(f"{kind}_kept") is False for row in halves)
    return {**values, "rows": rows, "prices": prices, "halves": halves}


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def cost_ratios(rows: Sequence[Row], level: float, rung: str = OPTIMAL_COUNTED) -> list[float]:
    """Costs in that of the fixed plan trained to its end, of the problems that are not tight."""
    asked = [row for row in rows if row["omega"] == level and row["maximum_epochs"] != TIGHT_EPOCHS]
    costs = {(row["rung"], row["family"], row["maximum_loss"]): row["cost"] for row in asked if "cost" in row}
    keys = [key for name, *key in costs if name == rung]
    return [costs[rung, *key] / costs[FIXED, *key] for key in keys if (FIXED, *key) in costs]


def refuted(p_values: Sequence[float]) -> int:
    """How many of several promises are refuted at 5 % all together: Holm's step-down procedure."""
    ordered = sorted(p_values)
    for place, value in enumerate(ordered):
        if value > _SIGNIFICANCE / (len(ordered) - place):
            return place
    return len(ordered)


def of_promise(row: Mapping[str, Any]) -> float:
    """p-value of the certified probability itself, which is above omega where the promise is slack."""
    missed = round((1 - row["delivered"]) * row["runs"])
    return binomial_p_values(missed, row["runs"], min(row["promised"], _HIGHEST))[1]


def of_cost(row: Mapping[str, Any]) -> float:
    """p-value of the certified cost: the mean of the runs against it, by Student's one-sided test."""
    excess, error = row["cost"] - row["promised_cost"], row["cost_error"]
    return float(stats.t.sf(excess / error, row["runs"] - 1)) if error > 0 else float(excess <= 0)


_BROKEN = "splits of 20 that deliver less than 0.95 - 2 s.e."
STUDY = Study(
    name="closed-loop",
    summary="Policies that watch the run, followed on real training of 120 seeds that nothing was fitted to.",
    goals=(
        Goal("refuted_omega", "promises of 0.90 and 0.95 refuted on the judging seeds (5 %, Holm)", "<=", 0),
        Goal("refuted_counted", "probabilities certified by counting, refuted likewise", "<=", 0),
        Goal("refuted_ledger", "probabilities certified on the ledger, refuted likewise", "<=", 0),
        Goal("given_up_at_start", "runs given up before epoch 1 at the default price of a failure", "<=", 0),
        Goal("ratio_90", "0.90, counted: cost over that of the fixed plan, worst target", "<=", 0.85),
        Goal("ratio_95", "0.95, counted: cost over that of the fixed plan, worst target", "<=", 0.77),
        Goal("counted_broken", f"planned on a half: {_BROKEN} on the other half", "<=", 2),
        Goal("judged_broken", f"planned on a half: {_BROKEN} on the judging seeds", "<=", 2),
    ),
    tasks=_tasks,
    run=_run,
    figures=_figures,
    draw=closed_loop_figure,
)
