"""Exact model selection on additive weights, times and losses: Pareto labels without a grid.

`depl.heuristics.labels.setting.least_weight` solves, `depl.heuristics.labels.ranking.RankedPaths` lists paths
from the lightest on, `depl.heuristics.labels.fronts` trades the weight against a budget.
"""
