r"""
6. Scenarios and their optimism
===============================

A mathematical program cannot ask for a probability. It can count: draw *S* scenarios
of everything that is random, and let at most a share of :math:`1 - \omega` of them
miss the target. This lesson shows why a plan that is cheapest on a sample promises
too much, how much that is on ``tiny``, and how to find out honestly.
"""

# %%
# These parts of the toolkit are used:

import math

import numpy as np
from scipy import stats  # noqa: F401 - for your answers

import depl
from depl.lessons import *

# %%
# Counting instead of a probability
# ---------------------------------
#
# At most :math:`\lfloor (1 - \omega) S \rfloor` of *S* scenarios may end above the
# target. In ``tiny``, :math:`\omega = 0.7`: of ten scenarios three may miss.
#
# **Exercise 6.1.** How many of 25 scenarios may miss?

allowed = None
check("6.1", allowed)

# %%
# The probability that a sample is fooled
# ---------------------------------------
#
# Take a plan that misses the target with probability 1/2, the plan that was chosen by
# its mean in lesson 2. It is far from its promise of 0.3. But a small sample may not
# notice.
#
# **Exercise 6.2.** Write the probability that a sample accepts a plan, as a function
# of the size of the sample, the number of misses that are allowed, and the plan's
# true probability of missing. (``stats.binom`` has ``pmf``, ``cdf`` and ``sf``.)

accepted = None
check("6.2", accepted)

# %%
# On ten scenarios the plan above gets through with probability 0.17: every sixth
# sample is fooled by this plan alone.
#
# The winner's curse
# ------------------
#
# But a solver does not look at one plan. It looks at all of them and takes the
# *cheapest* that gets through. Every cheap plan that breaks its promise has its
# chance, and if one gets through, it wins. Here are all plans of ``tiny`` that are in
# time and do not miss for certain.

tiny = depl.load("tiny")
target = tiny.target
plans = [(plan, depl.evaluate(tiny, plan)) for plan in all_plans(tiny)]
plans = [(plan, found) for plan, found in plans if found.violation.exact < 1]
plans.sort(key=lambda pair: pair[1].cost)
costs = np.array([found.cost for _, found in plans])
misses = np.array([float(found.violation.exact) for _, found in plans])
honest = costs[misses <= 0.3].min()
print(f"least cost of a plan that keeps its promise: {honest:g}")


def winner(size, seed):
    """The place of the cheapest plan that a sample accepts, and its misses there."""
    scenarios = draw_scenarios(tiny, size, seed=seed)
    for place, (plan, _) in enumerate(plans):
        missed = count_misses(tiny, scenario_losses(tiny, scenarios, plan))
        if missed <= allowed_misses(tiny, size):
            return place, missed
    return None


# %%
# A proper solver finds the same plans on the same samples. It says so, and it says
# what they are worth:

for seed in (0, 1, 6):
    by_search = depl.solve(tiny, "scenario-search", scenarios=10, seed=seed)
    evidence = by_search.scenarios
    place, missed = winner(10, seed)
    assert math.isclose(costs[place], by_search.cost, rel_tol=1e-6)
    assert missed == evidence.misses
    print(
        f"cost {by_search.cost:6.2f}: misses {evidence.misses} of 10 here,"
        f" {evidence.fresh.violations} of {evidence.fresh.samples} fresh ones,"
        f" and truly {by_search.violation.exact}"
    )
assert by_search.violation.exact > target.violation_budget  # the last sample was fooled

# %%
# Now many samples. How often does the winner break its promise? And how many
# scenarios does it miss on the sample that chose it, how many in truth?

sizes, repeats = (5, 10, 20, 40, 80, 160), 50
broken, counted, delivered = [], [], []
for size in sizes:
    found = [winner(size, seed) for seed in range(repeats)]
    winners, missed = np.array([pair for pair in found if pair is not None]).T
    broken.append((misses[winners] > 0.3).mean())
    counted.append(missed.mean() / size)
    delivered.append(misses[winners].mean())
shares = {
    "misses of winners, truly": (sizes, delivered),
    "winners that break the promise": (sizes, broken),
    "misses of winners, counted": (sizes, counted),
}
draw_curves(
    shares,
    ("scenarios S", "share"),
    scales=("log", "linear"),
    marks=shares,
    ticks=sizes,
)
assert all(here < truly for here, truly in zip(counted[:3], delivered[:3], strict=True))
for size, share in zip(sizes, broken, strict=True):
    print(f"S = {size:3}: {share:.0%} of the winners break the promise")

# %%
# Winners miss less where they were chosen than they will miss later: that is their
# optimism. The share of broken promises falls with *S*, because plans at 1/2 get
# through ever more rarely. It would fall more slowly on an instance with plans just
# above 0.3: the worst are those that nearly keep their promise.
#
# How to find out
# ---------------
#
# Judge a plan by runs that had no part in choosing it. If the law is known, depl
# computes the probability itself, and a result of a scenario method always carries
# it. If only runs are known, count on *fresh* ones.
#
# **Exercise 6.3.** A plan meets its target in all of *n* fresh runs. For which least
# *n* does this show, at the level of 5 %, that it misses with probability below 0.3?

runs = None
check("6.3", runs)

# %%
# The toolkit plans such tests, with some misses allowed as well, and exact binomial
# tails: the least number of runs with one, two and three misses.

print([least_runs(0.7, 0.95, exceedances) for exceedances in (1, 2, 3)])

# %%
# Without any miss about :math:`3 / (1 - \omega)` runs are needed, 59 for a promise of
# 0.95, 299 for 0.99 and 2995 for 0.999. This is why fitting a law pays off, and why
# ``depl certify`` says how many runs it needs.

assert [least_runs(level, 0.95) for level in (0.95, 0.99, 0.999)] == [59, 299, 2995]
