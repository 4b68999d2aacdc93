"""A method looks the same in all figures, legends cover nothing, and files have no date."""

import pytest

import depl
from depl.benchmarks.figures.style import (
    CONFIGURATION_STYLES,
    METHOD_STYLES,
    legend_beside,
    panels,
    save,
    styles_of,
)
from depl.models.foundation.errors import InvalidInputError
from tests.cases.picture_cases import legend_of

MINE = [f"mine-{number}" for number in range(30)]


def test_every_name_has_a_style_of_its_own_that_does_not_depend_on_the_others_of_a_figure():
    registered = {method.name for method in depl.methods()}
    assert set(METHOD_STYLES) <= registered
    fixed = METHOD_STYLES | CONFIGURATION_STYLES
    assert len(set(fixed.values())) == len(fixed)
    assert len(set(styles_of(registered | set(MINE)).values())) == len(registered | set(MINE))
    for name, style in styles_of(fixed).items():
        assert styles_of([name]) == {name: style}
        assert styles_of(["other", name, "exact"])[name] == style
    assert styles_of(["mine"])["mine"] == styles_of(["exact", "mine"])["mine"]
    assert not set(styles_of(MINE).values()) & set(fixed.values())
    assert styles_of(MINE) == styles_of(reversed(MINE))


@pytest.mark.parametrize("count", [1, 4, 7, 40])
def test_a_legend_covers_no_line_and_counts_what_finds_no_room(count):
    figure, (axes,) = panels(1)
    for place in range(count):
        axes.plot(range(9), [8 + place - k for k in range(9)], label=f"expected-{place}")
    legend_beside(axes)
    figure.draw_without_rendering()
    box = axes.get_legend().get_window_extent()
    for line in axes.get_lines():
        assert not box.count_contains(line.get_transform().transform(line.get_xydata()))
    told = legend_of(axes)
    assert told[-1] == (f"expected-{count - 1}" if count <= 16 else "and 25 more")
    assert len(told) == min(count, 16)


def test_a_figure_has_no_date_and_one_that_cannot_be_written_is_refused(tmp_path):
    figure, _ = panels(1)
    _, drawing = save(figure, tmp_path, "all")
    assert "date" not in drawing.read_text(encoding="utf-8")
    (tmp_path / "third" / "all.png").mkdir(parents=True)
    with pytest.raises(InvalidInputError, match="cannot be written"):
        save(figure, tmp_path / "third", "all")
    assert [path.name for path in (tmp_path / "third").iterdir()] == ["all.png"]
