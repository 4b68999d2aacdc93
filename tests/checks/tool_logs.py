"""Logs as training tools write them, made by the tools themselves.

``python -m tests.checks.tool_logs FOLDER`` trains small networks and writes the folders ``lightning``,
``keras``, ``tensorboard``, ``wandb``, ``mlflow``, ``flower``, ``jsonl`` and ``csv``, and ``PROVENANCE.md``
with the versions. A named check and no test of its own: it needs the libraries of
``tests/checks/tool_logs.txt`` in an environment of their own, and nothing of depl. ``tests/data/tool_logs``
was made by it once. Words after the folder name the tools to write.
"""

import datetime
import importlib.metadata
import platform
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

LIBRARIES = ("torch", "scikit-learn", "lightning", "keras", "tensorboard", "wandb", "mlflow", "flwr", "numpy")

ABOUT = Path(__file__).with_name("tool_logs_about.md")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the logs of all tools, or of those that are named."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if not given:
        sys.stderr.write("usage: python -m tests.checks.tool_logs FOLDER [TOOL ...]\n")
        return 2
    folder = Path(given[0]).resolve()
    for tool, write in _writers(given[1:]).items():
        place = folder / tool
        place.mkdir(parents=True)
        write(place)
        size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
        sys.stderr.write(f"{tool}: {size:,} bytes\n")
    (folder / "PROVENANCE.md").write_text(_provenance())
    return 0


def _writers(named):
    import torch

    from tests.checks import tool_logs_flower as flower
    from tests.checks import tool_logs_frameworks as frameworks
    from tests.checks import tool_logs_plain as plain
    from tests.checks.tool_logs_digits import RUNS, digits, run

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    data = digits()
    runs = [run(seed, data) for seed in range(RUNS)]
    writers = {
        "lightning": frameworks.write_lightning,
        "keras": frameworks.write_keras,
        "flower": flower.write_flower,
    }
    for tool in ("jsonl", "csv", "tensorboard", "wandb", "mlflow", "transformers"):
        write = getattr(plain, f"write_{tool}")
        writers[tool] = lambda place, write=write: write(place, runs)
    return {tool: write for tool, write in writers.items() if tool in (named or writers)}


def _provenance():
    from tests.checks.tool_logs_digits import EPOCHS, RUNS, SWITCH_EPOCHS
    from tests.checks.tool_logs_plain import STEPS

    versions = "\n".join(f"- {name} {importlib.metadata.version(name)}" for name in LIBRARIES)
    return ABOUT.read_text(encoding="utf-8").format(
        date=datetime.datetime.now(datetime.UTC).date(),
        python=platform.python_version(),
        versions=versions,
        runs=RUNS,
        epochs=EPOCHS,
        even=SWITCH_EPOCHS[0],
        odd=SWITCH_EPOCHS[1],
        steps=STEPS,
    )


if __name__ == "__main__":
    sys.exit(main())
