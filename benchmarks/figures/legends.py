"""Titles that fit, and legends that stand beside the axes or below them, where no curve or bar can be."""

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

_MOST = 16
"""Entries of a legend: lines of small print in the height of a panel. The last one counts the rest."""

_LONGEST = 34
"""Letters of a line: a third of a panel."""

_TITLE = 56
"""Letters of a line of a title above a panel."""

_FORMULA = 8
"""Signs of a formula that take no room in print."""

_LINES = 2
"""Lines of an entry; what is longer is cut."""

_LOOK: dict[str, Any] = {
    "frameon": False,
    "fontsize": "small",
    "title_fontsize": "small",
    "alignment": "left",
}
_POINTS = 8.33
"""Size of small print [points]."""

_BESIDE_TEXT = 4.6
"""Width of a legend that is not text, in sizes of its print: sample, gaps and borders."""

_LINE, _AROUND = 1.7, 6.0
"""Height of an entry, and of what is above and below a legend, in sizes of its print."""

_PER_INCH = 72.0

_NARROW = 3.5
"""Inches of axes, before they are laid out, below which a legend beside them would leave them no room."""

_LETTERS = 12.5
"""Letters of a title in an inch of small print."""

_BELOW = 33.0
"""From the axes down to a legend below them, past ticks and their label [points]."""


def plain(name: str) -> str:
    """A name as it is, where matplotlib would set what stands between dollar signs as a formula."""
    return name.replace("$", r"\$")


def covered(label: str, held: int, of: int) -> str:
    """The entry of what covers only a part of the instances: with how many of them."""
    return label if held == of else f"{label} (n = {held} of {of})"


def legend_beside(axes: "Axes", title: str = "", letters: int = _LONGEST) -> None:
    """Explain every labelled mark on the right of the axes, and count those that find no room.

    Parameters
    ----------
    axes : Axes
        Where nothing is labelled, nothing is done.
    title : str
        What all entries have in common.
    letters : int
        Of a line.
    """
    handles, labels = axes.get_legend_handles_labels()
    known = _distinct(zip(labels, handles, strict=True))
    if not known:
        return
    if len(known) > _MOST:
        rest = f"and {len(known) - _MOST + 1} more"
        known = [*known[: _MOST - 1], (rest, axes.plot([], [], linestyle="none")[0])]
    drawn = axes.legend(
        [handle for _, handle in known],
        [folded(label, letters) for label, _ in known],
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        title=title or None,
        **_LOOK,
    )
    _thicken(drawn)


def is_narrow(axes: "Axes") -> bool:
    """Whether axes are as narrow as in a column of a journal, so that nothing fits beside them."""
    return _inches(axes) < _NARROW


def legend_near(axes: "Axes") -> None:
    """Explain every labelled mark beside the axes, or below them where they are narrow."""
    if not is_narrow(axes):
        legend_beside(axes)
        return
    from matplotlib.transforms import ScaledTranslation

    handles, labels = axes.get_legend_handles_labels()
    known = _distinct(zip(labels, handles, strict=True))
    if not known:
        return
    drawn = axes.legend(
        [handle for _, handle in known],
        [folded(label) for label, _ in known],
        loc="upper left",
        bbox_to_anchor=(0.0, 0.0),
        bbox_transform=axes.transAxes
        + ScaledTranslation(0, -_BELOW / _PER_INCH, axes.figure.dpi_scale_trans),
        ncols=1 if max(len(label) for label, _ in known) > _LETTERS * _inches(axes) / 2 else 2,
        **(_LOOK | {"fontsize": "x-small", "borderpad": 0.0, "borderaxespad": 0.0, "labelspacing": 0.2}),
    )
    _thicken(drawn)


def title_near(axes: "Axes", text: str) -> None:
    """Put a sentence above the axes on one line, or on as many as it needs where they are narrow."""
    if is_narrow(axes):
        set_title(axes, text, room_for_title(axes))
    else:
        axes.set_title(text, fontsize="medium", loc="left")


def room_for_title(axes: "Axes") -> int:
    """Letters of small print in the width of axes."""
    return int(_LETTERS * _inches(axes))


def _inches(axes: "Axes") -> float:
    """Width of axes before they are laid out [in]."""
    width = axes.get_position(original=True).width
    return float(width * axes.figure.bbox.width / axes.figure.dpi)


def shared_legend(figure: "Figure", below: bool = False) -> None:
    """Replace the legends of all axes by one of the figure, on its right or below it.

    Parameters
    ----------
    figure : Figure
        Laid out by ``constrained``.
    below : bool
        For narrow figures: in two columns below the axes.
    """
    titles = []
    for axes in figure.axes:
        old = axes.get_legend()
        if old is not None:
            titles.append(old.get_title().get_text())
            old.remove()
    pairs = (zip(*axes.get_legend_handles_labels()[::-1], strict=True) for axes in figure.axes)
    known = _distinct(pair for some in pairs for pair in some)
    if not known:
        return
    look = {**_LOOK, "title": next(filter(None, titles), None)}
    handles, labels = [handle for _, handle in known], [folded(label) for label, _ in known]
    if below:
        count = _columns(figure, labels)
        drawn = figure.legend(handles, labels, loc="outside lower center", ncols=count, **look)
    else:
        drawn = figure.legend(handles, labels, loc="outside right upper", **look)
    _thicken(drawn)


def make_room(figure: "Figure", below: bool = False) -> None:
    """Enlarge a figure by its legends, so that its panels keep their size; once, after the last of them."""
    if below:
        for shared in figure.legends:
            count = _columns(figure, [text.get_text() for text in shared.get_texts()])
            figure.set_figheight(figure.get_figheight() + _height(shared) / count)
        return
    columns: dict[int, float] = {}
    for axes in figure.axes:
        legend, place = axes.get_legend(), axes.get_subplotspec()
        if legend is not None and place is not None:
            column = place.colspan.start
            columns[column] = max(columns.get(column, 0.0), _width(legend))
    beside = max(map(_width, figure.legends), default=0.0)
    figure.set_figwidth(figure.get_figwidth() + sum(columns.values()) + beside)
    legends = [axes.get_legend() for axes in figure.axes] + list(figure.legends)
    tallest = max((_height(legend) for legend in legends if legend is not None), default=0.0)
    figure.set_figheight(max(figure.get_figheight(), tallest))


def folded(label: str, letters: int = _LONGEST) -> str:
    """A label on at most two lines, each of which fits; what is longer still is cut."""
    if len(label) <= letters or "$" in label.replace(r"\$", ""):  # a formula is not to be broken
        return label
    return "\n".join(textwrap.wrap(label, letters, max_lines=_LINES, placeholder="..."))


def set_title(axes: "Axes", text: str, letters: int = _TITLE) -> None:
    """Put a sentence above the axes, on as many lines as it needs in their width.

    Parameters
    ----------
    letters : int
        Of a line: 56 fill a panel of 4.2 inches.
    """
    room = letters + (_FORMULA if "$" in text else 0)
    whole = text
    for sign in (" %", " = "):
        whole = whole.replace(sign, sign.replace(" ", "\N{NO-BREAK SPACE}"))
    axes.set_title(
        "\n".join(textwrap.wrap(whole, room, break_on_hyphens=False)), fontsize="small", loc="left"
    )


def _distinct(pairs: "Iterable[tuple[str, Artist]]") -> "list[tuple[str, Artist]]":
    """Every label once, where it is first met."""
    found: dict[str, Artist] = {}
    for label, handle in pairs:
        found.setdefault(label, handle)
    return list(found.items())


def _thicken(legend: "Legend") -> None:
    """Many lines are thin and pale; not so their samples."""
    from matplotlib.lines import Line2D

    for handle in legend.legend_handles:
        if isinstance(handle, Line2D):
            handle.set(alpha=1.0, linewidth=max(handle.get_linewidth(), 1.5))


def _height(legend: "Legend") -> float:
    """About the height of a legend [in]."""
    texts = [text.get_text() for text in (*legend.get_texts(), legend.get_title())]
    lines = sum(text.count("\n") + 1 for text in texts if text)
    return (_LINE * lines + _AROUND) * _POINTS / _PER_INCH


def _columns(figure: "Figure", labels: Sequence[str]) -> int:
    """Two columns of a legend below a figure, or one where two are wider than it."""
    first = (len(labels) + 1) // 2
    both = sum(_text_width(half) for half in (labels[:first], labels[first:]))
    return 2 if both <= figure.get_figwidth() else 1


def _width(legend: "Legend") -> float:
    """About the width of a legend [in], from its text alone: to lay a figure out takes much longer."""
    return _text_width([text.get_text() for text in (*legend.get_texts(), legend.get_title())])


def _text_width(texts: Sequence[str]) -> float:
    """About the width of a column of a legend with these texts, at the size of print of most figures [in]."""
    from matplotlib.textpath import TextPath

    lines = [line for text in texts for line in text.split("\n") if line.strip()]
    widest = max((TextPath((0, 0), line, size=_POINTS).get_extents().width for line in lines), default=0.0)
    return float(widest + _BESIDE_TEXT * _POINTS) / _PER_INCH
