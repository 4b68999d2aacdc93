"""Exact model selection on additive weights, times and losses: Pareto labels without a grid.

`depl.heuristics.paths.setting.least_weight` solves, `depl.heuristics.paths.ranking.RankedPaths` lists paths
from the lightest on.
"""
