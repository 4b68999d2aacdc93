"""Ways to spoil a file: bytes, JSON documents, tables, archives and databases; used by the fuzz alone.

Every way takes a `Chance` and what is to be spoilt, and returns something else of the same kind: hypothesis
draws, so that what fails is made as simple as it gets.
"""

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
    "nan",
    "$",
    "../..",
    "1e999",
    "=cmd()",
    "tiny",
    "student_t",
    "normal",
    "empirical",
    "forbidden",
)
TEXTS += (" ", "\x00", "\x1b[31m", "\u202e", "\ud800", "ß" * 40, "n" * 3000, "9" * 5000)
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
TOKENS += (b"\n",)
OTHERS = (
    (HUGE, -5, 0, 1.5, -0.25, True),
    (None,),
    ([], [1], [[1, 2, 3]]),
    ({}, {"a": [None]}, DEEP),
    ("one", "²", "n/a"),
)
"""Values of other meanings, all of which a JSON text may hold."""
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

    def order(self, items: Sequence[Any]) -> list[Any]:
        """The same in any order."""
        return self.draw(st.permutations(items))


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
    """One to three values of a document replaced by others of any type, moved, repeated or left out."""
    document = json.loads(content)
    for _ in chance.times(3):
        if places := list(_places(document)):
            _spoil_place(chance, *chance.pick(places), places)
    text, depth = json.dumps(document), chance.pick((2, 60, 900, 1100, 100_000))
    text = text.replace(json.dumps(NESTED), "[" * depth + "1" + "]" * depth)
    if chance.below(8) == 0 and (keys := list(re.finditer(r'"\w+":', text))):
        found = chance.pick(keys)
        text = f"{text[: found.start()]}{found[0]} 0, {text[found.start() :]}"
    return text.encode("utf-8")


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """All pairs of a container and a key or index."""
    for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(item, dict | list):
            yield from _places(item)


def _spoil_place(chance: Chance, parent: Any, key: Any, places: list[tuple[Any, Any]]) -> None:
    way, value = chance.below(8), parent[key]
    if way == 0 and isinstance(parent, dict):
        parent.pop(key)
    elif way == 1 and isinstance(parent, dict):
        parent[chance.pick(TEXTS)] = parent.pop(key)
    elif way == 2 and isinstance(parent, list):
        parent.extend(copy.deepcopy(parent) * (1 + chance.below(3)))
    elif way == 3:
        other, at = chance.pick(places)
        parent[key] = copy.deepcopy(other[at])
    else:
        number = chance.draw(st.floats(-1, 1)) * 10.0 ** (chance.below(60) - 30)
        plain = (number, chance.below(105) - 5, None, True, False, [], {}, [value] * 50, str(value)[:200])
        parent[key] = chance.pick(chance.pick((EXTREME, TEXTS, plain, (float("nan"), float("inf"), NESTED))))


def spoilt_table(chance: Chance, content: bytes) -> bytes:
    """Cells, lines and separators of a table of text replaced, left out, repeated or moved."""
    lines = content.decode("utf-8").split("\n")
    for _ in chance.times(3):
        place = chance.below(len(lines))
        sign = "," if "," in lines[place] else " "
        cells = lines[place].split(sign)
        at, way = chance.below(len(cells)), chance.below(5)
        if way == 0:
            cells[at] = chance.pick((*TEXTS, *map(repr, EXTREME), chance.pick(lines)[:50]))
        elif way == 1:
            del cells[at]
        elif way == 2:
            cells.insert(at, cells[at])
        elif way == 3:
            lines.insert(chance.below(len(lines)), lines[place])
        else:
            cells = chance.order(cells)
        lines[place] = sign.join(cells)
    return "\n".join(lines).encode("utf-8", errors="surrogatepass")


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


def spoilt_lines_of_gzip(chance: Chance, content: bytes) -> bytes:
    """One line of a compressed file of JSON lines spoilt as a document, left out or repeated."""
    lines = gzip.decompress(content).splitlines()
    place, way = chance.below(len(lines)), chance.below(4)
    if way == 0:
        del lines[place]
    elif way == 1:
        lines.insert(chance.below(len(lines)), lines[place])
    else:
        lines[place] = (spoilt_json if way == 2 else spoilt_bytes)(chance, lines[place])
    return gzip.compress(b"\n".join(lines), compresslevel=1, mtime=0)


def spoilt_database(chance: Chance, content: bytes) -> bytes:
    """One row of a database with another document, or something else in its place."""

    def change(base: sqlite3.Connection) -> None:
        document = base.execute("SELECT document FROM attempt").fetchone()[0].encode()
        text = spoilt_json(chance, document).decode("utf-8", errors="replace")
        value = chance.pick((text, spoilt_bytes(chance, document), chance.below(100), 1.5))
        base.execute("UPDATE attempt SET document = ? WHERE rowid = 1", (value,))

    return _changed(content, change)


def _changed(content: bytes, change: Callable[[sqlite3.Connection], None]) -> bytes:
    """A database after a change."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        path.write_bytes(content)
        base = sqlite3.connect(path)
        change(base)
        base.commit()
        base.close()
        return path.read_bytes()


# --- what is well-formed and says something else ------------------------------------------------------------


def other_json(chance: Chance, content: bytes) -> bytes:
    """A document that is well-formed and says something else: another type, sign, length, order or key."""
    document = json.loads(content)
    for _ in chance.times(2):
        if places := list(_places(document)):
            _other_place(chance, *chance.pick(places))
    deep = '{"a": ' * 20_000 + "1" + "}" * 20_000
    return json.dumps(document, ensure_ascii=False).replace(json.dumps(DEEP), deep).encode("utf-8")


def _other_place(chance: Chance, parent: Any, key: Any) -> None:
    value, way = parent[key], chance.below(8)
    if way == 0 and isinstance(parent, dict):
        parent[chance.pick(KEYS)] = parent.pop(key)
    elif way == 1 and isinstance(parent, dict):
        del parent[key]
    elif way == 2 and isinstance(value, list):
        parent[key] = _other_order(chance, value)
    elif way == 3 and isinstance(value, str):
        # another number in it, or a sign that some take for the end of a line
        found, sign = re.sub(r"\d+", chance.pick(COUNTS), value), chance.pick(SEPARATORS)
        parent[key] = found if any(map(str.isdigit, value)) else value + sign + value
    elif way == 3 and isinstance(value, int | float):
        parent[key] = -value
    else:
        parent[key] = _other_value(chance)


def _other_value(chance: Chance) -> Any:
    return copy.deepcopy(chance.pick(chance.pick(OTHERS)))


def _other_order(chance: Chance, items: list[Any]) -> list[Any]:
    """Items that are fewer, more, repeated or in another order."""
    cut = chance.below(len(items) + 1)
    ways = (items[:cut], items[cut:], items + items[cut:], items[::-1], items[cut:] + items[:cut], items * 3)
    return copy.deepcopy(chance.pick(ways))


def other_lines(chance: Chance, content: bytes) -> bytes:
    """JSON Lines whose documents, order or separators are others."""
    lines = content.decode("utf-8").splitlines()
    at, way = chance.below(len(lines)), chance.below(7)
    if way == 0:
        lines = _other_order(chance, lines)
    elif way == 1:
        lines[0] = MARK + lines[0]
    elif way == 2:
        lines[at] = lines[at].replace("a", "a" + chance.pick(SEPARATORS))
    elif way == 3:  # all numbers of one key have the other sign, or are 0 or twice as great
        items = [json.loads(line) for line in lines]
        key, factor = chance.pick(list(items[-1])), chance.pick((-1, 0, 2))
        numbers = [item for item in items if isinstance(item.get(key), int | float)]
        for item in numbers:
            item[key] *= factor
        lines = [json.dumps(item) for item in items]
    else:
        lines[at] = other_json(chance, lines[at].encode("utf-8")).decode("utf-8")
    return "\n".join(lines).encode("utf-8")


def other_table(chance: Chance, content: bytes) -> bytes:
    """A table with other cells, rows, columns or names."""
    rows = [line.split(",") for line in content.decode("utf-8").splitlines()]
    at, column, way = chance.below(len(rows)), chance.below(len(rows[0])), chance.below(6)
    if way == 0:
        rows = _other_order(chance, rows)
    elif way == 1:
        order = chance.order(range(len(rows[0])))
        rows = [rows[0], *([row[index] for index in order] for row in rows[1:])]
    elif way == 2:
        rows[0][column] = chance.pick(KEYS)
    elif way == 3:
        rows[0][0] = MARK + rows[0][0]
    else:
        rows[at][column] = json.dumps(_other_value(chance), ensure_ascii=False).replace(",", ";")
    return "\n".join(map(",".join, rows)).encode("utf-8")


def other_store(chance: Chance, content: bytes) -> bytes:
    """A database with another cell, or with rows or a table left out or repeated."""

    def change(base: sqlite3.Connection) -> None:
        names = base.execute("SELECT name FROM sqlite_schema ORDER BY name").fetchall()
        table = chance.pick([name for (name,) in names])
        column = chance.pick([row[1] for row in base.execute(f"PRAGMA table_info({table})")])
        way, at = chance.below(8), 1 + chance.below(3)
        if way == 0:
            base.execute(f"INSERT INTO {table} SELECT * FROM {table}")
        elif way == 1:
            base.execute(f"DELETE FROM {table} WHERE rowid >= {at}")
        elif way == 2:
            base.execute(f"ALTER TABLE {table} RENAME COLUMN {column} TO other")
        else:
            cell = chance.pick((None, "one", "²", "9" * 5000, b"\xff", 5, -5, 2**62, 1.5, 1e308))
            some = "" if at == 3 else f" WHERE rowid = {at}"
            base.execute(f"UPDATE {table} SET {column} = ?{some}", (cell,))

    return _changed(content, change)
