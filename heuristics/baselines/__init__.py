"""What our loop is compared with: the paper's benchmark best-exp, and general-purpose methods.

The general-purpose methods (`density`, `drafts`, `peers`) know little of the problem. DepL as printed stands
in `depl.heuristics.paper`.
"""
