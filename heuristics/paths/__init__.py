"""Model selection as a path problem: exact labels without a grid, and the expanded graph of the paper.

`depl.heuristics.paths.setting.least_weight` solves, `depl.heuristics.paths.ranking.RankedPaths` lists paths
from the lightest on, `depl.heuristics.paths.layered` and `depl.heuristics.paths.expanded_graph` are the graph
in levels of loss and time, and what is true of it.
"""
