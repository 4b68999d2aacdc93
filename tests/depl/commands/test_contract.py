"""What all commands have in common: help, examples, options, completion; help and every slip are cheap."""

import inspect
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from depl.benchmarks.measure.catalogue import all_studies
from depl.cli import COMMANDS, FIRST, ROOT, main, parsed
from depl.commands import options
from depl.commands.answer import ExitCode
from depl.commands.paper_figures import PRINTED
from depl.commands.runs import TOOLS as DECLARED
from depl.instances.reductions import REDUCTIONS
from depl.instances.reductions.to_planning import REACHING
from depl.instances.shipped import full_names
from depl.instances.training.families import FAMILIES
from depl.instances.training.names import SHIPPED
from depl.models.foundation.removed import SUCCESSORS
from depl.models.policy.result import RUNGS
from depl.models.solving.defaults import FRONTS_AGAINST
from depl.models.solving.edge import Budget
from depl.models.solving.methods import registered
from depl.models.tool_logs.points import TOOLS
from tests.cases.command_line import leaves, options_of

METHODS = [method.name for method in registered()]
ROOT_FOLDER = Path(__file__).resolve().parents[3]
ALL = {" ".join(words): command for words, command in options.every(ROOT)}
LINES = [
    *([*name.split(), word] for name in ALL for word in ("--help", "--no-such-option")),
    *([*name.split(), "no-such-command"] for name, item in ALL.items() if isinstance(item, click.Group)),
    *map(str.split, ("solve", "solve tiny two", "front tiny --against nothing")),
]


PROGRAM = """
import contextlib, io, json, sys
before = set(sys.modules)
from depl.cli import COMMANDS, FIRST, main
codes, early = [], ()
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    for words in json.load(sys.stdin):
        if words[:1] == ["demo"] and not early:
            early = sorted(set(sys.modules) - before)
        codes.append(main(words))
found = [name for name in early if name.startswith("depl.commands.")]
print(json.dumps([codes, sorted({name.split(".")[0] for name in set(sys.modules) - before}), found]))
"""


def test_help_and_every_slip_load_click_and_the_command_alone_and_end_with_their_exit_codes():
    first = [[], ["--version"], ["--help"], ["check", "--help"], ["solve", "tiny", "--gap", "5"]]
    lines = [*first, ["demo", "--help"], *LINES]
    command, given = [sys.executable, "-c", PROGRAM], json.dumps(lines)
    done = subprocess.run(command, cwd=ROOT_FOLDER, input=given, capture_output=True, text=True, check=True)
    codes, loaded, early = json.loads(done.stdout)
    answered = [not words or words[-1] in ("--help", "--version") for words in lines]
    assert codes == [0 if well else 2 for well in answered]
    assert set(loaded) - sys.stdlib_module_names == {"depl", "click"}
    first, others = (
        {COMMANDS[name].partition(":")[0] for name in some} for some in (FIRST, {*COMMANDS} - {*FIRST})
    )
    assert not (others - first) & set(early)


def test_the_first_screen_has_at_most_twenty_lines_and_every_command(ask):
    code, out, _ = ask()
    assert (code, out) == (0, ask("--help")[1])
    assert len(out.splitlines()) <= 20
    shown = [line.split()[0] for line in out.splitlines() if line.startswith("  ")]
    assert shown[: len(FIRST)] == list(FIRST)
    assert set(COMMANDS) <= set(out.replace(",", "").split())


def test_every_help_says_what_a_command_does_fits_its_width_and_ends_with_its_examples(ask, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    for name, command in ALL.items():
        code, out, _ = ask(*name.split(), "--help")
        head, _, shown = out.partition("\nexamples:\n")
        assert (code, "``" in head) == (0, False), name
        assert shown == "".join(f"  {line}\n" for line in command.examples)
        assert len(command.examples) in (2, 3), name
        assert max(map(len, command.examples)) <= 118, name
        assert any(line.startswith(f"depl {name}".rstrip()) for line in command.examples), name


SLOW = (
    *("start", "demo", "train", "certify", "diagnose", "fit", "traces", "policy"),
    *("figures", "warm-up", "bench"),
)
"""Their examples train, plan, draw or measure for long, or read a reader's own files."""
QUICK = [
    name
    for name in ALL
    if not name.startswith(SLOW) or name in ("policy schema", "bench list", "bench table")
]


@pytest.mark.parametrize("name", QUICK)
def test_the_examples_that_are_quick_run_one_after_the_other(name, ask, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for line in ALL[name].examples:
        words = shlex.split(line, comments=True)
        if words[0] == "echo":
            Path(words[3]).write_text(json.dumps(json.loads(words[1])), encoding="utf-8")
            continue
        code, out, err = ask(*words[1:])
        assert code == 0, (line, err)
        assert out or err, line


def test_every_example_is_understood_and_names_methods_instances_and_studies_that_there_are():
    known = {"instance": full_names(), "method": METHODS, "places": METHODS, "studies": all_studies()}
    for command in ALL.values():
        for line in command.examples:
            words = shlex.split(line, comments=True)
            given = vars(parsed(words[1:])[1]) if words[0] != "echo" else {}
            for kind, names in known.items():
                found = given.get(kind)
                for name in found if isinstance(found, tuple) else [found] * isinstance(found, str):
                    assert name in names or name.endswith(".json"), (line, name)


def test_names_that_a_help_shows_are_those_that_there_are():
    from depl.benchmarks.figures.paper import FAMILIES as FIGURES

    assert tuple(FAMILIES) == SHIPPED
    assert tuple(REDUCTIONS) == ("by-cost", *REACHING)
    assert DECLARED == TOOLS
    assert set(PRINTED) == {2, 4, *FIGURES}
    assert [kind.value for kind in Budget][:3] == list(FRONTS_AGAINST)
    (rung,) = (param for param in dict(leaves())["policy solve"].params if param.name == "rung")
    assert set(rung.type.choices) == set(RUNGS)


def test_commands_are_functions_of_their_options_and_import_what_names_a_method_or_an_instance():
    for name, command in leaves():
        assert list(inspect.signature(command.callback).parameters) == ["options"], name
        takes = {param.name for param in command.params}
        takes -= {"studies"} if name == "bench record" else set()  # which records shipped ones alone
        names = bool({"method", "studies"} & takes) or ("instance" in takes and name != "knapsack")
        assert not names or "--import" in options_of(command), name
    there = {f"depl {name} {option}" for name, leaf in leaves() for option in options_of(leaf)}
    assert not SUCCESSORS.keys() & there
    assert ROOT.name == "depl"


def test_a_command_that_cannot_be_imported_is_an_internal_error(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "depl.commands.plans", None)
    assert main(["explain", "tiny", "plan.json"]) == ExitCode.INTERNAL
    assert "ModuleNotFoundError" in capsys.readouterr().err


UNDERSTOOD = {
    "solve tiny --method=exact --gap=5%": {"gap": 0.05},
    "solve --json -- tiny": {"instance": "tiny", "json": True},
    "check tiny -": {"plan": "-"},
    "solve tiny --target -20": {"target": "-20"},
    "front tiny --against loss --between -5 9": {"between": (-5.0, 9.0)},
    "solve tiny --import a --import b": {"imports": ("a", "b")},
    "solve tiny --option x=1 --option y==": {"options": (("x", "1"), ("y", "="))},
    "report tiny p --no-prices --prices": {"prices": True},
    "solve tiny --out=-x": {"out": "-x"},
    "solve tiny --gap=5\u00a0%": {"gap": 0.05},
    "program tiny --out a.lp --scenarios there-is-none.npz": {"scenarios": "there-is-none.npz"},
    "bench run paper --seconds .5 --workers 1": {"seconds": 0.5, "workers": 1},
}


def test_what_was_understood_before_is_understood():
    for line, wanted in UNDERSTOOD.items():
        assert vars(parsed(line.split(" "))[1]).items() >= wanted.items(), line


def test_the_ending_of_a_figure_chooses_its_format():
    assert options.figure_files("fig").paths() == ("fig.png", "fig.svg")
    assert options.figure_files("a.b/fig.png").paths() == ("a.b/fig.png",)
    assert options.figure_files("fig.PDF").paths("-loss") == ("fig-loss.pdf",)
    assert options.figure_files("loss-9.5").paths() == ("loss-9.5.png", "loss-9.5.svg")


OFFERED = {
    "": sorted(COMMANDS),
    "solve paper-alexnet-d": [name for name in full_names() if name.startswith("paper-alexnet-d")],
    "solve --method sce": ["scenario-search"],
    "front tiny --against ": ["loss", "probability", "time"],
    "methods ra": ["random"],
    "knapsack f4": ["f4_l-d_kp_4_11"],
    "completion ": ["bash", "fish", "zsh"],
    "solve bench --wor": [],
}
"""What may follow the words of a line."""


@pytest.mark.parametrize("line", OFFERED)
def test_a_shell_that_asks_what_may_follow_gets_the_words_that_there_are(monkeypatch, capsys, line):
    monkeypatch.setenv("_DEPL_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", f"depl {line}")
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" "))))
    monkeypatch.setattr(sys, "argv", ["depl"])
    assert main() == 0
    found = [row.partition(",")[2] for row in capsys.readouterr().out.splitlines() if row]
    assert sorted(found) == sorted(OFFERED[line])


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_itself_offers_what_may_follow_by_the_script_of_depl(ask, tmp_path):
    command = tmp_path / "depl"  # as a shell finds it
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m depl "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    asked = "COMP_WORDS=(depl solve tiny --met); COMP_CWORD=3; _depl_completion depl; echo ${COMPREPLY[@]}"
    folders = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT_FOLDER)}
    script, variables = f"{ask('completion', 'bash')[1]}\n{asked}", {**os.environ, **folders}
    done = subprocess.run(
        ["bash", "-c", script], env=variables, cwd=ROOT_FOLDER, capture_output=True, check=True
    )
    assert done.stdout == b"--method\n"
