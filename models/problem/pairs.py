"""How many pairs of models a table may hold.

Switches lead from every model to every other, so tables of switches grow with the square of the number of
models, and by epoch they grow further. An instance that would need hours and gigabytes for them is refused
in words before they are begun.
"""

from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.memory import require_memory
from depl.models.problem.instance import Instance

MOST_ENTRIES = 16_000_000
"""A minute or a few of plain Python, and some gigabytes: 4000 models, or 400 at each of 100 epochs."""

_ENTRY = 250
"""Bytes of an entry: a few Python objects, or some dozens of doubles."""


def require_tabulated(instance: Instance, what: str, repeated: int = 1) -> None:
    """Refuse an instance whose pairs of models are too many for a table.

    Parameters
    ----------
    what : str
        What would hold the table, for the message.
    repeated : int
        How often every pair occurs: once per epoch, for instance.

    Raises
    ------
    NotCoveredError
        With the numbers.
    """
    models = len(instance.models)
    entries = repeated * models**2
    if entries > MOST_ENTRIES:
        times = "" if repeated == 1 else f", {repeated} times each,"
        raise NotCoveredError(
            f"{what} compares every pair of models{times} and {models} models make {entries:.3g} entries, of "
            f"at most {MOST_ENTRIES:.3g} accepted; leave out models" + (", or epochs" if repeated > 1 else "")
        )
    require_memory(
        float(_ENTRY * entries),
        f"{what} of {models} models",
        "leave out models" + (", or epochs" if repeated > 1 else ""),
    )
