"""Exact search for a cheapest plan: the tree that both meanings of the quantile share, and that of scenarios.

Shared with `depl.models.law_search`: subproblems explored by increasing bound (`tree`), assignments of data,
prices of time, the cheapest clusters of a sequence, and reasons. For scenarios alone: the bounds, kernels and
incumbents of `scenario_search`, which goes on where the mathematical programs give up.
"""
