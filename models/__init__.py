"""What is true: the problem, its laws, plans, the risk of a plan, exact methods and the verifier.

This is the lowest layer: it imports nothing from the heuristics, the instances or the benchmarks.
"""
