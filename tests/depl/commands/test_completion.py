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
    "": sorted(COMMANDS),
    "so": ["solve"],
    "--ver": ["--version"],
    "solve paper-alexnet-d": [name for name in full_names() if name.startswith("paper-alexnet-d")],
    "solve tiny --met": ["--method"],
    "solve --method sce": ["scenario-search"],
    "front tiny --against ": ["loss", "probability", "time"],
    "instances s": ["schema", "show"],
    "methods ra": ["random"],
    "knapsack f4": ["f4_l-d_kp_4_11"],
    "completion ": ["bash", "fish", "zsh"],
    "solve bench --wor": [],
}


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_offers_what_may_follow(ask, tmp_path):
    command = tmp_path / "depl"  # as a shell finds it
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m depl "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    asked = [
        f"COMP_WORDS=({shlex.join(('depl', *line.split(' ')))}); COMP_CWORD={len(line.split(' '))}; "
        "COMPREPLY=(); _depl_completion depl; echo ${COMPREPLY[@]}"
        for line in OFFERED
    ]
    folders = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", "\n".join([ask("completion", "bash")[1], *asked])],
        env={**os.environ, **folders},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = [sorted(line.split()) for line in done.stdout.splitlines()]
    assert dict(zip(OFFERED, found, strict=True)) == {line: sorted(words) for line, words in OFFERED.items()}


@pytest.mark.parametrize(("shell", "word"), [("zsh", "#compdef depl"), ("fish", "complete --no-files")])
def test_the_scripts_of_other_shells_ask_depl(ask, shell, word):
    code, out, err = ask("completion", shell)
    assert (code, err) == (0, "")
    assert word in out
    assert f"_DEPL_COMPLETE={shell}_complete" in out
