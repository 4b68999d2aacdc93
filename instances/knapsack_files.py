r"""Knapsacks in the usual public formats, read with the line of everything that is wrong.

Two formats are told apart by their content; blank lines mean nothing.

- *Rows*: the number of items and the capacity, then value and weight of every item, one item per line. The
  two first numbers may stand on lines of their own, as in kplib's ``.kp`` files, or the capacity after the
  items. A last line of n zeros and ones, which some collections add, is read as a solution.
- *Pisinger's*: several instances, each a name (``knapPI_11_20_1000_1``), the lines ``n 20``, ``c 970``, ``z
  1428`` (the optimum) and ``time 0.00``, items as ``1,582,194,0`` (number, value, weight, whether taken) and
  a line of dashes.

Numbers are read as the decimals that are written, so that nothing is rounded.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from depl.instances.reductions.knapsack import Knapsack
from depl.models.foundation.documents import read_text
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.foundation.wording import counted

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,2})?")
_LONGEST_NUMBER = 40
_FOLDER = resources.files("depl.instances") / "data" / "knapsack"
_DASHES = re.compile(r"-{3,}")


@dataclass(frozen=True)
class NamedKnapsack:
    """A knapsack of a file.

    Attributes
    ----------
    name : str
        That of the file, where the format knows none.
    knapsack : Knapsack
    optimum : Fraction or None
        What the file says.
    items : tuple of int or None
        The solution that the file gives, by places from 0.
    """

    name: str
    knapsack: Knapsack
    optimum: Fraction | None = None
    items: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Line:
    """The words of a line that is not blank, with its place for messages."""

    source: str
    number: int
    words: tuple[str, ...]

    def refuse(self, message: str) -> InvalidInputError:
        """An error at this line."""
        return InvalidInputError(message, f"{self.source}: line {self.number}")


def read_knapsacks(path: str | Path) -> tuple[NamedKnapsack, ...]:
    """All knapsacks of a file, at least one.

    Raises
    ------
    InvalidInputError
        If the file cannot be read, or is in none of the formats; with the line where that shows.
    """
    lines = lines_of(path)
    if parse_number(lines[0].words[0]) is None:
        return tuple(_pisinger(lines))
    return (_rows(Path(path).stem if Path(path).suffix in (".kp", ".txt") else Path(path).name, lines),)


def shipped_knapsacks() -> tuple[str, ...]:
    """Names of the published instances that are shipped; their sources are listed beside them."""
    return tuple(sorted(item.name for item in _FOLDER.iterdir() if "." not in item.name))


def shipped_knapsack(name: str) -> NamedKnapsack:
    """A published instance by its name, with the published optimum.

    Raises
    ------
    InvalidInputError
        If there is none of that name; the message lists those that exist.
    """
    known = shipped_knapsacks()
    if name not in known:
        raise InvalidInputError(f"no file and no shipped knapsack {name!r}; {advice(name, known)}")
    with resources.as_file(_FOLDER / name) as path:
        return replace(read_knapsacks(path)[0], optimum=published_optima(_FOLDER)[name])


def published_optima(folder: Traversable) -> dict[str, Fraction]:
    """By name of the shipped file."""
    lines = (folder / "optima.csv").read_text(encoding="utf-8").splitlines()
    return {name: Fraction(optimum) for name, optimum in (line.split(",") for line in lines[1:])}


def lines_of(path: str | Path) -> list[Line]:
    """The lines of a file that are not blank, as words."""
    source = str(path)
    words = (line.replace(",", " ").replace(";", " ").split() for line in read_text(path).splitlines())
    found = [Line(source, number, tuple(row)) for number, row in enumerate(words, start=1) if row]
    if not found:
        raise InvalidInputError("is empty; a knapsack file begins with the number of items", source)
    return found


def parse_number(text: str) -> Fraction | None:
    """The decimal that is written, exactly; None if it is none."""
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        return None
    return Fraction(text)


def numbers_of(line: Line, names: Sequence[str]) -> tuple[Fraction, ...]:
    """The numbers of a line, one for each name and none of them negative."""
    wanted = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    if len(line.words) != len(names):
        raise line.refuse(f"holds {counted(len(line.words), 'number')}; expected: {wanted}")
    found = []
    for name, word in zip(names, line.words, strict=True):
        number = parse_number(word)
        if number is None:
            raise line.refuse(f"{name} is {word!r}, which is no decimal number; expected: {wanted}")
        if number < 0:
            raise line.refuse(f"{name} is {word}; it must not be negative")
        found.append(number)
    return tuple(found)


def count_of(line: Line, number: Fraction) -> int:
    """A number of items: whole and at least 1."""
    if number.denominator != 1 or number < 1:
        raise line.refuse(f"the number of items is {float(number):g}; it must be whole and at least 1")
    return int(number)


def decimal_text(number: Fraction) -> str:
    """A number as a decimal without loss."""
    places, rest = 0, number.denominator
    while rest % 10 == 0:
        rest, places = rest // 10, places + 1
    for prime in (2, 5):
        while rest % prime == 0:
            rest, places = rest // prime, places + 1
    if rest != 1:
        raise InvalidInputError(f"{number} has no finite decimal expansion; multiply all of its kind")
    digits = f"{int(number * 10**places):0{places + 1}d}"
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits


def _rows(name: str, lines: list[Line]) -> NamedKnapsack:
    head, rest = lines[0], lines[1:]
    if len(head.words) == 2:
        first, capacity = numbers_of(head, ("number of items", "capacity"))
        count = count_of(head, first)
    else:
        count = count_of(head, numbers_of(head, ("number of items",))[0])
        capacity, rest = _lone_capacity(head, rest, count)
    items = None
    if len(rest) == count + 1 and len(rest[-1].words) == count and set(rest[-1].words) <= {"0", "1"}:
        items = tuple(item for item, taken in enumerate(rest.pop().words) if taken == "1")
    if len(rest) != count:
        place = rest[count] if len(rest) > count else lines[-1]
        raise place.refuse(f"{counted(len(rest), 'item')}; announced: {count}; correct the number of items")
    pairs = [numbers_of(line, ("value", "weight")) for line in rest]
    knapsack = Knapsack(tuple(value for value, _ in pairs), tuple(weight for _, weight in pairs), capacity)
    return NamedKnapsack(name, knapsack, items=items)


def _lone_capacity(head: Line, rest: list[Line], count: int) -> tuple[Fraction, list[Line]]:
    """The capacity on a line of its own, after the number of items or after the items, and the items."""
    if rest and len(rest[0].words) == 1:
        return numbers_of(rest[0], ("capacity",))[0], rest[1:]
    if len(rest) == count + 1 and len(rest[-1].words) == 1:
        return numbers_of(rest[-1], ("capacity",))[0], rest[:-1]
    raise head.refuse("holds one number and no capacity follows; write 'number of items, capacity'")


def _pisinger(lines: list[Line]) -> Iterator[NamedKnapsack]:
    start = 0
    while start < len(lines):
        name = lines[start]
        fields, first = _pisinger_fields(lines, start + 1)
        if "n" not in fields or "c" not in fields:
            raise name.refuse("an instance begins with its name and the lines 'n COUNT' and 'c CAPACITY'")
        count = count_of(*fields["n"])
        rows = lines[first : first + count]
        for place, row in enumerate(rows):
            if len(row.words) != 4 or row.words[0] != str(place + 1):
                raise row.refuse(f"item {place + 1} of {count} is 'number,value,weight,0 or 1'")
        if len(rows) < count:
            raise lines[-1].refuse(f"{counted(len(rows), 'item')}; announced: {count}")
        table = [numbers_of(row, ("number", "value", "weight", "taken")) for row in rows]
        items = tuple(place for place, row in enumerate(table) if row[3])
        values, weights = tuple(row[1] for row in table), tuple(row[2] for row in table)
        knapsack = Knapsack(values, weights, fields["c"][1])
        _, optimum = fields.get("z", (None, None))
        yield NamedKnapsack(" ".join(name.words), knapsack, optimum, items or None)
        start = first + count
        while start < len(lines) and _DASHES.fullmatch(lines[start].words[0]):
            start += 1


def _pisinger_fields(lines: list[Line], place: int) -> tuple[dict[str, tuple[Line, Fraction]], int]:
    """The lines with a name and a number, and where they end."""
    fields = {}
    while place < len(lines) and lines[place].words[0] in ("n", "c", "z", "time"):
        line = lines[place]
        key = line.words[0]
        rest = Line(line.source, line.number, line.words[1:])
        fields[key] = (line, numbers_of(rest, (key,))[0])
        place += 1
    return fields, place
