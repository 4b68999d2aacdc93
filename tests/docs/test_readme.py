"""What the README shows is so: commands exist, examples run, links resolve, numbers are computed again."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

import depl
from depl.built_in import BUILT_IN
from depl.cli import main
from depl.instances.library import parse
from depl.instances.template import template
from depl.models.policy import planning
from depl.models.solving.solve import solve
from tests.docs.pages import ROOT, text_of

README = text_of("README.md")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)
PYTHON = [text for language, text in BLOCKS if language == "python"]
COMMANDS = [
    line.split("#")[0].strip() for language, text in BLOCKS if language == "sh" for line in text.splitlines()
]
FIRST_ANSWER = next(text.splitlines() for language, text in BLOCKS if language == "text")
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))


def test_it_is_short_and_its_first_screen_has_both_commands_and_the_way_without_make():
    first = README[: README.index("## ")]
    for text in ("make demo", "make test", "Without make", "python3 -m venv .venv", "![", "```text"):
        assert text in first
    assert len(first.splitlines()) <= 45
    assert (len(README.splitlines()), len(README.split())) <= (130, 1250)


def test_the_first_answer_is_what_the_template_gives():
    instance = parse(template())
    printed = str(solve(instance)).splitlines()
    assert len(FIRST_ANSWER) == 7
    assert [line for line in printed if line in FIRST_ANSWER] == FIRST_ANSWER


@pytest.mark.usefixtures("own_methods")
@pytest.mark.parametrize("example", PYTHON, ids=range(len(PYTHON)))
def test_the_python_examples_run(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(planning, "GRIDS", (2048,))  # on these cells, too, what the example asserts holds
    Path("mine.json").write_text(template(), encoding="utf-8")  # as 'depl instances new' writes it
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(example, "README.md", "exec"), {"__name__": "readme"})


def test_the_commands_run_one_after_the_other(ask, tmp_path, monkeypatch):
    """Typed in an empty folder."""
    monkeypatch.chdir(tmp_path)
    words = [shlex.split(command)[1:] for command in COMMANDS if command.startswith(".venv/bin/depl ")]
    assert [arguments[0] for arguments in words] == ["instances", "solve"]
    for arguments in words:
        code, _, err = ask(*arguments)
        assert code == 0, (arguments, err)
    assert {path.suffix for path in tmp_path.iterdir()} >= {".json", ".png"}


def test_the_commands_and_functions_of_the_tables_exist(ask):
    rows = re.findall(r"^\| [^|]+ \| (`depl .*?) \| (.*?) \| \[", README, flags=re.MULTILINE)
    assert len(rows) == 9
    for commands, functions in rows:
        for name in re.findall(r"`(?:depl )?(\w+)`", commands):
            assert ask(name, "--help")[0] == 0
        assert all(hasattr(depl, name) for name in re.findall(r"`depl\.(\w+)`", functions))
    table = README[README.index("## Methods") : README.index("## What is proved")]
    assert {method.name for method in BUILT_IN} <= set(re.findall(r"`([a-z-]+)`", table))


def test_what_is_named_exists():
    """Targets of make, and what the commands without make need."""
    assert {"demo", "test"} <= set(re.findall(r"\bmake ([a-z]+)\b", " ".join(COMMANDS))) <= TARGETS
    spelled = re.findall(r"`(?:\.venv/bin/)?python3? -m ([^`]+)`", README)
    assert [text.split()[0] for text in spelled] == ["venv", "pip", "depl"]
    assert (ROOT / spelled[1].split()[-1]).exists()
    assert main([spelled[2].split()[-1], "--help"]) == 0


def test_links_and_pictures_resolve():
    links = re.findall(r"\]\(([^)\s]+)\)", README)
    local = [link for link in links if not link.startswith("https://")]
    assert len(local) >= 5
    assert not [link for link in local if not (ROOT / link).is_file()]
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README)
    assert len(pictures) == 1
    assert all((ROOT / picture).read_bytes().startswith(b"\x89PNG\r\n") for picture in pictures)
