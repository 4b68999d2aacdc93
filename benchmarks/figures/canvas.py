"""Axes to draw on, and files that come out the same every time."""

import io
import math
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from depl.models.foundation.documents import write_bytes

_PANEL = (4.2, 3.2)
_BESIDE = 1.8
"""Room for a legend beside the only panel [in]."""
_RESOLUTION = 160
_WITHOUT = {"png": {"Software": None}, "pdf": {"CreationDate": None, "Creator": None, "Producer": None}}
"""What would make two files of the same figure differ."""


def panels(
    count: int = 1, columns: int | None = None, size: tuple[float, float] = _PANEL
) -> tuple[Figure, list[Axes]]:
    """A figure with so many axes, free of any global state of matplotlib.

    Parameters
    ----------
    count : int
    columns : int, optional
        How many stand side by side before the next row begins; all of them by default.
    size : (float, float)
        Of every panel [in].
    """
    columns = min(columns or count, count)
    rows = math.ceil(count / columns)
    figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    axes = list(grid.flat)
    for unused in axes[count:]:
        unused.remove()
    return figure, axes[:count]


def given_or_new(axes: Axes | None) -> Axes:
    """``axes``, or the only axes of a new figure, with room for a legend beside them."""
    if axes is not None:
        return axes
    figure, (new,) = panels()
    figure.set_figwidth(figure.get_figwidth() + _BESIDE)
    return new


def save(
    figure: Figure, folder: Path, name: str, formats: Sequence[str] = ("png", "svg")
) -> tuple[Path, ...]:
    """Write ``figure`` in every format; the same figure gives the same bytes.

    Parameters
    ----------
    figure : Figure
    folder : Path
    name : str
        Of the files, without their endings.
    formats : sequence of str
        ``png``, ``svg`` and ``pdf``.

    Returns
    -------
    tuple of Path
        The files.

    Raises
    ------
    InvalidInputError
        If they cannot be written; an older file is then still whole.
    """
    contents = {}
    for kind in formats:
        contents[folder / f"{name}.{kind}"] = _content(figure, kind)
        figure.set_layout_engine("none")  # it is laid out; to do that again is half of the work
    for path, content in contents.items():
        write_bytes(path, content)
    return tuple(contents)


def _content(figure: Figure, kind: str) -> bytes:
    if kind == "svg":
        return svg_text(figure).encode()
    written = io.BytesIO()
    with mpl.rc_context({"pdf.fonttype": 42}):  # letters stay letters, which journals ask for
        figure.savefig(written, format=kind, dpi=_RESOLUTION, metadata=_WITHOUT[kind])
    return written.getvalue()


def svg_text(figure: Figure, salt: str = "depl") -> str:
    """``figure`` as SVG, without a date; the same figure gives the same text.

    Parameters
    ----------
    salt : str
        Goes into the identifiers of the parts: of figures that share a page, each needs its own.
    """
    drawing = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": salt, "svg.fonttype": "path"}):
        figure.savefig(drawing, format="svg", metadata={"Date": None, "Creator": None})
    return drawing.getvalue()
