"""The loop closed on real training: pilot runs, import, diagnosis, fit, plan, policy, led runs, verdict.

The page ``docs/training_loop.rst`` tells what is done, by the commands that anybody would give. The rules for
the target, for what people do today and for what is judged stood before the first run; the design of the
pilots did not, but no fresh run had been judged then.
"""

import contextlib
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec
import numpy as np

from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.closed_loop import epoch_prices
from depl.benchmarks.studies.helpers.delivered import delivered, mean_cost
from depl.instances.setups import load_setup
from depl.instances.training.families import family
from depl.instances.training.names import DIGITS_ALEXNET
from depl.instances.training.runs import DECIMALS, Epoch, Training, one_thread
from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.controller import Controller
from depl.models.policy.decisions import Stop
from depl.models.policy.planning import proxy
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
STAGES = (("pruned-50", "edge"), ("pruned-75", "far-edge"))
"""Model and cluster of the first stage and of the second, whose model is to be deployed."""
_FACTORS = {"pruned-50": 0.5, "pruned-75": 0.75}
FIXED, TRAINED_ON, POLICY = "fixed number of epochs", "plan, all epochs", "policy"
_REFUTED = 3
"""Exit code of ``depl certify`` where runs refute the promise."""

Row = dict[str, Any]
Site = tuple[str, str]
Following = Callable[[Sequence[float]], Site | None]
"""What is trained next after these losses, the first of them before the first epoch; None: the run ends."""
Enough = Callable[[Sequence[float]], bool]
"""Whether to stop after these losses of the second stage."""


class Led(NamedTuple):
    """A led run: epochs in all and of the first stage, losses before the first epoch and after each."""

    seed: int
    epochs: int
    first: int
    losses: tuple[float, ...]


def lead(seed: int, following: Following) -> Led:
    """A training program as anybody might have one: it trains, evaluates, and asks how to go on.

    What trains is a family of `depl.instances.training`, so that runs can be repeated bit by bit.
    """
    chosen = family(DIGITS_ALEXNET)
    with one_thread():
        training = Training(chosen.task(), chosen.generator(seed))
        twin = training.branch()  # the loss before the first epoch is found on a branch that is thrown away
        twin.train(Epoch(_FACTORS[STAGES[0][0]], STAGES[0][1]))
        losses, trained = [round(float(twin.run().loss[0]), DECIMALS)], list[Site]()
        while (site := following(losses)) is not None:
            training.train(Epoch(_FACTORS[site[0]], site[1]))
            trained.append(site)
            losses.append(round(float(training.run().loss[-1]), DECIMALS))
    return Led(seed, len(trained), trained.count(STAGES[0]), tuple(losses))


def controlled(controller: Controller) -> Following:
    """As a plan or a policy decides."""

    def following(losses: Sequence[float]) -> Site | None:
        decision = controller.observe(losses[-1]) if len(losses) > 1 else controller.start(losses[0])
        return None if isinstance(decision, Stop) else (decision.model, decision.cluster)

    return following


def switching(switch: int, epochs: int) -> Following:
    """So many epochs, with the second stage after ``switch`` of them."""
    return lambda losses: None if len(losses) > epochs else STAGES[len(losses) > switch]


def left(run: Led, epochs: int, enough: Enough = lambda losses: False) -> Led:
    """The beginning of a run that somebody stops after so many epochs, or when there is ``enough``."""
    second = range(run.first + 1, epochs)
    end = next((epoch for epoch in second if enough(run.losses[run.first + 1 : epoch + 1])), epochs)
    return run._replace(epochs=end, losses=run.losses[: end + 1])


def patience(losses: Sequence[float], last: int = 5) -> bool:
    """Whether so many last losses are no better than the best one before."""
    return len(losses) > last and min(losses[-last:]) >= min(losses[:-last])


def threshold(target: float) -> Enough:
    """Stop as soon as the target is met."""
    return lambda losses: losses[-1] <= target


def log(run: Led) -> str:
    """What a run has shown, as its program would write it: hyperparameters, then a line per epoch."""
    parts = zip(STAGES, (run.first, run.epochs - run.first), strict=True)
    stages = ",".join(f"{model}@{cluster}:{epochs}" for (model, cluster), epochs in parts if epochs)
    lines: list[Row] = [{"hparams": {"seed": run.seed, "stages": stages}}]
    lines += [{"epoch": epoch, "val_loss": loss} for epoch, loss in enumerate(run.losses)]
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def cost(run: Led, epochs: int, prices: Sequence[float]) -> float:
    """Of the first epochs of a run, at the price of an epoch of either stage."""
    return prices[0] * min(run.first, epochs) + prices[1] * max(0, epochs - run.first)


def usual_switch(pilots: Sequence[Led], target: float, prices: Sequence[float]) -> int:
    """The switch of the pilots with which the target was met at the least cost on average.

    A pilot that did not meet it counts with the cost of all its epochs.
    """
    found: dict[int, list[float]] = {}
    for run in pilots:
        second = range(run.first + 1, run.epochs + 1)
        met = next((epoch for epoch in second if run.losses[epoch] <= target), run.epochs)
        found.setdefault(run.first, []).append(cost(run, met, prices))
    return min(found, key=lambda switch: (sum(found[switch]) / len(found[switch]), switch))


def usual_epochs(pilots: Sequence[Led], switch: int, target: float, share: float) -> int:
    """The least number of epochs by which this share of the pilots with this switch ended at the target.

    All of their epochs if there is none.
    """
    met = np.array([run.losses[switch + 1 :] for run in pilots if run.first == switch]) <= target
    enough = np.flatnonzero(met.sum(axis=0) >= share * len(met))
    return switch + (int(enough[0]) + 1 if enough.size else met.shape[1])


def _tasks(rng: np.random.Generator, smoke: bool) -> Iterator[Row]:
    """All of it is one task: the plan and the policy are made of the pilots, and lead the fresh runs."""
    del rng  # every run has a seed of its own
    yield {"pilots": 0 if smoke else PILOTS_EACH, "fresh": 1 if smoke else FRESH}


def _run(task: Mapping[str, Any]) -> Row:
    fresh = range(FIRST_FRESH, FIRST_FRESH + task["fresh"])
    if not task["pilots"]:  # runs of three epochs
        return {"rows": [_row("threshold", [lead(seed, switching(1, 3)) for seed in fresh], 0.0, (1, 1))]}
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        pilots = [
            lead(FIRST_PILOT + place * task["pilots"] + number, switching(switch, EPOCHS))
            for place, switch in enumerate(PILOT_SWITCHES)
            for number in range(task["pilots"])
        ]
        target = round(float(np.quantile([run.losses[-1] for run in pilots], TARGET_QUANTILE)), 2)
        commands = _planned(pilots, target)
        instance = Instance.from_json(Path("mine.json").read_text(encoding="utf-8"))
        prices = epoch_prices(proxy(instance), PILOT_SWITCHES, STAGES)
        led = _led(instance, pilots, target, prices, fresh)
        # runs that were trained to the end of the plan judge it
        commands.append(_imported(led[TRAINED_ON], "fresh", "fresh", "fresh.csv"))
        asked = f"--target {target} --omega {OMEGA} --plan plan.json --chosen-by mine.json"
        commands.append(_said(f"certify fresh.csv {asked}", _REFUTED))
    rows = [_row(name, runs, target, prices) for name, runs in led.items()]
    return {"target": target, "omega": OMEGA, "prices": prices, "commands": commands, "rows": rows}


def _planned(pilots: Sequence[Led], target: float) -> list[Row]:
    """From the logs to a plan and a policy, by commands alone; returns the commands with what they said."""
    setup, switches = load_setup(SETUP), ",".join(map(str, PILOT_SWITCHES))
    wanted = msgspec.structs.replace(
        setup.target, maximum_loss=target, quantile_level=OMEGA, maximum_epochs=EPOCHS
    )
    chosen = msgspec.structs.replace(setup, name="training-loop", target=wanted, provenance=())
    Path("setup.json").write_text(chosen.to_json(), encoding="utf-8")
    commands = (
        "diagnose runs.csv",
        "fit runs.csv --template setup.json --out mine.json",
        "solve mine.json --out plan.json",
        "fit runs.csv --template setup.json --care 0 --out counted.json",
        f"policy solve counted.json --switch-epochs {switches} --out policy.json",
        "policy show policy.json",
        "report mine.json plan.json --out report.html",
    )
    return [_imported(pilots, "logs", "pilot", "runs.csv"), *map(_said, commands)]


def _imported(runs: Sequence[Led], folder: str, name: str, file: str) -> Row:
    """Logs of runs in a folder, read into one file."""
    Path(folder).mkdir()
    for run in runs:
        Path(folder, f"{name}-{run.seed}.jsonl").write_text(log(run), encoding="utf-8")
    return _said(f"traces import {folder} --loss val_loss --first 1 --out {file}")


def _said(command: str, *codes: int) -> Row:
    """What a command prints; it is an error if it ends with an exit code other than 0 and ``codes``."""
    called = [sys.executable, "-m", "depl", *command.split()]
    ended = subprocess.run(called, capture_output=True, text=True, check=False)
    if ended.returncode not in (0, *codes):
        raise InvalidInputError(f"depl {command} ended with {ended.returncode}: {ended.stderr}")
    return {"command": f"depl {command}", "text": ended.stdout}


def _led(
    instance: Instance, pilots: Sequence[Led], target: float, prices: Sequence[float], fresh: Sequence[int]
) -> dict[str, list[Led]]:
    """Fresh runs by what leads them; all seeds are alike, so whoever only stops a run leaves one earlier."""
    plan = Plan.from_json(Path("plan.json").read_text(encoding="utf-8"))
    first = sum(epoch.model == STAGES[0][0] for epoch in plan.epochs)
    policy = Path("policy.json").read_text(encoding="utf-8")
    switch = usual_switch(pilots, target, prices)
    epochs = usual_epochs(pilots, switch, target, USUAL_SHARE)
    usual = [lead(seed, switching(switch, EPOCHS)) for seed in fresh]
    planned = (controlled(Controller(plan, instance=instance)) for _ in fresh)
    watched = (controlled(Controller(policy)) for _ in fresh)
    return {
        FIXED: [left(run, epochs) for run in usual],
        "patience": [left(run, EPOCHS, patience) for run in usual],
        "threshold": [left(run, EPOCHS, threshold(target)) for run in usual],
        TRAINED_ON: [lead(seed, switching(first, len(plan.epochs))) for seed in fresh],
        "plan, left when reached": list(map(lead, fresh, planned)),
        POLICY: list(map(lead, fresh, watched)),
    }


def _row(name: str, runs: Sequence[Led], target: float, prices: Sequence[float]) -> Row:
    """How often a rule got there, and what its runs cost; in the mean with its standard error."""
    reached = sum(run.epochs > run.first and run.losses[-1] <= target for run in runs)
    mean, error = mean_cost([cost(run, run.epochs, prices) for run in runs])
    return {
        "rule": name,
        **delivered(len(runs) - reached, len(runs), OMEGA),
        "reached": reached,
        "cost": mean,
        "standard_error": error,
        "epochs": float(np.mean([run.epochs for run in runs])),
    }


def _figures(answers: Sequence[Mapping[str, Any]]) -> Row:
    (answer,) = answers
    told = {
        name: answer[name] for name in ("target", "omega", "prices", "commands", "rows") if name in answer
    }
    told["pilots"] = len(PILOT_SWITCHES) * answer["pilots"]
    rows = {row["rule"]: row for row in answer["rows"]}
    if POLICY not in rows:
        return told | dict.fromkeys(("plan_p_value", "policy_p_value", "policy_cost"), math.nan)
    return {
        "plan_p_value": rows[TRAINED_ON]["p_value"],
        "policy_p_value": rows[POLICY]["p_value"],
        "policy_cost": rows[POLICY]["cost"] / rows[FIXED]["cost"],
        **told,
    }


STUDY = Study(
    name="training-loop",
    summary="Pilot runs to plan, policy and verdict on real training, against what people do today.",
    goals=(
        Goal("plan_p_value", "plan, all epochs: p-value against the promise of 0.90", ">=", 0.05),
        Goal("policy_p_value", "policy: the same", ">=", 0.05),
        Goal("policy_cost", "cost of the policy in that of a fixed number of epochs", "<=", 0.85),
    ),
    tasks=_tasks,
    run=_run,
    figures=_figures,
    seed=20261124,
)
