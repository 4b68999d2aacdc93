"""`depl.methods`: the registered methods, which print as a table."""

from collections.abc import Sequence

from depl.commands.printable import fields, table
from depl.models.solving.defaults import DEFAULT_METHOD
from depl.models.solving.methods import Meaning, Proof, Registered, registered
from depl.showing.parts import Listing

_HEADER = ("method", "proves", "needs", "what it does")


class Methods(tuple[Registered, ...]):
    """Methods by name; printed, and in a notebook, they are a table, those that prove most first."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return the table."""
        return Listing(_HEADER, self._rows()).text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        return Listing(_HEADER, self._rows()).html()

    def _rows(self) -> list[tuple[str, str, str, str]]:
        order = [*Proof, None]
        shown = sorted(self, key=lambda method: (order.index(method.proof), method.name))
        return [(method.name, proved(method), needed(method), method.summary) for method in shown]


def methods() -> Methods:
    """All registered methods, by name."""
    return Methods(registered())


def proved(method: Registered) -> str:
    """What a method can prove about cost."""
    if method.proof is None:
        return "not declared"
    sampled = method.meaning is Meaning.SCENARIOS and method.proof is not Proof.NOTHING
    return f"{method.proof.value}, on the scenarios" if sampled else method.proof.value


def needed(method: Registered) -> str:
    """What must be there for a method."""
    basis = "scenarios" if method.meaning is Meaning.SCENARIOS else "a law"
    return "; ".join(filter(None, (f"{basis}, also with memory" if method.memory else basis, method.needs)))


def described(method: Registered) -> str:
    """One method with its options, in a few lines."""
    name = f"{method.name} (the default)" if method.name == DEFAULT_METHOD else method.name
    pairs = [
        ("method", name),
        ("does", method.summary),
        ("proves", proved(method)),
        ("needs", needed(method)),
    ]
    text = fields(pairs)
    if not method.options:
        return f"{text}\nIt takes no options."
    rows: Sequence[tuple[str, str, str]] = [
        (option.name, option.allowed or "not declared", option.summary) for option in method.options
    ]
    return f"{text}\n\n{table(('option', 'values', 'what it does'), rows)}"
