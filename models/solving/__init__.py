"""Solving by a named method: its contract and limits, the checked result, fronts, replanning."""
