"""The picture of the case ``promises-kept``, from its record and from nothing else.

``depl bench cases draw promises-kept FOLDER`` draws it: a panel per family, promised against delivered.
"""

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from depl.benchmarks.figures.promised_against_delivered import promised_against_delivered, promises_of
from depl.benchmarks.figures.style import make_room, panels, set_title, shared_legend


def promises_figure(values: Mapping[str, Any]) -> Figure:
    """A panel per family.

    Parameters
    ----------
    values : mapping
        What the case measured: its ``rows`` and ``pilots`` are drawn.
    """
    families = list(dict.fromkeys(row["family"] for row in values["rows"]))
    figure, axes = panels(max(len(families), 1))
    for family, panel in zip(families, axes, strict=False):
        own = [[row for row in values[kind] if row["family"] == family] for kind in ("rows", "pilots")]
        found = promises_of(*own)
        promised_against_delivered(found, panel)
        set_title(panel, family)
    lowest, highest = (end(panel.get_ylim()[side] for panel in axes) for side, end in enumerate((min, max)))
    for panel in axes:
        panel.set_ylim(lowest, highest)  # families stand side by side to be compared
    shared_legend(figure)
    make_room(figure)
    return figure


if __name__ == "__main__":  # the older spelling of the command
    import sys

    from depl.cli import main

    sys.exit(main(["bench", "cases", "draw", "promises-kept", *sys.argv[1:]]))
