"""``depl completion``: bash itself says what its script offers; the others hold the same words."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from depl.cli import main
from depl.commands.completion import places
from depl.commands.parser import COMMANDS
from depl.instances.library import full_names
from depl.models.solving.methods import registered


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from contextlib import redirect_stdout

    path = tmp_path_factory.mktemp("completion") / "depl.bash"
    with path.open("w", encoding="utf-8") as page, redirect_stdout(page):
        assert main(["completion", "bash"]) == 0
    return path


def offered(script: Path, *words: str) -> list[str]:
    """What bash offers for the last word."""
    typed = " ".join(map(shlex.quote, ("depl", *words)))
    program = (
        f"source {shlex.quote(str(script))}; COMP_WORDS=({typed}); COMP_CWORD={len(words)}; _depl; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return sorted(filter(None, done.stdout.splitlines()))


needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")


@needs_bash
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("",), sorted(COMMANDS)),
        (("so",), ["solve"]),
        (("--ver",), ["--version"]),
        (("solve", "paper-alexnet-d"), [name for name in full_names() if name.startswith("paper-alexnet-d")]),
        (("solve", "tiny", "--met"), ["--method"]),
        (("solve", "--method", "sce"), ["scenario-search"]),
        (("solve", "tiny", "--method", "exact", "--ga"), ["--gap"]),
        (("solve", "tiny", "--gap", ""), []),
        (("solve", "tiny", "--out", "pl"), []),
        (("front", "tiny", "--against", ""), ["loss", "probability", "time"]),
        (("instances", "s"), ["schema", "show"]),
        (("bench", "cases", "run", "exact-"), ["exact-law"]),
        (("bench", "run", "scaling-c"), ["scaling-clusters"]),
        (("bench", "run", "paper", "--fr"), ["--fresh"]),
        (("methods", "ra"), ["random"]),
        (("knapsack", "f4"), ["f4_l-d_kp_4_11"]),
        (("completion", ""), ["bash", "fish", "zsh"]),
        (("solve", "bench", "--wor"), []),
    ],
)
def test_bash_offers_what_may_follow(script, words, wanted):
    assert offered(script, *words) == sorted(wanted)


@needs_bash
def test_bash_offers_every_method(script):
    """Other tests may have registered theirs since the script was made."""
    found = offered(script, "solve", "tiny", "--method", "")
    assert {method.name for method in registered() if method.proof is not None} <= set(found)
    assert set(found) <= {method.name for method in registered()}


@needs_bash
def test_the_script_of_zsh_is_that_of_bash_after_a_line(ask, script):
    _, out, _ = ask("completion", "zsh")
    _, bash, _ = ask("completion", "bash")
    assert out == f"autoload -U +X bashcompinit && bashcompinit\n{bash}"
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0


def test_the_script_of_fish_has_a_line_for_every_word(ask):
    _, out, _ = ask("completion", "fish")
    for place in places():
        start = f"complete -c depl -n 'test (__depl_path) = at{place.path}' "
        own = [line.removeprefix(start) for line in out.splitlines() if line.startswith(start)]
        assert [line.split()[1] for line in own if line.startswith("-a ")] == list(place.words)
        options = [line for line in own if line.startswith(("-l ", "-s "))]
        assert len(options) == len(place.options)
        for line, words in zip(options, place.options.values(), strict=True):
            assert (" -r" in line) is (words is not None)
    assert f"-l method -r -a '{' '.join(method.name for method in registered())}'" in out


def test_every_word_can_stand_in_a_script_without_quotation_marks():
    for place in places():
        for words in (place.words, place.options, *filter(None, place.options.values())):
            assert all(re.fullmatch(r"[\w.+-]+", word) for word in words)


def test_another_shell_is_refused(ask):
    code, _, err = ask("completion", "bsh")
    assert (code, "did you mean 'bash'" in err) == (2, True)
