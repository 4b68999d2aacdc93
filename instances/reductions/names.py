"""The names of the reductions of a knapsack, with a sentence on each; nothing is imported."""

REDUCTIONS = {
    "by-cost": "a plan costs the value of what it leaves behind (one solve)",
    "by-time": "a plan is feasible iff its items fit and reach a value (bisection)",
    "free-resources": "a plan costs the square of the weight of items that reach a value (bisection)",
}
"""`depl.instances.reductions.through` solves by way of each."""
