"""The figure of promises: what it draws, from rows written here."""

from depl.benchmarks.studies.promises_kept import promises_figure
from tests.cases.picture_cases import require_legends_outside

TOLD = {"family": "digits-a", "setting": "never run", "promised": 0.9}
ROW = {**TOLD, "delivered": 0.93, "lower": 0.88, "upper": 0.96}
FLATTERED = {**ROW, "setting": "flattered", "delivered": 0.6, "lower": 0.5, "upper": 0.7}
REFUSED = {**TOLD, "promised": 0.95, "delivered": None}
PILOTS = [{**ROW, "family": "digits-b", "promised": 0.99}, {"family": "digits-a", "certified": False}]


def test_every_promise_that_was_made_is_a_marker_with_its_interval_beside_what_was_promised():
    rows = [ROW, FLATTERED, REFUSED, {**ROW, "family": "digits-b"}]
    figure = promises_figure({"rows": rows, "pilots": PILOTS})
    first, second = figure.axes
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["digits-a", "digits-b"]
    assert first.get_ylim() == second.get_ylim()
    lines = [(list(line.get_xdata()), list(line.get_ydata())) for line in first.get_lines()]
    assert [y for x, y in lines if len(y) == 2] == [[0.5, 0.7], [0.88, 0.96], [0.9, 0.9]]
    places = [float(x[0]) for x, y in lines if y in ([0.6], [0.93])]
    assert places[0] < 0.9 < places[1]
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    told = ["plan never run, with margin", "plan never run, no margin", "as promised", "settled by a pilot"]
    assert texts == told
    require_legends_outside(figure)
    assert len(promises_figure({"rows": [], "pilots": []}).axes) == 1
