"""Small faults put into a source file, one at a time, by rules on its syntax tree.

========== ===================================================================================================
boundary   ``<`` and ``<=``, ``>`` and ``>=`` exchanged
comparison the opposite: ``<`` becomes ``>=``, ``==`` becomes ``!=``, ``in`` becomes ``not in``, and so on
arithmetic ``+`` and ``-``, ``*`` and ``/`` exchanged; ``//`` becomes ``/``, ``**`` and ``%`` become ``*``
complement ``1 - x`` becomes ``x``, or 0
constant   0 becomes 1, 1 becomes 0
index      a whole number in an index or a slice becomes the next one, or the one before
extreme    ``min`` and ``max``, ``any`` and ``all``, ``floor`` and ``ceil`` exchanged, also NumPy's
logic      ``and`` and ``or`` exchanged; ``not x`` becomes ``x``
condition  the condition of an ``if``, a ``while`` or a comprehension is negated
return     ``return`` without a value, or of None, is removed
========== ===================================================================================================

Annotations, decorators, docstrings, other texts and what is raised are left as they are.
"""

import ast
import copy
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

Fault = Callable[[Any], None]
"""Changes a node in place."""

_BOUNDARY = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_OPPOSITE = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Pow: ast.Mult,
    ast.Mod: ast.Mult,
}
_PAIRS = (
    ("min", "max"),
    ("minimum", "maximum"),
    ("fmin", "fmax"),
    ("argmin", "argmax"),
    ("nanmin", "nanmax"),
    ("any", "all"),
    ("floor", "ceil"),
)
_EXTREMES = {**dict(_PAIRS), **{second: first for first, second in _PAIRS}}


class Mutant(NamedTuple):
    """One fault in one file.

    ``name`` says where and what without line numbers, so that it outlives changes elsewhere: the path, the
    function, the operator, the change, and which of those alike in this function it is. ``index`` is its
    place among the mutants of the file.
    """

    name: str
    path: str
    line: int
    index: int


class _Site(NamedTuple):
    """Where a fault can be put in: the operator, the function, what stands there, and how to change it."""

    operator: str
    function: str
    node: ast.AST
    fault: Fault


def mutants(path: str, source: str) -> Iterator[Mutant]:
    """Every mutant of a source file, from top to bottom."""
    seen: Counter[str] = Counter()
    for index, site in enumerate(_sites(ast.parse(source))):
        before, changed = _text(site.node), copy.copy(site.node)
        site.fault(changed)
        about = f"{path}::{site.function} {site.operator}: {before} -> {_text(changed)}"
        seen[about] += 1
        yield Mutant(f"{about} #{seen[about]}", path, getattr(site.node, "lineno", 0), index)


def mutated(source: str, index: int) -> str:
    """The source file with one of its faults; comments are lost, and nothing else changes."""
    tree = ast.parse(source)
    site = next(itertools.islice(_sites(tree), index, None))
    site.fault(site.node)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _sites(tree: ast.Module) -> Iterator[_Site]:
    yield from _below(tree, "module", False)


def _below(node: ast.AST, function: str, indexing: bool) -> Iterator[_Site]:
    """The sites in a subtree; ``indexing`` inside an index or a slice."""
    for operator, fault in _faults(node, indexing):
        yield _Site(operator, function, node, fault)
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        function = node.name if function == "module" else f"{function}.{node.name}"
    for name, child in _children(node):
        inside = name == "slice" or (indexing and isinstance(node, ast.Slice | ast.Tuple | ast.UnaryOp))
        yield from _below(child, function, inside)


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The children in which faults are looked for, with the names of their fields."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert):
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases", "keywords") and not isinstance(
            node, ast.Call
        ):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield name, child


def _faults(node: ast.AST, indexing: bool) -> Iterator[tuple[str, Fault]]:
    """The operators that apply at a node itself."""
    if isinstance(node, ast.Compare):
        yield from _of_comparison(node)
    elif isinstance(node, ast.BinOp | ast.AugAssign):
        yield from _of_arithmetic(node)
    elif isinstance(node, ast.Constant):
        yield from _of_constant(node, indexing)
    elif isinstance(node, ast.Name | ast.Attribute):
        field = "id" if isinstance(node, ast.Name) else "attr"
        if getattr(node, field) in _EXTREMES and isinstance(node.ctx, ast.Load):
            yield "extreme", _setting(field, _EXTREMES[getattr(node, field)])
    elif isinstance(node, ast.BoolOp):
        yield "logic", _setting("op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "logic", lambda found: _become(found, found.operand)
    yield from _of_statement(node)


def _of_comparison(node: ast.Compare) -> Iterator[tuple[str, Fault]]:
    for place, operator in enumerate(node.ops):
        for name, table in (("boundary", _BOUNDARY), ("comparison", _OPPOSITE)):
            other = table.get(type(operator))
            if other is not None:
                changed = [*node.ops[:place], other(), *node.ops[place + 1 :]]
                yield name, _setting("ops", changed)


def _of_arithmetic(node: ast.BinOp | ast.AugAssign) -> Iterator[tuple[str, Fault]]:
    sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.value]
    if any(isinstance(side, ast.JoinedStr) or _is(side, str) for side in sides):
        return
    other = _ARITHMETIC.get(type(node.op))
    if other is not None:
        yield "arithmetic", _setting("op", other())
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and _is_one(node.left):
        yield "complement", lambda found: _become(found, found.right)
        yield "complement", lambda found: _become(found, ast.Constant(0))


def _of_constant(node: ast.Constant, indexing: bool) -> Iterator[tuple[str, Fault]]:
    if not _is(node, int, float) or isinstance(node.value, bool):
        return
    if indexing and isinstance(node.value, int):
        yield "index", _setting("value", node.value + 1)
        yield "index", _setting("value", node.value - 1)
    elif node.value in (0, 1):
        yield "constant", _setting("value", type(node.value)(1 - node.value))


def _of_statement(node: ast.AST) -> Iterator[tuple[str, Fault]]:
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        yield "condition", _setting("test", ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.comprehension):
        for place, test in enumerate(node.ifs):
            negated = [*node.ifs[:place], ast.UnaryOp(ast.Not(), test), *node.ifs[place + 1 :]]
            yield "condition", _setting("ifs", negated)
    elif isinstance(node, ast.Return) and (
        node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)
    ):
        yield "return", lambda found: _become(found, ast.Pass())


def _is(node: ast.AST, *kinds: type) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, kinds)


def _is_one(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


def _setting(field: str, value: object) -> Fault:
    return lambda found: setattr(found, field, value)


def _become(node: ast.AST, other: ast.AST) -> None:
    """Make a node another one, in whatever place it stands."""
    kept = {name: getattr(node, name) for name in ("lineno", "col_offset") if hasattr(node, name)}
    fields = {**kept, **other.__dict__}
    node.__class__ = other.__class__
    node.__dict__.clear()
    node.__dict__.update(fields)


def _text(node: ast.AST) -> str:
    """A node in one line; of a statement with a body, its first line."""
    if isinstance(node, ast.If | ast.While):
        return f"{type(node).__name__.lower()} {ast.unparse(node.test)}"
    return " ".join(ast.unparse(ast.fix_missing_locations(node)).split())
