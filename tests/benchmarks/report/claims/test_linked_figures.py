"""Each pattern by which a claim links figures matches a figure of the standard report."""

from fnmatch import fnmatchcase

import numpy as np
import pytest

from depl.benchmarks.figures.paper import training_drawings
from depl.benchmarks.figures.sweeps import figures_of
from depl.benchmarks.measure.store import RECORDED, read_attempts
from depl.benchmarks.report.claims.catalogue import ALL
from depl.benchmarks.report.evidence import evidence_of
from depl.commands.bench_report import TRACES
from depl.instances.training.recorded import recorded_traces


@pytest.mark.slow  # draws every figure of the committed records
def test_every_pattern_of_a_claim_matches_a_figure():
    drawn = figures_of(evidence_of(read_attempts(RECORDED)).attempts)
    for family in TRACES:
        drawn += training_drawings(family, recorded_traces(family), np.random.default_rng(0), 19)
    names = [figure.name for figure in drawn]
    dead = [
        (claim.key, pattern)
        for claim in ALL
        for pattern in claim.figures
        if not any(fnmatchcase(name, pattern) for name in names)
    ]
    assert dead == []
