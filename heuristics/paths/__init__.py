"""Model selection as a path problem, solved exactly by labels without a grid.

`depl.heuristics.paths.search.least_weight` solves, `depl.heuristics.paths.ranking.RankedPaths` lists paths
from the lightest on. The expanded graph of the paper is `depl.heuristics.paper.models.ExpandedGraph`.
"""
