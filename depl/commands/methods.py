"""``depl methods``: the registered methods, what each of them proves and needs, and its options."""

import argparse

from depl.commands.answer import Answer, as_json
from depl.commands.options import add_imports, add_json
from depl.method_table import Methods, described, methods
from depl.models.solving.methods import DEFAULT_METHOD, DEFAULT_ON_SCENARIOS, Registered, find

_DEFAULTS = (
    f"Without --method it is {DEFAULT_METHOD}; for an instance without laws, on given scenarios, "
    f"{DEFAULT_ON_SCENARIOS}.\nOptions of one: depl methods NAME."
)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("names", metavar="NAME", nargs="*", help="only these, with their options")
    add_imports(parser)
    add_json(parser, "the methods")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> Answer:
    """All methods as a table, or some of them in full."""
    asked = Methods(find(name) for name in dict.fromkeys(options.names)) or methods()
    text = "\n\n".join(map(described, asked)) if options.names else f"{asked}\n\n{_DEFAULTS}"
    return Answer(text, json=as_json({"methods": [_content(method) for method in asked]}))


def _content(method: Registered) -> dict[str, object]:
    return {
        "name": method.name,
        "default": method.name == DEFAULT_METHOD,
        "summary": method.summary,
        "proves": None if method.proof is None else method.proof.name.lower(),
        "counts": method.meaning.value,
        "memory": method.memory,
        "needs": method.needs or None,
        "options": [
            {"name": option.name, "values": option.allowed or None, "summary": option.summary or None}
            for option in method.options
        ],
    }
