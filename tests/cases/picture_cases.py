"""What every picture has to keep: no legend meets what it explains, and all of it is inside the figure."""

import pickle

from matplotlib.transforms import Bbox


def legend_of(axes):
    """The texts of a legend."""
    return [text.get_text() for text in axes.get_legend().get_texts()]


def require_readable(*several):
    """Fail where a legend meets a bar, a curve or a mark of its axes, or leaves the figure, drawn once."""
    figure = several[0].get_figure(root=True)
    figure.draw_without_rendering()
    for axes in several:
        if axes.get_legend() is not None:
            _require_clear(axes, figure.bbox)


def _require_clear(axes, whole):
    """Fail where the legend of axes that are drawn meets what they show, or leaves the figure."""
    box = axes.get_legend().get_window_extent()
    assert whole.x0 <= box.x0
    assert box.x1 <= whole.x1 + 1
    for patch in axes.patches:
        assert not box.overlaps(patch.get_window_extent()), f"the legend meets {patch}"
    for line in axes.lines:
        points = line.get_transform().transform(line.get_xydata())
        assert not box.count_contains(points), f"the legend meets {line}"
    for filled in axes.collections:
        extent = filled.get_window_extent()
        assert not box.overlaps(Bbox.intersection(extent, axes.bbox) or extent), f"the legend meets {filled}"


def require_legends_outside(figure):
    """Fail where a legend meets any axes, with the curves on them, another legend, or leaves the figure."""
    figure = pickle.loads(pickle.dumps(figure))  # to lay it out again would move the last digits
    figure.draw_without_rendering()
    own = [(axes, axes.get_legend()) for axes in figure.axes]
    legends = [legend for _, legend in own if legend is not None] + list(figure.legends)
    boxes = [legend.get_window_extent() for legend in legends]
    for place, box in enumerate(boxes):
        assert figure.bbox.x0 - 1 <= box.x0 < box.x1 <= figure.bbox.x1 + 1, "a legend leaves the figure"
        assert figure.bbox.y0 - 1 <= box.y0 < box.y1 <= figure.bbox.y1 + 1, "a legend leaves the figure"
        for axes, _ in own:
            assert not box.overlaps(axes.get_window_extent()), f"a legend meets {axes}"
            title = axes.title.get_window_extent()
            assert not box.overlaps(title) or not axes.get_title(), f"a legend meets the title of {axes}"
        assert not any(box.overlaps(other) for other in boxes[:place]), "two legends meet"


__all__ = ["legend_of", "require_legends_outside", "require_readable"]
