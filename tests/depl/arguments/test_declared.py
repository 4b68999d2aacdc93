"""The options of every command are declared without what runs it, and every parser names what runs."""

import argparse
import importlib
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from depl.arguments import shared
from depl.cli import main
from depl.commands.answer import Answer, ExitCode
from depl.commands.parser import COMMANDS, parser
from depl.instances.reductions.names import REDUCTIONS
from depl.instances.reductions.through import REACHING
from depl.instances.training.families import FAMILIES
from depl.instances.training.names import SHIPPED

ROOT = Path(__file__).resolve().parents[3]


def groups(found: argparse.ArgumentParser, *words: str) -> Iterator[tuple[tuple[str, ...], bool]]:
    """The words of every command and every group of commands, and whether it is a group."""
    inner = [action for action in found._actions if isinstance(action, argparse._SubParsersAction)]
    yield words, bool(inner)
    for action in inner:
        for name, below in action.choices.items():
            yield from groups(below, *words, name)


ALL = list(groups(parser()))
LINES = [
    *([*words, word] for words, _ in ALL for word in ("--help", "--no-such-option")),
    *([*words, "no-such-command"] for words, group in ALL if group),
    ["solve"],
    ["solve", "tiny", "--gap", "5"],
    ["solve", "tiny", "two"],
    ["front", "tiny", "--against", "nothing"],
    ["--version"],
    [],
]


@pytest.fixture(scope="module")
def told() -> dict[str, object]:
    """What a process says of itself that was asked for help and slipped in all possible ways."""
    program = (
        "import contextlib, io, json, sys\n"
        "before = set(sys.modules)\n"
        "from depl.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):\n"
        "    codes = [main(words) for words in json.load(sys.stdin)]\n"
        "print(json.dumps({'codes': codes, 'loaded': sorted(set(sys.modules) - before)}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        input=json.dumps(LINES),
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_there_are_all_commands_and_their_actions() -> None:
    assert len(ALL) == 52
    assert {words[0] for words, _ in ALL if words} == set(COMMANDS)


def test_help_and_every_slip_end_with_their_exit_codes(told) -> None:
    answered = [not words or words[-1] in ("--help", "--version") for words in LINES]
    assert told["codes"] == [0 if well else 2 for well in answered]


def test_neither_help_nor_a_slip_loads_any_library(told) -> None:
    others = {name.split(".")[0] for name in told["loaded"]} - {"depl"} - sys.stdlib_module_names
    assert others == set()
    assert "argparse" in told["loaded"]


def test_neither_help_nor_a_slip_loads_what_runs_a_command(told) -> None:
    """But the modules that declare, and those whose constants a help shows."""
    own = {name for name in told["loaded"] if name.startswith("depl.")}
    assert {name for name in own if name.startswith("depl.commands.")} == {
        f"depl.commands.{name}" for name in ("answer", "examples", "guide", "parser", "printable")
    }
    assert {
        name for name in own if name.startswith(("depl.models.", "depl.heuristics.", "depl.instances."))
    } == {
        *("depl.models.estimation", "depl.models.estimation.choices"),
        *("depl.models.foundation", "depl.models.foundation.errors", "depl.models.foundation.later"),
        *("depl.models.foundation.memory", "depl.models.foundation.names"),
        *("depl.models.foundation.removed", "depl.models.foundation.showing"),
        *("depl.models.problem", "depl.models.problem.counting"),
        *("depl.models.solving", "depl.models.solving.defaults", "depl.models.solving.interrupts"),
        *("depl.models.traces", "depl.models.traces.metrics"),
        *("depl.instances.reductions", "depl.instances.reductions.names"),
        *("depl.instances.training", "depl.instances.training.names"),
    }


@pytest.mark.parametrize("words", [words for words, group in ALL if not group])
def test_every_command_names_the_function_that_runs_it(words) -> None:
    found = parser(words[:1])
    for word in words:
        (inner,) = (item for item in found._actions if isinstance(item, argparse._SubParsersAction))
        found = inner.choices[word]
    module, _, function = found.get_default("run").partition(":")
    run = getattr(importlib.import_module(module), function)
    assert module.startswith("depl.commands.")
    assert list(inspect.signature(run).parameters) == ["options"]
    assert inspect.signature(run).return_annotation is Answer


def test_the_ending_of_a_figure_chooses_its_format() -> None:
    assert shared.figure_files("fig").paths() == ("fig.png", "fig.svg")
    assert shared.figure_files("a.b/fig.png").paths() == ("a.b/fig.png",)
    assert shared.figure_files("fig.PDF").paths("-loss") == ("fig-loss.pdf",)
    assert shared.figure_files("loss-9.5").paths() == ("loss-9.5.png", "loss-9.5.svg")
    for text in ("fig.jpg", "fig.json", "fig.png.gz"):
        with pytest.raises(argparse.ArgumentTypeError, match=r"\.png, \.svg or \.pdf, not as"):
            shared.figure_files(text)


@pytest.mark.parametrize(
    "words", [["solve", "tiny"], ["front", "tiny", "--against", "loss"], ["diagnose", "digits-alexnet"]]
)
def test_a_figure_of_another_kind_is_wrong_usage_everywhere(words, capsys) -> None:
    assert main([*words, "--figure", "fig.jpg"]) == 2
    assert "figures are written as .png, .svg or .pdf, not as .jpg" in capsys.readouterr().err


def test_a_command_that_cannot_be_imported_is_an_internal_error(monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "depl.commands.explain", None)
    assert main(["explain", "tiny", "plan.json"]) == ExitCode.INTERNAL
    assert "ModuleNotFoundError" in capsys.readouterr().err


def test_names_that_a_help_shows_are_those_that_there_are() -> None:
    assert tuple(FAMILIES) == SHIPPED
    assert tuple(REDUCTIONS) == ("by-cost", *REACHING)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (shared.positive_count, "1", 1),
        (shared.seed, "0", 0),
        (shared.relative_gap, "5%", 0.05),
        (shared.relative_gap, "0", 0.0),
        (shared.positive_seconds, ".5", 0.5),
        (shared.count_or_file, "there-is-none.npz", "there-is-none.npz"),
    ],
)
def test_values_are_read(kind, text, value) -> None:
    assert kind(text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (shared.positive_count, "0"),
        (shared.positive_count, "many"),
        (shared.seed, "-1"),
        (shared.relative_gap, "1"),
        (shared.relative_gap, "-5%"),
        (shared.positive_seconds, "inf"),
        (shared.positive_seconds, "0"),
        (shared.count_or_file, "there-is-none"),
    ],
)
def test_other_values_are_refused(kind, text) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        kind(text)
