"""Objects that show themselves: `print`, `repr` and notebooks ask here; what draws them waits until then.

The rooms of ``models`` hold the objects; tables, pages and drawings of them are made above, in
``depl.showing``, which registers itself with `registering` at the first need. So there is one text for an
object, whoever prints it, and ``import depl`` does not pay for it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from depl.models.foundation.later import Later

SHOWING = Later()
"""What registers the looks of the objects."""


class Look(NamedTuple):
    """How objects of one kind look.

    Attributes
    ----------
    brief : callable
        One line, at most about 200 characters, for `repr`.
    text : callable
        What the command line prints, for `str`.
    page : callable
        HTML with a drawing and tables, for notebooks.
    frames : callable
        Frames of pandas, by the names of the parts; for instances.
    """

    brief: Callable[[Any], str]
    text: Callable[[Any], str]
    page: Callable[[Any], str]
    frames: Callable[[Any], dict[str, Any]]


_LOOKS: dict[str, Look] = {}


def register_look(kind: str, look: Look) -> None:
    """Let objects of a class, and of classes derived from it, look so.

    Parameters
    ----------
    kind : str
        Full name of the class, which need not be imported for that.
    look : Look
    """
    _LOOKS[kind] = look


def look_of(thing: object) -> Look:
    """The look of the nearest registered kind that an object is of.

    Raises
    ------
    LookupError
        If there is none.
    """
    SHOWING.need()
    for kind in type(thing).__mro__:
        name = f"{kind.__module__}.{kind.__qualname__}"
        if name in _LOOKS:
            return _LOOKS[name]
    raise LookupError(f"no look is registered for {type(thing).__name__}")


def frames_of(thing: object) -> dict[str, Any]:
    """The parts of an object as frames of pandas, by name.

    Raises
    ------
    InvalidInputError
        If pandas is not installed.
    LookupError
        If objects of this kind have no look.
    """
    return look_of(thing).frames(thing)


class Shown:
    """An object that prints as the command line would show it, and briefly where it is one of many."""

    __slots__ = ()

    def __repr__(self) -> str:
        return look_of(self).brief(self)

    def __str__(self) -> str:
        return look_of(self).text(self)

    def _repr_html_(self) -> str:
        return look_of(self).page(self)
