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


def _both(*pairs: tuple[Any, Any]) -> dict[Any, Any]:
    """Each of a pair for the other."""
    return {**dict(pairs), **{second: first for first, second in pairs}}


_BOUNDARY = _both((ast.Lt, ast.LtE), (ast.Gt, ast.GtE))
_OPPOSITE = _both((ast.Lt, ast.GtE), (ast.LtE, ast.Gt), (ast.Eq, ast.NotEq), (ast.In, ast.NotIn))
_OPPOSITE |= _both((ast.Is, ast.IsNot))
_ARITHMETIC = _both((ast.Add, ast.Sub), (ast.Mult, ast.Div))
_ARITHMETIC |= {ast.FloorDiv: ast.Div, ast.Pow: ast.Mult, ast.Mod: ast.Mult}
_EXTREMES = _both(("min", "max"), ("minimum", "maximum"), ("fmin", "fmax"), ("argmin", "argmax"))
_EXTREMES |= _both(("nanmin", "nanmax"), ("any", "all"), ("floor", "ceil"))
_UNTOUCHED = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Assert)


class Mutant(NamedTuple):
    """One fault in one file, and its name, which has no line in it, so that it outlives other changes."""

    name: str
    path: str
    line: int
    index: int


def mutants(path: str, source: str) -> Iterator[Mutant]:
    """Every mutant of a source file, from top to bottom."""
    seen: Counter[str] = Counter()
    for index, (operator, function, node, fault) in enumerate(_sites(ast.parse(source))):
        before, changed = _text(node), copy.copy(node)
        fault(changed)
        about = f"{path}::{function} {operator}: {before} -> {_text(changed)}"
        seen[about] += 1
        yield Mutant(f"{about} #{seen[about]}", path, getattr(node, "lineno", 0), index)


def mutated(source: str, index: int) -> str:
    """The source file with one of its faults; comments are lost, and nothing else changes."""
    tree = ast.parse(source)
    _, _, node, fault = next(itertools.islice(_sites(tree), index, None))
    fault(node)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _sites(
    node: ast.AST, function: str = "module", indexing: bool = False
) -> Iterator[tuple[str, str, ast.AST, Fault]]:
    """Operator, function, node and fault of each place in a subtree; ``indexing`` inside an index."""
    yield from ((operator, function, node, fault) for operator, fault in _faults(node, indexing))
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        function = node.name if function == "module" else f"{function}.{node.name}"
    for name, child in _children(node):
        inside = name == "slice" or (indexing and isinstance(node, ast.Slice | ast.Tuple | ast.UnaryOp))
        yield from _sites(child, function, inside)


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The children in which faults are looked for, with the names of their fields."""
    apart = (
        () if isinstance(node, ast.Call) else ("annotation", "returns", "decorator_list", "bases", "keywords")
    )
    for name, value in () if isinstance(node, _UNTOUCHED) else ast.iter_fields(node):
        if name not in apart:
            children = value if isinstance(value, list) else [value]
            yield from ((name, child) for child in children if isinstance(child, ast.AST))


def _faults(node: ast.AST, indexing: bool) -> Iterator[tuple[str, Fault]]:
    """The operators that apply at a node itself."""
    match node:
        case ast.Compare():
            yield from _of_comparison(node)
        case ast.BinOp() | ast.AugAssign():
            yield from _of_arithmetic(node)
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int()) if indexing:
            yield "index", _setting("value", node.value + 1)
            yield "index", _setting("value", node.value - 1)
        case ast.Constant(value=int() | float()) if node.value in (0, 1):
            yield "constant", _setting("value", type(node.value)(1 - node.value))
        case ast.Name(id=name, ctx=ast.Load()) if name in _EXTREMES:
            yield "extreme", _setting("id", _EXTREMES[name])
        case ast.Attribute(attr=name, ctx=ast.Load()) if name in _EXTREMES:
            yield "extreme", _setting("attr", _EXTREMES[name])
        case ast.BoolOp():
            yield "logic", _setting("op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not()):
            yield "logic", lambda found: _become(found, found.operand)
        case _:
            yield from _of_statement(node)


def _of_comparison(node: ast.Compare) -> Iterator[tuple[str, Fault]]:
    for place, operator in enumerate(node.ops):
        for name, table in (("boundary", _BOUNDARY), ("comparison", _OPPOSITE)):
            if other := table.get(type(operator)):
                yield name, _setting("ops", [*node.ops[:place], other(), *node.ops[place + 1 :]])


def _of_arithmetic(node: ast.BinOp | ast.AugAssign) -> Iterator[tuple[str, Fault]]:
    """Of numbers: a text on one side is put together with another one."""
    for side in [node.left, node.right] if isinstance(node, ast.BinOp) else [node.value]:
        if isinstance(side, ast.JoinedStr) or (
            isinstance(side, ast.Constant) and isinstance(side.value, str)
        ):
            return
    if other := _ARITHMETIC.get(type(node.op)):
        yield "arithmetic", _setting("op", other())
    match node:
        case ast.BinOp(op=ast.Sub(), left=ast.Constant(value=1)):
            yield "complement", lambda found: _become(found, found.right)
            yield "complement", lambda found: _become(found, ast.Constant(0))


def _of_statement(node: ast.AST) -> Iterator[tuple[str, Fault]]:
    match node:
        case ast.If() | ast.While() | ast.IfExp():
            yield "condition", _setting("test", ast.UnaryOp(ast.Not(), node.test))
        case ast.comprehension():
            for place, test in enumerate(node.ifs):
                negated = [*node.ifs[:place], ast.UnaryOp(ast.Not(), test), *node.ifs[place + 1 :]]
                yield "condition", _setting("ifs", negated)
        case ast.Return(value=None | ast.Constant(value=None)):
            yield "return", lambda found: _become(found, ast.Pass())


def _setting(field: str, value: object) -> Fault:
    return lambda found: setattr(found, field, value)


def _become(node: ast.AST, other: ast.AST) -> None:
    """Make a node another one, in whatever place it stands."""
    ast.copy_location(other, node)
    node.__class__, node.__dict__ = other.__class__, dict(other.__dict__)


def _text(node: ast.AST) -> str:
    """A node in one line; of a statement with a body, its first line."""
    if isinstance(node, ast.If | ast.While):
        return f"{type(node).__name__.lower()} {ast.unparse(node.test)}"
    return " ".join(ast.unparse(ast.fix_missing_locations(node)).split())
