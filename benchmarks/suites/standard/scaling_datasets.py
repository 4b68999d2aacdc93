"""Time against the number of datasets, all other sizes at one base point (Property 2)."""

from depl.benchmarks.suites.printed_steps import printed_steps
from depl.benchmarks.suites.sizes import growing, timed
from depl.benchmarks.suites.suite import Suite

SUITE = Suite(
    name="scaling-datasets",
    summary="Seconds of DepL, of the paper's loop and of exact search with 2 to 64 datasets.",
    draws=lambda: growing("datasets", (2, 4, 8, 16, 32, 64)),
    configurations=timed("depl", "depl-paper", "exact"),
    measure=printed_steps,
)
