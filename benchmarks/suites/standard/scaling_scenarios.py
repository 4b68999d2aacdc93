"""Time against the number of scenarios that are counted in place of the law; the paper samples nothing."""

from depl.benchmarks.suites.sizes import BASE, DRAWS_PER_SIZE, growing
from depl.benchmarks.suites.suite import Configuration, Suite

SCENARIOS = (16, 32, 64, 128, 256, 512)

SUITE = Suite(
    name="scaling-scenarios",
    summary=f"Seconds of scenario search with 16 to 512 scenarios, on {DRAWS_PER_SIZE} instances.",
    draws=lambda: growing("epochs", (BASE["epochs"],)),
    configurations=tuple(
        Configuration("scenario-search", time_limit=10.0, scenarios=size, label=f"scenario-search-{size}")
        for size in SCENARIOS
    ),
)
