"""All claims, in the order of the report."""

from depl.benchmarks.report.claims import choices, costs, stages, theory, training
from depl.benchmarks.report.verdicts import Claim

ALL: tuple[Claim, ...] = (*costs.CLAIMS, *choices.CLAIMS, *theory.CLAIMS, *stages.CLAIMS, *training.CLAIMS)
"""First the abstract and the evaluation, then the theorems, the stages, and real training."""
