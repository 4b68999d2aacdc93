"""A figure with its name, its caption and its numbers; files that come out the same every time."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.figure import Figure

from depl.benchmarks.analysis.table import Table
from depl.benchmarks.figures.canvas import save, svg_text
from depl.benchmarks.measure.attempt import Attempt
from depl.models.problem.instance import Instance

_CHARACTERS_PER_INCH = 21
_MOST_NAMED = 12
_SMALL = 5.5
"""Size of the print that says where numbers are from [points]."""

_LINE = 0.0164
"""Height of a line [in] by the size of its print [points]."""


@dataclass(frozen=True)
class Drawing:
    """One figure.

    Attributes
    ----------
    name : str
        Stem of its files.
    caption : str
        What it shows, in a sentence or two; serves as alternative text.
    figure : Figure
    table : Table
        The numbers that are drawn.
    """

    name: str
    caption: str
    figure: Figure = field(repr=False, compare=False)
    table: Table = field(repr=False)

    def svg(self) -> str:
        """The figure as SVG; identifiers inside begin anew for every name, so that a page can hold many."""
        return svg_text(self.figure, self.name)

    def write(self, folder: Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
        """Write ``NAME.png``, ``NAME.svg`` and ``NAME.csv``, or other formats; returns their paths.

        Raises
        ------
        InvalidInputError
            If a file cannot be written; an older one is then still whole.
        """
        table = folder / f"{self.name}.csv"
        self.table.write(table)
        return [*save(self.figure, folder, self.name, formats), table]


def add_footer(figure: Figure, text: str, points: float = _SMALL) -> None:
    """Write small lines below everything else, as wide as the figure.

    Parameters
    ----------
    figure : Figure
    text : str
        Lines of its own become lines.
    points : float
        Size of the print [points].
    """
    width = int(figure.get_figwidth() * _CHARACTERS_PER_INCH * _SMALL / points)
    lines = [wrapped for line in text.splitlines() for wrapped in textwrap.wrap(line, width)]
    height = figure.get_figheight()
    figure.set_figheight(height + _LINE * points * len(lines))
    figure.supxlabel("\n".join(lines), fontsize=points, color="0.35", x=0.01, ha="left")


def footer_of(attempts: Sequence[Attempt], instances: Sequence[Instance] = ()) -> str:
    """Suites with their versions, commits and libraries, and what is assumed in the instances shown."""
    suites = sorted({f"{item.task.suite} (version {item.task.version})" for item in attempts})
    commits = sorted({item.source_words for item in attempts})
    versions = sorted({item.versions["depl"] for item in attempts if "depl" in item.versions})
    release = f"depl {', '.join(versions)}, " if versions else ""
    lines = [f"suite {', '.join(suites)}; {release}{', '.join(commits)}"]
    lines += [line for line in unprinted_lines(instances) if line.startswith("assumed")]
    return "\n".join(lines)


def unprinted_lines(instances: Sequence[Instance]) -> list[str]:
    """What of the instances shown is assumed, and what is derived from what is printed; a line each."""
    lines = []
    for source in ("assumed", "derived"):
        named = assumptions(instances, source)
        if named:
            more = ", ..." if named[_MOST_NAMED:] else ""
            lines.append(f"{source}: {', '.join(named[:_MOST_NAMED])}{more}")
    return lines


def assumptions(instances: Sequence[Instance], source: str = "assumed") -> list[str]:
    """The fields of instances whose values are assumed, by their last names, in order of appearance."""
    paths = [item.path for instance in instances for item in instance.provenance if item.source == source]
    names = [path.rpartition(".")[2].partition("[")[0].replace("_", " ") for path in paths]
    return [name for name in dict.fromkeys(names) if name and name != "$"]
