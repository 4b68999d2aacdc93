"""Where problems come from: shipped instances, generators, training traces and reductions.

Stands on `depl.models` alone.
"""
