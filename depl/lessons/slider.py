"""A figure with a slider as one piece of HTML: it needs no server, no library and no network.

All positions of the slider are computed beforehand; the page only swaps lines and notes. Without scripts the
first position stays.
"""

import hashlib
import html
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from matplotlib.ticker import MaxNLocator

from depl.benchmarks.figures.palette import COLOURS
from depl.models.foundation.errors import InvalidInputError

_WIDTH, _HEIGHT = 720, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 170, 14, 44
_DASHES = ("", "9 5", "9 4 2 4", "2 4", "14 4", "5 2")
_SCRIPT = """
(function () {
  var root = document.getElementById("%s");
  var frames = JSON.parse(root.querySelector("script").textContent);
  var lines = root.querySelectorAll("path.moving");
  var input = root.querySelector("input");
  input.addEventListener("input", function () {
    var frame = frames[Number(input.value)];
    frame.paths.forEach(function (path, index) { lines[index].setAttribute("d", path); });
    root.querySelector("output").textContent = frame.position;
    root.querySelector("p.notes").textContent = frame.notes;
  });
})();
"""


@dataclass(frozen=True)
class Polyline:
    """One line of a figure: its name, and the coordinates of its points."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Frame:
    """What is shown at one position of the slider.

    Attributes
    ----------
    position : str
        The value beside the slider.
    lines : sequence of Polyline
        The same names in the same order in every frame.
    notes : str
        A sentence below the figure.
    """

    position: str
    lines: Sequence[Polyline]
    notes: str


@dataclass(frozen=True)
class Slider:
    """A figure whose lines follow a slider; a notebook or a page shows it by its HTML.

    Attributes
    ----------
    label : str
        What the slider changes.
    frames : sequence of Frame
        One per position.
    x_label, y_label : str
    x_range, y_range : tuple of float
        First and last coordinate of the axes.
    start : int
        The position that is shown first.

    Raises
    ------
    InvalidInputError
        If there is no frame, or the frames do not have the same lines.
    """

    label: str
    frames: Sequence[Frame]
    x_label: str
    y_label: str
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    start: int = field(default=0)

    def __post_init__(self) -> None:
        """Check that the frames fit together."""
        names = {tuple(line.name for line in frame.lines) for frame in self.frames}
        if len(names) != 1:
            raise InvalidInputError("give at least one frame, and the same lines in every frame", "frames")
        if not 0 <= self.start < len(self.frames):
            raise InvalidInputError(f"must be a position from 0 to {len(self.frames) - 1}", "start")

    def _repr_html_(self) -> str:
        return self.html()

    def html(self) -> str:
        """The figure as HTML without any reference to another file."""
        frames = [
            {
                "position": frame.position,
                "notes": frame.notes,
                "paths": [self._path(line) for line in frame.lines],
            }
            for frame in self.frames
        ]
        # "<" would end the element early if a name held a tag.
        data = json.dumps(frames, ensure_ascii=False).replace("<", "\\u003c")
        name = "slider-" + hashlib.sha256(data.encode()).hexdigest()[:12]
        first = self.frames[self.start]
        return (
            f'<div id="{name}" style="max-width: {_WIDTH}px; font-family: sans-serif; font-size: 15px">'
            f"{self._drawing(frames[self.start]['paths'], name)}"
            f'<label style="display: block; margin: 4px 0 0 {_LEFT}px">{html.escape(self.label)} '
            f'<input type="range" min="0" max="{len(frames) - 1}" value="{self.start}" '
            f'style="width: 300px; vertical-align: middle"> '
            f"<output>{html.escape(first.position)}</output></label>"
            f'<p class="notes" style="margin: 4px 0 12px {_LEFT}px; min-height: 2.6em">'
            f"{html.escape(first.notes)}</p>"
            f'<script type="application/json">{data}</script><script>{_SCRIPT % name}</script></div>'
        )

    def _drawing(self, paths: Sequence[str], name: str) -> str:
        right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
        parts = [
            f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" font-size="13" style="width: 100%">'
            f"<title>{html.escape(self.y_label)} against {html.escape(self.x_label)}</title>"
            f'<clipPath id="{name}-inside"><rect x="{_LEFT}" y="{_TOP}" width="{right - _LEFT}" '
            f'height="{bottom - _TOP}"/></clipPath>',
            *self._axes(right, bottom),
        ]
        for index, (line, path) in enumerate(zip(self.frames[0].lines, paths, strict=True)):
            style = (
                f'fill="none" stroke="{COLOURS[index % len(COLOURS)]}" stroke-width="2.5" '
                f'stroke-dasharray="{_DASHES[index % len(_DASHES)]}"'
            )
            height = _TOP + 14 + 24 * index
            parts += [
                f'<path class="moving" d="{path}" clip-path="url(#{name}-inside)" {style}/>',
                f'<path d="M{right + 10} {height}h34" {style}/>',
                f'<text x="{right + 50}" y="{height + 4}">{html.escape(line.name)}</text>',
            ]
        return "".join([*parts, "</svg>"])

    def _axes(self, right: int, bottom: int) -> list[str]:
        parts = [
            f'<rect x="{_LEFT}" y="{_TOP}" width="{right - _LEFT}" height="{bottom - _TOP}" '
            'fill="none" stroke="#444"/>'
        ]
        for tick in _ticks(self.x_range):
            x = self._point(tick, self.y_range[0])[0]
            parts.append(f'<path d="M{x:.1f} {bottom}v5" stroke="#444"/>')
            parts.append(f'<text x="{x:.1f}" y="{bottom + 19}" text-anchor="middle">{tick:g}</text>')
        for tick in _ticks(self.y_range):
            y = self._point(self.x_range[0], tick)[1]
            parts.append(f'<path d="M{_LEFT} {y:.1f}h-5" stroke="#444"/>')
            parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
        middle = (_TOP + bottom) / 2
        return [
            *parts,
            f'<text x="{(_LEFT + right) / 2}" y="{_HEIGHT - 6}" text-anchor="middle">'
            f"{html.escape(self.x_label)}</text>",
            f'<text transform="translate(14 {middle}) rotate(-90)" text-anchor="middle">'
            f"{html.escape(self.y_label)}</text>",
        ]

    def _point(self, x: float, y: float) -> tuple[float, float]:
        across = (x - self.x_range[0]) / (self.x_range[1] - self.x_range[0])
        up = (y - self.y_range[0]) / (self.y_range[1] - self.y_range[0])
        return (
            _LEFT + across * (_WIDTH - _RIGHT - _LEFT),
            _HEIGHT - _BOTTOM - up * (_HEIGHT - _BOTTOM - _TOP),
        )

    def _path(self, line: Polyline) -> str:
        points = (self._point(x, y) for x, y in zip(line.x, line.y, strict=True))
        return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _ticks(ends: tuple[float, float]) -> list[float]:
    places = MaxNLocator(nbins=7, steps=[1, 2, 5, 10]).tick_values(*ends)
    return [float(place) for place in places if ends[0] <= place <= ends[1]]
