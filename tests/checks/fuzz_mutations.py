"""Ways to spoil a file: bytes, JSON documents, tables, archives and databases; used by the fuzz alone.

Every way takes a generator and what is to be spoilt, and returns something else of the same kind. The same
generator spoils in the same way, so that a number names a mutant.
"""

import copy
import gzip
import io
import json
import re
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Rng = np.random.Generator
NESTED = "<nested>"
"""Stands for brackets in brackets, which Python itself could not handle as an object."""
_KEY = re.compile(r'"\w+":')

EXTREME = (0, -0.0, -1, 1, 2**31, 2**53, 2**63, -(2**63), 2**64, 10**30, 1e-320, 1e-101, 1e101, 1e308, -1e308)
TEXTS = (
    "",
    " ",
    "a",
    "nan",
    "\x00",
    "\x1b[31m",
    "\u202e",
    "\ud800",
    "ß" * 40,
    "n" * 3000,
    "$",
    "../..",
    "1e999",
    "9" * 5000,
    "=cmd()",
    "tiny",
    "student_t",
    "normal",
    "empirical",
    "forbidden",
)
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
    b"\n",
)

HUGE = int("1" * 400)
"""A whole number that no floating-point number holds."""
DEEP = "<deep>"
"""Stands for 20,000 objects in objects."""
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


def spoilt_bytes(rng: Rng, content: bytes) -> bytes:
    """Some bytes flipped, cut, left out, repeated or put in."""
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(0, len(content) + 1))
        length = int(rng.integers(1, 64))
        head, tail = content[:place], content[place:]
        content = (
            head + bytes([(tail[:1] or b"\0")[0] ^ int(rng.integers(1, 256))]) + tail[1:],
            head,
            head + tail[length:],
            head + tail[:length] + tail,
            head + TOKENS[int(rng.integers(len(TOKENS)))] + tail,
            head + rng.bytes(length) + tail,
            head + rng.bytes(min(length, 8)) + tail[min(length, 8) :],
        )[int(rng.integers(7))]
    return content


def spoilt_json(rng: Rng, content: bytes) -> bytes:
    """One to three values of a document replaced by others of any type, moved, repeated or left out."""
    document = json.loads(content)
    for _ in range(int(rng.integers(1, 4))):
        places = list(_places(document))
        if not places:
            break
        parent, key = places[int(rng.integers(len(places)))]
        _spoil_place(rng, parent, key, places)
    text = json.dumps(document)
    depth = int(rng.choice([2, 60, 900, 1100, 100_000]))
    text = text.replace(json.dumps(NESTED), "[" * depth + "1" + "]" * depth)
    if rng.integers(8) == 0 and (keys := list(_KEY.finditer(text))):
        found = keys[int(rng.integers(len(keys)))]
        text = f"{text[: found.start()]}{found[0]} 0, {text[found.start() :]}"
    return text.encode("utf-8")


def _places(value: Any) -> Any:
    """All pairs of a container and a key or index."""
    keys = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(keys):
        yield value, key
        if isinstance(item, dict | list):
            yield from _places(item)


def _spoil_place(rng: Rng, parent: Any, key: Any, places: list[tuple[Any, Any]]) -> None:
    way = int(rng.integers(8))
    if way == 0 and isinstance(parent, dict):
        parent.pop(key)
    elif way == 1 and isinstance(parent, dict):
        parent[any_text(rng)] = parent.pop(key)
    elif way == 2 and isinstance(parent, list):
        parent.extend(json.loads(json.dumps(parent)) * int(rng.integers(1, 4)))
    elif way == 3:
        other, at = places[int(rng.integers(len(places)))]
        parent[key] = json.loads(json.dumps(other[at]))
    else:
        parent[key] = any_value(rng, parent[key])


def any_text(rng: Rng) -> str:
    """A text that is hard to handle."""
    return TEXTS[int(rng.integers(len(TEXTS)))]


def any_value(rng: Rng, value: Any) -> Any:
    """Something of any type in the place of ``value``."""
    choices: list[Callable[[], Any]] = [
        lambda: EXTREME[int(rng.integers(len(EXTREME)))],
        lambda: any_text(rng),
        lambda: float(rng.normal()) * 10.0 ** int(rng.integers(-30, 30)),
        lambda: int(rng.integers(-5, 100)),
        lambda: None,
        lambda: bool(rng.integers(2)),
        list,
        dict,
        lambda: [value] * 50,
        lambda: str(value)[:200],
        lambda: float("nan"),
        lambda: float("inf"),
        lambda: [value],
        lambda: NESTED,
    ]
    return choices[int(rng.integers(len(choices)))]()


def spoilt_table(rng: Rng, content: bytes) -> bytes:
    """Cells, lines and separators of a table of text replaced, left out, repeated or moved."""
    lines = content.decode("utf-8").split("\n")
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(len(lines)))
        sign = "," if "," in lines[place] else " "
        cells = lines[place].split(sign)
        at = int(rng.integers(len(cells)))
        way = int(rng.integers(7))
        if way == 0:
            cells[at] = any_text(rng)
        elif way == 1:
            cells[at] = repr(EXTREME[int(rng.integers(len(EXTREME)))])
        elif way == 2:
            del cells[at]
        elif way == 3:
            cells.insert(at, cells[at])
        elif way == 4:
            cells[at] = lines[int(rng.integers(len(lines)))][:50]
        elif way == 5:
            lines.insert(int(rng.integers(len(lines))), lines[place])
        else:
            cells = [cells[index] for index in rng.permutation(len(cells))]
        lines[place] = sign.join(cells)
    return "\n".join(lines).encode("utf-8", errors="surrogatepass")


def spoilt_npz(rng: Rng, content: bytes) -> bytes:
    """Members of an archive with another header, type, shape or content; or left out, renamed, repeated."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [[name, archive.read(name)] for name in archive.namelist()]
    member = members[int(rng.integers(len(members)))]
    way = int(rng.integers(9))
    if way == 0:
        member[1] = spoilt_bytes(rng, member[1])
    elif way == 1:
        members.remove(member)
    elif way == 2:
        member[0] = any_text(rng).encode("ascii", "ignore").decode() + ".npy"
    elif way == 3:
        member[1] = member[1].replace(b"(", b"(" + str(abs(int(EXTREME[int(rng.integers(12))]))).encode(), 1)
    elif way == 4:
        kinds = b"<f4 >f8 |O8 <U9 |V8 <M8 <c8 |b1 <u8 <i8 |S8 <f2".split()
        member[1] = member[1].replace(member[1][21:24], kinds[int(rng.integers(len(kinds)))], 1)
    elif way == 5:
        array = np.load(io.BytesIO(member[1]))
        page = io.BytesIO()
        np.save(page, _spoilt_array(rng, array))
        member[1] = page.getvalue()
    elif way == 6:
        words = ("[" * 9000, "-" * 9000 + "1", '{"a": {"b": "c"}}', '{"a": "b", "a": "c"}', "{", "1e999")
        page = io.BytesIO()
        np.save(page, np.array(words[int(rng.integers(len(words)))]))
        member[1] = page.getvalue()
    elif way == 7:
        member[1] = members[int(rng.integers(len(members)))][1]
    page = io.BytesIO()
    with zipfile.ZipFile(page, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {str(name): text for name, text in members}.items():
            archive.writestr(name.replace("\0", "") or "-", text)
    packed = page.getvalue()
    return spoilt_bytes(rng, packed) if way == 8 else packed


def _spoilt_array(rng: Rng, array: np.ndarray) -> np.ndarray:
    flat = np.resize(array, max(int(rng.integers(array.size + 2)), 1)) if rng.integers(2) else array.copy()
    way = int(rng.integers(5))
    if way == 0 and flat.dtype.kind == "f":
        flat.flat[int(rng.integers(flat.size))] = rng.choice([np.nan, np.inf, -np.inf, 1e308, 5e-324])
    elif way == 1 and flat.dtype.kind in "iu":
        ends = np.iinfo(flat.dtype)
        flat.flat[int(rng.integers(flat.size))] = rng.choice([ends.min, ends.max, 0])
    elif way == 2:
        flat = flat.reshape(-1, 1)
    elif way == 3 and flat.dtype.kind in "fiu":
        with np.errstate(all="ignore"):
            flat = flat.astype(str(rng.choice(["f2", "f4", "g", "c16", "u8", "i1", "b1", "U5", ">f8"])))
    elif way == 4 and flat.dtype.kind == "U":
        flat = np.array([any_text(rng) for _ in range(flat.size)])
    return flat


def spoilt_lines_of_gzip(rng: Rng, content: bytes) -> bytes:
    """One line of a compressed file of JSON lines spoilt as a document, left out or repeated."""
    lines = gzip.decompress(content).splitlines()
    place = int(rng.integers(len(lines)))
    way = int(rng.integers(4))
    if way == 0:
        del lines[place]
    elif way == 1:
        lines.insert(int(rng.integers(len(lines))), lines[place])
    else:
        lines[place] = spoilt_json(rng, lines[place]) if way == 2 else spoilt_bytes(rng, lines[place])
    return gzip.compress(b"\n".join(lines), compresslevel=1, mtime=0)


def other_json(rng: Rng, content: bytes) -> bytes:
    """A document that is well-formed and says something else: another type, sign, length, order or key."""
    document = json.loads(content)
    for _ in range(int(rng.integers(1, 3))):
        places = list(_places(document))
        if not places:
            break
        _other_place(rng, *places[int(rng.integers(len(places)))])
    deep = '{"a": ' * 20_000 + "1" + "}" * 20_000
    return json.dumps(document, ensure_ascii=False).replace(json.dumps(DEEP), deep).encode("utf-8")


def _other_place(rng: Rng, parent: Any, key: Any) -> None:
    value, way = parent[key], int(rng.integers(8))
    if way == 0 and isinstance(parent, dict):
        parent[_pick(rng, KEYS)] = parent.pop(key)
    elif way == 1 and isinstance(parent, dict):
        del parent[key]
    elif way == 2 and isinstance(value, list):
        parent[key] = _other_order(rng, value)
    elif way == 3 and isinstance(value, str):
        parent[key] = _other_text(rng, value)
    elif way == 3 and isinstance(value, int | float):
        parent[key] = -value
    else:
        parent[key] = _other_value(rng)


def _other_value(rng: Rng) -> Any:
    return copy.deepcopy(_pick(rng, _pick(rng, OTHERS)))


def other_lines(rng: Rng, content: bytes) -> bytes:
    """JSON Lines whose documents, order or separators are others."""
    lines = content.decode("utf-8").splitlines()
    at, way = int(rng.integers(len(lines))), int(rng.integers(7))
    if way == 0:
        lines = _other_order(rng, lines)
    elif way == 1:
        lines[0] = MARK + lines[0]
    elif way == 2:
        lines[at] = lines[at].replace("a", "a" + _pick(rng, SEPARATORS))
    elif way == 3:
        lines = _other_sign(rng, lines)
    else:
        lines[at] = other_json(rng, lines[at].encode("utf-8")).decode("utf-8")
    return "\n".join(lines).encode("utf-8")


def _other_sign(rng: Rng, lines: list[str]) -> list[str]:
    """Lines in which all numbers of one key have the other sign, or are 0 or twice as great."""
    items = [json.loads(line) for line in lines]
    key, factor = _pick(rng, list(items[-1])), _pick(rng, (-1, 0, 2))
    changed = [
        {**item, key: item[key] * factor} if isinstance(item.get(key), int | float) else item
        for item in items
    ]
    return [json.dumps(item) for item in changed]


def other_table(rng: Rng, content: bytes) -> bytes:
    """A table with other cells, rows, columns or names."""
    rows = [line.split(",") for line in content.decode("utf-8").splitlines()]
    at, column, way = int(rng.integers(len(rows))), int(rng.integers(len(rows[0]))), int(rng.integers(6))
    if way == 0:
        rows = _other_order(rng, rows)
    elif way == 1:
        order = rng.permutation(len(rows[0]))
        rows = [rows[0], *([row[index] for index in order] for row in rows[1:])]
    elif way == 2:
        rows[0][column] = _pick(rng, KEYS)
    elif way == 3:
        rows[0][0] = MARK + rows[0][0]
    else:
        rows[at][column] = json.dumps(_other_value(rng), ensure_ascii=False).replace(",", ";")
    return "\n".join(map(",".join, rows)).encode("utf-8")


def other_store(rng: Rng, content: bytes) -> bytes:
    """A database with another cell, or with rows or a table left out or repeated."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        path.write_bytes(content)
        base = sqlite3.connect(path)
        table = _pick(rng, [name for (name,) in base.execute("SELECT name FROM sqlite_schema ORDER BY name")])
        column = _pick(rng, [row[1] for row in base.execute(f"PRAGMA table_info({table})")])
        way, at = int(rng.integers(8)), int(rng.integers(3)) + 1
        if way == 0:
            base.execute(f"INSERT INTO {table} SELECT * FROM {table}")
        elif way == 1:
            base.execute(f"DELETE FROM {table} WHERE rowid >= {at}")
        elif way == 2:
            base.execute(f"ALTER TABLE {table} RENAME COLUMN {column} TO other")
        else:
            cells = (
                None,
                _pick(rng, ("one", "²", "9" * 5000)),
                b"\xff",
                _pick(rng, (5, -5, 2**62, 1.5, 1e308)),
            )
            some = "" if at == 3 else f" WHERE rowid = {at}"
            base.execute(f"UPDATE {table} SET {column} = ?{some}", (_pick(rng, cells),))
        base.commit()
        base.close()
        return path.read_bytes()


def _other_order(rng: Rng, items: list[Any]) -> list[Any]:
    """Items that are fewer, more, repeated or in another order."""
    cut = int(rng.integers(len(items) + 1))
    ways = (items[:cut], items[cut:], items + items[cut:], items[::-1], items[cut:] + items[:cut], items * 3)
    return json.loads(json.dumps(_pick(rng, ways)))


def _other_text(rng: Rng, text: str) -> str:
    """A text with another number in it, or with a sign that some take for the end of a line."""
    if any(map(str.isdigit, text)):
        return re.sub(r"\d+", _pick(rng, COUNTS), text)
    return text + _pick(rng, SEPARATORS) + text


def _pick(rng: Rng, choices: Sequence[Any]) -> Any:
    return choices[int(rng.integers(len(choices)))]
