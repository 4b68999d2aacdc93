"""What views are made of: facts, pairs and tables of them; as plain text, and as HTML for a notebook."""

import html
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from itertools import takewhile
from operator import attrgetter
from typing import Any, NamedTuple

from depl.commands.printable import fields, printable, table
from depl.models.foundation.wording import interval, number, percentage, rounded_down, rounded_up
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


class Fact(NamedTuple):
    """A value with its name for people, its unit, and the direction in which it may be rounded."""

    label: str
    value: Any
    unit: str = ""
    rounding: Rounding = Rounding.NEAREST
    digits: int = 6

    @property
    def number(self) -> str:
        """The value in digits, rounded in its direction."""
        if self.rounding is Rounding.OUTWARD:
            lower, upper = self.value.values() if isinstance(self.value, Mapping) else self.value
            return interval(lower, upper, self.digits)
        value = 100 * self.value if self.unit == "%" else self.value
        if self.rounding is Rounding.DOWN:
            return rounded_down(value, self.digits)
        if self.rounding is Rounding.UP:
            return rounded_up(value, self.digits)
        return number(value, self.digits)

    @property
    def shown(self) -> str:
        """The value with its unit."""
        if self.rounding is Rounding.NEAREST and not isinstance(self.value, float | int | Fraction | None):
            return str(self.value)
        if self.unit == "%" and self.rounding is Rounding.NEAREST:
            return percentage(self.value, self.digits)
        return " ".join(filter(None, (self.number, self.unit)))

    @property
    def told(self) -> str:
        """The same with the word for its direction: what holds of the value."""
        return self.rounding.value + self.shown

    @property
    def upper(self) -> "Fact":
        """The upper end of an interval by itself."""
        *_, upper = self.value.values() if isinstance(self.value, Mapping) else self.value
        return self._replace(value=upper, rounding=Rounding.UP)

    @property
    def pair(self) -> tuple[str, str]:
        """A line of a view."""
        return self.label, self.told


Names = Mapping[str, tuple[str, str, Rounding, int]]
"""Label, unit, direction and digits by the keys of ``--json``; the unit may be a quantity of `Units`."""

NAMES: Names = {
    "cost": ("cost", "cost", Rounding.NEAREST, 6),
    "lower_bound": ("lower bound", "cost", Rounding.DOWN, 7),
    "gap": ("gap", "%", Rounding.UP, 3),
    "violation": ("P(l(K) > l_max)", "", Rounding.OUTWARD, 7),
    "quantile": ("quantile of l(K)", "", Rounding.OUTWARD, 7),
    "training_time": ("training time", "time", Rounding.NEAREST, 6),
    "transfer_cost": ("transfers", "cost", Rounding.NEAREST, 6),
    "resource_cost": ("resources", "cost", Rounding.NEAREST, 6),
    "wall_seconds": ("time of the solve", "s", Rounding.NEAREST, 6),
}
"""Of what is said of plans."""


def fact(name: str, value: Any, units: Units = NO_UNITS, names: Names = NAMES) -> Fact:
    """The fact of a key; one that the names do not hold is shown as it is."""
    label, unit, rounding, digits = names.get(name, (name.replace("_", " "), "", Rounding.NEAREST, 6))
    return Fact(
        label, value, str(getattr(units, unit, None) or "" if unit in _QUANTITIES else unit), rounding, digits
    )


_QUANTITIES = Units.__struct_fields__


def labelled(content: Mapping[str, Any], units: Units = NO_UNITS, names: Names = NAMES) -> dict[str, Fact]:
    """The facts of what ``--json`` prints, in its order."""
    return {name: fact(name, value, units, names) for name, value in content.items()}


def promised(missed: float | Fraction, digits: int = 7) -> Fact:
    """The probability of the other event, subtracted exactly, which is at least so much."""
    kept = max(1 - Fraction(missed), Fraction(0))
    return Fact("probability", kept, rounding=Rounding.DOWN, digits=digits)


def finite(content: Any) -> Any:
    """The same with None where a number is not finite, as JSON has it."""
    if isinstance(content, Mapping):
        return {name: finite(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


class Pairs(NamedTuple):
    """Names with their values."""

    pairs: Sequence[tuple[str, str]]

    def text(self) -> str:
        """One line per pair."""
        return fields(self.pairs) if self.pairs else ""

    def html(self) -> str:
        """A table of two columns."""
        return _table(_row("td", pair, (False, False)) for pair in self.pairs)


class Listing(NamedTuple):
    """Rows under a header; the columns named in ``right`` are set flush right."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Collection[str] = ()

    @classmethod
    def of(
        cls,
        things: Iterable[Any],
        header: Sequence[str],
        values: Sequence[str | Callable[[Any], object]],
        left: Collection[str] = (),
        digits: int = 6,
    ) -> "Listing":
        """A row per thing: under each heading an attribute by its name, or what a function makes of it."""
        getters = [attrgetter(value) if isinstance(value, str) else value for value in values]
        return cls.rounded(([get(thing) for get in getters] for thing in things), header, left, digits)

    @classmethod
    def rounded(
        cls, rows: Iterable[Iterable[object]], header: Sequence[str], left: Collection[str], digits: int = 6
    ) -> "Listing":
        """Rows of texts, counts and numbers, flush right but for the columns that are named."""
        cells = [[_cell(value, digits) for value in row] for row in rows]
        return cls(header, cells, [name for name in header if name not in left])

    def text(self) -> str:
        """A table that is as wide as its content."""
        return table(self.header, self.rows, right=tuple(self.right))

    def html(self) -> str:
        """A table with a header."""
        sides = [name in self.right for name in self.header]
        return _table([_row("th", self.header, sides), *(_row("td", row, sides) for row in self.rows)])


class Section(NamedTuple):
    """A title, which may be empty, over plain text, pairs or a grid; with neither it is left out."""

    title: str
    body: str | Pairs | Listing = ""

    def text(self) -> str:
        """Title and body below each other."""
        body = self.body if isinstance(self.body, str) else self.body.text()
        return "\n".join(filter(None, [self.title, body]))

    def html(self) -> str:
        """The same as HTML."""
        title = f"<p><b>{escaped(self.title)}</b></p>" if self.title else ""
        if not isinstance(self.body, str):
            return title + self.body.html()
        lines = escaped(self.body).replace("\n", "<br/>")
        return title + (f"<p>{lines}</p>" if lines else "")


_BRIEF = 160
"""Letters of a line: what is one of many in a list is told in two lines of a terminal at most."""


class View(NamedTuple):
    """What is shown of an object of a kind: sections, which are made where they are asked for, and a line."""

    kind: str
    sections: Callable[[], Iterable[Section]]
    line: Callable[[], str] | None = None
    tables: Callable[[], dict[str, Any]] | None = None

    @property
    def brief(self) -> str:
        """One line for `repr`: the beginning of the text, unless there is a better one."""
        if self.line is not None:
            return self.line()
        told = takewhile(lambda section: not isinstance(section.body, Listing), self.sections())
        lines = [line for section in told for line in section.text().splitlines()]
        text = "; ".join(re.sub(" {2,}", ": ", line) for line in lines).removeprefix(f"{self.kind.lower()}: ")
        if len(text) > _BRIEF:  # between two pairs, as half a number would be another one
            text = f"{text[:_BRIEF].rpartition('; ')[0] or text[:_BRIEF]} ..."
        return f"<{self.kind}: {text}>"

    def text(self) -> str:
        """All sections with an empty line between them."""
        return "\n\n".join(filter(None, (section.text() for section in self.sections())))

    def frames(self) -> dict[str, Any]:
        """The parts of an instance as frames of pandas, by name."""
        return {} if self.tables is None else self.tables()

    def html(self) -> str:
        """All sections as one piece of HTML."""
        return f"<div>{''.join(section.html() for section in self.sections())}</div>"


def escaped(text: str) -> str:
    """``text`` as it may stand in HTML, whatever a name in it holds."""
    return html.escape(printable(text))


def shortened_name(name: str, longest: int = 40) -> str:
    """A name that fits on a line, quoted."""
    return repr(name if len(name) <= longest else name[: longest - 3] + "...")


def _cell(value: object, digits: int) -> str:
    return number(value, digits) if isinstance(value, float | None) else str(value)


def _table(rows: Iterable[str]) -> str:
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


def _row(tag: str, cells: Iterable[str], right: Iterable[bool]) -> str:
    drawn = (
        f'<{tag} style="text-align:{"right" if side else "left"}">{escaped(cell)}</{tag}>'
        for cell, side in zip(cells, right, strict=True)
    )
    return f"<tr>{''.join(drawn)}</tr>"
