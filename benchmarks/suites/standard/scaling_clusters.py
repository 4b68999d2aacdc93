"""Time against the number of clusters, all other sizes at one base point (Property 2)."""

from depl.benchmarks.suites.sizes import growing, timed
from depl.benchmarks.suites.suite import Suite

SUITE = Suite(
    name="scaling-clusters",
    summary="Seconds of DepL, of the paper's loop and of exact search with 2 to 64 clusters.",
    draws=lambda: growing("clusters", (2, 4, 8, 16, 32, 64)),
    configurations=timed("depl", "depl-paper", "exact"),
)
