"""Options that a method takes besides its limits: their names, the values they allow, and reading them."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice, nearest
from depl.models.foundation.removed import removed

_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
_TRUTH = {"true": True, "false": False}
_READ: dict[type, Callable[[str], object]] = {
    int: int,
    float: float,
    bool: lambda text: _TRUTH[text.casefold()],
    str: str,
}
"""How a text is read as a value of each type, in the order in which it is tried where none is declared."""


@dataclass(frozen=True)
class Option:
    """An option that a method declares where it is registered.

    Attributes
    ----------
    name : str
    values : tuple of (type or str)
        What it may be: words, and the types int, float, bool and str. Nothing if that is not declared; then
        text that looks like a number or a truth value is read as one.
    summary : str
        What it does, without a full stop.
    least : int or None
        A whole number may not be less, and any other number has to be greater.

    Examples
    --------
    >>> eta = Option("eta", (int, "auto"))
    >>> eta.read("200"), eta.read("auto"), eta.allowed
    (200, 'auto', 'auto or a whole number')
    """

    name: str
    values: tuple[type | str, ...] = ()
    summary: str = ""
    least: int | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The words among the values."""
        return tuple(value for value in self.values if isinstance(value, str))

    @property
    def kinds(self) -> tuple[type, ...]:
        """The types among the values."""
        return tuple(value for value in self.values if not isinstance(value, str))

    @property
    def allowed(self) -> str:
        """The values in words; empty if they are not declared."""
        limits = {} if self.least is None else {int: f" from {self.least} on", float: f" above {self.least}"}
        named = [*self.words, *(_KINDS[kind] + limits.get(kind, "") for kind in self.kinds)]
        return " or ".join(filter(None, [", ".join(named[:-1]), *named[-1:]]))

    def among(self, given: Mapping[str, object], default: Any, member: type[Enum] | None = None) -> Any:
        """The value among the options that a method was given, or the default where it was not.

        Parameters
        ----------
        given : mapping
            `depl.models.solving.limits.Limits.options`.
        default : object
        member : type, optional
            An enumeration whose members the words stand for; it may be given as a member, too.

        Raises
        ------
        InvalidInputError
            If it is none of the values of this option, or too small.
        """
        if self.name not in given:
            return default
        value: Any = given[self.name]
        word = value.value if isinstance(value, Enum) else value
        if isinstance(word, str) and word in self.words:
            return word if member is None else member(word)
        if float in self.kinds and isinstance(value, int | float) and not isinstance(value, bool):
            value = float(value)  # a whole number or one of numpy is as good
        least = -math.inf if self.least is None else self.least
        small = type(value) is int and value < least
        if type(value) not in self.kinds or small or (type(value) is float and not least < value < math.inf):
            raise self._refused(given[self.name])
        return value

    def read(self, text: str) -> object:
        """The value that a text stands for.

        Raises
        ------
        InvalidInputError
            If it stands for none that is allowed.
        """
        if text in self.words:
            return text
        for kind in self.kinds if self.values else _READ:
            try:
                return _READ[kind](text)
            except (KeyError, ValueError):
                continue
        meant = nearest(text, self.words)
        raise self._refused(text, f"; did you mean {meant[0]!r}?" if meant else "")

    def _refused(self, value: object, hint: str = "") -> InvalidInputError:
        return InvalidInputError(f"must be {self.allowed}, not {value!r}{hint}", self.name)


def given_options(
    method: str, options: Iterable[Option], given: Mapping[str, object] | None
) -> dict[str, object]:
    """The options of a solve, numbers of numpy as plain ones; refuse those that the method does not take."""
    from depl.models.foundation.documents import without_numpy  # which the list of methods does without

    given, names = given or {}, [item.name for item in options]
    for name in given:
        if name not in names:
            gone = removed(f"method {method}, option {name}")
            hint = gone or (advice(name, names) if names else "it takes none")
            raise InvalidInputError(f"method {method!r} takes no option {name!r}; {hint}")
    return {name: without_numpy(value) for name, value in given.items()}


def read_options(method: str, options: Iterable[Option], texts: Mapping[str, str]) -> dict[str, object]:
    """The values of options that were written as text; refuse as `given_options`, and other values."""
    known = {item.name: item for item in options}
    given_options(method, known.values(), texts)
    return {name: known[name].read(text) for name, text in texts.items()}
