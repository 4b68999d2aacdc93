"""Objects that show themselves: `print`, `repr` and notebooks ask here; what draws them waits until then.

The rooms of ``models`` hold the objects; their views are made above, in ``depl.showing``, which `depl` names
here. So there is one text for an object, whoever prints it, and ``import depl`` does not pay for it.
"""

from collections.abc import Callable
from typing import Protocol


class View(Protocol):
    """How an object looks."""

    @property
    def brief(self) -> str:
        """One line, for `repr`."""

    def text(self) -> str:
        """What the command line prints."""

    def html(self) -> str:
        """The same for notebooks."""


_SHOWS: list[Callable[[object], View]] = []


def show_by(view: Callable[[object], View]) -> None:
    """Let a function make the views of all objects."""
    _SHOWS[:] = [view]


def view_of(thing: object) -> View:
    """How an object looks.

    Raises
    ------
    LookupError
        If objects of its class have no view.
    """
    return _SHOWS[0](thing)


class Shown:
    """An object that prints as the command line would show it, and briefly where it is one of many."""

    __slots__ = ()

    def __repr__(self) -> str:
        return view_of(self).brief

    def __str__(self) -> str:
        return view_of(self).text()

    def _repr_html_(self) -> str:
        return view_of(self).html()
