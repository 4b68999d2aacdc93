"""Numbers that bound how the runs behind a fitted law are counted; commands name them without its arrays."""

LARGEST_RETENTION = 1.0 - 2.0**-20
"""Greatest retention of a fitted law: below 1, so that what a loss was before is forgotten, by a factor of e
in a million epochs; a double keeps that distance from 1 to 33 bits."""

LEAST_TOGETHER = 19
"""Fewest runs of the whole schedule that make up its law alone, unless a law says otherwise: just enough for
the level 0.95."""

MOST_DIVERGED = 1_000
"""Most runs that may have diverged: every stage lends them, and stages are combined each with each, so that
many more would take memory; with so many a promise of 0.95 takes 19,019 runs of one plan that do not."""
