r"""
1. From knapsacks to plans, and back
====================================

Why is planning hard? Because plans can be made to solve a problem that is known to be
hard. This lesson takes a knapsack, writes it as an instance of depl, and reads the
best knapsack from the cheapest plan: a *reduction*, and each of its steps is run.
"""

# %%
# A small instance
# ----------------
#
# ``tiny`` is the instance of all lessons. Its loss has to fall from 15 to 6.5, with
# probability 0.7, within a time of 5 and at most three epochs.

import itertools

import depl
from depl.lessons import *

tiny = depl.load("tiny")
draw_instance(tiny)

# %%
# A plan chooses a model, a cluster and resources for every epoch, and data for every
# cluster. The cheapest plan that keeps the promise is known:

result = depl.solve(tiny, "exact")
assert result.solution is depl.Solution.PROVEN_OPTIMAL
draw_plan(tiny, result.plan)

# %%
# Three epochs, and in each a choice. Now take everything away that could make it
# hard: chance, data, the second cluster, even the costs. What is left is hard all the
# same.
#
# There are three constructions below, each complete in itself. In the first, plans cost
# nothing, and it is hard to find *any* that is feasible. In the second a feasible plan
# is obvious, and the *cheapest* is hard to find. The third takes items as the first
# does, but has no deadline that they fill: resources are free, and cost what items
# weigh.
#
# Step 1: items become epochs
# ---------------------------
#
# A knapsack: three items with a value and a weight, and as much capacity as ``tiny``
# has time.

bag = Knapsack.of(values=[7, 3, 5], weights=[4, 2, 3], capacity=5)

# %%
# Two models, *take* and *skip*, and epoch *k* decides on item *k*: taking improves
# the loss by the value :math:`v_k` and has work :math:`w_k`, skipping does neither.
# With resources of at most 1, an epoch takes at least a time of :math:`w_k`, and the
# total time is limited by the capacity. So a plan is in time if and only if its items
# fit, and it reaches the target if and only if they are worth enough:
#
# .. math::
#
#    \sum_{k \text{ taken}} w_k \le T_{\max} , \qquad
#    \sum_{k \text{ taken}} v_k \ge \ell(0) - \ell_{\max} .
#
# *Is any plan feasible?* is the question *is there a knapsack of value V?* Here for
# *V = 8*:

wanted = 8
instance = ByTime.reduce(bag, wanted)
notes = [
    [f"gain {v}, time {w}", "0"] for v, w in zip(bag.values, bag.weights, strict=True)
]
title = f"gain at least {wanted} within time {bag.capacity}"
draw_choices(["take", "skip"], notes, [1, 0, 0], title)

# %%
# There are eight sets of items. The toolkit, which knows nothing of knapsacks, must
# call exactly those plans feasible whose items fit and are worth 8.

subsets = [
    items for size in range(4) for items in itertools.combinations(range(3), size)
]
for items in subsets:
    plan = ByTime.plan_of(bag, items)
    feasible = depl.evaluate(instance, plan).feasible
    assert feasible == (bag.holds(items) and bag.value_of(items) >= wanted)
    assert ByTime.solution_of(plan) == items  # and back again
    word = "feasible" if feasible else "not feasible"
    weight, value = bag.weight_of(items), bag.value_of(items)
    print(f"{items!s:9} weight {weight}, value {value}: {word}")

# %%
# An obvious method is *greedy*: it goes through the items by falling value per
# weight, and takes each that still fits.
#
# **Exercise 1.1.** Which set of items does this greedy method take? Give the places
# from 0, as Python counts; files of knapsacks, and ``depl knapsack``, count from 1.

greedy_items = None
check("1.1", greedy_items)

# %%
# Value against weight, each mark a set of items. Greedy looks only at slopes; the
# best set is the highest mark left of the capacity.

draw_knapsacks(bag, wanted)

# %%
# Step 2: value becomes cost
# --------------------------
#
# A new construction, in which nothing of the first is left but the items.
#
# Feasibility is hard, then. Perhaps it is easy to find a *cheapest* plan where
# feasible ones are easy to find? Turn the roles round. Skipping item *k* now has work
# :math:`v_k`, under a deadline of 1 per epoch and a price of 1, so that it costs
# :math:`v_k`. Taking costs nothing, but *raises* the loss by :math:`w_k`, and only
# the last epoch brings the loss down, by one more than the capacity. Skipping
# everything is always feasible. The cheapest plan leaves out the least value:
#
# .. math::
#
#    \text{least cost} = \sum_k v_k - \text{value of the best knapsack} .

by_cost = ByCost.reduce(bag)
solved = depl.solve(by_cost, "exact")
items = ByCost.solution_of(solved.plan)
best = best_by_capacity(bag)  # a dynamic program, which knows nothing of plans
print(f"cost {solved.cost:g}, items {items}, value {bag.value_of(items)}")
assert solved.solution is depl.Solution.PROVEN_OPTIMAL
assert round(solved.cost) == sum(bag.values) - best.value
assert bag.holds(items)
assert bag.value_of(items) == best.value

# %%
# **Exercise 1.2.** Write the cost of the cheapest plan of this instance that takes a
# given set of items, as a function of the set. Use ``bag.values``.

cost_of = None
check("1.2", cost_of)

# %%
# Step 3: the paper's reduction, and why it needs a repair
# --------------------------------------------------------
#
# The paper makes items into *models* and weights into requirements. But a model may
# be used in many epochs, and the resources *x* of an epoch are free to choose, so
# that its weight is no fixed number (:ref:`E6 <erratum-e6>`). Free resources are no
# obstacle, though, if the work is right. The closed form of the cheapest resources is
# :math:`(\sum_k \sqrt{\kappa c_k})^2 / T` for work :math:`c_k` (lesson 5 derives it),
# so give item *k* the work :math:`w_k^2`.
#
# **Exercise 1.3.** With *T = 1* and :math:`\kappa = 1`: what does the cheapest plan
# cost that reaches the value 8?

least_cost = None
check("1.3", least_cost)

# %%
# The way back: from the cost of the plan to the weight of the items.

free = FreeResources.reduce(bag, wanted)
plan = depl.solve(free, "exact")
items = FreeResources.solution_of(plan.plan)
assert FreeResources.weight_of_cost(bag, plan.cost) == bag.weight_of(items)
assert bag.value_of(items) >= wanted

# %%
# What this proves
# ----------------
#
# A fast method for planning would be a fast method for knapsacks: write the items as
# epochs, plan, and read the items from the plan. The construction is as small as the
# knapsack. So planning is NP-hard, for feasibility and for cost, without any chance
# and with a single cluster. Lesson 3 draws the conclusion for approximations.
#
# Knapsacks are hard, but not hopeless, and neither are plans: ``depl.solve`` with the
# method ``exact`` *proves* what it finds. Real knapsack files can be solved this way
# by ``depl knapsack``, which uses the construction of step 2 unless told otherwise.
