"""Why planning is hard: other problems as instances of this one, and their solutions as plans.

Every module is one reduction: ``reduce`` writes the other problem as an instance, ``plan_of`` writes a
solution of it as a plan, ``solution_of`` reads a solution from a plan. Its docstring holds the proof.
Numbers are kept as fractions and written as whole numbers, small enough that no tolerance of the toolkit
can confuse two of them.
"""
