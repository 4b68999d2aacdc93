"""The loop closed on real training: pilot runs, import, diagnosis, fit, plan, policy, led runs, verdict.

The page ``docs/training_loop.rst`` tells what is done, by the commands that anybody would give. The rules for
the target, for what people do today and for what is judged stood before the first run; the design of the
pilots did not, but no fresh run had been judged then.
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
from depl.benchmarks.studies.loop.program import STAGES, Led, Rule, lead, log
from depl.benchmarks.studies.loop.rules import (
    SwitchOnce,
    cost,
    patience,
    threshold,
    usual_epochs,
    usual_switch,
)
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
FIXED, TRAINED_ON, POLICY = "fixed number of epochs", "plan, all epochs", "policy"
_REFUTED = 3
"""Exit code of ``depl certify`` where runs refute the promise."""

Row = dict[str, Any]


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    del rng  # every run has a seed of its own
    if smoke:  # one run of three epochs, led by a threshold that it does not meet
        run = lead(FIRST_FRESH, SwitchOnce(1, 3, 0.0, threshold(0.0)))
        nothing = dict.fromkeys(("plan_p_value", "policy_p_value", "policy_cost"), math.nan)
        return {**nothing, "rows": [_row("threshold", [run], 0.0, (1.0, 1.0))]}
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        pilots = _pilots()
        target = round(float(np.quantile([run.losses[-1] for run in pilots], TARGET_QUANTILE)), 2)
        commands = _planned(target)
        instance = Instance.from_json(Path("mine.json").read_text(encoding="utf-8"))
        nodes = process(proxy(instance), switch_epochs=PILOT_SWITCHES).nodes
        found = {(item.model, item.cluster): item.price for node in nodes for item in node.trainings}
        prices = found[STAGES[0]], found[STAGES[1]]
        led = {
            name: [lead(FIRST_FRESH + number, rule()) for number in range(FRESH)]
            for name, rule in _strategies(instance, pilots, target, prices).items()
        }
        commands += _certified(led[TRAINED_ON], target)
    rows = {name: _row(name, runs, target, prices) for name, runs in led.items()}
    return {
        **_figures(rows),
        "target": target,
        "omega": OMEGA,
        "prices": prices,
        "pilots": len(pilots),
        "commands": commands,
        "rows": list(rows.values()),
    }


def _pilots() -> list[Led]:
    """Train them, to their last epoch, and leave a log of each in the folder ``logs``."""
    Path("logs").mkdir()
    found = []
    for place, switch in enumerate(PILOT_SWITCHES):
        for number in range(PILOTS_EACH):
            seed = FIRST_PILOT + place * PILOTS_EACH + number
            found.append(lead(seed, SwitchOnce(switch, EPOCHS, -math.inf)))
            log(found[-1], Path("logs", f"pilot-{seed}.jsonl"))
    return found


def _planned(target: float) -> list[dict[str, str]]:
    """From the logs to a plan and a policy, by commands alone; returns the commands with what they said."""
    switches, setup = ",".join(map(str, PILOT_SWITCHES)), load_setup(SETUP)
    wanted = msgspec.structs.replace(
        setup.target, maximum_loss=target, quantile_level=OMEGA, maximum_epochs=EPOCHS
    )
    chosen = msgspec.structs.replace(setup, name="training-loop", target=wanted, provenance=())
    Path("setup.json").write_text(chosen.to_json(), encoding="utf-8")
    commands = (
        "traces import logs --loss val_loss --first 1 --out runs.csv",
        "diagnose runs.csv",
        "fit runs.csv --template setup.json --out mine.json",
        "solve mine.json --out plan.json",
        "fit runs.csv --template setup.json --care 0 --out counted.json",
        f"policy solve counted.json --switch-epochs {switches} --out policy.json",
        "policy show policy.json",
        "report mine.json plan.json --out report.html",
    )
    return [_said(command) for command in commands]


def _said(command: str, *codes: int) -> dict[str, str]:
    """What a command prints; it is an error if it ends with an exit code other than 0 and ``codes``."""
    called = [sys.executable, "-m", "depl", *command.split()]
    ended = subprocess.run(called, capture_output=True, text=True, check=False)
    if ended.returncode not in (0, *codes):
        raise InvalidInputError(f"depl {command} ended with {ended.returncode}: {ended.stderr}")
    return {"command": f"depl {command}", "text": ended.stdout}


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
        FIXED: lambda: SwitchOnce(switch, epochs, target),
        "patience": lambda: SwitchOnce(switch, EPOCHS, target, patience),
        "threshold": lambda: SwitchOnce(switch, EPOCHS, target, threshold(target)),
        TRAINED_ON: lambda: SwitchOnce(first, len(plan.epochs), target),
        "plan, left when reached": lambda: Controller(plan, instance=instance),
        POLICY: lambda: Controller(policy),
    }


def _certified(judges: Sequence[Led], target: float) -> list[dict[str, str]]:
    """Judge the plan by runs that were trained to its end."""
    Path("fresh").mkdir()
    for run in judges:
        log(run, Path("fresh", f"fresh-{run.seed}.jsonl"))
    asked = f"--target {target} --omega {OMEGA} --plan plan.json --chosen-by mine.json"
    return [
        _said("traces import fresh --loss val_loss --first 1 --out fresh.csv"),
        _said(f"certify fresh.csv {asked}", _REFUTED),
    ]


def _row(name: str, runs: Sequence[Led], target: float, prices: tuple[float, float]) -> Row:
    """How often a rule got there, and what its runs cost; in the mean with its standard error."""
    reached = sum(run.epochs > run.first and run.losses[-1] <= target for run in runs)
    costs = np.array([cost(run, run.epochs, prices) for run in runs])
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
        "p_value": refuting_p_value(len(runs) - reached, len(runs), OMEGA),
    }


def _figures(rows: Mapping[str, Row]) -> dict[str, float]:
    return {
        "plan_p_value": rows[TRAINED_ON]["p_value"],
        "policy_p_value": rows[POLICY]["p_value"],
        "policy_cost": rows[POLICY]["cost"] / rows[FIXED]["cost"],
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
