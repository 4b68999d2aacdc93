"""General-purpose heuristics that know little of the problem: peers of the problem-specific methods."""
