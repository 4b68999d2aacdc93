"""The examples at the end of each help: every one is understood by the parser, and the quick ones are run."""

import argparse
import contextlib
import io
import json
import re
import shlex
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from depl.benchmarks.measure.registry import all_studies
from depl.benchmarks.measure.store import RECORDED
from depl.benchmarks.suites.catalogue import all_suites
from depl.benchmarks.sweep.compact import compact_file
from depl.commands.examples import EXAMPLES
from depl.commands.parser import parser
from depl.instances.knapsack_files import shipped_knapsacks
from depl.instances.library import full_names
from depl.instances.training.recorded import recorded_names
from depl.models.solving.methods import find, registered
from tests.docs.test_docs import subcommands

SLOW = {
    "demo": "a minute of solving and drawing",
    "train": "trains networks",
    "certify": "trains networks",
    "diagnose": "resamples for half a minute; tests of the command do so on fewer",
    "fit": "as diagnose",
    "traces": "reads logs of the reader's own",
    "traces import": "as traces",
    "policy": "plans a policy, as do all below but the last",
    "policy solve": "seconds, and an instance of the reader's own",
    "policy show": "seconds; tests of the command do so on tiny instances",
    "policy decide": "as policy show",
    "policy check": "as policy show",
    "policy simulate": "as policy show",
    "policy replay": "as policy solve",
    "figures": "draws dozens of panels; tests of the command draw each kind once",
    "warm-up": "solves by every method; its own tests do so",
    "bench": "a report with all figures",
    "bench run": "sweeps",
    "bench resume": "sweeps",
    "bench recheck": "solves for a minute",
    "bench report": "a report with all figures",
    "bench cases": "measures a case",
    "bench cases run": "measures cases",
    "bench cases draw": "draws",
    "bench behaviour": "asks all methods",
    "bench behaviour record": "asks all methods",
    "bench behaviour compare": "asks all methods",
}
"""Commands whose examples are not run here, and why."""


def groups(parser: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command and every group of commands by its words."""
    yield name, parser
    for word, inner in subcommands(parser):
        yield from groups(inner, f"{name} {word}".strip())


@pytest.fixture(scope="module")
def parsers() -> dict[str, argparse.ArgumentParser]:
    return dict(groups(parser()))


def lines(command: str) -> list[list[str]]:
    return [shlex.split(line, comments=True) for line in EXAMPLES[command].splitlines()]


def test_every_command_and_group_ends_its_help_with_two_or_three_examples_of_itself(parsers) -> None:
    assert EXAMPLES.keys() == parsers.keys()
    assert SLOW.keys() <= parsers.keys()
    for name, found in parsers.items():
        help_text = found.format_help()
        _, _, shown = help_text.partition("\nexamples:\n")
        assert shown == "".join(f"  {line}\n" for line in EXAMPLES[name].splitlines()), name
        assert len(lines(name)) in (2, 3), name
        count = len(name.split())
        assert any(words[1 : 1 + count] == name.split() for words in lines(name)), name
        assert "``" not in help_text
        assert max(map(len, help_text.splitlines())) <= 120


@pytest.mark.parametrize("command", EXAMPLES)
def test_every_example_is_understood_and_names_what_there_is(command, parsers) -> None:
    written = {"runs.csv", "digits.json", "run.jsonl"}  # which examples call the reader's own
    for words in lines(command):
        if words[0] == "echo":
            assert words[2] == ">"
            written.add(words[3])
            continue
        assert words[0] == "depl"
        options = parsers[""].parse_args(words[1:])
        for name, known in named(options):
            assert name in known or name in written, (words, name)
        for key, _ in getattr(options, "options", ()):
            assert key in [item.name for item in find(options.method).options]
        if out := getattr(options, "out", None):
            written.add(out)


def named(options: argparse.Namespace) -> Iterator[tuple[str, Collection[str]]]:
    """Each name that a line gives, with those that it may be."""
    if isinstance(instance := getattr(options, "instance", None), str):
        yield instance, full_names()
    methods = getattr(options, "methods", None)
    asked = methods.split(",") if methods else [getattr(options, "method", None)]
    asked += getattr(options, "names", []) if options.command == "methods" else []
    flat = [name for item in asked if item for name in ([item] if isinstance(item, str) else item)]
    yield from ((name, [method.name for method in registered()]) for name in flat)
    yield from ((name, all_suites()) for name in getattr(options, "suites", []))
    if options.command == "knapsack":
        yield options.file, shipped_knapsacks()
    traces = getattr(options, "traces", None) or []
    yield from ((name, recorded_names()) for name in ([traces] if isinstance(traces, str) else traces))
    if options.command == "bench" and getattr(options, "action", None) in ("export", "recheck", "resume"):
        yield options.file, recorded()
    yield from ((name, recorded()) for name in getattr(options, "files", []))
    if getattr(options, "cases_action", None) in ("run", "draw"):
        yield from ((name, all_studies()) for name in getattr(options, "names", None) or [options.name])


def recorded() -> list[str]:
    """The suites of which attempts are recorded."""
    return [name for name in all_suites() if compact_file(RECORDED, name).exists()]


@pytest.mark.parametrize("command", [name for name in EXAMPLES if name not in SLOW])
def test_the_examples_that_are_quick_run_one_after_the_other(command, ask, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for line in EXAMPLES[command].splitlines():
        words = shlex.split(line, comments=True)
        if words[0] == "echo":
            Path(words[3]).write_text(json.dumps(json.loads(words[1])), encoding="utf-8")
            continue
        code, out, err = ask(*words[1:])
        assert code == 0, (line, err)
        assert out or err, line


def test_a_sentence_in_front_of_the_options_says_what_the_command_does(parsers) -> None:
    with contextlib.redirect_stdout(io.StringIO()) as shown, pytest.raises(SystemExit):
        parsers[""].parse_args(["solve", "--help"])
    assert re.search(r"'depl solve': find a plan", shown.getvalue())
