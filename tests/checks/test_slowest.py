"""The check of slow tests counts the processor, children included, and judges by its list of exceptions."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checks.slowest import EXCEPTIONS, MOST, QUICK, main, needless, reasons, unexplained

ROOT = Path(__file__).resolve().parents[2]


def test_every_exception_has_a_reason_and_names_a_test_or_a_fixture():
    listed = reasons(EXCEPTIONS.read_text(encoding="utf-8"))
    known: dict[str, set[str]] = {}
    for name, reason in listed.items():
        file, *_, function = name.removesuffix(" (fixture)").partition("[")[0].split("::")
        if file not in known:
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            known[file] = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert function in known[file], name
        assert len(reason.split()) >= 4, name


def test_what_is_slow_needs_a_reason_of_its_own_or_of_its_function():
    seconds = {"a.py::one[x]": MOST + 1, "a.py::one[y]": MOST + 2, "a.py::two": MOST + 3, "a.py::three": MOST}
    lines = list(unexplained(seconds, {"a.py::one[x]": "why"}))
    assert [line.split(": ")[1] for line in lines] == ["a.py::two", "a.py::one[y]"]
    assert not list(unexplained(seconds, {"a.py::one": "why", "a.py::two": "why"}))


def test_a_reason_for_what_is_quick_or_gone_is_needless():
    seconds = {"a.py::one[x]": QUICK / 2, "a.py::one[y]": MOST, "a.py::two": QUICK / 2}
    listed = {"a.py::one": "why", "a.py::two": "why", "a.py::gone": "why"}
    assert [line.rpartition(" ")[2] for line in needless(seconds, listed, whole=True)] == [
        "a.py::two",
        "a.py::gone",
    ]
    assert [line.rpartition(" ")[2] for line in needless(seconds, listed, whole=False)] == ["a.py::two"]


@pytest.mark.parametrize(("slow", "code"), [(MOST + 1, 1), (MOST - 0.1, 0)])
def test_the_command_judges_a_file_of_seconds(tmp_path, capsys, monkeypatch, slow, code):
    monkeypatch.setattr("tests.checks.slowest.EXCEPTIONS", tmp_path / "none.txt")
    (tmp_path / "none.txt").write_text("# nothing\n", encoding="utf-8")
    (tmp_path / "seconds.json").write_text(json.dumps({"a.py::one": slow}), encoding="utf-8")
    assert main(["--read", str(tmp_path / "seconds.json")]) == code
    assert ("no reason: a.py::one" in capsys.readouterr().out) == (code == 1)


def test_a_test_is_charged_with_its_children_and_not_with_fixtures_that_others_share(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import subprocess, sys, time\nimport pytest\n"
        "BUSY = 'import time\\nwhile time.process_time() < 0.3: pass'\n"
        "@pytest.fixture(scope='module')\ndef shared():\n"
        "    end = time.process_time() + 0.2\n    while time.process_time() < end: pass\n"
        "def test_child(shared):\n    subprocess.run([sys.executable, '-c', BUSY], check=True)\n"
        "def test_idle(shared):\n    time.sleep(0.3)\n",
        encoding="utf-8",
    )
    words = (
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "tests.checks.cpu_seconds",
        "--cpu-seconds",
        "seconds.json",
    )
    subprocess.run(
        [sys.executable, "-m", "pytest", *words, "test_it.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        check=True,
        capture_output=True,
    )
    seconds = json.loads((tmp_path / "seconds.json").read_text(encoding="utf-8"))
    assert seconds["test_it.py::test_child"] > 0.25
    assert seconds["test_it.py::test_idle"] < 0.15
    assert 0.15 < seconds["test_it.py::shared (fixture)"] < 0.3
