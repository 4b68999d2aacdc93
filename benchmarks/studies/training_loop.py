"""The loop closed on real training: pilot runs, import, diagnosis, fit, plan, policy, led runs, verdict.

A training program (`depl.benchmarks.studies.loop.program`) trains 120 pilot runs and logs them as JSON Lines.
From there on everything is done by the commands that anybody would give: ``depl traces import``,
``diagnose``, ``fit``, ``solve``, ``policy solve``. Then 120 fresh runs are led by `depl.Controller`, with the
plan and with the policy, and ``depl certify`` judges fresh runs of the plan. The same seeds are led by what
people do today: a fixed number of epochs, patience, and a threshold, for which the pilots choose the switch
and the number of epochs. The rules for the target, for these numbers and for what is judged stood before the
first run. The design of the pilots did not: ten or twelve schedules with fewer runs each were tried before,
with which no policy was found, or none could be counted; no fresh run but two, which only showed that the
program works, had been trained then. That record trained clients that use Adam, a family that had been
diagnosed on other seeds; it is no longer trained, and the case takes `digits-alexnet` since.
"""

import contextlib
import math
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import numpy as np

from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.loop.program import FAMILY, STAGES, Led, Rule, lead, log
from depl.benchmarks.studies.loop.rules import Patience, SwitchOnce, Threshold, usual_epochs, usual_switch
from depl.instances.setups import load_setup
from depl.models.estimation.binomial import clopper_pearson, refuting_p_value
from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.controller import Controller
from depl.models.policy.counted_planner import proxy
from depl.models.policy.process import process
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan

PILOT_SWITCHES, PILOTS_EACH, EPOCHS = (6, 10, 14, 18), 30, 40
"""Thirty runs of each schedule: a promise of 0.90 takes nine where none misses, and here some will."""

FRESH = 120
FIRST_PILOT, FIRST_FRESH = 5_000_000, 6_000_000
"""Seeds: of no other runs of the project."""

OMEGA = 0.9
TARGET_QUANTILE = 0.75
"""The target is this quantile of the pilots' last losses: three of four of these long runs end below it, and
a promise of 0.90 takes a better schedule than most of them had, or stopping at the right time."""

USUAL_SHARE = 0.95
"""A fixed number of epochs is set so that this share of pilots had ended at the target by then."""

SETUP = "closed-loop"
"""Whose clusters, models and prices."""

TRAINED_ON = "plan, all epochs"
"""The rule that trains every run to the end of the plan, as the promise of a plan is about."""


_REFUTED = 3
"""Exit code of ``depl certify`` where runs refute the promise."""


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    del rng  # every run has a seed of its own
    if smoke:
        return _smoke()
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        pilots = _pilots()
        target = round(float(np.quantile([run.losses[-1] for run in pilots], TARGET_QUANTILE)), 2)
        commands = _planned(target)
        instance = Instance.from_json(Path("mine.json").read_text(encoding="utf-8"))
        prices = _prices(instance)
        led = {
            name: [lead(FIRST_FRESH + number, rule()) for number in range(FRESH)]
            for name, rule in _strategies(instance, pilots, target, prices).items()
        }
        commands += _certified(led[TRAINED_ON], target)
    rows = [_row(name, runs, target, prices) for name, runs in led.items()]
    return {
        **_measured(rows),
        "family": FAMILY,
        "target": target,
        "omega": OMEGA,
        "prices": prices,
        "pilots": len(pilots),
        "fresh": FRESH,
        "commands": commands,
        "rows": rows,
    }


def _smoke() -> Mapping[str, object]:
    """One run of three epochs, led by a threshold that it does not meet."""
    rows = [_row("threshold", [lead(FIRST_FRESH, Threshold(1, 3, 0.0))], 0.0, (1.0, 1.0))]
    return {"plan_p_value": math.nan, "policy_p_value": math.nan, "policy_cost": math.nan, "rows": rows}


def _pilots() -> list[Led]:
    """Train them, to their last epoch, and leave a log of each in the folder ``logs``."""
    Path("logs").mkdir()
    found = []
    for place, switch in enumerate(PILOT_SWITCHES):
        for number in range(PILOTS_EACH):
            seed = FIRST_PILOT + place * PILOTS_EACH + number
            found.append(lead(seed, SwitchOnce(switch, EPOCHS, float("-inf"))))
            log(found[-1], Path("logs", f"pilot-{seed}.jsonl"))
    return found


def _planned(target: float) -> list[dict[str, str]]:
    """From the logs to a plan and a policy, by commands alone; returns the commands with what they said."""
    switches = ",".join(map(str, PILOT_SWITCHES))
    setup = load_setup(SETUP)
    wanted = msgspec.structs.replace(
        setup.target, maximum_loss=target, quantile_level=OMEGA, maximum_epochs=EPOCHS
    )
    chosen = msgspec.structs.replace(setup, name="training-loop", target=wanted, provenance=())
    Path("setup.json").write_text(chosen.to_json(), encoding="utf-8")
    return [
        _said("traces import logs --loss val_loss --first 1 --out runs.csv"),
        _said("diagnose runs.csv"),
        _said("fit runs.csv --template setup.json --out mine.json"),
        _said("solve mine.json --out plan.json"),
        _said("fit runs.csv --template setup.json --care 0 --out counted.json"),
        _said(f"policy solve counted.json --switch-epochs {switches} --out policy.json"),
        _said("policy show policy.json"),
        _said("report mine.json plan.json --out report.html"),
    ]


def _said(command: str, *codes: int) -> dict[str, str]:
    """What a command prints.

    Raises
    ------
    InvalidInputError
        If it ends with an exit code other than 0 and ``codes``.
    """
    ended = subprocess.run(
        [sys.executable, "-m", "depl", *command.split()], capture_output=True, text=True, check=False
    )
    if ended.returncode not in (0, *codes):
        raise InvalidInputError(f"depl {command} ended with {ended.returncode}: {ended.stderr}")
    return {"command": f"depl {command}", "text": ended.stdout}


def _prices(instance: Instance) -> tuple[float, float]:
    """Cost of an epoch of either stage."""
    nodes = process(proxy(instance), switch_epochs=PILOT_SWITCHES).nodes
    found = {(item.model, item.cluster): item.price for node in nodes for item in node.trainings}
    return found[STAGES[0]], found[STAGES[1]]


def _strategies(
    instance: Instance, pilots: Sequence[Led], target: float, prices: tuple[float, float]
) -> dict[str, Callable[[], Rule]]:
    """What leads a fresh run, anew for each."""
    plan = Plan.from_json(Path("plan.json").read_text(encoding="utf-8"))
    first = sum(epoch.model == STAGES[0][0] for epoch in plan.epochs)
    policy = Path("policy.json").read_text(encoding="utf-8")
    switch = usual_switch(pilots, target, prices)
    epochs = usual_epochs(pilots, switch, target, USUAL_SHARE)
    return {
        "fixed number of epochs": lambda: SwitchOnce(switch, epochs, target),
        "patience": lambda: Patience(switch, EPOCHS, target),
        "threshold": lambda: Threshold(switch, EPOCHS, target),
        TRAINED_ON: lambda: SwitchOnce(first, len(plan.epochs), target),
        "plan, left when reached": lambda: Controller(plan, instance=instance),
        "policy": lambda: Controller(policy),
    }


def _certified(judges: Sequence[Led], target: float) -> list[dict[str, str]]:
    """Judge the plan by runs that were trained to its end."""
    Path("fresh").mkdir()
    for run in judges:
        log(run, Path("fresh", f"fresh-{run.seed}.jsonl"))
    return [
        _said("traces import fresh --loss val_loss --first 1 --out fresh.csv"),
        _said(
            f"certify fresh.csv --target {target} --omega {OMEGA} --plan plan.json --chosen-by mine.json",
            _REFUTED,
        ),
    ]


def _row(name: str, runs: Sequence[Led], target: float, prices: tuple[float, float]) -> dict[str, object]:
    """How often a rule got there, and what its runs cost; in the mean with its standard error."""
    reached = sum(run.epochs > run.first and run.losses[-1] <= target for run in runs)
    costs = np.array([prices[0] * run.first + prices[1] * (run.epochs - run.first) for run in runs])
    ends = clopper_pearson(reached, len(runs), 0.95)
    return {
        "rule": name,
        "runs": len(runs),
        "reached": reached,
        "lower": ends.lower,
        "upper": ends.upper,
        "cost": float(costs.mean()),
        "standard_error": float(costs.std(ddof=1) / np.sqrt(len(costs))) if len(costs) > 1 else None,
        "epochs": float(np.mean([run.epochs for run in runs])),
        "longest": max(run.epochs for run in runs),
        "p_value": refuting_p_value(len(runs) - reached, len(runs), OMEGA),
    }


def _measured(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The figures of the goals."""
    found = {row["rule"]: row for row in rows}
    return {
        "plan_p_value": found[TRAINED_ON]["p_value"],
        "policy_p_value": found["policy"]["p_value"],
        "policy_cost": found["policy"]["cost"] / found["fixed number of epochs"]["cost"],
    }


STUDY = Study(
    name="training-loop",
    summary="Pilot runs to plan, policy and verdict on real training, against what people do today.",
    goals=(
        Goal("plan_p_value", "plan, all epochs: p-value against the promise of 0.90", ">=", 0.05),
        Goal("policy_p_value", "policy: the same", ">=", 0.05),
        Goal("policy_cost", "cost of the policy in that of a fixed number of epochs", "<=", 0.85),
    ),
    run=_run,
    seed=20261124,
)
