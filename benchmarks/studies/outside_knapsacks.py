"""Knapsacks by depl and by solvers of others, in one run: the optima agree, and how much longer each takes.

*Ordinary*: Pisinger's published files of 100 to 1000 items, and the families of kplib
(`depl.instances.hard_knapsacks`) with 50 items, by the method of ``depl knapsack``, ``scenario-search``,
beside HiGHS, SCIP and OR-tools. *With normal weights*: published ones of Monaci, Pferschy and Serafini
(2013), with optima by Wang et al., by ``exact``, beside SCIP, which is given a second-order cone, and the
label setting of Wang et al. These solvers are made for knapsacks or for linear programs; depl plans epochs of
training, of which a knapsack is a special case, and pays for that. Ratios are geometric means of CPU seconds
over those of depl, of the knapsacks that both proved; peers that are not at hand have None
(`depl.benchmarks.studies.helpers.knapsack_peers`).
"""

import math
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.measure.solving import warm_up
from depl.benchmarks.studies.helpers.knapsack_peers import PeerAnswer, chance_peers, peers
from depl.instances.chance_knapsack_files import shipped_robust_knapsack, shipped_robust_knapsacks
from depl.instances.hard_knapsacks import FAMILIES, hard_knapsack
from depl.instances.knapsack_files import shipped_knapsack
from depl.instances.reductions import chance_knapsack, knapsack_by_cost
from depl.instances.reductions.knapsack import ChanceKnapsack, Knapsack
from depl.models.solving.result import Termination
from depl.models.solving.solve import solve

_SECONDS = 20.0
"""Limit of every solve: a run of some hundred takes less than an hour then."""

_SIZES = (100, 200, 500, 1000)
_ITEMS, _LARGEST = 50, 1000
_ROUNDING = 1e-6
"""Relative: solvers of others keep rows to 1e-6."""
_LEAST = 1e-3
"""CPU seconds below which a clock says nothing: as many are counted."""
_PEERS = {"ordinary": ("highs", "scip", "or-tools"), "normal-weights": ("scip", "label-setting")}


class _Question(NamedTuple):
    """A knapsack, and its published optimum if there is one."""

    group: str
    name: str
    knapsack: Knapsack | ChanceKnapsack
    optimum: float | None


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    if not smoke:  # nobody reads the times of a smoke run
        warm_up("exact")
        warm_up("scenario-search")
    rows = [_row(question, 1.0 if smoke else _SECONDS) for question in _questions(rng, smoke)]
    return {
        "knapsacks": {group: sum(row["group"] == group for row in rows) for group in _PEERS},
        "published": sum(row["published"] is not None for row in rows),
        "wrong": sum(row["wrong"] for row in rows),
        "proved": {group: _proved(rows, group, "depl") for group in _PEERS},
        "proved_by": {
            group: {name: _proved(rows, group, name) for name in _PEERS[group]} for group in _PEERS
        },
        "ratio": {group: {name: _ratio(rows, group, name) for name in _PEERS[group]} for group in _PEERS},
        "robust_not_proved": sum(
            not row["answers"]["depl"]["proved"] for row in rows if row["group"] == "normal-weights"
        ),
        "rows": rows,
    }


def _questions(rng: np.random.Generator, smoke: bool) -> Iterator[_Question]:
    names = shipped_robust_knapsacks()
    for name in names[:1] if smoke else names:
        knapsack, value = shipped_robust_knapsack(name)
        yield _Question("normal-weights", name, knapsack, float(value))
    for kind in (1,) if smoke else (1, 2, 3):
        for items in _SIZES[:1] if smoke else _SIZES:
            named = shipped_knapsack(f"knapPI_{kind}_{items}_1000_1")
            optimum = None if named.optimum is None else float(named.optimum)
            yield _Question("ordinary", named.name, named.knapsack, optimum)
    for family in () if smoke else FAMILIES:
        drawn = hard_knapsack(family, _ITEMS, rng, _LARGEST, 50, 99)
        yield _Question("ordinary", f"{family}-{_ITEMS}", drawn, None)


def _row(question: _Question, seconds: float) -> dict[str, Any]:
    group, name, knapsack, published = question
    answers = {"depl": _by_depl(knapsack, seconds)}
    if isinstance(knapsack, ChanceKnapsack):
        answers |= {peer: ask(knapsack, seconds) for peer, ask in chance_peers().items()}
    else:
        answers |= {peer: ask(knapsack, seconds) for peer, ask in peers().items()}
    return {
        "group": group,
        "name": name,
        "items": len(knapsack),
        "published": published,
        "wrong": _wrong(answers, published),
        "answers": {peer: answer._asdict() for peer, answer in answers.items()},
    }


def _by_depl(knapsack: Knapsack | ChanceKnapsack, seconds: float) -> PeerAnswer:
    clock = time.process_time()
    if isinstance(knapsack, ChanceKnapsack):
        result = solve(chance_knapsack.reduce(knapsack), "exact", time_limit=seconds)
        value = None if result.cost is None else chance_knapsack.value_of_cost(knapsack, result.cost)
    else:
        result = solve(knapsack_by_cost.reduce(knapsack), "scenario-search", scenarios=1, time_limit=seconds)
        value = None if result.cost is None else knapsack_by_cost.value_of_cost(knapsack, result.cost)
    clock = time.process_time() - clock
    return PeerAnswer(
        None if value is None else float(value), result.termination is Termination.OPTIMAL, clock
    )


def _wrong(answers: Mapping[str, PeerAnswer], published: float | None) -> bool:
    """Whether depl proves what another one, or the publication, refutes."""
    held = answers["depl"]
    if not held.proved or held.value is None:
        return False
    others = [answer.value for peer, answer in answers.items() if peer != "depl" and answer.proved]
    known = [value for value in (*others, published) if value is not None]
    return any(not math.isclose(held.value, value, rel_tol=_ROUNDING) for value in known)


def _proved(rows: Iterable[Mapping[str, Any]], group: str, name: str) -> int | None:
    """How many of a group a solver proved; None if it was not at hand."""
    asked = [row["answers"].get(name) for row in rows if row["group"] == group]
    return None if None in asked else sum(answer["proved"] for answer in asked)


def _ratio(rows: Iterable[Mapping[str, Any]], group: str, name: str) -> float | None:
    """Geometric mean of CPU seconds of a solver over those of depl, of those that both proved."""
    both = [
        (row["answers"][name], row["answers"]["depl"])
        for row in rows
        if row["group"] == group and name in row["answers"]
    ]
    both = [pair for pair in both if all(answer["proved"] for answer in pair)]
    shares = [max(other["seconds"], _LEAST) / max(own["seconds"], _LEAST) for other, own in both]
    return statistics.geometric_mean(shares) if shares else None


STUDY = Study(
    name="outside-knapsacks",
    summary="Knapsacks by depl beside HiGHS, SCIP, OR-tools and a published label setting.",
    goals=(
        Goal("wrong", "optima of depl that another solver or the publication refutes", "==", 0),
        Goal("published", "knapsacks with a published optimum", ">=", 20),
        Goal("robust_not_proved", "published knapsacks with normal weights not proved within 20 s", "==", 0),
    ),
    run=_run,
    seed=26,
)
