"""Running the cells of a lesson, as a notebook would, and keeping what they show."""

import ast
import base64
import contextlib
import io
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from depl.lessons.export.texts import Lesson


@dataclass(frozen=True)
class Picture:
    """A figure as an address that holds all of it, and what its axes show, for those who cannot see it."""

    address: str
    alternative: str


@dataclass(frozen=True)
class CellOutput:
    """What a cell shows: printed text, figures, and the page of its last expression; each may be empty."""

    text: str
    pictures: tuple[Picture, ...]
    html: str


def run_cells(lesson: Lesson) -> tuple[CellOutput, ...]:
    """Run all cells of a lesson in order, in names of their own.

    Raises
    ------
    Exception
        What a cell raises: a lesson that fails is a defect of depl.
    """
    names: dict[str, object] = {"__name__": "__main__"}
    with _quiet_figures():
        return tuple(
            _run(cell.code, f"<lesson {lesson.number}, cell {place}>", names)
            for place, cell in enumerate(lesson.cells, start=1)
        )


def _run(code: str, place: str, names: dict[str, object]) -> CellOutput:
    tree = ast.parse(code, place)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value: object = None
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(tree, place, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), place, "eval"), names)
    page = getattr(value, "_repr_html_", None)
    pictures = tuple(_picture(plt.figure(number)) for number in plt.get_fignums())
    plt.close("all")
    return CellOutput(out.getvalue().rstrip("\n"), pictures, "" if page is None else page())


def _picture(figure: Figure) -> Picture:
    drawn = io.BytesIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    address = "data:image/svg+xml;base64," + base64.b64encode(drawn.getvalue()).decode()
    shown = [f"{axes.get_ylabel()} against {axes.get_xlabel()}" for axes in figure.axes if axes.get_xlabel()]
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    return Picture(address, "; ".join(shown or titles) or "drawing")


@contextlib.contextmanager
def _quiet_figures() -> Iterator[None]:
    """Figures are kept and not shown on a screen; those that are open already are not touched."""
    before = mpl.get_backend()
    plt.close("all")
    plt.switch_backend("agg")
    with mpl.rc_context(), warnings.catch_warnings():
        # Names inside a drawing follow from it, so that the same lesson makes the same file.
        mpl.rcParams["svg.hashsalt"] = "depl"
        warnings.filterwarnings("ignore", message=".*non-interactive.*", category=UserWarning)
        try:
            yield
        finally:
            plt.close("all")
            plt.switch_backend(before)
