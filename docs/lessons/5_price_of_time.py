r"""
5. From KKT to the price of time
================================

When models, data and clusters are chosen, the resources :math:`x_k` remain. They form
a convex program, whose optimality conditions (Karush, Kuhn, Tucker) have one unknown:
the *price of time*. This lesson derives it on the optimal plan of ``tiny``, meets the
capacity of a cluster, and turns prices into lower bounds.
"""

# %%
# The program
# -----------
#
# An epoch of work :math:`c_k` with resources :math:`x_k` computes for :math:`c_k /
# x_k`, sends its model for :math:`\sigma_k`, and costs :math:`\kappa_k x_k`. With a
# capacity of :math:`r_k`:
#
# .. math::
#
#    \min_x \sum_k \kappa_k x_k \quad \text{s.t.} \quad
#    \sum_k \left( \frac{c_k}{x_k} + \sigma_k \right) \le T , \quad 0 < x_k \le r_k .
#
# The optimal plan of ``tiny`` has three epochs, and this is what they ask for:

import math

import numpy as np

import depl
from depl.lessons import *

tiny = depl.load("tiny")
plan = depl.solve(tiny, "exact").plan
loads = epoch_loads(tiny, plan)
for epoch, load in zip(plan.epochs, loads, strict=True):
    print(
        f"{epoch.model:6} on {epoch.cluster}: work {load.work:g}, price {load.price:g},"
        f" communication {load.communication:g}, capacity {load.capacity:g}"
    )

# %%
# The conditions
# --------------
#
# Give time a price :math:`\lambda \ge 0`. The Lagrangian splits into one function per
# epoch,
#
# .. math::
#
#    \kappa_k x + \lambda \left( \frac{c_k}{x} + \sigma_k \right) ,
#
# whose derivative :math:`\kappa_k - \lambda c_k / x^2` vanishes at :math:`x_k =
# \sqrt{\lambda c_k / \kappa_k}`. At this point every epoch buys its last unit of time
# at the same price: :math:`\lambda`. What is the right price? The one at which the
# time is used up. With :math:`q = \sqrt \lambda`, as long as no capacity is met,
#
# .. math::
#
#    \sum_k \frac{\sqrt{\kappa_k c_k}}{q} + \sum_k \sigma_k = T , \quad \text{so} \quad
#    q = \frac{B}{T - A} , \quad
#    B = \sum_k \sqrt{\kappa_k c_k} , \quad A = \sum_k \sigma_k ,
#
# and the cost is :math:`\sum_k \kappa_k x_k = q B = B^2 / (T - A)`. For ``tiny``, *B
# = 4 + 4 + 1* and *A = 2*; with *T = 5* this makes *q = 3*:

best = allocate(loads, 5.0, None)
print(f"x = {best.resources}, cost {best.cost:g}, price of time {best.multiplier:g}")
assert np.allclose(best.resources, 3)
assert math.isclose(best.cost, 9**2 / (5 - 2))
assert math.isclose(best.multiplier, 3**2)

# %%
# **Exercise 5.1.** What is the price of time with a limit of *T = 6*?

price_at_six = None
check("5.1", price_at_six)

# %%
# Is it a price? It is the slope of the cost: a little more time saves :math:`\lambda`
# times as much.

little = 1e-6
more = allocate(loads, 5.0 + little, None)
assert math.isclose((best.cost - more.cost) / little, best.multiplier, rel_tol=1e-5)

# %%
# Capacity: when the water meets a wall
# -------------------------------------
#
# With less time all resources rise together, like water, until one meets its wall:
# the edge has a capacity of 4. From there on it stays at 4, and the others rise
# faster.
#
# **Exercise 5.2.** At which limit *T* does the edge meet its capacity?

clipping_time = None
check("5.2", clipping_time)

# %%
# **Exercise 5.3.** What do the three epochs cost with *T = 4*?

cost_at_four = None
check("5.3", cost_at_four)

# %%
# Resources and cost against the limit of time. Below 3.05 even full resources are not
# enough.

fastest = best.fastest_time
limits = np.linspace(fastest, 8, 400)
answers = [allocate(loads, float(limit), None) for limit in limits]
shown = {"epochs 1 and 2, on the cloud": 0, "epoch 3, on the edge": 2}
draw_allocations(limits, answers, shown)
assert math.isclose(fastest, 2 + 4 / 10 + 4 / 10 + 1 / 4)

# %%
# A bound from any price
# ----------------------
#
# For any price, right or wrong, the sum of the least values per epoch is a lower
# bound of the cost of *every* choice of resources that is in time:
#
# .. math::
#
#    \sum_k \kappa_k x_k \ge \sum_k \min_x \left( \kappa_k x
#    + \lambda \left( \frac{c_k}{x} + \sigma_k \right) \right) - \lambda T .
#
# The right price makes it tight:

for price in (4.0, 9.0, 16.0):
    bound = dual_bound(loads, price, 5.0, None)
    print(f"price {price:2g}: no resources within a time of 5 cost less than {bound:g}")
assert math.isclose(dual_bound(loads, 9.0, 5.0, None), best.cost)

# %%
# Move the price
# --------------
#
# As a function of *T* the bound is a straight line with slope :math:`-\lambda`. It
# touches the curve of the cost where :math:`\lambda` is the right price, and lies
# below it everywhere else: the curve is the upper envelope of all its lines.

limits = np.linspace(allocate(loads, 5.0, None).fastest_time, 8.0, 121)
costs = [allocate(loads, limit, None).cost for limit in limits]
lines = {
    f"price {price:g}": (limits, [dual_bound(loads, price, t, None) for t in limits])
    for price in (4.0, 9.0, 16.0)
}
draw_curves({"least cost": (limits, costs)} | lines, ("limit of time T", "cost"))
for _, bounds in lines.values():
    assert all(np.array(bounds) <= np.array(costs) * (1 + 1e-9))

# %%
# Why prices matter
# -----------------
#
# Resources are tied together by the time they share. Prices are not: each epoch
# answers a price on its own, so a search can add up prices of epochs before it knows
# the whole plan. This is how ``exact`` and ``depl`` prove lower bounds of plans that
# they have never seen.
