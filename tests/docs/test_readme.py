"""What the README shows is so: commands exist, examples run, links resolve, numbers are computed again."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from depl.benchmarks.figures.comparison import entry_of
from depl.benchmarks.measure.catalogue import all_studies
from depl.cli import main
from depl.commands import diagnose, fit
from depl.commands.demo import METHODS, comparison_table
from depl.instances.library import load, parse
from depl.instances.template import template
from depl.models.estimation import diagnosis
from depl.models.policy import planning
from depl.models.solving.result import Solution
from depl.models.solving.solve import solve
from depl.models.traces.fingerprints import fingerprints
from tests.docs.pages import ROOT, text_of

README = text_of("README.md")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)
PYTHON = [text for language, text in BLOCKS if language == "python"]
COMMANDS = [
    line.split("#")[0].strip() for language, text in BLOCKS if language == "sh" for line in text.splitlines()
]
FIRST_ANSWER, TABLE = (text.splitlines() for language, text in BLOCKS if language == "text")
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))


def test_the_first_screen_has_both_commands_and_the_way_without_make():
    first = README[: README.index("## ")]
    assert all(text in first for text in ("make demo", "make test", "without make is below", "![", "```text"))
    assert "python3 -m venv .venv" in README[: README.index("## From Python")]
    assert len(first.splitlines()) <= 45


def test_the_first_answer_is_what_the_template_gives():
    instance = parse(template())
    printed = str(solve(instance)).splitlines()
    assert len(FIRST_ANSWER) == 7
    assert [line for line in printed if line in FIRST_ANSWER] == FIRST_ANSWER
    first = " ".join(README[: README.index("## ")].split())
    edge, cloud = instance.clusters
    assert (edge.nodes, edge.unit_cost, cloud.unit_cost) == (2, 1, 1.5)
    assert sorted(row.cost for row in instance.transfers) == [6, 9]
    target = instance.target
    assert (target.initial_loss, target.maximum_loss) == (6, 4)
    assert (target.maximum_epochs, target.maximum_time, target.quantile_level) == (4, 10, 0.95)
    data = {row.cluster: row.datasets for row in solve(instance).plan.data}
    assert data == {"edge": ("sensors",), "cloud": ("sensors", "archive")}  # the first are brought for 6
    for words, place in (("All epochs on `edge` would cost", edge), ("all on `cloud`", cloud)):
        moved = tuple(row for row in instance.transfers if row.cluster == place.name)
        alone = solve(instance.replace(clusters=(place,), transfers=moved), "exact")
        assert alone.solution is Solution.PROVEN_OPTIMAL
        assert f"{words} {alone.cost:.2f}" in first


@pytest.mark.usefixtures("own_methods")
@pytest.mark.parametrize("example", PYTHON, ids=range(len(PYTHON)))
def test_the_python_examples_run(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(planning, "GRIDS", (2048,))  # on these cells, too, what the example asserts holds
    Path("mine.json").write_text(template(), encoding="utf-8")  # as 'depl instances new' writes it
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(example, "README.md", "exec"), {"__name__": "readme"})


@pytest.fixture
def answered_once(shipped_fits, monkeypatch):
    """Not worked out again are a fit that is shipped, and a diagnosis that was asked for before."""
    found, anew = {}, diagnosis.diagnose

    def diagnosed(traces, rng, metric, resamples):
        key = (fingerprints(traces), repr(rng.bit_generator.state), metric, resamples)
        if key not in found:
            found[key] = anew(traces, rng, metric, resamples)
        return found[key]

    monkeypatch.setattr(diagnosis, "diagnose", diagnosed)


@pytest.mark.usefixtures("answered_once")
def test_the_examples_of_the_command_line_run_one_after_the_other(ask, tmp_path, monkeypatch):
    """With fewer resamples of the diagnosis (one is a part of ``depl fit``) than for a reader."""
    (resamples,) = (param for param in diagnose.diagnose.params if param.name == "resamples")
    monkeypatch.setattr(resamples, "default", 5)
    monkeypatch.setattr(fit, "_RESAMPLES", 5)
    follow_the_commands(ask, tmp_path, monkeypatch)


@pytest.mark.slow
def test_the_examples_of_the_command_line_run_as_a_reader_runs_them(ask, tmp_path, monkeypatch):
    follow_the_commands(ask, tmp_path, monkeypatch)


def follow_the_commands(ask, tmp_path, monkeypatch):
    """Type them in an empty folder; the one that fits makes the shipped instance again, byte by byte."""
    monkeypatch.chdir(tmp_path)
    words = [
        shlex.split(command)
        for command in COMMANDS
        if command.startswith("depl ") and not command.startswith("depl bench run")
    ]
    assert len(words) >= 6
    fitted = 0
    for _, *arguments in words:
        code, _, err = ask(*arguments)
        assert code == 0, (arguments, err)
        if arguments[0] == "fit":
            shipped = ROOT / "instances" / "data" / f"{arguments[1]}.json"
            assert (tmp_path / arguments[-1]).read_bytes() == shipped.read_bytes()
            fitted += 1
    assert fitted == 1


def test_what_is_named_exists():
    """Targets of make, studies, folders, and what the commands without make need."""
    typed = re.findall(r"\bmake ([a-z]+)\b", " ".join([*COMMANDS, *re.findall(r"`(make [a-z]+)`", README)]))
    assert {"demo", "test", "bench", "picture"} <= set(typed) <= TARGETS
    studies = {command.split()[-1] for command in COMMANDS if "depl bench run" in command}
    assert set() < studies <= all_studies().keys()
    folders = set(re.findall(r"^\| `(\w+)/`", README, flags=re.MULTILINE))
    assert folders == {"models", "heuristics", "instances", "benchmarks", "depl", "docs"}
    assert all((ROOT / name).is_dir() for name in folders)
    begin = COMMANDS.index("python3 -m venv .venv")
    make, install, demo = COMMANDS[begin : begin + 3]
    assert all(".venv" in command for command in (make, install, demo))
    assert (ROOT / install.split()[-1]).name == "requirements.lock"
    assert (ROOT / "requirements.lock").exists()
    assert main([demo.split()[-1], "--help"]) == 0


def test_links_and_pictures_resolve():
    links = re.findall(r"\]\(([^)\s]+)\)", README)
    local = [link for link in links if not link.startswith("https://")]
    assert len(local) >= 5
    assert not [link for link in local if not (ROOT / link).is_file()]
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README)
    assert len(pictures) == 3
    assert all((ROOT / picture).read_bytes().startswith(b"\x89PNG\r\n") for picture in pictures)


def cells(line):
    """Cells of a row of the table without the seconds; a line beside it as it is."""
    return [cell.strip() for cell in line.split("|")[:-1]] or line


def rows_of_table(lines, methods):
    """Cells of the lines of a table that are no row, or the row of one of the methods."""
    found = [cells(line) for line in lines if set(line) != {"-", "+"}]
    return [row for row in found if row[0] != "9" or row[1] in methods]


@pytest.mark.parametrize(
    "methods", [[name for name in METHODS if name != "depl"], pytest.param(METHODS, marks=pytest.mark.slow)]
)
def test_the_table_shows_what_the_demo_computes(methods):
    """The loop takes longest: its row is for slow tests."""
    instance = load("paper-alexnet-deadline", 9)
    computed = comparison_table([entry_of("9", instance, method, None) for method in methods]).splitlines()
    assert set(TABLE[1]) == set(computed[1]) == {"-", "+"}
    assert rows_of_table(TABLE, METHODS) != rows_of_table(TABLE, [])
    assert rows_of_table(TABLE, methods) == rows_of_table(computed, methods)
