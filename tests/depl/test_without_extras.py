"""depl and its demo run where what only benchmarks are analysed with is not installed."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import importlib, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from depl.cli import main
for words in (["solve", "tiny", "--method", "exact"], ["demo", "--help"], ["bench", "compare", "--help"]):
    assert main(words) == 0, words
for name in ("comparison", "family", "style"):
    importlib.import_module(f"depl.benchmarks.figures.{name}")
from depl.benchmarks.measure.store import read_attempts
from depl.benchmarks.measure.sweep import workers_of
from depl.commands import demo
import depl.plot
assert len(read_attempts("digits")) == 16
assert "pandas" not in sys.modules
"""


def test_depl_and_its_demo_run_without_pandas(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "cost" in done.stdout
