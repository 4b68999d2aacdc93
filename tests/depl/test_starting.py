"""What a process of its own shows: how it starts, is interrupted, ends, and what it does without."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from depl import cli, linked, starting
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


def ran(*words, cwd=ROOT, **environment):
    """A process of Python that has ended, and what it said."""
    command, variables = [sys.executable, *words], {**os.environ, **environment}
    return subprocess.run(
        command, cwd=cwd, env=variables, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture
def start(tmp_path):
    """Run ``python -m depl`` with a piece of code that Python executes before anything of depl."""

    def run(code, *words):
        (tmp_path / "sitecustomize.py").write_text(PRESS + code, encoding="utf-8")
        folders = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
        return ran("-m", "depl", *words, PYTHONPATH=folders)

    return run


SLOW = (
    "depl.heuristics",
    "scipy.special",
    "numba.core.types",
    "depl.models.solving.solve",
    "depl.commands.plans",
)


@pytest.mark.parametrize("name", ["msgspec", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_a_press_while_modules_are_imported_ends_without_a_traceback(start, name):
    words = ("warm-up", "--method", "exact") if name.startswith("numba") else ("solve", "tiny")
    ended = start(AT_IMPORT.format(name=name), *words, "--json")
    assert (ended.returncode, ended.stderr) == (5, "depl: interrupted before there was an answer\n")
    assert json.loads(ended.stdout)["termination"] == "interrupted"


@pytest.mark.slow
def test_a_press_while_the_process_ends_does_not_change_its_exit_code(start):
    ended = start(AT_EXIT, "instances", "list")
    assert (ended.returncode, ended.stderr, "tiny" in ended.stdout) == (0, "", True)


def test_what_is_said_before_everything_is_imported_is_what_is_said_afterwards():
    assert without_result("interrupted", starting.REASON, None) == starting.JSON
    result = Result(Termination.INTERRUPTED, None, solution=Solution.NONE, method="")
    assert json.loads(starting.JSON).keys() == {*result.to_dict(), "path"}
    assert (interrupted().json, interrupted().aside) == (starting.JSON, f"depl: {starting.REASON}")
    assert starting.NOTHING == ExitCode.NOTHING


def press(*_):
    signal.raise_signal(signal.SIGINT)


def test_a_press_while_the_words_are_read_ends_without_a_traceback(ask, monkeypatch):
    monkeypatch.setattr(cli, "parsed", press)
    assert ask("solve", "tiny") == (5, "", "depl: interrupted before there was an answer\n")
    code, out, _ = ask("solve", "tiny", "--json")
    assert (code, json.loads(out)["termination"]) == (5, "interrupted")


@pytest.mark.parametrize("presses", [1, 2])
def test_an_answer_that_is_there_is_printed_although_a_press_comes_and_given_up_at_the_second(
    ask, monkeypatch, presses
):
    def write(*given):
        for _ in range(presses):
            press()
        return own(*given)

    own, once = cli._write, iter([write])
    monkeypatch.setattr(cli, "_answer", lambda *_: Answer("for a test"))
    monkeypatch.setattr(cli, "_write", lambda *given: next(once, own)(*given))
    given_up = (5, "", "depl: interrupted before there was an answer\n")
    assert ask("instances", "list") == ((0, "for a test\n", "") if presses == 1 else given_up)


OWN = """\
python /usr/bin/depl solve tiny
python -X importtime -m depl solve depl
python -Im depl
python.exe C:/Scripts/depl.exe solve"""
OTHERS = """\
python -m depl.benchmarks
python -c code depl
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


# --- interrupts and readers that leave --------------------------------------------------------------------


def test_the_interrupt_key_ends_a_process_with_what_it_holds():
    """Nothing, or the plan that an enumeration holds: one process, which is interrupted twice."""
    program = (
        "import math, sys, time, depl\n"
        "from depl.cli import main\n"
        "def sleeps(instance, limits):\n"
        "    print('ready', file=sys.stderr, flush=True)\n"
        "    time.sleep(600)\n"
        "def pause(limits, incumbent, bound):\n"
        "    if incumbent < math.inf:\n"
        "        sleeps(None, limits)\n"
        "depl.register('sleeps', sleeps)\n"
        "print('ended with', main(['solve', 'tiny', '--method', 'sleeps', '--json']))\n"
        "depl.Limits.report = pause\n"
        "sys.exit(main(['solve', 'tiny', '--method', 'enumerate', '--json']))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        for _ in range(2):
            assert process.stderr.readline() == "ready\n"
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    first, _, second = out.partition("ended with 5\n")
    assert json.loads(first)["termination"] == "interrupted"
    result = json.loads(second)
    assert (process.returncode, result["termination"], result["solution"]) == (4, "interrupted", "feasible")
    assert result["lower_bound"] <= result["cost"]
    assert result["plan"]["epochs"]


def test_a_reader_that_leaves_early_causes_no_complaint():
    words = [sys.executable, "-m", "depl", "instances", "schema"]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        complaint = process.stderr.read()
    assert (process.returncode, complaint) == (0, b"")


# --- what is not there: links, extras, a home, a folder for temporary files ---------------------------------


def test_a_copy_without_symbolic_links_says_what_to_do(tmp_path):
    """As git leaves the sources where core.symlinks is false: a link is a file that holds its target."""
    (tmp_path / "depl").mkdir()
    for path in (ROOT / "depl").iterdir():
        if path.is_symlink():
            (tmp_path / "depl" / path.name).write_text(os.readlink(path), encoding="utf-8")
        elif path.suffix == ".py":
            shutil.copy(path, tmp_path / "depl")
    # without site-packages (-S), so that no installed depl helps out
    done = ran("-S", "-m", "depl", "demo", cwd=tmp_path)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: this copy of the sources was made without symbolic links")
    assert "git config core.symlinks true" in last
    assert linked.missing() == ()


PROGRAM = """
import sys, depl
instance = depl.load("tiny")
str(instance), repr(instance), instance._repr_html_(), depl.plot
heavy = ("matplotlib", "pandas", "pyomo", "depl.models.estimation.diagnosis", "depl.heuristics.depl.method")
assert not set(heavy) & sys.modules.keys()

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "pyscipopt", "docutils", "sklearn", "distributed"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from depl.cli import main
for words in (["solve", "tiny", "--method", "exact"], ["demo", "--help"], ["bench", "list"]):
    assert main(words) == 0, words
from depl.benchmarks.figures import comparison, family, style
from depl.benchmarks.measure.store import read_attempts
from depl.commands import demo
assert len(read_attempts("digits")) == 16
assert "pandas" not in sys.modules
"""


def test_an_instance_prints_without_methods_or_drawing_and_demo_and_bench_run_without_extras(tmp_path):
    done = ran("-c", PROGRAM, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "cost" in done.stdout


PATIENCE = 600.0
"""Seconds; compiling takes 10 of CPU time, on a machine that may do other work."""


SOLVE, COMPILE = ("solve", "tiny"), ("warm-up", "--method", "exact")


def started(folder, words=SOLVE, **environment):
    """A command of depl from the sources in a folder; a small solve compiles nothing."""
    kept = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    return subprocess.Popen(
        [sys.executable, "-m", "depl", *words],
        env={**kept, "PYTHONPATH": str(folder), **environment},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def errors(processes):
    """What each of them said on standard error, once all have proved the plan, or compiled."""
    ended = [(process, *process.communicate(timeout=PATIENCE)) for process in processes]
    for process, out, error in ended:
        assert process.returncode == 0, error
        assert "proved cheapest" in out or "exact" in out
        assert "Traceback" not in error
    return [error for _, _, error in ended]


@pytest.fixture
def no_home(tmp_path):
    """A home that nothing can be written to, by root either: it is a file."""
    (tmp_path / "no-home").touch()
    return {"HOME": str(tmp_path / "no-home"), "XDG_CACHE_HOME": str(tmp_path / "no-home" / "cache")}


def test_without_a_home_and_with_a_missing_folder_for_temporary_files(tmp_path, no_home):
    assert errors([started(ROOT, TMPDIR=str(tmp_path / "missing"), **no_home)]) == [""]


@pytest.mark.slow
def test_two_processes_at_once_share_a_cache_that_was_empty(tmp_path):
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert errors([started(ROOT, COMPILE, **cache), started(ROOT, COMPILE, **cache)]) == ["", ""]
    assert errors([started(ROOT, COMPILE, **cache)]) == [""]
    assert list((tmp_path / "cache").rglob("*.nbc"))


@pytest.mark.slow
def test_where_sources_and_home_cannot_be_written_kernels_are_compiled_and_that_is_said(tmp_path, no_home):
    sealed, ignored = tmp_path / "sealed", shutil.ignore_patterns("__pycache__", "attempts")
    for layer in ("depl", *linked.LAYERS):
        shutil.copytree(ROOT / layer, sealed / layer, symlinks=True, ignore=ignored)
    for package in sealed.rglob("__init__.py"):  # beside which no kernel can be kept
        (package.parent / "__pycache__").touch()
    (said,) = errors([started(sealed, COMPILE, **no_home)])
    assert "in every process, as they cannot be kept (NUMBA_CACHE_DIR" in said
