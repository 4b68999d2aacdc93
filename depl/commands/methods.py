"""What ``depl methods`` does; `depl.arguments.methods` declares its options."""

import argparse

from depl.commands.answer import Answer
from depl.commands.json_text import as_json
from depl.method_table import Methods, described, methods
from depl.models.solving.defaults import DEFAULT_METHOD, DEFAULT_ON_SCENARIOS
from depl.models.solving.methods import Registered, find

_DEFAULTS = (
    f"Without --method it is {DEFAULT_METHOD}; for an instance without laws, on given scenarios, "
    f"{DEFAULT_ON_SCENARIOS}.\nOptions of one: depl methods NAME."
)


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
