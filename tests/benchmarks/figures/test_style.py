"""A method looks the same in all figures, legends cover nothing, and files repeat to the byte."""

import pytest

import depl
from depl.benchmarks.figures.family import LossCurve, draw_bars, draw_losses
from depl.benchmarks.figures.style import (
    COLOURS,
    CONFIGURATION_STYLES,
    DASHES,
    METHOD_STYLES,
    MODEL_COLOURS,
    legend_beside,
    panels,
    save,
    series_style,
    styles_of,
    svg_text,
)
from depl.models.foundation.errors import InvalidInputError

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
    assert list(styles_of(reversed(MINE))) == MINE[::-1]
    assert styles_of(MINE) == styles_of(reversed(MINE))
    assert set(styles_of(map(str, range(200)))) == set(map(str, range(200)))


def test_palettes_repeat_nothing_and_rows_of_panels_are_filled():
    assert len(set(COLOURS)) == len(COLOURS)
    assert set(MODEL_COLOURS) <= set(COLOURS)
    assert len(set(DASHES)) == len(DASHES) == 5
    figure, axes = panels(5, columns=3)
    assert len(axes) == len(figure.axes) == 5
    assert figure.get_figheight() == 2 * panels(1)[0].get_figheight()


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
    told = [text.get_text() for text in axes.get_legend().get_texts()]
    assert told[-1] == (f"expected-{count - 1}" if count <= 16 else "and 25 more")
    assert len(told) == min(count, 16)


def draw_all():
    """Lines, bars and a band on one figure."""
    figure, (left, right) = panels(2)
    draw_bars(left, ("5", "7"), {"fast": (1, 2), "slow": (3, 0)}, "epochs")
    draw_losses(right, [LossCurve("a", (0, 1), (20, 19), (20, 18), (20, 19.5), series_style(0))], 18.5)
    return figure


def test_the_same_figure_gives_the_same_bytes_without_a_date(tmp_path):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        image, drawing = save(draw_all(), tmp_path / name, "all")
    assert image.read_bytes() == (tmp_path / "first" / "all.png").read_bytes()
    assert drawing.read_bytes() == (tmp_path / "first" / "all.svg").read_bytes()
    assert image.read_bytes().startswith(b"\x89PNG\r\n")
    assert "date" not in drawing.read_text(encoding="utf-8")
    figure, _ = panels(1)
    assert svg_text(figure, "one") == svg_text(figure, "one") != svg_text(figure, "two")
    (tmp_path / "third" / "all.png").mkdir(parents=True)
    with pytest.raises(InvalidInputError, match="cannot be written"):
        save(figure, tmp_path / "third", "all")
    assert [path.name for path in (tmp_path / "third").iterdir()] == ["all.png"]
