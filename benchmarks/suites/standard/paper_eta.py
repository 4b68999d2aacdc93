"""The effect of eta, the number of levels of the expanded graph (Figs. 5 and 6, right; E3)."""

from depl.benchmarks.suites.standard.paper import paper_draws
from depl.benchmarks.suites.suite import Configuration, Suite

LEVELS = (25, 50, 100, 200, 400)
"""eta: the paper's 200, half and twice of it, and coarser ones."""

SUITE = Suite(
    name="paper-eta",
    summary="The paper's instances by its loop with 25 to 400 levels of time and of loss.",
    draws=paper_draws,
    configurations=(
        Configuration("exact", time_limit=30.0),
        *(
            Configuration(
                "depl-paper", time_limit=20.0, options={"eta": levels}, label=f"depl-paper-{levels}"
            )
            for levels in LEVELS
        ),
    ),
)
