"""One style of all figures: colours of methods, axes, titles, legends, and files without dates.

matplotlib is imported when something is drawn, so that nothing else waits for it.
"""

import functools
import io
import itertools
import math
import textwrap
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from depl.models.foundation.documents import write_bytes

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

Dash = str | tuple[int, tuple[int, ...]]
"""A line style of matplotlib: a name, or an offset with the lengths of strokes and spaces."""
Choice = TypeVar("Choice")

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's palette: distinct under the common kinds of colour blindness. Markers, lines and hatches
differ as well wherever colours do."""
METHOD_COLOURS = (*COLOURS, "#882255", "#888888", "#332288", "#999933")
"""Wine, grey, indigo and olive besides, as a suite may compare eleven methods."""
MODEL_COLOURS = ("#56B4E9", "#E69F00", "#CC79A7", "#000000", "#009E73")
"""The same palette in another order, so that models are not taken for methods."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES: tuple[Dash, ...] = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))
HATCHES = ("", "///", "...", "xxx", "\\\\\\")

PANEL = (4.2, 3.2)
"""Size of a panel [in]."""
_RESOLUTION = 160
_WITHOUT = {"png": {"Software": None}, "pdf": {"CreationDate": None, "Creator": None, "Producer": None}}
"""What would make two files of the same figure differ."""

_MOST, _LONGEST, _LINES = 16, 34, 2
"""Entries of a legend, the last of which counts the rest; letters of a line of an entry, and its lines."""
_TITLE, _FORMULA = 56, 8
"""Letters of a line of a title above a panel, and signs of a formula that take no room in print."""
_LOOK = {"frameon": False, "fontsize": "small", "title_fontsize": "small", "alignment": "left"}


class Style(NamedTuple):
    """What tells one line from the others."""

    colour: str
    marker: str
    dash: Dash


def nth(choices: tuple[Choice, ...], index: int) -> Choice:
    """Entry ``index`` of a list of styles, from the start again after its end."""
    return choices[index % len(choices)]


def series_style(index: int) -> Style:
    """The style of the line of that number, where lines are no methods."""
    return Style(nth(COLOURS, index), nth(MARKERS, index), nth(DASHES, index))


def _style(colour: int, marker: int, dash: int) -> Style:
    return Style(METHOD_COLOURS[colour], MARKERS[marker], DASHES[dash])


METHOD_STYLES = {
    "auto": _style(6, 0, 0),
    "depl": _style(0, 0, 0),
    "exact": _style(2, 1, 0),
    "enumerate": _style(10, 5, 2),
    "milp": _style(9, 3, 0),
    "scenario-search": _style(3, 5, 1),
    "depl-paper": _style(1, 1, 1),
    "expected-greedy": _style(4, 2, 1),
    "expected-cost": _style(3, 4, 2),
    "density-greedy": _style(5, 5, 3),
    "fastest-cluster": _style(6, 3, 3),
    "random": _style(8, 6, 2),
}
"""The style of every built-in method in every figure; methods of one shipped suite differ in their hues."""

_DARKER = {25: "#FDBE85", 50: "#FD8D3C", 100: "#D95F0E", 200: "#A63603", 400: "#5F1E00"}

CONFIGURATION_STYLES = {
    "annealing": _style(7, 6, 0),
    "data-models-resources": _style(0, 0, 1),
    "data-resources-models": _style(1, 2, 2),
    "models-data-resources": _style(3, 3, 3),
    "models-resources-data": _style(4, 4, 4),
    "resources-data-models": _style(5, 5, 0),
    "resources-models-data": _style(6, 6, 1),
    **{
        f"depl-paper-{levels}": Style(shade, MARKERS[place], DASHES[place])
        for place, (levels, shade) in enumerate(_DARKER.items())
    },
}
"""The style of every configuration of the shipped suites that is not named after its method."""


def styles_of(labels: Iterable[str]) -> dict[str, Style]:
    """The style of every label of a figure, which is the same in every figure.

    Methods, and the configurations of the shipped suites, have fixed styles. That of another name is derived
    from its letters; only if two such names of one figure come to the same style does one of them move on.
    """
    given, fixed = list(dict.fromkeys(labels)), METHOD_STYLES | CONFIGURATION_STYLES
    found = {label: fixed[label] for label in given if label in fixed}
    taken: set[Style] = set()
    for label in sorted(set(given) - set(found)):
        place = int.from_bytes(sha256(label.encode()).digest()[:8], "big")
        steps = (nth(_free(), place + step) for step in range(len(_free())))
        found[label] = next((style for style in steps if style not in taken), nth(_free(), place))
        taken.add(found[label])
    return {label: found[label] for label in given}


@functools.cache
def _free() -> tuple[Style, ...]:
    """Styles for other names: each differs from every fixed one in at least two of its three parts."""
    fixed = [*METHOD_STYLES.values(), *CONFIGURATION_STYLES.values()]

    def differs(style: Style) -> bool:
        return all(sum(a != b for a, b in zip(style, other, strict=True)) >= 2 for other in fixed)

    return tuple(filter(differs, itertools.starmap(Style, product(METHOD_COLOURS, MARKERS, DASHES))))


def new_axes(rows: int, columns: int, width: float, height: float) -> "list[Axes]":
    """Axes of a new figure of so many inches, free of any global state of matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return list(figure.subplots(rows, columns, squeeze=False).flat)


def panels(
    count: int = 1, columns: int | None = None, size: tuple[float, float] = PANEL
) -> "tuple[Figure, list[Axes]]":
    """A figure with so many axes of a size [in], ``columns`` of them side by side, or all of them."""
    columns = min(columns or count, count)
    rows = math.ceil(count / columns)
    axes = new_axes(rows, columns, size[0] * columns, size[1] * rows)
    figure = figure_of(axes[0])
    for unused in axes[count:]:
        unused.remove()
    return figure, axes[:count]


def figure_of(axes: "Axes") -> "Figure":
    """The figure that axes stand in, or the one that holds that part of a figure."""
    figure = axes.get_figure(root=True)
    if figure is None:
        raise ValueError("the axes stand in no figure")
    return figure


def save(
    figure: "Figure", folder: Path, name: str, formats: Sequence[str] = ("png", "svg")
) -> tuple[Path, ...]:
    """Write ``NAME.png``, svg or pdf, and return the files; the same figure gives the same bytes.

    If one cannot be written, an older one is still whole.
    """
    contents = {}
    for kind in formats:
        contents[folder / f"{name}.{kind}"] = _content(figure, kind)
        figure.set_layout_engine("none")  # it is laid out; to do that again is half of the work
    for path, content in contents.items():
        write_bytes(path, content)
    return tuple(contents)


def _content(figure: "Figure", kind: str) -> bytes:
    import matplotlib as mpl

    if kind == "svg":
        return svg_text(figure).encode()
    written = io.BytesIO()
    with mpl.rc_context({"pdf.fonttype": 42}):  # letters stay letters, which journals ask for
        figure.savefig(written, format=kind, dpi=_RESOLUTION, metadata=_WITHOUT[kind])
    return written.getvalue()


def svg_text(figure: "Figure", salt: str = "depl") -> str:
    """``figure`` as SVG, without a date; the same figure gives the same text.

    The ``salt`` goes into the identifiers of the parts: of figures that share a page, each needs its own.
    """
    import matplotlib as mpl

    drawing = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": salt, "svg.fonttype": "path"}):
        figure.savefig(drawing, format="svg", metadata={"Date": None, "Creator": None})
    return drawing.getvalue()


def plain(name: str) -> str:
    """A name as it is, where matplotlib would set what stands between dollar signs as a formula."""
    return name.replace("$", r"\$")


def covered(label: str, held: int, of: int) -> str:
    """The entry of what covers only a part of the instances: with how many of them."""
    return label if held == of else f"{label} (n = {held} of {of})"


def title_near(axes: "Axes", text: str) -> None:
    """Put a sentence above the axes, on one line."""
    axes.set_title(text, fontsize="medium", loc="left")


def set_title(axes: "Axes", text: str) -> None:
    """Put a sentence above the axes, on as many lines as it needs."""
    room = _TITLE + (_FORMULA if "$" in text else 0)
    whole = text.replace(" %", "\N{NO-BREAK SPACE}%").replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
    lines = textwrap.wrap(whole, room, break_on_hyphens=False)
    axes.set_title("\n".join(lines), fontsize="small", loc="left")


def sized_axis(axes: "Axes", quantity: str, sizes: Sequence[float]) -> None:
    """A logarithmic axis of sizes with plain numbers on it."""
    if sizes:
        axes.set_xlim(min(sizes) / 1.25, max(sizes) * 1.25)
        plain_logarithms(axes, "x", (1,) if max(sizes) / min(sizes) > 300 else (1, 2, 5))
    axes.set_xlabel(quantity)


def plain_logarithms(axes: "Axes", which: Literal["x", "y"], marks: Sequence[float] = (1, 2, 5)) -> None:
    """Make one of the axes logarithmic, with plain numbers at these multiples of powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set(**{f"{which}scale": "log"})
    axis = {"x": axes.xaxis, "y": axes.yaxis}[which]
    axis.set_major_locator(LogLocator(subs=tuple(marks)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def legend_beside(axes: "Axes", title: str = "") -> None:
    """Explain every labelled mark on the right of the axes, under what all entries have in common."""
    _legend(axes, [axes], loc="upper left", bbox_to_anchor=(1.0, 1.0), title=title or None)


def finished(figure: "Figure", shared: bool = False) -> "Figure":
    """The figure with its legends, and enlarged by them, so that panels keep their size.

    One legend for all axes on the right if it is ``shared``, under the title of the first which had one.
    """
    if shared:
        old = [legend for axes in figure.axes if (legend := axes.get_legend()) is not None]
        titles = [legend.get_title().get_text() for legend in old]
        for legend in old:
            legend.remove()
        _legend(figure, figure.axes, title=next(filter(None, titles), None), loc="outside right upper")
    columns: dict[int, float] = {}
    sizes = [_extent(legend) for legend in figure.legends]
    wider = sum(width for width, _ in sizes)
    for axes in figure.axes:
        legend, place = axes.get_legend(), axes.get_subplotspec()
        if legend is not None and place is not None:
            sizes.append(_extent(legend))
            columns[place.colspan.start] = max(columns.get(place.colspan.start, 0.0), sizes[-1][0])
    figure.set_figwidth(figure.get_figwidth() + sum(columns.values()) + wider)
    figure.set_figheight(max([figure.get_figheight(), *(height for _, height in sizes)]))
    return figure


def folded(label: str) -> str:
    """A label on at most two lines, each of which fits; what is longer still is cut."""
    if len(label) <= _LONGEST or "$" in label.replace(r"\$", ""):  # a formula is not to be broken
        return label
    return "\n".join(textwrap.wrap(label, _LONGEST, max_lines=_LINES, placeholder="..."))


def _legend(place: "Axes | Figure", sources: "Sequence[Axes]", **look: Any) -> "Legend | None":
    """Explain every label of some axes once, where it is first met, and count those that find no room."""
    from matplotlib.lines import Line2D

    known: dict[str, Artist] = {}
    for axes in sources:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            known.setdefault(folded(label), handle)
    if not known:
        return None
    pairs = list(known.items())
    if len(pairs) > _MOST:
        pairs[_MOST - 1 :] = [(f"and {len(pairs) - _MOST + 1} more", Line2D([], [], linestyle="none"))]
    names, handles = zip(*pairs, strict=True)
    legend: Legend = place.legend(handles, names, **{**_LOOK, **look})
    for sample in legend.legend_handles:
        if isinstance(sample, Line2D):  # many lines are thin and pale; not so their samples
            sample.set(alpha=1.0, linewidth=max(sample.get_linewidth(), 1.5))
    return legend


def _extent(legend: "Legend") -> tuple[float, float]:
    """Width and height of a legend [in], without laying the figure out, which takes much longer."""
    from matplotlib.backends.backend_agg import RendererAgg

    dpi = legend.figure.dpi
    box = legend.get_window_extent(RendererAgg(1, 1, dpi))  # type: ignore[no-untyped-call]
    border = 2 * legend.borderaxespad * legend.prop.get_size_in_points() / 72
    return box.width / dpi + border, box.height / dpi + border
