"""Tables for papers: LaTeX with the rules of the package booktabs."""

from collections.abc import Iterable, Sequence

from depl.benchmarks.analysis.table import Cell, Table

_ESCAPES = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "\u00a0": "~",
        "–": "--",
    }
)


def escaped(text: str) -> str:
    """Text in which every sign means itself to LaTeX."""
    return text.translate(_ESCAPES)


def booktabs(table: Table, caption: str = "", comments: Iterable[str] = ()) -> str:
    """A table as LaTeX; the preamble has to load the package ``booktabs``.

    Columns of numbers are set flush right, numbers with four significant digits, and None as a dash.

    Parameters
    ----------
    table : Table
    caption : str
        Given, the tabular stands in an environment ``table`` with this caption.
    comments : iterable of str
        Lines above it that LaTeX skips, such as where the numbers are from.
    """
    flush = "".join("r" if _numeric(table.column(name)) else "l" for name in table.columns)
    lines = [f"% {comment}" for comment in comments]
    lines += [r"\begin{table}", r"\centering", f"\\caption{{{escaped(caption)}}}"] if caption else []
    lines += [f"\\begin{{tabular}}{{{flush}}}", r"\toprule", _line(table.columns), r"\midrule"]
    lines += [_line([_shown(cell) for cell in row]) for row in table.rows]
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [r"\end{table}"] if caption else []
    return "\n".join(lines) + "\n"


def pivoted(table: Table, across: str, value: str) -> Table:
    """A table in which the values of one column stand side by side, a column for every entry of ``across``.

    Parameters
    ----------
    across : str
        The column whose entries become headings, in the order in which they are first met.
    value : str
        The column that is spread; None where there is no row.
    """
    kept = [name for name in table.columns if name not in (across, value)]
    headings = [str(cell) for cell in dict.fromkeys(table.column(across))]
    rows: dict[tuple[Cell, ...], dict[str, Cell]] = {}
    for record in table.records():
        key = tuple(record[name] for name in kept)
        rows.setdefault(key, {})[str(record[across])] = record[value]
    spread = tuple((*key, *(cells.get(name) for name in headings)) for key, cells in rows.items())
    return Table((*kept, *headings), spread)


def _line(cells: Sequence[str]) -> str:
    return " & ".join(map(escaped, cells)) + r" \\"


def _numeric(cells: Sequence[Cell]) -> bool:
    return all(isinstance(cell, int | float) or cell is None for cell in cells)


def _shown(cell: Cell) -> str:
    if cell is None:
        return "–"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
