"""The check of slow tests counts the processor, children included, and judges by its list of reasons."""

import ast
import json
import subprocess
import sys

from tests.checks.rooms import ROOT
from tests.checks.slowest import MOST, QUICK, REASONS, complaints, reasons


def test_every_reason_says_something_and_names_a_test_or_a_fixture():
    known: dict[str, set[str]] = {}
    for name, reason in reasons(REASONS.read_text(encoding="utf-8")).items():
        file, *_, function = name.removesuffix(" (fixture)").partition("[")[0].split("::")
        if file not in known:
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            known[file] = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert function in known[file], name
        assert len(reason.split()) >= 4, name


def test_what_is_slow_needs_a_reason_of_its_own_or_of_its_function_and_what_is_quick_needs_none():
    seconds = {"a.py::one[x]": MOST + 1, "a.py::one[y]": MOST + 2, "a.py::two": MOST + 3, "a.py::three": MOST}
    lines = list(complaints(seconds, {"a.py::one[x]": "why", "a.py::not run": "why"}))
    assert [line.split(": ")[1] for line in lines] == ["a.py::two", "a.py::one[y]"]
    assert not list(complaints(seconds, {"a.py::one": "why", "a.py::two": "why"}))
    seconds = {"a.py::one[x]": QUICK / 2, "a.py::one[y]": MOST, "a.py::two[x]": QUICK / 2}
    lines = list(complaints(seconds, {"a.py::one": "why", "a.py::two": "why"}))
    assert lines == ["  0.2 s, needs no reason: a.py::two"]


def test_a_test_is_charged_with_its_children_and_not_with_fixtures_that_others_share(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import subprocess, sys, time\nimport pytest\n"
        "BUSY = 'import time\\nwhile time.process_time() < 1.1: pass'\n"
        "@pytest.fixture(scope='module')\ndef shared():\n"
        "    end = time.process_time() + 0.2\n    while time.process_time() < end: pass\n"
        "def test_child(shared):\n    subprocess.run([sys.executable, '-c', BUSY], check=True)\n"
        "def test_idle(shared):\n    time.sleep(0.3)\n",
        encoding="utf-8",
    )
    words = ("-q", "-p", "no:cacheprovider", "-p", "tests.checks.slowest", "--cpu-seconds", "seconds.json")
    command = [sys.executable, "-m", "pytest", *words, "test_it.py"]
    settings = {"PYTHONPATH": str(ROOT), "PATH": ""}
    done = subprocess.run(command, cwd=tmp_path, env=settings, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "s, no reason: test_it.py::test_child\n" in done.stdout
    seconds = json.loads((tmp_path / "seconds.json").read_text(encoding="utf-8"))
    assert seconds["test_it.py::test_child"] > 1.05
    assert seconds["test_it.py::test_idle"] < 0.15
    assert 0.15 < seconds["test_it.py::shared (fixture)"] < 0.3
