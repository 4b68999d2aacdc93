"""``depl methods``: the registered methods, what each of them proves and needs, and its options."""

from typing import TYPE_CHECKING

from depl.commands import options as given
from depl.commands.answer import Answer
from depl.commands.options import METHODS, Options, argument, command
from depl.commands.printable import as_json
from depl.models.solving.defaults import DEFAULT_METHOD, DEFAULT_ON_SCENARIOS

if TYPE_CHECKING:
    from depl.models.solving.methods import Registered

_DEFAULTS = (
    f"Without --method it is {DEFAULT_METHOD}; for an instance without laws, on given scenarios, "
    f"{DEFAULT_ON_SCENARIOS}.\nOptions of one: depl methods NAME."
)


@command(
    examples="""\
depl methods                                 # all, as a table
depl methods depl-paper random               # with their options
depl methods --json
"""
)
@argument("[NAME]...", "only these, with their options", shell_complete=METHODS, name="names")
@given.imports
@given.as_json("the methods")
def methods(options: Options) -> Answer:
    """List the methods: what each proves, needs and takes."""
    from depl.method_table import Methods, described
    from depl.method_table import methods as every
    from depl.models.solving.methods import find

    asked = Methods(find(name) for name in dict.fromkeys(options.names)) or every()
    text = "\n\n".join(map(described, asked)) if options.names else f"{asked}\n\n{_DEFAULTS}"
    return Answer(text, json=as_json({"methods": [_content(method) for method in asked]}))


def _content(method: "Registered") -> dict[str, object]:
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
