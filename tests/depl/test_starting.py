"""Ctrl-C before the command line is ready and after it has answered: an exit code, never a traceback."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from depl import cli, starting
from depl.commands.answer import Answer, ExitCode, interrupted, without_result
from depl.models.solving.result import Result, Solution, Termination
from depl.starting import is_command

ROOT = Path(__file__).resolve().parents[2]
PRESS = "import os, signal, sys\npress = lambda: os.kill(os.getpid(), signal.SIGINT)\n"
AT_IMPORT = """
class Pressing:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            press()
sys.meta_path.insert(0, Pressing())
"""
AT_EXIT = "import atexit\natexit.register(press)\n"


@pytest.fixture
def start(tmp_path):
    """Run ``python -m depl`` with a piece of code that Python executes before anything of depl."""

    def run(code, *words):
        (tmp_path / "sitecustomize.py").write_text(PRESS + code, encoding="utf-8")
        folders = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
        environment, command = {**os.environ, "PYTHONPATH": folders}, [sys.executable, "-m", "depl", *words]
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False
        )

    return run


SLOW = ("scipy.special", "numba.core.types", "depl.models.solving.solve", "depl.cli", "depl.commands.solve")


@pytest.mark.parametrize(
    "name",
    ["depl.heuristics", "msgspec", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)],
)
def test_a_press_while_modules_are_imported_ends_without_a_traceback(start, name):
    ended = start(AT_IMPORT.format(name=name), "solve", "tiny", "--json")
    assert (ended.returncode, ended.stderr) == (5, "depl: interrupted before there was an answer\n")
    assert json.loads(ended.stdout)["termination"] == "interrupted"


@pytest.mark.slow
def test_a_press_while_the_process_ends_does_not_change_its_exit_code(start):
    ended = start(AT_EXIT, "instances", "list")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "tiny" in ended.stdout


def test_what_is_said_before_everything_is_imported_is_what_is_said_afterwards():
    assert without_result("interrupted", starting.REASON, None) == starting.JSON
    result = Result(Termination.INTERRUPTED, None, solution=Solution.NONE, method="")
    assert json.loads(starting.JSON).keys() == {*result.to_dict(), "path"}
    assert (interrupted().json, interrupted().aside) == (starting.JSON, f"depl: {starting.REASON}")
    assert starting.NOTHING == ExitCode.NOTHING


def press(*_: object) -> None:
    signal.raise_signal(signal.SIGINT)


def test_a_press_while_the_words_are_read_ends_without_a_traceback(ask, monkeypatch):
    monkeypatch.setattr(cli, "parsed", press)
    assert ask("solve", "tiny") == (5, "", "depl: interrupted before there was an answer\n")
    code, out, _ = ask("solve", "tiny", "--json")
    assert (code, json.loads(out)["termination"]) == (5, "interrupted")


def test_an_answer_that_is_there_is_printed_although_a_press_comes(ask, monkeypatch):
    def write(stream: object, text: str) -> bool:
        press()
        return own(stream, text)

    own, once = cli._write, iter([write])
    monkeypatch.setattr(cli, "_write", lambda *given: next(once, own)(*given))
    code, out, err = ask("instances", "show", "tiny")
    assert (code, err) == (0, "")
    assert "tiny" in out


def test_a_second_press_gives_an_answer_up_that_does_not_go_out(ask, monkeypatch):
    def stuck(*_: object) -> bool:
        press()
        press()
        raise AssertionError("unreachable")

    own, twice = cli._write, iter([stuck])
    monkeypatch.setattr(cli, "_answer", lambda *_: Answer("for a test"))
    monkeypatch.setattr(cli, "_write", lambda *given: next(twice, own)(*given))
    assert ask("instances", "list") == (5, "", "depl: interrupted before there was an answer\n")


OWN = """\
python /usr/bin/depl solve tiny
python -m depl
python -X importtime -m depl solve depl
python -Im depl
python.exe C:/Scripts/depl.exe solve"""
OTHERS = """\
python -m depl.benchmarks
python -m pytest depl
python -c code depl
python -Ic code depl
python -c from_multiprocessing --multiprocessing-fork
python mine.py depl
python"""


@pytest.mark.parametrize(("lines", "expected"), [(OWN, True), (OTHERS, False)])
def test_only_a_process_that_was_started_as_the_command_is_its_own(lines, expected):
    for line in lines.splitlines():
        assert is_command(line.split(" ")) is expected, line


def test_a_process_that_only_imports_depl_keeps_its_handler():
    assert not starting.OWN_PROCESS
    starting.arm(starting.Ending())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
