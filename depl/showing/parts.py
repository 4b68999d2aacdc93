"""What views are made of: facts, and pairs and tables of them; as plain text, and as HTML for a notebook."""

import html
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from itertools import starmap, takewhile
from operator import attrgetter
from typing import Any, NamedTuple

from depl.commands.printable import fields, printable, table
from depl.models.foundation.wording import at_most, interval, number, percentage, rounded_down, rounded_up
from depl.models.problem.units import NO_UNITS, Units


class Rounding(Enum):
    """Where a number is rounded to, so that what is shown is never beyond what is proved."""

    NEAREST = ""
    DOWN = "at least "
    """A lower bound, or a probability that is promised."""
    UP = "at most "
    """An upper bound, a probability of missing, a gap."""
    OUTWARD = "in "
    """An interval that contains the value: a pair, or the keys ``lower`` and ``upper``."""


NEAREST, DOWN, UP, OUTWARD = Rounding


class Fact(NamedTuple):
    """A value with its name for people, its unit, and the direction in which it may be rounded."""

    label: str
    value: Any
    unit: str = ""
    rounding: Rounding = NEAREST
    digits: int = 6

    @property
    def number(self) -> str:
        """The value in digits, rounded in its direction."""
        if self.rounding is OUTWARD:
            lower, upper = map(self._in_unit, self._ends)
            return interval(lower, upper, self.digits)
        tell = {NEAREST: number, DOWN: rounded_down, UP: rounded_up}[self.rounding]
        return tell(self._in_unit(self.value), self.digits)

    def _in_unit(self, value: Any) -> Any:
        """A share as a percentage, exactly: a product of floats may be rounded to the wrong side."""
        return 100 * Fraction(value) if self.unit == "%" and math.isfinite(value) else value

    @property
    def shown(self) -> str:
        """The value with its unit."""
        if self.rounding is NEAREST and not isinstance(self.value, float | int | Fraction | None):
            return str(self.value)
        if self.unit == "%" and self.rounding is NEAREST:
            return percentage(self.value, self.digits)
        return " ".join(filter(None, (self.number, self.unit)))

    @property
    def told(self) -> str:
        """The same with the word for its direction: what holds of the value."""
        if self.rounding is OUTWARD and None in self._ends:
            ways = zip(self._ends, (DOWN, UP), strict=True)
            known = [self._replace(value=end, rounding=way).told for end, way in ways if end is not None]
            return " and ".join(known) or "none"
        return self.rounding.value + self.shown

    def as_counted(self, counts: bool) -> str:
        """An interval, or its upper end alone where runs are counted carefully and the lower is not known."""
        return f"{at_most(self._ends[1], self.digits)}, as the runs are counted" if counts else self.told

    @property
    def _ends(self) -> tuple[Any, Any]:
        lower, upper = self.value.values() if isinstance(self.value, Mapping) else self.value
        return lower, upper


Names = Mapping[str, tuple[str, str, Rounding, int]]
"""Label, unit, direction and digits by the keys of ``--json``; the unit may be a quantity of `Units`."""

NAMES: Names = {
    "cost": ("cost", "cost", NEAREST, 6),
    "lower_bound": ("lower bound", "cost", DOWN, 7),
    "gap": ("gap", "%", UP, 3),
    "violation": ("P(l(K) > l_max)", "", OUTWARD, 7),
    "quantile": ("quantile of l(K)", "", OUTWARD, 7),
    "training_time": ("training time", "time", NEAREST, 6),
    "transfer_cost": ("transfers", "cost", NEAREST, 6),
    "resource_cost": ("resources", "cost", NEAREST, 6),
    "wall_seconds": ("time of the solve", "s", NEAREST, 6),
}
"""Of what is said of plans."""


def fact(name: str, value: Any, units: Units = NO_UNITS, names: Names = NAMES) -> Fact:
    """The fact of a key; one that the names do not hold is shown as it is."""
    label, unit, rounding, digits = names.get(name, (name.replace("_", " "), "", NEAREST, 6))
    if unit in Units.__struct_fields__:
        unit = getattr(units, unit) or ""
    return Fact(label, value, unit, rounding, digits)


def ends(interval: Any) -> dict[str, float] | None:
    """An interval as ``--json`` has it."""
    return None if interval is None else {"lower": float(interval.lower), "upper": float(interval.upper)}


def picked(thing: object, names: str) -> dict[str, Any]:
    """Attributes as ``--json`` has them; None where the thing has none."""
    found = {name: getattr(thing, name, None) for name in names.split()}
    return {name: ends(value) if _is_interval(value) else value for name, value in found.items()}


def _is_interval(value: object) -> bool:
    return hasattr(value, "lower") and hasattr(value, "upper") and not isinstance(value, str)


def promised(missed: Any, digits: int = 7) -> Fact:
    """The probability of the other event: at least 1 less the number, or less what an interval is at most."""
    if not isinstance(missed, float | Fraction):
        missed = missed.upper if missed.exact is None else missed.exact
    return Fact("probability", max(1 - Fraction(missed), Fraction(0)), "", DOWN, digits)


Pairs = Iterable[Fact | tuple[str, object] | None]
"""Facts under their own or another name; what is None, or of which the value is, is left out."""


Columns = Mapping[str, str | Callable[[Any], object]]


class Listing(NamedTuple):
    """Rows of texts, numbers and facts; columns with a number are set flush right. Pairs have no header."""

    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    digits: int = 6

    @classmethod
    def of(cls, things: Iterable[Any], columns: Columns, digits: int = 6) -> "Listing":
        """A row per thing: under each heading an attribute by its name, or what a function makes of it."""
        getters = [attrgetter(value) if isinstance(value, str) else value for value in columns.values()]
        return cls(tuple(columns), [[get(thing) for get in getters] for thing in things], digits)

    @property
    def right(self) -> list[bool]:
        """Which columns hold a number."""
        columns = zip(*self.rows, strict=True) if self.rows else [()] * len(self.header)
        return [any(isinstance(cell, float | int | Fact) for cell in cells) for cells in columns]

    @property
    def cells(self) -> list[list[str]]:
        """All cells as texts."""
        return [[_cell(value, self.digits) for value in row] for row in self.rows]

    def text(self) -> str:
        """A table that is as wide as its content."""
        if not self.header:
            return fields([(name, value) for name, value in self.cells])
        right = [name for name, side in zip(self.header, self.right, strict=True) if side]
        return table(self.header, self.cells, right)

    def html(self) -> str:
        """A table with a header."""
        rows = [_row("td", cells, self.right) for cells in self.cells]
        head = _row("th", self.header, self.right) if self.header else ""
        return f"<table><tbody>{head}{''.join(rows)}</tbody></table>"


Section = tuple[str, str | Listing | Pairs]
"""A title, which may be empty, over plain text, a table or pairs; it is left out with an empty body."""

_BRIEF = 160
"""Letters of a line: what is one of many in a list is told in two lines of a terminal at most."""


class View(NamedTuple):
    """What is shown of an object of a kind: sections, which are made where they are asked for, and a line."""

    kind: str
    sections: Callable[[], Iterable[Section]]
    line: Callable[[], str] | None = None

    @property
    def brief(self) -> str:
        """One line for `repr`: the beginning of the text, unless there is a better one."""
        if self.line is not None:
            return self.line()
        shown = takewhile(lambda item: isinstance(item[1], str) or not item[1].header, self.filled())
        lines = [line for section in shown for line in _text(*section).splitlines()]
        text = "; ".join(re.sub(" {2,}", ": ", line) for line in lines).removeprefix(f"{self.kind.lower()}: ")
        if len(text) > _BRIEF:  # between two pairs, as half a number would be another one
            text = f"{text[:_BRIEF].rpartition('; ')[0] or text[:_BRIEF]} ..."
        return f"<{self.kind}: {text}>"

    def text(self) -> str:
        """All sections with an empty line between them."""
        return "\n\n".join(starmap(_text, self.filled()))

    def html(self) -> str:
        """All sections as one piece of HTML."""
        parts = []
        for title, body in self.filled():
            parts.append(f"<p><b>{escaped(title)}</b></p>" if title else "")
            parts.append(body.html() if isinstance(body, Listing) else f"<p>{escaped(body)}</p>")
        return f"<div>{''.join(parts)}</div>"

    def filled(self) -> Iterator[tuple[str, str | Listing]]:
        """The sections that are not empty."""
        for title, body in self.sections():
            shown = body if isinstance(body, str | Listing) else Listing((), list(_told(body)))
            if shown if isinstance(shown, str) else shown.rows:
                yield title, shown


def _told(pairs: Pairs) -> Iterator[tuple[str, str]]:
    for pair in pairs:
        label, value = (pair.label, pair) if isinstance(pair, Fact) else pair or ("", None)
        if (value.value if isinstance(value, Fact) else value) is not None:
            yield label, value.told if isinstance(value, Fact) else _cell(value)


def _cell(value: Any, digits: int = 6) -> str:
    if isinstance(value, Fact):
        return value.shown
    if isinstance(value, tuple):
        return ", ".join(_cell(item, digits) for item in value)
    if _is_interval(value):
        return interval(value.lower, value.upper, digits)
    return "-" if value is None else number(value, digits) if isinstance(value, float) else str(value)


def _text(title: str, body: str | Listing) -> str:
    return "\n".join(filter(None, (title, body if isinstance(body, str) else body.text())))


def _row(tag: str, cells: Iterable[str], right: Iterable[bool]) -> str:
    drawn = (
        f'<{tag} style="text-align:{"right" if side else "left"}">{escaped(cell)}</{tag}>'
        for cell, side in zip(cells, right, strict=True)
    )
    return f"<tr>{''.join(drawn)}</tr>"


def escaped(text: str) -> str:
    """``text`` as it may stand in HTML, whatever a name in it holds."""
    return html.escape(printable(text)).replace("\n", "<br/>")


def shortened_name(name: str, longest: int = 40) -> str:
    """A name that fits on a line, quoted."""
    return repr(name if len(name) <= longest else name[: longest - 3] + "...")
