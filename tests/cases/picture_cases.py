"""What every picture has to keep: no legend meets what it explains, and all of it is inside the figure."""

from matplotlib.axes import Axes
from matplotlib.transforms import Bbox


def require_readable(axes: Axes) -> None:
    """Fail where a legend meets a bar, a curve or a mark of its axes, or leaves the figure."""
    figure = axes.get_figure(root=True)
    figure.draw_without_rendering()
    legend = axes.get_legend()
    if legend is None:
        return
    box = legend.get_window_extent()
    assert figure.bbox.x0 <= box.x0
    assert box.x1 <= figure.bbox.x1 + 1
    for patch in axes.patches:
        assert not box.overlaps(patch.get_window_extent()), f"the legend meets {patch}"
    for line in axes.lines:
        points = line.get_transform().transform(line.get_xydata())
        assert not box.count_contains(points), f"the legend meets {line}"
    for filled in axes.collections:
        extent = filled.get_window_extent()
        assert not box.overlaps(Bbox.intersection(extent, axes.bbox) or extent), f"the legend meets {filled}"


__all__ = ["require_readable"]
