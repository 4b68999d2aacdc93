r"""
9. Which cluster trains which model
===================================

Stage 3 of the paper puts the chosen models on clusters. It maps this, "one-to-one", to
the placement of network functions on servers (VNF placement), takes a linear program
and rounds it. This lesson does so by hand and by the file that does it in depl, and
compares with the optimum (:ref:`E9 <erratum-e9>`).
"""

# %%
# One model, two clusters
# -----------------------
#
# Two epochs of one model, each of work 1, within a time of 2.2. On *slow* a unit of
# resource costs 1 and an epoch sends for a time of 1; on *quick* it costs 9, and
# nothing has to be sent. The numbers of stage 3 are all there is to it:

import numpy as np

from depl.lessons import *

problem = PlacementProblem(
    clusters=("slow", "quick"),
    classes=("net",),
    counts=np.array([2]),
    work=np.array([[1.0, 1.0]]),
    price=np.array([1.0, 9.0]),
    capacity=np.array([100.0, 10.0]),
    communication=np.array([[1.0, 0.0]]),
    transfers=np.zeros(2),
    maximum_time=2.2,
)

# %%
# Lesson 5 has what the cheapest resources cost where no capacity is met: with work
# :math:`c_k`, prices :math:`\kappa_k` and times :math:`\sigma_k` to send,
#
# .. math::
#
#    \frac{\left( \sum_k \sqrt{\kappa_k c_k} \right)^2}{T - \sum_k \sigma_k} .
#
# **Exercise 9.1.** Write the cost as a function of how many epochs train on *slow* and
# how many on *quick*.

cost = None
check("9.1", cost)

# %%
# The three placements, by the exact allocation:

for assignment in ([[2, 0]], [[1, 1]], [[0, 2]]):
    print(assignment, f"{problem.evaluate([np.array(assignment)]).costs[0]:.3f}")

# %%
# The best one uses both clusters for the one model. As a network function it would have
# to be *one* server: no embedding stands for the optimum.
#
# The linear program
# ------------------
#
# Stage 3 is one file, ``heuristics/paper/resources.py``. A *function* (a model) is
# hosted on a *server* (a cluster) with a requirement from a grid, whose steps are
# :math:`1 + \varepsilon`; each such *hosting* is a column of the program, with what it
# costs and how long all epochs take. With steps of 2:

for column in EmbeddingProgram.of(problem, 1.0).hostings:
    server, x = problem.clusters[column.server], column.requirement
    print(f"{server:5} x = {x:7.3f}: cost {column.cost:7.2f}, time {column.delay:.2f}")

# %%
# The program may *split* a function: any share of its epochs goes to either cluster.
#
# **Exercise 9.2.** Let the epochs of 9.1 be any real numbers with sum 2. Which *share*
# of them trains on *slow* where the cost is least?

share_on_slow = None
check("9.2", share_on_slow)

# %%
# With a fine grid the program finds this share. No placement costs less than its cost
# divided by :math:`1 + \varepsilon`:

program = EmbeddingProgram.of(problem, 0.001)
shares, split_cost = program.solve()
print(shares.round(3), f"{split_cost:.3f}")
assert abs(split_cost - 12.8) < 0.01

# %%
# Rounding
# --------
#
# Then each function goes to the server with its largest share, and nobody looks at cost
# or time again:

placed, optimum = place_by_embedding(problem, 0.001), place(problem)
print(
    program.rounded(shares), f"costs {placed.cost:.3f}, the optimum {optimum.cost:.3f}"
)
assert optimum.optimal

# %%
# The paper's :math:`1 + \varepsilon` holds for the split program, and not for what
# becomes of it. And the rounded placement may be late:
#
# **Exercise 9.3.** What is the least limit of time that both epochs on *slow* keep,
# with any resources?

least_time = None
check("9.3", least_time)

# %%
# A little below, the largest share is still on *slow*, and stage 3 fails although there
# is a placement. The paper's loop then goes back and looks for other models.

late = problem.replace(maximum_time=2.01)
assert not place_by_embedding(late, 0.001).feasible
print(place(late).assignment)

# %%
# What is true instead
# --------------------
#
# Put the split epoch on its *faster* cluster. That is never late, and costs at most one
# epoch more than a lower bound (:doc:`/placement` has the proof). So the ratio falls to
# 1 with the number of epochs, while whole functions keep theirs:

counts, of_paper, of_depl = [2, 4, 8, 16, 32, 64], [], []
for count in counts:
    many = problem.replace(counts=np.array([count]), maximum_time=1.1 * count)
    found = place(many, prove=False)  # the rounding alone
    whole = place_by_embedding(many, 0.001)
    of_paper.append(whole.cost / found.lower_bound)
    of_depl.append(found.cost / found.lower_bound)
curves = {
    "whole functions": (counts, of_paper),
    "one split epoch": (counts, of_depl),
}
draw_curves(
    curves,
    ("epochs", "cost over the lower bound"),
    marks=curves,
    scales=("log", "linear"),
    ticks=counts,
)
assert min(of_paper) > 1.5
assert max(of_depl) < 1.05
assert of_depl[-1] < 1.001
