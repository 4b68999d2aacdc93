"""The picture of the case ``promises-kept``, from its record and from nothing else.

``python -m depl.benchmarks.cases.promises.promises_figure FOLDER [RECORD]`` draws ``promises-kept.png`` and
``.svg`` from the committed record, or from another one: a panel per family, promised against delivered.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from depl.benchmarks.cases.helpers.record_figure import draw_record
from depl.benchmarks.figures.canvas import panels
from depl.benchmarks.figures.promised_against_delivered import promised_against_delivered, promises_of


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
        promised_against_delivered(promises_of(*own), panel)
        panel.set_title(family)
    return figure


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the figure; returns the exit code."""
    return draw_record(
        "depl.benchmarks.cases.promises.promises_figure", __doc__, "promises-kept", promises_figure, arguments
    )


if __name__ == "__main__":
    sys.exit(main())
