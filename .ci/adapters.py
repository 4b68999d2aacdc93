"""Whether the adapters do what the controller says, with the real libraries.

``PYTHONPATH=. python .ci/adapters.py ENVIRONMENT`` makes a virtual environment in the folder of that name,
unless there is one, from ``.ci/adapters.txt``; everything of the libraries runs there. Each example of
``docs/training_examples`` trains the digits under a policy that is written by hand: once to its end, and once
killed (SIGKILL) after some epochs and started again. Asked is, each time:

- whether every epoch trained what the words of the policy say of the losses in the log, and the run stopped
  at the first epoch that they stop at;
- whether the weights that are left give the loss of that epoch, evaluated again by numpy from the file;
- whether the killed run ended as the other one did, line by line, losses to nine digits (Flower draws the
  order of its clients, and so of its sums; Lightning and Keras draw their batches anew after a restart: there
  the losses differ, and each decision is judged as above);
- of Flower, whether the ``Result`` is that of the strategy alone run for just so many rounds.

Words after the environment name the examples to run.

A named check: it installs some hundred MB and takes minutes. Exit code 0: all is so; 1: something is not.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.cases.policy_files import TARGET, decided, digits_policy

ROOT = Path(__file__).resolve().parents[1]
INSIDE = Path(__file__).with_name("adapters_inside.py")
EXAMPLES = ROOT / "docs" / "training_examples"
WANTED = Path(__file__).with_suffix(".txt")
NAMES = ("plain_loop", "lightning_digits", "keras_digits", "flower_digits")
KILLED_AFTER = (1, 6)
"""Epochs: within the first model, and near the switch."""
AGREES = 2e-5
"""Between a loss in single precision and the same in double."""
DRAWS_ANEW = ("lightning_digits", "keras_digits")
LIMIT_S = 300


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every example, and say what is not as it should be."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if not given or set(given[1:]) - set(NAMES):
        sys.stderr.write(f"usage: python .ci/adapters.py ENVIRONMENT [{'|'.join(NAMES)}]\n")
        return 2
    python = _environment(Path(given[0]).resolve())
    found = 0
    with tempfile.TemporaryDirectory() as name:
        policy = Path(name, "policy.json")
        policy.write_text(json.dumps(digits_policy()))
        for example in given[1:] or NAMES:
            for complaint in _complaints(python, example, policy, Path(name, example)):
                found += 1
                sys.stderr.write(f"{example}: {complaint}\n")
        run = [python, INSIDE, "flower", policy, Path(name, "same-result")]
        found += subprocess.run(run, cwd=ROOT, env=_settings(), check=False).returncode != 0
    sys.stderr.write(f"{found} complaints\n")
    return 1 if found else 0


def _environment(folder: Path) -> Path:
    """Its Python."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        pip = [python, "-m", "pip", "install", "--quiet"]
        torch = next(line for line in WANTED.read_text().splitlines() if line.startswith("torch=="))
        subprocess.run([*pip, torch], check=True)
        subprocess.run([*pip, "-r", WANTED], check=True)
    return python


def _settings() -> dict[str, str]:
    paths = os.pathsep.join((str(ROOT), str(EXAMPLES)))
    return {**os.environ, "PYTHONPATH": paths, "KERAS_BACKEND": "torch", "OMP_NUM_THREADS": "1"}


def _complaints(python: Path, example: str, policy: Path, folder: Path) -> Iterator[str]:
    whole = folder / "whole"
    _run(python, example, policy, whole)
    yield from _judged(python, example, whole)
    for epochs in KILLED_AFTER:
        again = folder / f"killed-{epochs}"
        _killed(python, example, policy, again, epochs)
        _run(python, example, policy, again)
        yield from _judged(python, example, again)
        if example not in DRAWS_ANEW and _rounded(again) != _rounded(whole):
            yield f"killed after {epochs} epochs, its log is not that of the whole run"


def _run(python: Path, example: str, policy: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    command = [python, EXAMPLES / f"{example}.py", policy, folder]
    done = subprocess.run(
        command, env=_settings(), capture_output=True, text=True, check=False, timeout=LIMIT_S
    )
    if done.returncode:
        sys.stderr.write(done.stderr[-3000:])
        raise SystemExit(f"{example} failed")


def _killed(python: Path, example: str, policy: Path, folder: Path, epochs: int) -> None:
    """Start it, and kill it as soon as its log holds so many epochs."""
    folder.mkdir(parents=True)
    command = [python, EXAMPLES / f"{example}.py", policy, folder]
    with subprocess.Popen(command, env=_settings(), stdout=-3, stderr=-3) as process:
        for _ in range(100 * LIMIT_S):
            if (folder / "run.jsonl").exists() and len(_log(folder)) > epochs + 1:
                break
            time.sleep(0.01)
        process.kill()


def _log(folder: Path) -> list[dict[str, Any]]:
    """Its whole lines."""
    text = (folder / "run.jsonl").read_text()
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def _rounded(folder: Path) -> list[dict[str, Any]]:
    """The same with losses to nine digits."""
    return [{**line, "loss": round(line.get("loss", 0.0), 9)} for line in _log(folder)]


def _judged(python: Path, example: str, folder: Path) -> Iterator[str]:
    """What is wrong with a run that has ended."""
    _, *records = _log(folder)
    losses = [record["loss"] for record in records]
    models = [record["model"] for record in records[1:]]
    if models != decided(losses):
        yield f"trained {models}, and the policy says {decided(losses)} of {losses}"
    if (records[-1]["decision"], records[-1].get("reason")) != ("stop", "reached") or losses[-1] > TARGET:
        yield f"ended with {records[-1]}"
    left = list((folder / "weights").iterdir())
    if [path.stem for path in left] != [f"epoch-{len(models)}"]:
        yield f"left {left} after epoch {len(models)}"
    run = [python, INSIDE, "loss", left[0]]
    done = subprocess.run(run, cwd=ROOT, env=_settings(), capture_output=True, text=True, check=True)
    if abs(float(done.stdout) - losses[-1]) > AGREES:
        yield f"the weights give the loss {done.stdout.strip()}, and the log says {losses[-1]}"
    else:
        shown = (
            f"stopped at epoch {len(models)}, loss {losses[-1]:.6f}, of its weights {float(done.stdout):.6f}"
        )
        sys.stderr.write(f"{example} ({folder.name}): {shown}\n")


if __name__ == "__main__":
    sys.exit(main())
