"""Time against the number of epochs, all other sizes at one base point (Property 2)."""

from depl.benchmarks.suites.sizes import growing, timed
from depl.benchmarks.suites.suite import Suite

SUITE = Suite(
    name="scaling-epochs",
    summary="Seconds of DepL, of the paper's loop and of exact search with K_max from 5 to 160.",
    draws=lambda: growing("epochs", (5, 10, 20, 40, 80, 160)),
    configurations=timed("depl", "depl-paper", "exact"),
)
