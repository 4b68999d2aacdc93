"""Ways to spoil a file: bytes, JSON documents and lines, tables, archives and databases; for the fuzz alone.

Every way takes a `Chance` and what is to be spoilt, and returns something else of the same kind, which may be
well-formed: hypothesis draws, so that what fails is made as simple as it gets.
"""

import contextlib
import copy
import gzip
import io
import json
import re
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

NESTED, DEEP = "<nested>", "<deep>"
"""Stand for brackets in brackets, and objects in objects, which Python itself could not handle as objects."""
HUGE = int("1" * 400)
"""A whole number that no floating-point number holds."""
EXTREME = (0, -0.0, -1, 1, 2**31, 2**53, 2**63, -(2**63), 2**64, 10**30, 1e-320, 1e-101, 1e101, 1e308, -1e308)
TEXTS = (
    "",
    "a",
    "one",
    "²",
    "nan",
    "$",
    "../..",
    "1e999",
    "=cmd()",
    "tiny",
    "student_t",
    "normal",
    "empirical",
)
TEXTS += ("forbidden", " ", "\x00", "\x1b[31m", "\u202e", "\ud800", "ß" * 40, "n" * 3000, "9" * 5000)
TOKENS = (
    b"NaN",
    b"1e999",
    b"-",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b'"',
    b"\\u0000",
    b"\\ud800",
    b"\xff",
    b"\x00",
)
VALUES: tuple[tuple[Any, ...], ...] = (
    EXTREME,
    TEXTS,
    (HUGE, -5, 1.5, -0.25, True, False, None),
    ([], [1], [[1, 2, 3]], {}, {"a": [None]}),
    (float("nan"), float("inf"), NESTED, DEEP),
)
"""What stands in the place of another value, all of which a JSON text may hold."""
KEYS = ("²", "-5", "1.5", "1e3", str(HUGE), "", "loss", "epoch", "type")
COUNTS = ("0", "-1", "²", "1.5", "3000000000", "9" * 20, "9" * 5000)
"""In the place of a number within a text."""
MARK, SEPARATORS = "\ufeff", ("\u2028", "\x85", "\x0b", "\t")


class Chance:
    """What hypothesis draws."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.draw = draw

    def below(self, count: int) -> int:
        """A whole number from 0 on."""
        return self.draw(st.integers(0, count - 1))

    def pick(self, choices: Sequence[Any]) -> Any:
        """One of these."""
        return choices[self.below(len(choices))]

    def times(self, most: int) -> range:
        """So many times, at least once."""
        return range(1 + self.below(most))

    def value(self) -> Any:
        """Something of any type."""
        return copy.deepcopy(self.pick(self.pick(VALUES)))

    def order(self, items: list[Any]) -> list[Any]:
        """Items that are fewer, more, repeated or in another order."""
        cut = self.below(len(items) + 1)
        ways = (
            items[:cut],
            items[cut:],
            items + items[cut:],
            items[::-1],
            items[cut:] + items[:cut],
            items * 3,
        )
        return copy.deepcopy(self.pick(ways))


def spoilt_bytes(chance: Chance, content: bytes) -> bytes:
    """Some bytes flipped, cut, left out, repeated or put in."""
    for _ in chance.times(3):
        place, length = chance.below(len(content) + 1), 1 + chance.below(63)
        head, tail = content[:place], content[place:]
        other, few = chance.draw(st.binary(min_size=length, max_size=length)), min(length, 8)
        content = chance.pick(
            (
                head + bytes([(tail[:1] or b"\0")[0] ^ (1 + chance.below(255))]) + tail[1:],
                head,
                head + tail[length:],
                head + tail[:length] + tail,
                head + chance.pick(TOKENS) + tail,
                head + other + tail,
                head + other[:few] + tail[few:],
            )
        )
    return content


def spoilt_json(chance: Chance, content: bytes) -> bytes:
    """A document with other values, keys, lengths, orders or signs, or a key that is given twice."""
    document = json.loads(content)
    for _ in chance.times(3):
        if places := list(_places(document)):
            _spoil(chance, *chance.pick(places))
    text, depth = json.dumps(document, ensure_ascii=False), chance.pick((2, 60, 900, 1100, 100_000))
    text = text.replace(json.dumps(NESTED), "[" * depth + "1" + "]" * depth)
    text = text.replace(json.dumps(DEEP), '{"a": ' * depth + "1" + "}" * depth)
    if chance.below(8) == 0 and (keys := list(re.finditer(r'"\w+":', text))):
        found = chance.pick(keys)
        text = f"{text[: found.start()]}{found[0]} 0, {text[found.start() :]}"
    return text.encode("utf-8", errors="surrogatepass")


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """All pairs of a container and a key or index."""
    for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(item, dict | list):
            yield from _places(item)


def _spoil(chance: Chance, parent: Any, key: Any) -> None:
    value, way = parent[key], chance.below(8)
    if way == 0 and isinstance(parent, dict):
        parent[chance.pick((*KEYS, *TEXTS))] = parent.pop(key)
    elif way == 1 and isinstance(parent, dict):
        del parent[key]
    elif way == 2 and isinstance(value, list):
        parent[key] = chance.order(value)
    elif way == 3 and isinstance(value, str):
        # another number in it, or a sign that some take for the end of a line
        found, sign = re.sub(r"\d+", chance.pick(COUNTS), value), chance.pick(SEPARATORS)
        parent[key] = found if any(map(str.isdigit, value)) else value + sign + value
    elif way == 3 and isinstance(value, int | float):
        large = isinstance(value, float) and chance.below(2)
        parent[key] = -value * 10.0 ** (chance.below(60) - 30) if large else -value
    else:
        parent[key] = chance.value()


def spoilt_lines(chance: Chance, content: bytes) -> bytes:
    """JSON Lines whose documents, order or separators are others."""
    lines = content.decode("utf-8").splitlines()
    at, way = chance.below(len(lines)), chance.below(7)
    if way == 0:
        lines = chance.order(lines)
    elif way == 1:
        lines[0] = MARK + lines[0]
    elif way == 2:
        lines[at] = lines[at].replace("a", "a" + chance.pick(SEPARATORS))
    elif way == 3:  # all numbers of one key have the other sign, or are 0 or twice as great
        items = [json.loads(line) for line in lines]
        key, factor = chance.pick(list(items[-1])), chance.pick((-1, 0, 2))
        for item in items:
            item |= {key: item[key] * factor} if isinstance(item.get(key), int | float) else {}
        lines = [json.dumps(item) for item in items]
    else:
        lines[at] = spoilt_json(chance, lines[at].encode("utf-8")).decode("utf-8", errors="replace")
    return "\n".join(lines).encode("utf-8")


def spoilt_lines_of_gzip(chance: Chance, content: bytes) -> bytes:
    """The same of a compressed file."""
    return gzip.compress(spoilt_lines(chance, gzip.decompress(content)), compresslevel=1, mtime=0)


def spoilt_table(chance: Chance, content: bytes) -> bytes:
    """A table of text with other cells, rows, columns, names or separators."""
    sign = "," if b"," in content else " "
    rows = [line.split(sign) for line in content.decode("utf-8").split("\n")]
    for _ in chance.times(3):
        at, way = chance.below(max(1, len(rows))), chance.below(6)
        if way == 0 or not rows:
            rows = chance.order(rows)
        elif way == 1:
            rows[at] = chance.order(rows[at])
        elif way == 2:
            rows[0] = [MARK * chance.below(2) + chance.pick(KEYS), *rows[0][1:]]
        elif way == 3 and rows[at]:
            rows[at][chance.below(len(rows[at]))] = chance.pick(chance.pick(rows) or [""])
        elif rows[at]:
            value = chance.value()
            cell = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            rows[at][chance.below(len(rows[at]))] = cell
    return "\n".join(map(sign.join, rows)).encode("utf-8", errors="surrogatepass")


def spoilt_npz(chance: Chance, content: bytes) -> bytes:
    """Members of an archive with another header, type, shape or content; or left out, renamed, repeated."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = chance.pick(list(members))
    member, way = members.pop(name), chance.below(9)
    kinds = b"<f4 >f8 |O8 <U9 |V8 <M8 <c8 |b1 <u8 <i8 |S8 <f2".split()
    words = ("[" * 9000, "-" * 9000 + "1", '{"a": {"b": "c"}}', '{"a": "b", "a": "c"}', "{", "1e999")
    if way == 0:
        member = spoilt_bytes(chance, member)
    elif way == 1:
        name = chance.pick(TEXTS).encode("ascii", "ignore").decode().replace("\0", "") + ".npy"
    elif way == 2:
        member = member.replace(b"(", b"(" + str(abs(int(chance.pick(EXTREME[:12])))).encode(), 1)
    elif way == 3:
        member = member.replace(member[21:24], chance.pick(kinds), 1)
    elif way == 4:
        member = _saved(_spoilt_array(chance, np.load(io.BytesIO(member))))
    elif way == 5:
        member = _saved(np.array(chance.pick(words)))
    elif way == 6 and members:
        member = chance.pick(list(members.values()))
    page = io.BytesIO()
    with zipfile.ZipFile(page, "w", zipfile.ZIP_DEFLATED) as archive:
        for own, text in {**members, **({} if way == 7 else {name or "-": member})}.items():
            archive.writestr(own, text)
    return spoilt_bytes(chance, page.getvalue()) if way == 8 else page.getvalue()


def _saved(array: np.ndarray) -> bytes:
    page = io.BytesIO()
    np.save(page, array)
    return page.getvalue()


def _spoilt_array(chance: Chance, array: np.ndarray) -> np.ndarray:
    flat = np.resize(array, max(chance.below(array.size + 2), 1)) if chance.below(2) else array.copy()
    way, kind, place = chance.below(5), flat.dtype.kind, chance.below(flat.size)
    if way == 0 and kind == "f":
        flat.flat[place] = chance.pick((np.nan, np.inf, -np.inf, 1e308, 5e-324))
    elif way == 1 and kind in "iu":
        flat.flat[place] = chance.pick((np.iinfo(flat.dtype).min, np.iinfo(flat.dtype).max, 0))
    elif way == 2:
        flat = flat.reshape(-1, 1)
    elif way == 3 and kind in "fiu":
        with np.errstate(all="ignore"):
            flat = flat.astype(chance.pick(("f2", "f4", "g", "c16", "u8", "i1", "b1", "U5", ">f8")))
    elif way == 4 and kind == "U":
        flat = np.array([chance.pick(TEXTS) for _ in range(flat.size)])
    return flat


def spoilt_database(chance: Chance, content: bytes) -> bytes:
    """A database with another cell or document, or with rows, a column or a table left out or repeated."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        path.write_bytes(content)
        base = sqlite3.connect(path)
        with contextlib.suppress(sqlite3.IntegrityError):  # rows that may not be repeated are not
            _spoil_database(chance, base)
        base.commit()
        base.close()
        return path.read_bytes()


def _spoil_database(chance: Chance, base: sqlite3.Connection) -> None:
    names = base.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
    table = chance.pick([name for (name,) in names])
    column = chance.pick([f'"{row[1]}"' for row in base.execute(f"PRAGMA table_info({table})")])
    way, at = chance.below(8), 1 + chance.below(3)
    if way == 0:
        base.execute(f"INSERT INTO {table} SELECT * FROM {table}")
    elif way == 1:
        base.execute(f"DELETE FROM {table} WHERE rowid >= {at}")
    elif way == 2:
        base.execute(f"ALTER TABLE {table} RENAME COLUMN {column} TO other")
    else:
        cell = chance.pick((None, "one", "²", "9" * 5000, b"\xff", 5, -5, 2**62, 1.5, 1e308))
        (old,) = base.execute(f"SELECT {column} FROM {table}").fetchone() or (None,)
        if way > 4 and isinstance(old, str) and old.startswith("{"):
            cell = spoilt_json(chance, old.encode()).decode("utf-8", errors="replace")
        some = "" if at == 3 else f" WHERE rowid = {at}"
        base.execute(f"UPDATE {table} SET {column} = ?{some}", (cell,))
