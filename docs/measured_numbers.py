"""Measured numbers of README, paper.md and pages, written between markers: ``make numbers``.

A marker names a source (a record, or one of `quoted.SOURCES`), the path of a value, and a format. In Markdown
it follows the number as a comment, ``1.003<!--ratios depl_mean_ratio .3f-->`` (several words begin at
``<!--n-->``); on pages it is a role, ``:n:`1.003 <ratios depl_mean_ratio .3f>```. Words that hold only while
a value does carry the condition: ``never larger<!--if prediction-sets larger = 0-->``, or ``:if:`` with the
same in pointed brackets. Tables stand between ``<!--begin NAME-->`` and ``<!--end-->``, on pages between
``.. begin NAME`` and ``.. end``; their heads are written by hand.
"""

import operator
import re
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from pathlib import Path
from typing import Any

import measured_tables

from depl.benchmarks.report import quoted
from depl.models.foundation.documents import write_text
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice

ROOT = Path(__file__).resolve().parents[1]
_STEP = re.compile(r"\[(\w+)(!=|<=|>=|[=<>~])([^\]]*)\]|([^.\[\]]+)")
_SIGNS = {"<": "lt", ">": "gt", "<=": "le", ">=": "ge"}
_OVER: dict[str, Callable[..., Any]] = {name: getattr(statistics, name) for name in ("mean", "median")} | {
    "min": min,
    "max": max,
    "sum": sum,
    "len": len,
}
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven")
_VALUE = r"(?:\[[^]]*\]|[^\s[])+"
_MARKER = re.compile(rf"(\S+) ({_VALUE}(?: [-+*/] {_VALUE})*)(?: (\S+))?")
_CALCULATE = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
_COMMENT = re.compile(
    r"(?:<!--n-->(?P<long>[^<]*)|(?P<short>[^\s(\[<>|*`]+(?: %)?))?<!--(?P<if>if )?(?!begin |end-->)"
    r"(?P<what>\S(?:[^-]|-(?!->))*)-->"
)
_ROLE = re.compile(r":(?:n|(?P<if>if)):`(?P<shown>[^`]*?)\s+<(?P<what>[^`]*)>`")
_REGION = re.compile(
    r"(?ms)^(?P<begin>(?:<!--|\.\. )begin (?P<name>[^\n]*?)(?:-->)?\n)(?P<body>.*?)"
    r"(?P<end>\n?^(?:<!--end-->|\.\. end)$)"
)


def pages() -> list[Path]:
    """Every file that may quote a record."""
    return [ROOT / "README.md", ROOT / "paper.md", *sorted((ROOT / "docs").rglob("*.rst"))]


def calculate(values: Any, sums: str) -> Any:
    """Values by their paths, and whole numbers, with signs between them, from left to right."""
    first, *rest = re.findall(rf"[-+*/](?= )|{_VALUE}", sums)
    found = look_up(values, first)
    for sign, path in zip(rest[::2], rest[1::2], strict=True):
        found = _CALCULATE[sign](found, int(path) if path.isdigit() else look_up(values, path))
    return found


def look_up(values: Any, path: str) -> Any:
    """A value by its path: keys, ``[key=value]`` to choose rows, a key of all rows, ``min`` and the like.

    Raises
    ------
    InvalidInputError
        If there is nothing of that name.
    """
    for key, sign, wanted, name in _STEP.findall(path):
        if key:
            values = [row for row in values if _holds(row.get(key), sign, wanted)]
        elif name in _OVER and not isinstance(values, str):
            values = _OVER[name](values.values() if isinstance(values, Mapping) else values)
        elif isinstance(values, Sequence):
            values = values[int(name)] if name.lstrip("-").isdigit() else [row[name] for row in values]
        elif name not in values:
            raise InvalidInputError(f"there is no {name!r} in {path!r}; {advice(name, sorted(values))}")
        else:
            values = values[name]
    return values[0] if isinstance(values, list) and len(values) == 1 else values


def written(what: str) -> str:
    """What a marker has to be preceded by: the value in its format, several as a list in words."""
    parts = _MARKER.fullmatch(" ".join(what.split()))
    if parts is None:
        raise InvalidInputError("write SOURCE PATH FORMAT, such as 'ratios depl_mean_ratio .3f'")
    source, sums, form = parts.groups("")
    values = calculate(quoted.source(source), sums)
    texts = [_in_format(value, form) for value in (values if isinstance(values, list) else [values])]
    return ", ".join(texts[:-1]) + " and " + texts[-1] if len(texts) > 1 else texts[0]


def holds(what: str) -> bool:
    """Whether ``SOURCE PATH SIGN VALUE and PATH ...`` is so; a list has to be so throughout."""
    source, _, rest = " ".join(what.split()).partition(" ")
    for condition in rest.split(" and "):
        sums, sign, wanted = (*condition.rsplit(" ", 2), "", "")[:3]
        if sign not in ("=", "!=", *_SIGNS):
            raise InvalidInputError("write SOURCE PATH SIGN VALUE, such as 'ratios depl_missed = 0'")
        found = calculate(quoted.source(source), sums)
        found = found if isinstance(found, list) else [found]
        if not found or not all(_holds(value, sign, wanted) for value in found):
            return False
    return True


def rewritten(text: str) -> tuple[str, list[str]]:
    """A page with the numbers of today, and the marked words that hold no more.

    Raises
    ------
    InvalidInputError
        If a marker names what there is not; the message names the marker.
    """
    stale: list[str] = []

    def fresh(match: re.Match[str]) -> str:
        try:
            return _fresh(match, stale)
        except (InvalidInputError, LookupError, TypeError, ValueError) as error:
            raise InvalidInputError(f"{match[0].splitlines()[0]}: {error}") from error

    return _COMMENT.sub(fresh, _ROLE.sub(fresh, _REGION.sub(fresh, text))), stale


def _fresh(match: re.Match[str], stale: list[str]) -> str:
    """One number, condition or table as it has to be."""
    found = match.groupdict()
    if "body" in found:
        if found["name"] not in measured_tables.TABLES:
            raise InvalidInputError(f"no such table; {advice(found['name'], list(measured_tables.TABLES))}")
        rows = _with_rows(found["body"], measured_tables.TABLES[found["name"]])
        return found["begin"] + "\n".join(rows) + found["end"]
    what = found["what"]
    if found["if"]:
        stale += [] if holds(what) else [f"{match.string[max(0, match.start() - 60) : match.end()]!r}"]
        return match[0]
    if "shown" in found:
        return f":n:`{written(what)} <{what}>`"
    if found["long"] is not None:
        return f"<!--n-->{written(what)}<!--{what}-->"
    if found["short"] is None:
        raise InvalidInputError("no number stands before it; write one there")
    if match.string[match.end() : match.end() + 1].isalnum():
        raise InvalidInputError("its number goes on behind it; move the marker to the end of the number")
    return f"{written(what)}<!--{what}-->"


def objection(marker: str) -> str:
    """What is wrong with one marker: it is unknown, or what it says is stale; nothing if all is well."""
    try:
        fresh, stale = rewritten(marker)
    except InvalidInputError as error:
        return str(error)
    return "" if fresh == marker and not stale else f"{marker} is stale; run 'make numbers'"


def plain(text: str) -> str:
    """A page without its markers, as a reader sees it."""
    text = re.sub(r"<!--(?:.|\n)*?-->\n?", lambda match: "\n" * match[0].endswith("\n"), text)
    return re.sub(r"(?m)^\.\. (begin .*|end)$", "", _ROLE.sub(lambda match: match["shown"], text))


def _holds(value: Any, sign: str, wanted: str) -> bool:
    if sign == "~":
        return wanted in value
    if sign in ("=", "!="):
        words = (str(value), f"{value:g}" if isinstance(value, int | float) else "")
        return (wanted in words) is (sign == "=")
    return value is not None and bool(getattr(operator, _SIGNS[sign])(value, float(wanted)))


def _in_format(value: Any, form: str) -> str:
    """A format of Python, ``%`` after a space and ``p`` for a percentage without it, or ``words``.

    ``2s`` are two significant digits. A bound is quoted with ``≤`` before its format, rounded up, or with
    ``≥``, rounded down.
    """
    if form == "words":
        return _NUMBERS[value]
    if form[:1] in ("≤", "≥"):
        shift = 2 if form[-1] in "%p" else 0
        unit = Decimal(1).scaleb(-int(re.sub(r"\D", "", form)) - shift)
        up = form[0] == "≤"
        value = float(Decimal(repr(value)).quantize(unit, ROUND_CEILING if up else ROUND_FLOOR))
        form = form[1:]
    if form.endswith("s"):
        return f"{float(f'{value:.{form[:-1]}g}'):.0f}"
    if form.endswith("p"):
        return f"{value:{form[:-1]}%}".rstrip("%")
    return re.sub(r"(e[+-])0", r"\1", f"{value:{form}}".replace("%", " %"))


def _with_rows(body: str, table: Callable[[Sequence[str]], Sequence[Sequence[str]]]) -> Iterator[str]:
    """The head of a table as it stands, and its rows; a block of code has one cell a row."""
    lines = body.strip("\n").split("\n")
    if lines[0].startswith("|"):
        yield from [*lines[:2], *(f"| {' | '.join(row)} |" for row in table(()))]
        return
    yield ""
    if lines[0].startswith(".. list-table::"):
        rows = [place for place, line in enumerate(lines) if line.startswith("   * -")]
        yield from lines[: (*rows, len(lines), len(lines))[1]]
        for cells in table(()):
            yield from (f"   {'  -' if place else '* -'} {cell}".rstrip() for place, cell in enumerate(cells))
    else:
        head = lines.index("") + 1
        yield from lines[:head]
        yield from (f"   {line}".rstrip() for (line,) in table([text[3:] for text in lines[head:]]))
    yield ""


def main() -> int:
    """Write every page anew; 1 if marked words hold no more."""
    code = 0
    for page in pages():
        text = page.read_text(encoding="utf-8")
        fresh, stale = rewritten(text)
        if fresh != text:
            write_text(page, fresh)
            sys.stdout.write(f"{page.relative_to(ROOT)} written\n")
        for words in stale:
            sys.stderr.write(f"{page.relative_to(ROOT)}: this holds no more, write it anew: {words}\n")
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
