"""What ``depl completion`` does; `depl.arguments.completion` declares its options."""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from depl.benchmarks.measure.registry import all_studies
from depl.benchmarks.suites.catalogue import all_suites
from depl.commands.answer import Answer
from depl.commands.parser import parser
from depl.instances.knapsack_files import shipped_knapsacks
from depl.instances.library import full_names
from depl.instances.setups import setup_names
from depl.instances.training.families import FAMILIES
from depl.instances.training.recorded import recorded_names
from depl.models.solving.methods import registered


class Place(NamedTuple):
    """A command, or a group of them: what may follow it.

    Attributes
    ----------
    path : str
        The words that lead to it, joined by slashes; empty for depl itself.
    commands : mapping
        The commands below it, with a sentence on each.
    options : mapping
        Its options, with the words that may follow each; None for an option that takes no value.
    words : tuple of str
        What may stand there that is no option.
    """

    path: str
    commands: Mapping[str, str]
    options: Mapping[str, tuple[str, ...] | None]
    words: tuple[str, ...]


def run(options: argparse.Namespace) -> Answer:
    """The script of a shell."""
    return Answer(_SCRIPTS[options.shell](list(places())).rstrip("\n"))


def places() -> Iterator[Place]:
    """Every command and group, with what may follow it."""
    yield from _below(parser(), "", _names())


def _below(parser: argparse.ArgumentParser, path: str, names: Mapping[str, Sequence[str]]) -> Iterator[Place]:
    commands: dict[str, str] = {}
    inner: dict[str, argparse.ArgumentParser] = {}
    options: dict[str, tuple[str, ...] | None] = {}
    words: list[str] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            inner |= action.choices
            commands |= {choice.dest: choice.help or "" for choice in action._choices_actions}
        elif action.option_strings:
            taken = None if action.nargs == 0 else _values(action, path, names)
            options |= dict.fromkeys(action.option_strings, taken)
        else:
            words += _values(action, path, names)
    yield Place(path, commands, options, (*commands, *words))
    for name, found in inner.items():
        yield from _below(found, f"{path}/{name}", names)


def _values(action: argparse.Action, path: str, names: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """What an option or argument may be, as far as it is a name; files are the shell's own affair."""
    if action.choices is not None:
        return tuple(map(str, action.choices))
    for key in (f"{path} {action.dest}", action.dest):
        if key in names:
            return tuple(names[key])
    return ()


def _names() -> dict[str, Sequence[str]]:
    """The names that an argument may be, by what argparse calls it, if needed after its command."""
    methods = [method.name for method in registered()]
    suites, cases = list(all_suites()), list(all_studies())
    return {
        "instance": full_names(),
        "/knapsack instance": (),
        "method": methods,
        "methods": methods,
        "/methods names": methods,
        "suites": suites,
        "/bench/report files": suites,
        "/bench/recheck file": suites,
        "/bench/export file": suites,
        "/bench/cases/run names": cases,
        "/bench/cases/draw name": cases,
        "traces": recorded_names(),
        "template": setup_names(),
        "family": tuple(FAMILIES),
        "/knapsack file": shipped_knapsacks(),
    }


def _bash(places: Sequence[Place]) -> str:
    """A function that finds the command among the words, and offers what may follow; else files."""
    paths = " | ".join(f"'{place.path}'" for place in places if place.path)
    values, silent = _values_in_bash(places)
    offered = "\n".join(
        f"        '{place.path} -'*) words='{' '.join(place.options)}' ;;\n"
        f"        '{place.path} '*) words='{' '.join(place.words)}' ;;"
        for place in places
    )
    return f"""\
# Completion of depl; made by: depl completion bash
_depl() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
    local path='' words='' i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$path/${{COMP_WORDS[i]}}" in
        {paths}) path="$path/${{COMP_WORDS[i]}}" ;;
        esac
    done
    case "$path $before" in
{values}
        {silent}) ;;
        *)
        case "$path $current" in
{offered}
        esac ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o bashdefault -o default -F _depl depl
"""


def _values_in_bash(places: Sequence[Place]) -> tuple[str, str]:
    """Branches for the options that take certain words, and a pattern of those that take any."""
    known, silent = [], []
    for place in places:
        for option, words in place.options.items():
            if words:
                known.append(f"        '{place.path} {option}') words='{' '.join(words)}' ;;")
            elif words is not None:
                silent.append(f"'{place.path} {option}'")
    return "\n".join(known), " | ".join(silent)


def _zsh(places: Sequence[Place]) -> str:
    """The same, by what zsh has for completions of bash."""
    return f"autoload -U +X bashcompinit && bashcompinit\n{_bash(places)}"


def _fish(places: Sequence[Place]) -> str:
    """One line for each command and option, with the condition that its command was typed."""
    paths = " ".join(f"'{place.path}'" for place in places if place.path)
    lines = [
        "# Completion of depl; made by: depl completion fish",
        "function __depl_path",
        "    set -l path ''",
        "    for word in (commandline -opc)",
        '        switch "$path/$word"',
        f"            case {paths}",
        '                set path "$path/$word"',
        "        end",
        "    end",
        '    echo "at$path"',
        "end",
    ]
    for place in places:
        start = f"complete -c depl -n 'test (__depl_path) = at{place.path}'"
        lines += [f"{start} -a {name} -d {_quoted(place.commands.get(name, ''))}" for name in place.words]
        for option, words in place.options.items():
            kind = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            taken = "" if words is None else f" -r -a '{' '.join(words)}'" if words else " -r"
            lines.append(f"{start} {kind}{taken}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_SCRIPTS: Mapping[str, Callable[[Sequence[Place]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
