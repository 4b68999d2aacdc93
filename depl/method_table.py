"""`depl.methods`: the registered methods, which print as a table."""

from depl.models.solving.methods import Meaning, Proof, Registered, registered
from depl.showing.parts import Listing


class Methods(tuple[Registered, ...]):
    """Methods by name; printed, and in a notebook, they are a table, those that prove most first."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return the table."""
        return self._table().text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        return self._table().html()

    def _table(self) -> Listing:
        order = [*Proof, None]
        shown = sorted(self, key=lambda method: (order.index(method.proof), method.name))
        rows = [(method.name, proved(method), needed(method), method.summary) for method in shown]
        return Listing(("method", "proves", "needs", "what it does"), rows)


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
