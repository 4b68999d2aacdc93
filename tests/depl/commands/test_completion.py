"""``depl completion``: bash itself asks what may follow, and gets the words that there are."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from depl.cli import COMMANDS
from depl.instances.library import full_names

ROOT = Path(__file__).resolve().parents[3]
OFFERED = {
    "commands": (("",), sorted(COMMANDS)),
    "the beginning of a command": (("so",), ["solve"]),
    "an option of depl": (("--ver",), ["--version"]),
    "instances": (
        ("solve", "paper-alexnet-d"),
        [name for name in full_names() if name.startswith("paper-alexnet-d")],
    ),
    "options": (("solve", "tiny", "--met"), ["--method"]),
    "methods": (("solve", "--method", "sce"), ["scenario-search"]),
    "choices": (("front", "tiny", "--against", ""), ["loss", "probability", "time"]),
    "actions": (("instances", "s"), ["schema", "show"]),
    "a method as an argument": (("methods", "ra"), ["random"]),
    "knapsacks": (("knapsack", "f4"), ["f4_l-d_kp_4_11"]),
    "shells": (("completion", ""), ["bash", "fish", "zsh"]),
    "nothing of another command": (("solve", "bench", "--wor"), []),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the command, as a shell finds it."""
    folder = tmp_path_factory.mktemp("program")
    command = folder / "depl"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m depl "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return folder


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_offers_what_may_follow(ask, program):
    _, script, _ = ask("completion", "bash")
    asked = [
        f"COMP_WORDS=({shlex.join(('depl', *words))}); COMP_CWORD={len(words)}; "
        "COMPREPLY=(); _depl_completion depl; echo ${COMPREPLY[@]}"
        for words, _ in OFFERED.values()
    ]
    folders = {"PATH": f"{program}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", "\n".join([script, *asked])],
        env={**os.environ, **folders},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = [sorted(line.split()) for line in done.stdout.splitlines()]
    assert dict(zip(OFFERED, found, strict=True)) == {
        kind: sorted(words) for kind, (_, words) in OFFERED.items()
    }


@pytest.mark.parametrize(("shell", "word"), [("zsh", "#compdef depl"), ("fish", "complete --no-files")])
def test_the_scripts_of_other_shells_ask_depl(ask, shell, word):
    code, out, err = ask("completion", shell)
    assert (code, err) == (0, "")
    assert word in out
    assert f"_DEPL_COMPLETE={shell}_complete" in out


def test_another_shell_is_refused(ask):
    code, _, err = ask("completion", "bsh")
    assert (code, "did you mean 'bash'" in err) == (2, True)
