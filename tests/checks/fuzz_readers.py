"""Every reader of files that a user can name: what it reads well, how that is spoilt, and how it is read."""

import contextlib
import functools
import io
import json
import shutil
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from depl.benchmarks.measure import results
from depl.benchmarks.measure.store import read_file
from depl.cli import main
from depl.instances.chance_knapsack_files import read_chance_knapsack
from depl.instances.knapsack_files import read_knapsacks
from depl.instances.library import load
from depl.instances.setups import load_setup, setup_template
from depl.instances.shipped import strip_comments
from depl.models.foundation.documents import read_text
from depl.models.policy.controller import Controller, led
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.problem.policy import Policy
from depl.models.scenarios.draws import draw_scenarios, load_scenarios, save_scenarios
from depl.models.solving.replanning import State, check_state
from depl.models.tool_logs import finding
from depl.models.tool_logs.importing import Choices, import_logs
from depl.models.traces.files import read_traces, write_traces
from depl.models.traces.table import Traces
from tests.cases.documents import RICH
from tests.cases.memory_cases import instance_of, random_law
from tests.cases.policy_files import by_hand
from tests.cases.sweep_cases import blanks, write_store
from tests.cases.tool_log_cases import EVERY, unpacked
from tests.cases.written_logs import inspected, store
from tests.checks.fuzz_spoiling import (
    COUNTS,
    Chance,
    spoilt_bytes,
    spoilt_database,
    spoilt_json,
    spoilt_lines,
    spoilt_lines_of_gzip,
    spoilt_npz,
    spoilt_table,
)

Spoil = Callable[[Chance, bytes], bytes]


class Reader(NamedTuple):
    """A way into depl: files that it reads, ways to spoil them, and what is done with a file."""

    suffix: str
    good: tuple[bytes, ...]
    spoil: tuple[Spoil, ...]
    read: Callable[[Path], object]


class AnswerError(Exception):
    """A command answered in a way that is not documented."""


@functools.cache
def tiny() -> Instance:
    """The instance that plans, states and scenarios are of."""
    return load(OLD / "tiny.json")


STATE = {
    "format": "depl-state",
    "version": 1,
    "epoch": 1,
    "loss": 9.5,
    "elapsed_time": 1.0,
    "model": "full",
    "transferred": [{"cluster": "cloud", "datasets": ["sensors"]}],
}
OLD = Path(__file__).resolve().parents[1] / "data" / "documents"
"""Files that earlier versions wrote."""
SACKS = (
    b"3 10\n5 4\n4.5 3\n3 7\n0 1 1\n",
    b"3\n10\n\n5 4\n4 3\n3 7\n",
    b"knapPI_11_2\nn 2\nc 970\nz 14\ntime 0.00\n1,582,194,0\n2,1e3,97,1\n-----\n",
)
CHANCE = (b"3 20 0.95\n10 6 1.5\n7 5 0\n12 9 2.25\n", b"1 20 z=1\n10 6 1.5\n")


def traces() -> Traces:
    """Two runs with every kind of column."""
    return Traces(
        run=["7", "7", "7", "8"],
        epoch=[0, 1, 2, 1],
        model=["big", "big", "small", "big"],
        cluster=["edge", "edge", "far", "edge"],
        loss=[2.5, 1.25, 1.0, 1.125],
        metrics={"error_rate": [0.9, 0.5, 0.25, 0.5], "start_loss": [np.nan, np.nan, 1.5, np.nan]},
        provenance={"command": "depl train"},
    )


def plain_columns(found: Traces) -> dict[str, object]:
    """The columns of a table by their names."""
    names = ("run", "epoch", "model", "cluster", "loss")
    return {**{name: getattr(found, name) for name in names}, **found.metrics}


def written(name: str, write: Callable[[Path], object]) -> bytes:
    """The content of a file that depl writes."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / name)
        return (Path(folder) / name).read_bytes()


def again(record: Any, kind: Any) -> None:
    """What was accepted must read back as itself."""
    if kind.from_json(record.to_json()) != record or not getattr(record, "fingerprint", "known"):
        raise AnswerError("what was accepted does not read back as itself")


def read_instance(path: Path) -> None:
    """Load, hash and write an instance."""
    again(load(path), Instance)


def read_policy(path: Path) -> None:
    """Read a policy as a file and as a controller does, which has to lead alike."""
    Controller(path).start(1.0)
    found = Policy.from_json(read_text(path))
    again(found, Policy)
    if Controller(found).fingerprint != Controller(path).fingerprint:
        raise AnswerError("a policy and its file do not lead alike")


def run_log() -> bytes:
    """The log of a run of three epochs."""

    def write(path: Path) -> None:
        controller = Controller(by_hand(), path)
        controller.start(1.0)
        for loss in (0.82, 0.4, 0.2):
            controller.observe(loss)

    return written("run.jsonl", write)


def read_plan(path: Path) -> None:
    """Read a plan and hold it against an instance."""
    found = Plan.from_json(read_text(path))
    again(found, Plan)
    found.check_names(tiny())


def read_state(path: Path) -> None:
    """Read a state and hold it against an instance."""
    found = State.from_json(read_text(path))
    again(found, State)
    check_state(tiny(), found)


def use_traces(path: Path) -> None:
    """Read traces, and write and read them once more."""
    found = read_traces(path)
    _ = found.schedules
    again = path.with_name("again.csv.gz")
    write_traces(again, found)
    if read_traces(again).runs != found.runs:
        raise AnswerError("what was accepted does not read back as itself")


def answer(*words: str) -> Callable[[Path], None]:
    """A command with the file in it: documented codes, one JSON object, nothing that steers a terminal."""

    def run(path: Path) -> None:
        for more in ([], ["--json"]):
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main([*(str(path) if word == "FILE" else word for word in words), *more])
            told = out.getvalue() + err.getvalue()
            if code not in (0, 2, 3) or "Traceback" in told:
                raise AnswerError(f"exit code {code}: {err.getvalue()[-2000:]}")
            if any(sign in told for sign in "\x00\x07\x1b\x9b\u202e\u2066"):
                raise AnswerError(f"steers the terminal: {told[:2000]!r}")
            if more:
                json.loads(out.getvalue())

    return run


def tool_logs(name: str) -> tuple[bytes, ...]:
    """The first file of the committed logs of a tool."""
    with tempfile.TemporaryDirectory() as folder:
        path = unpacked(EVERY[name], Path(folder))
        files = sorted(item for item in path.rglob("*") if item.is_file()) if path.is_dir() else [path]
        return (files[0].read_bytes(),)


def read_tool_log(path: Path) -> None:
    """Import the log of a tool, whatever its loss is called."""
    keys = [
        key for run in finding.read_logs([path]).runs for key in run.logged_keys() if key.endswith(LOSSES)
    ]
    first = 0 if path.suffix == ".csv" else None  # the chart counts from 0
    choices = Choices(keys[0] if keys else "loss", stages=("net@edge",), first=first, on_repeated="last")
    import_logs([str(path)], choices)


def read_as_told(good: bytes, path: Path) -> None:
    """Import a log under a name, and with choices, that its content draws: plain ones half of the time."""
    content = path.read_bytes()
    draw = np.random.default_rng(zlib.crc32(content))
    folder = path.parent / "logs"
    shutil.rmtree(folder, ignore_errors=True)
    name = NAMES[int(draw.integers(len(NAMES)))] if content != good and draw.integers(4) == 0 else "a"
    named = folder / f"{name}{path.suffix}"
    folder.mkdir()
    if len(name) < 250:  # else there is none, as nobody can write it
        named.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, named)
    told: dict[str, Any] = {"stages": ("net@edge",), "first": 1}
    if content != good and draw.integers(2):
        told |= CHOICES[int(draw.integers(len(CHOICES)))]
    where = folder if draw.integers(2) else named
    import_logs([str(where)], Choices("loss", **told))


def small_logs() -> dict[str, tuple[str, bytes, Spoil]]:
    """Three epochs in every form that is text or a store: the suffix, the file, and how it is spoilt."""
    epochs = [{"epoch": epoch, "loss": 1 / epoch, "note": "a"} for epoch in (1, 2, 3)]
    told = [{"hparams": {"stages": "net@edge:3", "lr": 0.1}}, *epochs]
    records = [
        {"type": "run", "run": {"display_name": "a", "config": {"update": {"lr": 0.1}}}},
        {"type": "config", "config": {"update": {"stages": "net@edge:3"}}},
        *({"type": "history", "history": {"item": item}} for item in epochs),
    ]
    rounds = [[number, 1 / (number + 1)] for number in range(3)]
    server = {str(number): {"loss": loss} for number, loss in rounds}
    state = {"global_step": 3, "log_history": [{**item, "step": item["epoch"]} for item in epochs]}
    cells = [f"{epoch},{1 / epoch},{run}\n" for run in "ab" for epoch in (1, 2, 3)]
    rows = [(step, "loss", 1 / step, 0) for step in (1, 2, 3)]
    base = written("mlflow.db", lambda path: store(rows, params=[("stages", "net@edge:3")])(path.parent))
    texts: dict[str, Any] = {
        "list": epochs,
        "keras": {"loss": [1, 0.5, 0.25], "accuracy": [0.5, 0.6, 0.7]},
        "flower": {"losses_centralized": rounds, "metrics_distributed": {"acc": rounds}},
        "result": {"evaluate_metrics_serverapp": server},
        "state": state,
    }
    return {
        **{name: (".json", json.dumps(item).encode(), spoilt_json) for name, item in texts.items()},
        "lines": (".jsonl", "\n".join(map(json.dumps, told)).encode(), spoilt_lines),
        "records": (".jsonl", "".join(inspected(**item) for item in records).encode(), spoilt_lines),
        "table": (".csv", "".join(["epoch,loss,run\n", *cells]).encode(), spoilt_table),
        "store": (".db", base, spoilt_database),
    }


NAMES = ("x²", "v10/x²", "²/3", "9" * 200, "a" * 300, "-a", "a b", "ß\u2028")
"""Of files and the folders that they are in."""
CHOICES: tuple[dict[str, Any], ...] = (
    {"run": "loss"},
    {"run": "epoch"},
    {"epoch": "loss"},
    {"epoch": "note"},
    {"first": None},
    {"first": 0},
    {"on_missing": "end"},
    {"on_missing": "drop"},
    {"on_repeated": "last"},
    {"steps_per_epoch": 2, "first": None},
    {"model": "loss", "stages": ()},
    {"stages": ()},
    *({"stages": (f"net@edge:{count}",)} for count in COUNTS),
)
LOSSES = ("val_loss", "loss/val", "centralized/loss")
"""Keys of the losses of the committed logs."""


@functools.cache
def readers() -> dict[str, Reader]:
    """All readers by name."""
    rng = np.random.default_rng(0)
    rich = json.dumps(RICH).encode()
    traced = instance_of(random_law(rng)).to_json().encode()
    family = json.dumps(
        {"format": "depl-family", "version": 1, "instance": RICH, "targets": {"6.5": {"maximum_loss": 6.5}}}
    ).encode()
    instances = (rich, traced, family, tiny().to_json().encode())
    setup = strip_comments(setup_template()).encode()
    csv = written("a.csv", lambda path: write_traces(path, traces()))
    npz = written("a.npz", lambda path: np.savez(path, **plain_columns(traces())))
    small = (OLD / "runs.npz").read_bytes()
    scenarios = written("a.npz", lambda path: save_scenarios(draw_scenarios(tiny(), 3, 1), path))
    kept = written("a.jsonl.gz", lambda path: write_store(path, blanks(3)))
    names = ("attempts.jsonl.gz", "record.json", "sampled-plan.json")  # which has every field
    compact, record, plan = ((OLD / name).read_bytes() for name in names)
    as_json, as_table = (spoilt_json, spoilt_json, spoilt_bytes), (spoilt_table, spoilt_table, spoilt_bytes)
    as_npz = (spoilt_npz, spoilt_npz, spoilt_bytes)
    as_gzip = (spoilt_lines_of_gzip, spoilt_lines_of_gzip, spoilt_bytes)
    as_sqlite = (spoilt_database, spoilt_bytes)
    return {
        "instance": Reader(".json", instances, as_json, read_instance),
        "plan": Reader(".json", (plan,), as_json, read_plan),
        "state": Reader(".json", (json.dumps(STATE).encode(),), as_json, read_state),
        "policy": Reader(".json", (by_hand().to_json().encode(),), as_json, read_policy),
        "run-log": Reader(".jsonl", (run_log(),), as_table, lambda path: led(Controller(by_hand()), path)),
        "setup": Reader(".json", (setup,), as_json, load_setup),
        "traces-csv": Reader(".csv", (csv,), as_table, use_traces),
        "traces-npz": Reader(".npz", (npz, small), as_npz, use_traces),
        "scenarios": Reader(".npz", (scenarios,), as_npz, lambda path: load_scenarios(path, tiny())),
        "knapsack": Reader("", SACKS, as_table, read_knapsacks),
        "chance-knapsack": Reader("", CHANCE, as_table, read_chance_knapsack),
        "attempts": Reader(".jsonl.gz", (kept,), as_gzip, read_file),
        "attempts-compact": Reader(".jsonl.gz", (compact,), as_gzip, read_file),
        "attempts-sqlite": Reader(".sqlite", ((OLD / "attempts.sqlite").read_bytes(),), as_sqlite, read_file),
        "record": Reader(".json", (record,), as_json, lambda path: results.table([results.read(path)])),
        "tool-events": Reader(".tfevents.1", tool_logs("tensorboard"), (spoilt_bytes,), read_tool_log),
        "tool-wandb": Reader(".wandb", tool_logs("wandb-offline"), (spoilt_bytes,), read_tool_log),
        "tool-charts": Reader(".csv", tool_logs("wandb"), as_table, read_tool_log),
        "tool-mlflow": Reader(".db", tool_logs("mlflow"), (spoilt_bytes,), read_tool_log),
        "tool-flower": Reader(".json", tool_logs("flower"), as_json, read_tool_log),
        "tool-lines": Reader(".jsonl", tool_logs("jsonl"), as_table, read_tool_log),
        **{
            f"log-{name}": Reader(suffix, (good,), (how,), functools.partial(read_as_told, good))
            for name, (suffix, good, how) in small_logs().items()
        },
        "show": Reader(".json", instances, as_json, answer("instances", "show", "FILE")),
        "check": Reader(".json", (plan,), as_json, answer("check", str(OLD / "tiny.json"), "FILE")),
    }
