"""A figure with its name, its caption and its numbers, and what it says of where these are from."""

import functools
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from depl.benchmarks.analysis.table import Table
from depl.benchmarks.figures.style import finished, panels, save, set_title, svg_text
from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.measure.catalogue import all_suites, draws_of
from depl.instances.library import load
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan

_CHARACTERS_PER_INCH, _MOST_NAMED = 21, 12
_SMALL = 5.5
"""Size of the print that says where numbers are from [points]."""
_LINE = 0.0164
"""Height of a line [in] by the size of its print [points]."""


@dataclass(frozen=True)
class Drawing:
    """One figure; its caption serves as alternative text, and its table holds the numbers that are drawn."""

    name: str
    caption: str
    figure: Figure = field(repr=False, compare=False)
    table: Table = field(repr=False)

    def svg(self) -> str:
        """The figure as SVG; identifiers inside begin anew for every name, so that a page can hold many."""
        return svg_text(self.figure, self.name)

    def write(self, folder: Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
        """Write ``NAME.png``, ``NAME.svg`` and ``NAME.csv``, or other formats; returns their paths."""
        table = folder / f"{self.name}.csv"
        self.table.write(table)
        return [*save(self.figure, folder, self.name, formats), table]


def drawn(of: str, kind: str, caption: str, table: Table, draw: Callable[[Axes], object]) -> Drawing:
    """The drawing of a family or suite that has one panel, under its name."""
    figure, (axes,) = panels(1)
    draw(axes)
    set_title(axes, of)
    return Drawing(f"{of}-{kind}", f"{of}: {caption}", finished(figure), table)


def add_footer(figure: Figure, text: str, points: float = _SMALL) -> None:
    """Write small lines below everything else, as wide as the figure, in print of so many points."""
    width = int(figure.get_figwidth() * _CHARACTERS_PER_INCH * _SMALL / points)
    lines = [wrapped for line in text.splitlines() for wrapped in textwrap.wrap(line, width)]
    figure.set_figheight(figure.get_figheight() + _LINE * points * len(lines))
    figure.supxlabel("\n".join(lines), fontsize=points, color="0.35", x=0.01, ha="left")


def footer_of(attempts: Sequence[Attempt], instances: Sequence[Instance] = ()) -> str:
    """Suites with their versions, commits and libraries, and what is assumed in the instances shown."""
    suites = sorted({f"{item.task.suite} (version {item.task.version})" for item in attempts})
    commits = ", ".join(sorted({item.source_words for item in attempts})).replace(", commit ", ", ")
    versions = sorted({item.versions["depl"] for item in attempts if "depl" in item.versions})
    release = f"depl {', '.join(versions)}, " if versions else ""
    lines = [f"suite {', '.join(suites)}; {release}{commits}"]
    return "\n".join([*lines, *unprinted_lines(instances, ("assumed",))])


def unprinted_lines(
    instances: Sequence[Instance], sources: Sequence[str] = ("assumed", "derived")
) -> list[str]:
    """What of the instances shown is assumed, and what is derived from what is printed; a line each.

    Fields have their last names, in order of appearance.
    """
    lines = []
    for source in sources:
        paths = [item.path for shown in instances for item in shown.provenance if item.source == source]
        names = [path.rpartition(".")[2].partition("[")[0].replace("_", " ") for path in paths]
        named = [name for name in dict.fromkeys(names) if name and name != "$"]
        if named:
            more = ", ..." if named[_MOST_NAMED:] else ""
            lines.append(f"{source}: {', '.join(named[:_MOST_NAMED])}{more}")
    return lines


def instances_of(attempts: Sequence[Attempt]) -> list[Instance]:
    """The instances of some attempts, as far as they can be made again, each once."""
    return [found for found in _each(attempts) if not isinstance(found, str)]


def missing(attempts: Sequence[Attempt]) -> list[str]:
    """Sentences on instances of some attempts that this code does not make again, or not the same ones."""
    return [found for found in _each(attempts) if isinstance(found, str)]


def instance_of(attempt: Attempt) -> Instance | None:
    """The instance that was solved; None if this code makes another one, or none, of that name."""
    return next(iter(instances_of([attempt])), None)


def _each(attempts: Sequence[Attempt]) -> Iterable[Instance | str]:
    first = {(item.task.suite, item.task.instance): item.instance_hash for item in reversed(attempts)}
    return [_made(*task, fingerprint) for task, fingerprint in reversed(first.items())]


@functools.cache
def _made(suite: str, name: str, fingerprint: str) -> Instance | str:
    """The draw of the suite; without that suite the shipped instance, which its fingerprint confirms."""
    try:
        known = draws_of(suite) if suite in all_suites() else {}
        found = known[name].made()[0] if name in known else load(name)
    except InvalidInputError as error:
        return f"{name} of suite {suite} cannot be made again: {error}"
    if fingerprint and found.fingerprint != fingerprint:
        hashes = f"({fingerprint:.12}, now {found.fingerprint:.12})"
        return f"{name} of suite {suite} has changed since it was solved {hashes}"
    return found


def plan_of(attempt: Attempt) -> Plan | None:
    """The plan that an attempt holds."""
    return None if attempt.plan is None else Plan.from_json(msgspec.json.encode(attempt.plan))


def first_of_each(attempts: Sequence[Attempt]) -> list[Attempt]:
    """One attempt for every instance and configuration: that of the lowest seed, where there are several."""
    kept: dict[tuple[str, str, str], Attempt] = {}
    for attempt in attempts:
        key = attempt.task.suite, attempt.task.instance, attempt.task.configuration
        if key not in kept or attempt.task.seed < kept[key].task.seed:
            kept[key] = attempt
    return list(kept.values())
