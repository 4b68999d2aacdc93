"""Small drawings as text, for notebooks: no drawing library is needed, and names are escaped."""

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from depl.benchmarks.figures.palette import MODEL_COLOURS, nth
from depl.models.foundation.wording import number
from depl.showing.parts import escaped

_WIDTH, _LANE, _TALL, _MARGIN, _ROW = 560, 46, 96, 110, 18
"""Pixels: the page of a notebook is about 900 wide."""

_LONGEST = 16
"""Letters of a name that stand in the margin at the size of letters below."""


class Bar(NamedTuple):
    """One epoch: who trains where, how long, and with which share of the greatest resources."""

    model: str
    cluster: str
    duration: float
    height: float


def bars(epochs: Sequence[Bar], across: str) -> str:
    """Epochs from left to right in one lane per cluster; one path per stage, so that many epochs stay small.

    Parameters
    ----------
    epochs : sequence of Bar
        Durations finite, heights in [0, 1].
    across : str
        What the whole width is, under the drawing.
    """
    if not epochs:
        return ""
    clusters = list(dict.fromkeys(bar.cluster for bar in epochs))
    models = list(dict.fromkeys(bar.model for bar in epochs))
    total = math.fsum(bar.duration for bar in epochs) or 1.0
    drawn, start = [_lane(index, name) for index, name in enumerate(clusters)], 0.0
    for (model, cluster), group in groupby(epochs, key=lambda bar: (bar.model, bar.cluster)):
        stage = list(group)
        floor = _LANE * (clusters.index(cluster) + 1) - 4
        points = [f"M{_across(start / total)} {floor}"]
        for bar in stage:
            top = f"{floor - bar.height * (_LANE - 10):.1f}"
            end = start + bar.duration
            points.append(f"L{_across(start / total)} {top} L{_across(end / total)} {top}")
            start = end
        points.append(f"L{_across(start / total)} {floor} Z")
        title = f"<title>{escaped(f'{len(stage)} x {model} on {cluster}')}</title>"
        colour = nth(MODEL_COLOURS, models.index(model))
        drawn.append(f'<path d="{" ".join(points)}" fill="{colour}" stroke="{colour}">{title}</path>')
    below = _LANE * len(clusters) + 14
    drawn.append(_text(_MARGIN, below, across))
    keys = [(nth(MODEL_COLOURS, index), name) for index, name in enumerate(models)]
    return _svg(below + 6 + _ROW * len(keys), [*drawn, *_keys(keys, below + 6)])


class Tile(NamedTuple):
    """A part of a column: between two shares of the height of its lane."""

    column: int
    low: float
    high: float
    colour: str
    title: str


def tiles(
    lanes: Mapping[str, Sequence[Tile]], columns: int, keys: Sequence[tuple[str, str]], across: str
) -> str:
    """Columns of coloured parts, in one lane for each name.

    Parameters
    ----------
    columns : int
        Of the whole width.
    keys : sequence of (str, str)
        Colours and what they stand for.
    across : str
        What the width is, under the drawing.
    """
    drawn, height = [], _TALL - 10
    for index, (name, parts) in enumerate(lanes.items()):
        floor = _TALL * (index + 1) - 4
        drawn.append(_text(4, floor - 6, _short(name)))
        for part in parts:
            left, right = (float(_across((part.column + edge) / columns)) for edge in (0, 1))
            size = f'width="{right - left:.1f}" height="{(part.high - part.low) * height:.1f}"'
            place = f'x="{left:.1f}" y="{floor - part.high * height:.1f}"'
            title = f"<title>{escaped(part.title)}</title>"
            drawn.append(f'<rect {place} {size} fill="{part.colour}">{title}</rect>')
    below = _TALL * len(lanes) + 14
    drawn.append(_text(_MARGIN, below, across))
    return _svg(below + 6 + _ROW * len(keys), [*drawn, *_keys(keys, below + 6)])


def cells(colours: Sequence[tuple[str, str]]) -> str:
    """A strip of coloured cells, one per entry of colour and title."""
    drawn = [
        f'<rect x="{2 + 18 * index}" y="2" width="15" height="15" fill="{colour}">'
        f"<title>{escaped(title)}</title></rect>"
        for index, (colour, title) in enumerate(colours)
    ]
    return _svg(20, drawn, max(18 * len(colours) + 4, 22))


def levels(rows: Sequence[tuple[str, float, float, float]], band: tuple[float, float]) -> str:
    """Values with their intervals on one scale, and the band in which they should lie.

    Parameters
    ----------
    rows : sequence of tuple
        Name, lower end, value and upper end of each.
    band : tuple of float
    """
    finite = [item for row in rows for item in row[1:] if math.isfinite(item)]
    low, high = min([0.0, *finite]), 1.05 * max([band[1], *finite])

    def place(value: float) -> str:
        return _across((min(max(value, low), high) - low) / (high - low))

    bottom = _ROW * len(rows) + 6
    width = f"{float(place(band[1])) - float(place(band[0])):.1f}"
    drawn = [f'<rect x="{place(band[0])}" y="0" width="{width}" height="{bottom}" fill="#dddddd"/>']
    for index, (name, lower, value, upper) in enumerate(rows):
        y = _ROW * index + 14
        drawn.append(_text(4, y + 4, _short(name)))
        if all(map(math.isfinite, (lower, upper))):
            ends = f'x1="{place(lower)}" x2="{place(upper)}" y1="{y}" y2="{y}"'
            drawn.append(f'<line {ends} stroke="#0072B2" stroke-width="2"/>')
        if math.isfinite(value):
            drawn.append(f'<circle cx="{place(value)}" cy="{y}" r="4" fill="#0072B2"/>')
    text = f"in the grey band, {number(band[0])} to {number(band[1])}, the law may be used"
    return _svg(bottom + 20, [*drawn, _text(_MARGIN, bottom + 14, text)])


def shares(rows: Sequence[tuple[str, float, str]]) -> str:
    """Bars from the left by share in [0, 1], with a name before and words after them."""
    drawn = []
    for index, (name, share, words) in enumerate(rows):
        y = _ROW * index + 4
        width = f"{float(_across(min(max(share, 0.0), 1.0) * 0.6)) - _MARGIN:.1f}"
        drawn.append(_text(4, y + 11, _short(name)))
        drawn.append(f'<rect x="{_MARGIN}" y="{y}" width="{width}" height="12" fill="#56B4E9"/>')
        drawn.append(_text(_MARGIN + float(width) + 6, y + 11, words))
    return _svg(_ROW * len(rows) + 8, drawn)


def _lane(index: int, name: str) -> str:
    floor = _LANE * (index + 1) - 4
    line = f'<line x1="{_MARGIN}" x2="{_WIDTH - 10}" y1="{floor}" y2="{floor}" stroke="#999999"/>'
    return line + _text(4, floor - 6, _short(name))


def _across(share: float) -> str:
    return f"{_MARGIN + share * (_WIDTH - 10 - _MARGIN):.1f}"


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 3] + "..."


def _keys(entries: Sequence[tuple[str, str]], top: float) -> list[str]:
    drawn = []
    for index, (colour, name) in enumerate(entries):
        y = top + _ROW * index
        drawn.append(f'<rect x="{_MARGIN}" y="{y:g}" width="11" height="11" fill="{colour}"/>')
        drawn.append(_text(_MARGIN + 16, y + 10, name))
    return drawn


def _text(x: float, y: float, words: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="currentColor">{escaped(words)}</text>'


def _svg(height: float, drawn: Sequence[str], width: float = _WIDTH) -> str:
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    font = 'font-family="sans-serif" font-size="11"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>{"".join(drawn)}</svg>'
