"""The page of refusals lists every NotCoveredError of the sources, and nothing else."""

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from tests.docs.pages import ROOT, text_of

PAGE = text_of("docs/refusals.rst")
LAYERS = ("models", "heuristics", "instances", "depl", "benchmarks")
ROW = re.compile(
    r"^   \* - (?P<modules>``depl\..*)\n     - \"(?P<message>.*)\"\n     - (.+)\n     - (.+)$", re.MULTILINE
)
FILLED = "..."


class Site(NamedTuple):
    """One place that refuses, and what it says with dots for what it fills in."""

    module: str
    line: int
    message: str


class Row(NamedTuple):
    """One row of the page."""

    modules: tuple[str, ...]
    message: str

    def tells(self, site: Site) -> bool:
        """Whether a message has all parts of this row, in their order; dots alone are for dots alone."""
        parts = [re.escape(part.strip()) for part in self.message.split(FILLED) if part.strip()]
        if not parts:
            return site.module in self.modules and site.message == FILLED
        return site.module in self.modules and re.search(".*".join(parts), site.message) is not None


def sources() -> Iterator[tuple[str, ast.Module]]:
    for layer in LAYERS:
        for path in sorted((ROOT / layer).glob("**/*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if parts[0] == "depl" and parts[1] in LAYERS:
                continue  # the same files by their links
            name = ".".join(parts if parts[0] == "depl" else ("depl", *parts))
            text = path.read_text(encoding="utf-8")
            if "NotCoveredError(" in text or "require_memory(" in text:
                yield name, ast.parse(text)


def said(module: str, node: ast.expr) -> str:
    """A message with dots for what is filled in; constants of a module by their value."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(said(module, part) for part in node.values)
    if isinstance(node, ast.BinOp):
        return said(module, node.left) + said(module, node.right)
    if isinstance(node, ast.Name):
        value = getattr(importlib.import_module(module), node.id, FILLED)
        return value if isinstance(value, str) else FILLED
    return FILLED


def calls(tree: ast.Module, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


@cache
def sites() -> tuple[Site, ...]:
    return tuple(
        Site(module, node.lineno, said(module, node.args[0]))
        for module, tree in sources()
        for node in calls(tree, "NotCoveredError")
    )


@cache
def rows() -> tuple[Row, ...]:
    found = ROW.finditer(PAGE)
    return tuple(Row(tuple(re.findall("``(.*?)``", row["modules"])), row["message"]) for row in found)


def test_every_row_of_the_page_is_read() -> None:
    assert len(rows()) == len(re.findall(r"(?m)^   \* - ``depl\.", PAGE)) > 80


def test_every_refusal_of_the_sources_is_on_the_page() -> None:
    assert len(sites()) > 90
    missing = [site for site in sites() if not any(row.tells(site) for row in rows())]
    assert not missing, "give each a row in docs/refusals.rst"


def test_the_page_lists_no_refusal_that_is_gone() -> None:
    stale = [
        (row.message, module)
        for row in rows()
        for module in row.modules
        if not any(row.tells(site) for site in sites() if site.module == module)
    ]
    assert not stale


def test_the_page_names_every_module_that_asks_for_memory() -> None:
    asking = {module for module, tree in sources() if any(calls(tree, "require_memory"))}
    listed = re.search(r"Memory is asked for by ((?:.|\n)*?)\.\n\n", PAGE)
    assert listed is not None
    assert set(re.findall(r"``(\S+?)``", listed[1])) == asking


def test_a_message_that_is_new_would_be_missed() -> None:
    new = Site("depl.models.exact.choices", 1, "nothing of the kind")
    assert not any(row.tells(new) for row in rows())
    assert Row(("m",), "a ... b").tells(Site("m", 1, "an a and then b"))
    assert not Row(("m",), "a ... b").tells(Site("m", 1, "b before a"))
    assert not Row(("m",), "a ... b").tells(Site("n", 1, "a b"))
    assert not Row(("m",), FILLED).tells(Site("m", 1, "a"))
