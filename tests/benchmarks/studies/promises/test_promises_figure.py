"""The figure of promised against delivered: what it draws, from rows written here."""

from collections.abc import Callable
from pathlib import Path

from depl.benchmarks.figures.promised_against_delivered import (
    Promise,
    promised_against_delivered,
    promises_of,
)
from depl.benchmarks.studies.promises.promises_figure import promises_figure
from tests.cases.picture_cases import require_legends_outside

ROW = {
    "family": "digits-a",
    "setting": "never run",
    "promised": 0.9,
    "delivered": 0.93,
    "lower": 0.88,
    "upper": 0.96,
}
REFUSED = {
    "family": "digits-a",
    "setting": "never run",
    "promised": 0.95,
    "delivered": None,
    "reason": "none",
}
PILOT = {**ROW, "family": "digits-b", "promised": 0.99, "delivered": 0.995}


def test_only_promises_that_were_made_are_drawn_and_pilots_have_a_name() -> None:
    found = promises_of([ROW, REFUSED], [PILOT, {"family": "digits-a", "certified": False}])
    assert found == [
        Promise("never run", 0.9, 0.93, 0.88, 0.96),
        Promise("piloted", 0.99, 0.995, 0.88, 0.96),
    ]


def test_every_promise_is_a_marker_with_its_interval_beside_the_line_of_what_was_promised() -> None:
    two = [Promise("never run", 0.9, 0.93, 0.88, 0.96), Promise("flattered", 0.9, 0.6, 0.5, 0.7)]
    axes = promised_against_delivered(two)
    lines = [(list(line.get_xdata()), list(line.get_ydata())) for line in axes.get_lines()]
    assert [y for x, y in lines if len(y) == 2] == [[0.5, 0.7], [0.88, 0.96], [0.9, 0.9]]
    places = [float(x[0]) for x, y in lines if y in ([0.6], [0.93])]
    assert places[0] < 0.9 < places[1]
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert texts == ["plan never run, with margin", "plan never run, no margin", "as promised"]


def test_there_is_a_panel_per_family_and_nothing_without_rows() -> None:
    rows = [ROW, {**ROW, "family": "digits-b"}]
    figure = promises_figure({"rows": rows, "pilots": [PILOT]})
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["digits-a", "digits-b"]
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    require_legends_outside(figure)
    assert promised_against_delivered([]).get_legend() is None


def test_the_command_draws_the_committed_record(
    tmp_path: Path, ask: Callable[..., tuple[int, str, str]]
) -> None:
    assert ask("bench", "cases", "draw", "promises-kept", tmp_path)[0] == 0
    assert (tmp_path / "promises-kept.png").stat().st_size > 5000
