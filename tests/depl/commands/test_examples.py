"""The examples at the end of each help: every one is understood, and the quick ones are run."""

import json
import shlex
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from depl.benchmarks.measure.catalogue import all_studies
from depl.benchmarks.measure.store import RECORDED
from depl.cli import ROOT, parsed
from depl.commands.options import Options, every
from depl.instances.knapsack_files import shipped_knapsacks
from depl.instances.library import full_names
from depl.instances.training.recorded import recorded_names
from depl.models.solving.methods import find, registered

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
    "bench compare": "asks methods",
    "bench draw": "draws",
    "bench report": "a report with all figures",
}
"""Commands whose examples are not run here, and why."""

EXAMPLES = {" ".join(words): command.examples for words, command in every(ROOT)}


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_help_ends_with_two_or_three_examples_of_the_command(ask, name) -> None:
    shown = ask(*name.split(), "--help")[1].partition("\nexamples:\n")[2]
    assert shown == "".join(f"  {line}\n" for line in EXAMPLES[name])
    assert len(EXAMPLES[name]) in (2, 3)
    assert max(map(len, EXAMPLES[name])) <= 118
    assert any(line.startswith(f"depl {name}".rstrip()) for line in EXAMPLES[name])


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_understood_and_names_what_there_is(name) -> None:
    written = {"runs.csv", "digits.json", "run.jsonl"}  # which examples call the reader's own
    for line in EXAMPLES[name]:
        words = shlex.split(line, comments=True)
        if words[0] == "echo":
            assert words[2] == ">"
            written.add(words[3])
            continue
        assert words[0] == "depl"
        run, options = parsed(words[1:])
        for given, known in named(run.__name__, options):
            assert given in known or given in written, (line, given)
        if out := getattr(options, "out", None):
            written.add(out)


def named(command: str, options: Options) -> Iterator[tuple[str, Collection[str]]]:
    """Each name that a line gives, with those that it may be."""
    given = vars(options)
    methods = [method.name for method in registered()]
    if isinstance(instance := given.get("instance"), str):
        yield instance, full_names()
    asked = given.get("method") or given.get("places") or ()
    asked = given["names"] if command == "methods" else (asked,) if isinstance(asked, str) else asked
    yield from ((name, methods) for name in asked)
    yield from ((name, all_studies()) for name in given.get("studies", ()))
    if command == "draw":
        yield options.name, all_studies()
    if command in ("compare", "resume"):
        yield options.file, recorded()
    if command == "report" and "files" in given:
        yield from ((name, recorded()) for name in options.files)
    if command == "knapsack":
        yield options.file, shipped_knapsacks()
    traces = given.get("traces") or ()
    yield from ((name, recorded_names()) for name in ([traces] if isinstance(traces, str) else traces))
    for key, _ in given.get("options", ()):
        yield key, [item.name for item in find(options.method).options]


def recorded() -> list[str]:
    """The studies of which attempts are recorded."""
    return ["behaviour", *(path.name.partition(".")[0] for path in RECORDED.glob("*.gz"))]


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in SLOW])
def test_the_examples_that_are_quick_run_one_after_the_other(name, ask, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for line in EXAMPLES[name]:
        words = shlex.split(line, comments=True)
        if words[0] == "echo":
            Path(words[3]).write_text(json.dumps(json.loads(words[1])), encoding="utf-8")
            continue
        code, out, err = ask(*words[1:])
        assert code == 0, (line, err)
        assert out or err, line
