"""Options of all commands: their help and every slip are cheap, and say what was meant."""

import inspect
import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from depl.cli import COMMANDS, FIRST, ROOT, main, parsed
from depl.commands import options
from depl.commands.answer import ExitCode
from depl.commands.logs import TOOLS as DECLARED
from depl.commands.paper_figures import PRINTED
from depl.instances.reductions.names import REDUCTIONS
from depl.instances.reductions.through import REACHING
from depl.instances.training.families import FAMILIES
from depl.instances.training.names import SHIPPED
from depl.models.foundation.removed import SUCCESSORS
from depl.models.policy.result import RUNGS
from depl.models.tool_logs.points import TOOLS
from tests.cases.command_line import leaves, options_of

ROOT_FOLDER = Path(__file__).resolve().parents[3]
ALL = [(list(words), command) for words, command in options.every(ROOT)]
LINES = [
    *([*words, word] for words, _ in ALL for word in ("--help", "--no-such-option")),
    *([*words, "no-such-command"] for words, command in ALL if isinstance(command, click.Group)),
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
        cwd=ROOT_FOLDER,
        input=json.dumps(LINES),
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_help_and_every_slip_end_with_their_exit_codes(told) -> None:
    answered = [not words or words[-1] in ("--help", "--version") for words in LINES]
    assert told["codes"] == [0 if well else 2 for well in answered]


def test_neither_help_nor_a_slip_loads_any_other_library_than_click(told) -> None:
    others = {name.split(".")[0] for name in told["loaded"]} - sys.stdlib_module_names
    assert others == {"depl", "click"}


def test_the_first_screen_has_at_most_twenty_lines_and_every_command(ask) -> None:
    code, out, err = ask()
    assert (code, err) == (0, "")
    assert out == ask("--help")[1]
    assert len(out.splitlines()) <= 20
    shown = [line.split()[0] for line in out.splitlines() if line.startswith("  ")]
    assert shown[: len(FIRST)] == list(FIRST)
    assert set(COMMANDS) <= set(out.replace(",", "").split())
    assert "..." not in out


@pytest.mark.parametrize("words", [words for words, _ in ALL if words])
def test_every_help_says_what_a_command_does_and_fits_its_width(ask, words, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    code, out, _ = ask(*words, "--help")
    assert code == 0
    first = out.split("\n\n")[1].strip()
    assert first.endswith((".", "'")), first
    head, _, _ = out.partition("\nexamples:\n")
    assert "``" not in head
    assert max(map(len, head.splitlines())) <= 100


def test_every_command_has_one_function_of_its_options() -> None:
    for words, command in leaves():
        assert list(inspect.signature(command.callback).parameters) == ["options"], words


def test_a_command_that_cannot_be_imported_is_an_internal_error(monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "depl.commands.explain", None)
    assert main(["explain", "tiny", "plan.json"]) == ExitCode.INTERNAL
    assert "ModuleNotFoundError" in capsys.readouterr().err


def test_names_that_a_help_shows_are_those_that_there_are() -> None:
    from depl.benchmarks.figures.paper import FAMILIES as FIGURES

    assert tuple(FAMILIES) == SHIPPED
    assert tuple(REDUCTIONS) == ("by-cost", *REACHING)
    assert DECLARED == TOOLS
    assert set(PRINTED) == {2, 4, *FIGURES}
    (rung,) = (param for param in dict(leaves())["policy solve"].params if param.name == "rung")
    assert set(rung.type.choices) == set(RUNGS)


def test_every_command_that_takes_a_method_or_an_instance_has_the_option_import() -> None:
    without = [
        "bench resume",
        "bench table",
        "bench draw",
        "bench report",
        "completion",
        "demo",
        "knapsack",
        "train",
        "diagnose",
        "figures",
    ]
    without += ["traces import", "instances list", "instances make", "instances new"]
    without += ["lessons list", "lessons export", "policy show", "policy schema", "policy replay"]
    assert {name for name, leaf in leaves() if "--import" not in options_of(leaf)} == set(without)


ACCEPTED = {
    "an option and its value in one word": ("solve tiny --method=exact --gap=5%", {"gap": 0.05}),
    "options before the instance": ("solve --seed 3 tiny", {"seed": 3, "instance": "tiny"}),
    "words after two dashes": ("solve --json -- tiny", {"instance": "tiny", "json": True}),
    "a file of one dash": ("check tiny -", {"plan": "-"}),
    "a negative number as a value": ("solve tiny --target -20", {"target": "-20"}),
    "negative numbers as two values": ("front tiny --against loss --between -5 9", {"between": (-5.0, 9.0)}),
    "the last of an option that is given twice": ("solve tiny --seed 3 --seed 4", {"seed": 4}),
    "all of an option that may be": (
        "solve tiny --import a --import b --option x=1 --option y==",
        {"imports": ("a", "b"), "options": (("x", "1"), ("y", "="))},
    ),
    "a switch that is taken back": ("report tiny p --no-prices --prices", {"prices": True}),
    "names between options": ("methods a --json b", {"names": ("a", "b")}),
    "a value that begins with a dash, in one word": ("solve tiny --out=-x", {"out": "-x"}),
    "a percentage with a space": ("solve tiny --gap=5\u00a0%", {"gap": 0.05}),
}
REFUSED = {
    "an option cut short": ("solve tiny --tar 5", "there is no option --tar; did you mean '--target'?"),
    "one that may be several": (
        "solve tiny --s 5",
        "did you mean '--seed' or '--scenarios'?",
    ),
    "an option as a value": (
        "solve tiny --out --seed",
        "argument --out: needs a value; if it is --seed",
    ),
    "an option without a value": ("solve tiny --out", "'--out' requires an argument"),
    "a value for a switch": ("solve tiny --explain=1", "'--explain' does not take a value"),
    "too few values": ("front tiny --against loss --between 5", "'--between' requires 2 arguments"),
    "all that is missing": ("train --runs 2", "the following arguments are required: --family, --out"),
    "letters for a number": ("solve tiny --time-limit 10s", "--time-limit: '10s' is not a valid number"),
    "a number that is not whole": ("solve tiny --seed 1.5", "--seed: '1.5' is not a valid whole number"),
    "a number that is too small": ("solve tiny --seed -1", "argument --seed: -1 is not in the range x>=0"),
    "a figure of another kind": (
        "diagnose digits-alexnet --figure fig.jpg",
        "figures are written as .png, .svg or .pdf, not as .jpg",
    ),
    "a picture that the paper prints no numbers in": (
        "figures --paper 3",
        "'3' is no choice; known are",
    ),
    "a share that is none": ("fit x --template t --out o --care 1", "--care: 1.0 is not in the range 0<=x<1"),
}


@pytest.mark.parametrize("kind", ACCEPTED)
def test_what_was_understood_before_is_understood(kind) -> None:
    line, wanted = ACCEPTED[kind]
    _, found = parsed(line.split(" "))
    assert vars(found).items() >= wanted.items()


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_not_understood_is_refused_with_what_to_do(ask, kind) -> None:
    line, message = REFUSED[kind]
    code, out, err = ask(*line.split(" "))
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())
    assert err.splitlines()[-1].startswith("Help and examples: depl")
    command, *rest = line.split(" ")
    code, out, _ = ask(command, "--json", *rest)
    if "--json" in options_of(dict(leaves())[line.split()[0]]):
        assert (code, json.loads(out)["termination"]) == (2, "error")
        assert message in json.loads(out)["reason"]


def test_what_is_gone_is_no_option_or_command() -> None:
    there = {f"depl {name} {option}" for name, leaf in leaves() for option in options_of(leaf)}
    assert not SUCCESSORS.keys() & there
    assert ROOT.name == "depl"


def test_the_ending_of_a_figure_chooses_its_format() -> None:
    assert options.figure_files("fig").paths() == ("fig.png", "fig.svg")
    assert options.figure_files("a.b/fig.png").paths() == ("a.b/fig.png",)
    assert options.figure_files("fig.PDF").paths("-loss") == ("fig-loss.pdf",)
    assert options.figure_files("loss-9.5").paths() == ("loss-9.5.png", "loss-9.5.svg")
    for text in ("fig.jpg", "fig.json", "fig.png.gz"):
        with pytest.raises(click.BadParameter, match=r"\.png, \.svg or \.pdf, not as"):
            options.figure_files(text)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (options.COUNT, "1", 1),
        (options.SEED, "0", 0),
        (options.relative_gap, "5%", 0.05),
        (options.relative_gap, "0", 0.0),
        (options.positive_seconds, ".5", 0.5),
        (options.count_or_file, "there-is-none.npz", "there-is-none.npz"),
        (options.count_or_file, "7", 7),
    ],
)
def test_values_are_read(kind, text, value) -> None:
    assert kind(text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (options.COUNT, "0"),
        (options.COUNT, "many"),
        (options.SEED, "-1"),
        (options.relative_gap, "1"),
        (options.relative_gap, "-5%"),
        (options.relative_gap, "nan"),
        (options.positive_seconds, "inf"),
        (options.positive_seconds, "nan"),
        (options.positive_seconds, "0"),
        (options.count_or_file, "there-is-none"),
        (options.count_or_file, "0"),
    ],
)
def test_other_values_are_refused(kind, text) -> None:
    with pytest.raises(click.BadParameter):
        kind(text)
