r"""
3. Why no constant ratio can hold
=================================

The paper's Property 3 promises a cost within a constant factor of the optimum. This
lesson looks into the graph behind the promise, on ``tiny``, finds two ways in which
it breaks, and then shows that *no* fast method can keep such a promise (:ref:`E10
<erratum-e10>`).
"""

# %%
# Rounding to levels
# ------------------
#
# Model selection is a path problem: each epoch adds to the time and takes from the
# loss. To keep the number of states small, the paper rounds both to *levels*: with
# :math:`\eta` levels, a level of time is :math:`T_{\max} / \eta` and a level of loss
# is :math:`\ell(0) / \eta`. Times are rounded up, improvements down, so that a path
# of the graph is a feasible plan.
#
# Here is ``tiny`` on its cloud with all data, and with the mean instead of the
# quantile (lesson 2 says why that is wrong; here it keeps the numbers small). An
# epoch of *full* gains 4, one of *pruned* 2.5.

import math

import depl
from depl.lessons import *

tiny = depl.load("tiny")
data = frozenset(dataset.name for dataset in tiny.datasets)
problem = additive_problem(tiny, data, "cloud")
steps = steps_in_levels(problem, 4, Rounding.UP)
for index, name in enumerate(problem.models):
    gain, time = -problem.losses[0, -1, index], problem.times[0, index]
    down, up = -steps.losses[0, -1, index], steps.times[0, index]
    print(f"{name:6} gains {gain:3g} (levels: {down}), takes {time:.2f} (levels: {up})")

# %%
# With four levels, a level of loss is 15/4 = 3.75: an epoch of *pruned* does not move
# at all. A level of time is 5/4 = 1.25, and an epoch of 0.45 counts as much as one of
# 0.9.
#
# **Exercise 3.1.** What is the least :math:`\eta` with which an epoch of *pruned*
# moves by a level of loss?

least_levels = None
check("3.1", least_levels)

# %%
# The same path in truth and in the graph: full, full, pruned. In truth it ends below
# the target; in the graph with 10 levels it ends above, and is refused.

levels = 10
steps = steps_in_levels(problem, levels, Rounding.UP)
truth, graph, before = [(0.0, 15.0)], [(0.0, 15.0)], problem.start
for epoch, model in enumerate([0, 0, 1]):
    time, loss = problem.times[epoch, model], problem.losses[epoch, before, model]
    truth.append((truth[-1][0] + time, truth[-1][1] + loss))
    time = steps.times[epoch, model] * steps.time_step
    loss = steps.losses[epoch, before, model] * steps.loss_step
    graph.append((graph[-1][0] + time, graph[-1][1] + loss))
    before = model
walks = {
    "in truth": tuple(zip(*truth, strict=True)),
    "in the graph, η = 10": tuple(zip(*graph, strict=True)),
}
draw_curves(
    walks,
    ("time, in levels of 0.5", "expected loss, in levels of 1.5"),
    across={"target 6.5": tiny.target.maximum_loss},
    marks=walks,
    grid=(steps.time_step, steps.loss_step),
)
assert truth[-1][1] <= tiny.target.maximum_loss < graph[-1][1]

# %%
# What does the graph find with more and more levels? Not better and better paths:
# five levels find one, six find none; sixty find the optimum, a hundred do not. (The
# weight of a path is :math:`\sum \sqrt{\kappa c}`; its cost is the square of that
# over the time that is left to compute.)

for levels in (4, 5, 6, 8, 10, 30, 60, 100, 200):
    lightest = next(ExpandedGraph(problem, levels).paths(), None)
    cheapest = " / ".join(problem.names(lightest.models)) if lightest else "none"
    print(f"eta {levels:3}: weight {cost_up(problem, levels):6.3f}  {cheapest}")
assert math.isinf(cost_up(problem, 6))
assert cost_up(problem, 60) < cost_up(problem, 100)

# %%
# Stage 2 of the paper is one file, ``heuristics/paper/models.py``. Its ``Selector``
# takes a label in place of the quantile: Chernoff's bound (lesson 2), the normal
# quantile or the mean. It weighs an epoch by what all resources cost, whatever the
# model, and so counts epochs:

for kind in PaperLabel:
    layers, label = Selector(tiny, label=kind).graph(data)
    path = next(layers.paths(), None)
    names = " / ".join(problem.names(path.models)) if path else "no path"
    print(f"{label.name:24} {names}")

# %%
# Family A: feasible plans are lost
# ---------------------------------
#
# Any number of levels is too small for some instance. Let one model need 101 epochs
# of 1.05 levels of time each, with :math:`\eta = 200`: they take 53 % of
# :math:`T_{\max}`.
#
# **Exercise 3.2.** How many levels of time does the graph count for the 101 epochs?

counted_levels = None
check("3.2", counted_levels)

# %%
# The graph finds nothing, although the plan is feasible with time to spare.

family_a = short_epochs(200)
plan = build_plan(family_a, {"site": frozenset({"data"})}, [("only", "site")] * 101)
found = depl.evaluate(family_a, plan)
assert found.feasible
assert depl.solve(family_a, "depl-paper", options={"eta": 200}).plan is None

# %%
# Family B: plans as expensive as you like
# ----------------------------------------
#
# The loss has to fall by ten levels. A cheap model gains 0.99 of a level at cost 1, an
# expensive one exactly one level at cost *R*. In the graph the cheap model never moves.
# In truth eleven of its epochs gain 10.89.
#
# **Exercise 3.3.** Write the ratio between the cost of the graph's plan and the
# optimum as a function of *R*, for :math:`R \ge 2`.

ratio = None
check("3.3", ratio)

# %%
# Measured:

prices, measured = [2, 5, 10, 100, 1000], []
for price in prices:
    family_b = almost_one_level(price)
    by_graph = depl.solve(family_b, "depl-paper", options={"eta": 200})
    optimum = depl.solve(family_b, "exact")
    assert optimum.solution is depl.Solution.PROVEN_OPTIMAL
    measured.append(by_graph.cost / optimum.cost)
draw_curves(
    {"graph / optimum": (prices, measured)},
    ("price R of the expensive model", "cost ratio"),
    across={"a promise of 1 %": 1.01},
    scales=("log", "log"),
    marks={"graph / optimum"},
)

# %%
# The ratio grows with *R* without bound, for any fixed :math:`\eta`. A larger one
# only moves the trap: family B is built for every :math:`\eta`.
#
# No method can
# -------------
#
# Is the graph to blame? No. Suppose that some fast method had *any* finite ratio, on
# all instances, with both budgets kept. Then it would have to return a feasible plan
# whenever there is one. But lesson 1 wrote a knapsack so that feasible plans are sets
# of items that fit and are worth enough. Sharper still: let an epoch take as much
# time as it gains, and ask for exactly half of both. Then feasible plans are
# *partitions* of the numbers into two halves of equal sum, and for numbers of many
# digits nobody knows a fast way to tell whether there is one:

split = depl.solve(partition_by_epoch([3, 5, 2, 4]), "exact")
print([epoch.model for epoch in split.plan.epochs])  # 5 + 2 = 3 + 4
never = depl.solve(partition_by_epoch([8, 6, 6]), "exact")
print(never.termination)
assert never.termination is depl.Termination.INFEASIBLE

# %%
# So no fast method has any finite ratio, constant or not, unless P = NP.
#
# What is true instead
# --------------------
#
# The graph solves a *slightly different* problem. Each epoch is rounded by less than
# a level, so with at most *K* epochs
#
# .. math::
#
#    \text{OPT}(T, L) \le \text{cost}(\eta) \le
#    \text{OPT} \left( T (1 - K / \eta), \; L - K \, \ell(0) / \eta \right) .
#
# Rounding the other way gives a lower bound in the same way, and the true optimum
# lies between both. On ``tiny`` (where the upper line is missing, the graph has no
# path):

etas = range(4, 121)
upper = [cost_up(problem, levels) for levels in etas]
lower = [cost_down(problem, levels) for levels in etas]
best = cost_up(problem, 1000)
assert best == cost_down(problem, 1000)
assert max(lower) <= best <= min(upper)
draw_curves(
    {"rounded up: a plan": (etas, upper), "rounded down: a bound": (etas, lower)},
    ("levels η", "weight of the path"),
    across={"optimum": best},
    steps=True,
)

# %%
# That is worth something, for *this* instance and after the fact: a certified ratio.
# The toolkit therefore measures ratios against proved bounds, and never promises one.
