"""Literal completions of Table I, to see which of the paper's claims they show (erratum E13)."""

from depl.benchmarks.suites.completions import completion_draws
from depl.benchmarks.suites.measures import plan_measures
from depl.benchmarks.suites.suite import Configuration, Suite

_METHODS = ("exact", "depl", "depl-paper", "expected-greedy", "expected-cost")

SUITE = Suite(
    name="reconstruction",
    summary="400 literal completions of Table I at the tightest and the loosest target of Fig. 9.",
    draws=completion_draws,
    configurations=tuple(Configuration(method, time_limit=10.0) for method in _METHODS),
    measure=plan_measures,
)
