"""CSV files as points: one line per epoch, or one column per run as Weights & Biases exports charts."""

from collections.abc import Sequence

from depl.models.tool_logs.points import LoggedRun, Point, cell_values, point_of
from depl.models.traces.sheets import Sheet

EXTREMES = ("__MIN", "__MAX")
"""Ends of the names of columns that hold the ends of an interval around another column."""


def run_of_table(sheet: Sheet, name: str, index: str = "") -> LoggedRun:
    """The run of a CSV file with one line per epoch.

    A column without a name, as pandas writes an index, is called ``index``, or passed over without one.
    """
    header = [key or index for key in sheet.header]
    points = tuple(
        point_of(row.number, ((k, v) for k, v in cell_values(header, row.cells).items() if k))
        for row in sheet.rows
    )
    return LoggedRun(name, sheet.path, points)


def charts(sheet: Sheet) -> dict[str, tuple[str, str]]:
    """Columns "RUN - METRIC" of an exported chart: run and metric by column; extremes are not among them."""
    names = set(sheet.header)
    found = {}
    for column in sheet.header:
        run, dash, metric = column.rpartition(" - ")
        if dash and not (metric.endswith(EXTREMES) and column[: -len(EXTREMES[0])] in names):
            found[column] = run, metric
    return found


def runs_of_charts(sheet: Sheet) -> tuple[list[LoggedRun], list[str]]:
    """The runs of an exported chart, and the columns that are no runs."""
    columns = charts(sheet)
    runs: dict[str, dict[str, str]] = {}
    for column, (run, metric) in columns.items():
        runs.setdefault(run, {})[column] = metric
    shared = [column for column in sheet.header if column not in columns and " - " not in column]
    logged = [LoggedRun(run, sheet.path, _points(sheet, shared, own)) for run, own in runs.items()]
    return logged, [name for name in sheet.header if name not in columns and name not in shared]


def _points(sheet: Sheet, shared: Sequence[str], own: dict[str, str]) -> tuple[Point, ...]:
    """The lines in which a run has a value of its own."""
    place = {name: index for index, name in enumerate(sheet.header)}
    clocks, columns = ([place[name] for name in names] for names in (shared, own))
    found = []
    for row in sheet.rows:
        values = cell_values(own.values(), [row.cells[index] for index in columns])
        if any(value is not None for value in values.values()):
            told = cell_values(shared, [row.cells[index] for index in clocks])
            found.append(point_of(row.number, (told | values).items()))
    return tuple(found)
