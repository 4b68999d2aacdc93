"""Why planning is hard: other problems as instances of this one, and their solutions as plans.

Every reduction is a class or function with its construction, proof and tolerances: ``reduce`` writes the
other problem as an instance, ``plan_of`` writes a solution of it as a plan, ``solution_of`` reads one from a
plan. Numbers are kept as fractions and written as whole numbers, small enough that no tolerance of the
toolkit can confuse two of them.
"""

REDUCTIONS = {
    "by-cost": "a plan costs the value of what it leaves behind (one solve)",
    "by-time": "a plan is feasible iff its items fit and reach a value (bisection)",
    "free-resources": "a plan costs the square of the weight of items that reach a value (bisection)",
}
"""Of a plain knapsack: `depl.instances.reductions.to_planning.solve_knapsack` goes by way of each."""
