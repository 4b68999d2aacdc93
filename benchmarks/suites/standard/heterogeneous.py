"""Clusters, datasets and models that trade off at once, with 10 to 100 clusters (an open question)."""

from functools import partial

from depl.benchmarks.suites.sizes import sized_instance
from depl.benchmarks.suites.suite import Configuration, Draw, Suite

_SIZES = {10: (10, 5, 50), 30: (30, 5, 100), 100: (100, 10, 100)}
"""By |N|: |D|, |M| and K_max."""
_DRAWS = 2
_METHODS = ("depl", "depl-paper", "density-greedy", "fastest-cluster", "random")


def _draw(clusters: int, number: int) -> Draw:
    datasets, models, epochs = _SIZES[clusters]
    build = partial(sized_instance, number, clusters, datasets, models, epochs)
    labels = {"clusters": clusters, "datasets": datasets, "models": models, "epochs": epochs}
    return Draw(f"clusters-{clusters:03d}-{number}", labels, build)


SUITE = Suite(
    name="heterogeneous",
    summary="Heterogeneous instances with 10, 30 and 100 clusters, by DepL, the paper's loop and others.",
    draws=lambda: tuple(_draw(clusters, number) for clusters in _SIZES for number in range(_DRAWS)),
    configurations=tuple(Configuration(method, time_limit=15.0) for method in _METHODS),
)
