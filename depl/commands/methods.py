"""``depl methods``: the registered methods, what each of them proves and needs, and its options."""

from typing import Any

import depl
from depl.commands import options as given
from depl.commands.answer import Answer
from depl.commands.printable import as_json, fields, table
from depl.models.solving.defaults import DEFAULT_METHOD, DEFAULT_ON_SCENARIOS

_DEFAULTS = (
    f"Without --method it is {DEFAULT_METHOD}; for an instance without laws, on given scenarios, "
    f"{DEFAULT_ON_SCENARIOS}.\nOptions of one: depl methods NAME."
)


@given.command("""\
depl methods                                 # all, as a table
depl methods depl-paper random               # with their options
depl methods --json
""")
@given.argument("[NAME]...", "only these, with their options", shell_complete=given.METHODS, name="names")
@given.imports
@given.as_json("the methods")
def methods(options: given.Options) -> Answer:
    """List the methods: what each proves, needs and takes."""
    from depl.models.solving.methods import find

    asked = [find(name) for name in dict.fromkeys(options.names)]
    text = "\n\n".join(map(_described, asked)) if asked else f"{depl.methods()}\n\n{_DEFAULTS}"
    # Listing the options imports the methods, which the table can do without.
    content = [_content(method) for method in asked or depl.methods()] if options.json else []
    return Answer(text, json=as_json({"methods": content}))


def _content(method: Any) -> dict[str, object]:
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


def _described(method: Any) -> str:
    """One method with its options, in a few lines."""
    from depl.method_table import needed, proved

    name = f"{method.name} (the default)" if method.name == DEFAULT_METHOD else method.name
    pairs = [("method", name), ("does", method.summary)]
    pairs += [("proves", proved(method)), ("needs", needed(method))]
    rows = [(option.name, option.allowed or "not declared", option.summary) for option in method.options]
    if not rows:
        return f"{fields(pairs)}\nIt takes no options."
    return f"{fields(pairs)}\n\n{table(('option', 'values', 'what it does'), rows)}"
