r"""
8. When to stop
===============

A plan is fixed before the first epoch. Whoever trains looks at the loss and decides on
the way: go on, switch to the smaller model, stop. This lesson asks what such a *policy*
may promise before the run begins, why the obvious way to ask is a coin flip in
disguise, and what a promise is worth on real training.
"""

# %%
# Runs under way
# --------------
#
# A network is trained in two stages: first with half of its weights, on a cluster where
# an epoch costs 2.6, then with a quarter of them, where an epoch costs 1.4. Only the
# small model can be deployed, at a loss of at most 0.75, and a switch is a setback.
# Here are 15 real runs that switch after epoch 12.

import functools
import itertools
import math

import numpy as np

import depl
from depl.lessons import *

traces = recorded_traces("digits-mobilenet-judging")
after_12 = [place for place, name in enumerate(traces.runs) if name.endswith("/12")]
draw_runs(traces.select(after_12[:15]), targets=[0.75])

# %%
# Of 120 seeds *every* switch after epoch 4, 6, ..., 34 was really trained. So any rule
# can be followed on them: whatever it decides, what comes next is known. Three rules
# that people use, each of which keeps its best checkpoint:
#
# - *fixed*: switch after epoch 20, and stop after epoch 36;
# - *patience*: switch, and later stop, when two epochs have brought nothing better;
# - *threshold*: switch after epoch 20, and stop as soon as the loss is at most 0.75.

branches = recorded_counterfactuals("digits-mobilenet")
target, last = 0.75, branches.epochs


def threshold(seed, switch=20):
    small = enumerate(branches.losses(seed, switch)[switch + 1 :], start=switch + 1)
    return switch, next((epoch for epoch, loss in small if loss <= target), last)


def patient(losses, first, last):
    """The epoch at which two epochs have brought nothing better."""
    best = first
    for epoch in range(first + 1, last + 1):
        if losses[epoch] < losses[best]:
            best = epoch
        elif epoch - best == 2:
            return epoch
    return last


def patience(seed):
    stop = patient(branches.first_stage(seed), 0, 34)
    switch = min(epoch for epoch in branches.switch_epochs if epoch >= stop)
    return switch, patient(branches.losses(seed, switch), switch + 1, last)


# %%
# A rule says of a seed when it switches and when it ends. What does that cost, and how
# many runs reach the target?


def followed(rule):
    """What every run costs under a rule, and whether it reaches the target."""
    ends = [(seed, *rule(seed)) for seed in branches.seeds]
    costs = np.array([2.6 * switch + 1.4 * (end - switch) for _, switch, end in ends])
    small = [branches.losses(*end[:2])[end[1] + 1 : end[2] + 1] for end in ends]
    return costs, np.array([min(losses) for losses in small]) <= target


def report(outcomes):
    for name, (costs, reached) in outcomes.items():
        print(
            f"{name:12} costs {costs.mean():.1f}, {reached.mean():.1%} reach the target"
        )


rules = {"fixed": lambda seed: (20, 36), "patience": patience, "threshold": threshold}
outcomes = {name: followed(rule) for name, rule in rules.items()}
report(outcomes)

# %%
# To stop at the target saves much; to wait until nothing improves costs more than not
# to look at all. But none of the rules says what it promises, and *threshold* knows
# neither when to switch nor when a run has become hopeless.
#
# The obvious question, and its answer
# ------------------------------------
#
# Why not ask for the least expected cost among all policies that reach the target with
# probability :math:`\omega` at least? Look at an instance that is small enough to be
# worked out by hand: the loss is 3, the target 0, an epoch costs 1 and gains 3 or 1,
# each with probability 1/2, and there are at most three epochs. A policy says after how
# many epochs a run is given up that has not reached the target.


def by_hand(most):
    """Expected cost and P(reached), if a run is given up after so many epochs."""
    costs, reached = [], []
    for gains in itertools.product((3, 1), repeat=most):
        falls = np.cumsum(gains)
        costs.append(1 + np.argmax(falls >= 3) if falls[-1] >= 3 else most)
        reached.append(falls[-1] >= 3)
    return np.mean(costs), np.mean(reached)


for most in (1, 2, 3):
    print("at most {} epochs: C = {:g}, P = {:g}".format(most, *by_hand(most)))

# %%
# Let :math:`P_0` be the probability that the target is met before the first epoch. What
# a policy adds to it is :math:`P - P_0`, and
#
# .. math::
#
#    \rho^* = \min \frac{C}{P - P_0}
#
# is the least expected cost of a success.
#
# **Exercise 8.1.** Suppose that one run in five begins at a loss of 0, and is not
# trained; the others begin at 3. Work out *C* and *P* of the three policies anew. What
# is :math:`\rho^*`?

cost_of_a_success = None
check("8.1", cost_of_a_success)

# %%
# No policy gets a success for less, so :math:`P \ge \omega` costs :math:`(\omega - P_0)
# \rho^*` at least. And that can be had: toss a coin. With probability *q* follow the
# policy that attains :math:`\rho^*`; else *do not train at all*.
#
# **Exercise 8.2.** Write *q* as a function of :math:`\omega`, :math:`P_0` and the *P*
# of that policy, so that the target is reached with probability :math:`\omega` exactly.

train_with = None
check("8.2", train_with)

# %%
# So the optimal answer to the obvious question is to skip training now and then. For
# :math:`\omega = 0.9`, the loss of 3 and no luck before, *q* is 0.9: an expected cost
# of 1.575, where a policy that keeps the promise without a coin costs 1.75. Nobody
# wants that advice. To forbid coins does not help: real losses differ before the first
# epoch, and giving up the runs that begin worst is a coin as well.
#
# A price of a failure
# --------------------
#
# What is missing is that a failed run costs something: a *price of a failure*
# :math:`\rho`. Minimise :math:`C + \rho (1 - P)`, still with :math:`P \ge \omega`. With
# a coin of probability *q* this is :math:`\rho (1 - P_0) - q (\rho (P - P_0) - C)`. If
# :math:`\rho > \rho^*`, the bracket is positive, and the best *q* is 1.

gains = ConstantImprovement(noise=Empirical(values=[1, 3]))
limits = {"round_deadline": 1, "maximum_epochs": 3, "quantile_level": 0.9}
by_gains = Instance(
    name="by-hand",
    clusters=[Cluster(name="site", capacity=1, bandwidth=1, unit_cost=1)],
    datasets=[Dataset(name="data", volume=1)],
    models=[Model(name="model", size=0, demand=1, improvement=gains)],
    target=Target(initial_loss=3, maximum_loss=0, **limits),
)
found = depl.solve_policy(by_gains)
print(f"the least expected cost of a success is {found.ratio[1]:g}")
print(
    f"at a price of {found.failure_cost:g}: C = {found.cost:g}, P = {found.reached:g}"
)
assert math.isclose(found.ratio[1], 7 / 4, rel_tol=1e-6)

# %%
# ``depl.solve_policy`` takes 1.5 times :math:`\rho^*` unless you give a price, and
# refuses a price at which not to train would be best:

try:
    depl.solve_policy(by_gains, failure_cost=1.7)
except depl.InvalidInputError as refused:
    print(refused)

# %%
# Move the price
# --------------
#
# Now the real law. It is fitted to 640 runs of *other* seeds, each with one switch, as
# in lesson 7; ``residuals="independent"`` takes for granted that the last loss says all
# that a run tells about its future. (Is that true? We come back to it.)

runs = recorded_traces("digits-mobilenet-fitting")
setup = load_setup("closed-loop")
instance = depl.fit(runs, setup, residuals="independent", care=None)

# %%
# To keep the picture simple, the switch comes after epoch 10, and the time is short: at
# most 30 epochs. A run that is above the line of a price is given up: from there, a
# success would cost more than the price. (Lines end at a loss of 3: above, no run is.)
# Here runs *may* be given up before their first epoch,
# which ``depl.solve_policy`` allows with ``abandon_at_start=True`` only, and a
# probability of 0.01 asks for nothing: the price decides alone.

free = instance.replace(maximum_epochs=30, quantile_level=0.01)
options = {"switch_epochs": (10,), "gap": 0.1}
least = depl.solve_policy(free, **options).ratio[1]
options |= {"abandon_at_start": True}
policies = {
    factor: depl.solve_policy(free, failure_cost=factor * least, **options)
    for factor in (1, 1.001, 1.01, 1.5, 4)
}


def goes_on_up_to(policy):
    """By epoch, the loss up to which a run goes on, or has met the target."""
    kept = {}
    for node in policy.nodes:
        going = [loss_at(policy, row.upto) for row in node.rows if row.action >= 0]
        going += [policy.maximum_loss] if node.may_stop else []
        kept[node.epoch] = max([*going, kept.get(node.epoch, 0)])
    return [kept[epoch] for epoch in sorted(kept)]


ends = [threshold(seed, 10)[1] for seed in branches.seeds]
order = np.argsort(ends, kind="stable")
examples = {
    name: branches.losses(branches.seeds[place], 10)[:31].tolist()
    for name, place in (("median run", order[60]), ("unlucky run", order[118]))
}
limits = {
    f"{factor:g} ρ*": (range(31), np.minimum(goes_on_up_to(policies[factor].policy), 3))
    for factor in (1.01, 1.5, 4)
}
runs_drawn = {name: (range(len(losses)), losses) for name, losses in examples.items()}
draw_curves(limits | runs_drawn, ("epoch", "loss"), across={"target": target})

# %%
# Here :math:`\rho^*` is that of the policies that begin every run, so a mean over all
# starts. At this price every start that is worse than the mean is given up: the coin is
# back, tossed by the loss before training. A little above it nobody is turned away, and
# the price does what it should: runs are given up late, and the cheaper a failure, the
# sooner. The default of 1.5 keeps well away from the coin. (That it is far enough was
# measured on real runs; it is no theorem.)

starts = runs.matrix()[:, 0]
for factor, found in policies.items():
    never = np.mean(starts > goes_on_up_to(found.policy)[0])
    print(
        f"{factor:5g} times: C <= {found.cost:.1f}, P >= {found.reached:.3f},"
        f" {never:.0%} never begun"
    )
    assert (never > 0.1) == (factor < 1.01)

# %%
# The policies lie close to the line of the coin: half the probability for half the
# cost. That is why cost and probability alone cannot tell a good policy from one that
# skips training.

best = policies[1.5]
chances = [found.reached for found in policies.values()]
costs = [found.cost for found in policies.values()]
pairs = {
    "best at some price": (chances, costs),
    "a coin, and the best at 1.5 ρ*": ([0, best.reached], [0, best.cost]),
}
draw_curves(pairs, ("P(reached)", "expected cost"), marks=["best at some price"])

# %%
# The ledger
# ----------
#
# What do "at most" and "at least" rest on? A loss is a real number, and a table has
# cells. Let a loss of *g* be the upper end of cell *g*, and let an epoch make
# :math:`l' = r l + e` of the loss *l*, with noise *e*. Whoever follows the policy knows
# *l* and *l'*, so *e*. The run carries a *ledger*, a cell that is never below its loss,
# by rounding up twice: :math:`r` times the cell, and the noise. Each on its own, for
# then the probabilities of the rounded noise are the same in every cell.
#
# **Exercise 8.3.** Write the ledger after an epoch as a function of the cell before it,
# *r* and *e*. (``math.ceil`` rounds up; the width of a cell is 1.)

ledger_after = None
check("8.3", ledger_after)

# %%
# A run on coarse cells, with *r* = 0.8: the ledger is never below the loss. What is
# rounded to nearest is below it here, and takes the run for better than it is.

noises = (0.4, 0.3, -0.6, 0.45, 0.2, 0.4, -0.7, 0.4)
loss, up, nearest = [9.4], [10], [9]
for e in noises:
    loss.append(0.8 * loss[-1] + e)
    up.append(math.ceil(round(0.8 * up[-1], 9)) + math.ceil(e))
    nearest.append(round(0.8 * nearest[-1]) + round(e))
carried = {"loss": loss, "ledger": up, "to nearest": nearest}
lines = {name: (range(len(loss)), losses) for name, losses in carried.items()}
draw_curves(lines, ("epoch", "loss"), marks=lines)
assert all(true <= above for true, above in zip(loss, up, strict=True))
assert any(true > rounded for true, rounded in zip(loss, nearest, strict=True))

# %%
# That is no matter of taste. Let a run begin at 3 and have three epochs, each of which
# lets it fall by 0.6 or 1.4 with probability 1/2; *r* = 1, and the target is 0. To
# nearest, every epoch falls by 1 cell, and the table promises success with probability
# 1.
#
# **Exercise 8.4.** With which probability does the *ledger* reach cell 0? (Cells of
# width 1; to round a noise of -1.4 up makes -1 of it.)

promise = None
check("8.4", promise)

# %%
# In truth it is 1/2. The ledger promises too little and keeps it; to nearest promises
# what is not kept. With narrower cells the ledger comes as close as one likes.


def promised(width, rounding):
    """P(reached) of the table, if noise is rounded to whole cells."""
    falls = [rounding(round(noise / width, 9)) for noise in (-0.6, -1.4)]
    start, runs = round(3 / width), itertools.product(falls, repeat=3)
    return np.mean([start + sum(run) <= 0 for run in runs])


for width in (0.5, 0.25, 0.2):
    told = [promised(width, rounding) for rounding in (math.ceil, round, math.floor)]
    print("cells of {:4g}: up {:g}, to nearest {:g}, down {:g}".format(width, *told))
assert promised(1, round) == 1 > promised(0.25, math.ceil) == 1 / 2

# %%
# Rounded down, the same table bounds what *any* policy can have. That is the other end
# of the interval: the gap of a result lies between the two.
#
# What the promise is worth on real runs
# --------------------------------------
#
# A policy for the fitted law, with the switch after epoch 8, 10, 12 or 14:

switches = (8, 10, 12, 14)
options = {"gap": 0.03, "time_limit": None, "switch_epochs": switches}
planned = depl.solve_policy(instance, **options)
print(f"promised: cost at most {planned.cost:.1f}, P at least {planned.reached:.3f}")
print(f"for every other policy: C + rho F is at least {planned.lower_bound:.1f}")
print(f"the gap is {planned.gap:.1%}, with {planned.cells} cells")

# %%
# ``depl.replay`` follows it on the 120 seeds, none of which had a part in the fit.

replayed = depl.replay(planned.policy, branches)
low, high = replayed.delivered_interval
print(f"delivered: cost {replayed.cost:.1f}, {replayed.delivered:.3f} reach the target")
print(f"with confidence 0.95, the probability is between {low:.3f} and {high:.3f}")
assert high < planned.reached

# %%
# The promise is *refuted*: the interval ends below it. Every rounding was against us,
# and yet too much was promised, under a law that is not true. Lesson 7 has said why:
# what a real run does better it does better throughout.
#
# So take the law whose residuals stay together, per run. There the last loss does not
# tell all, and no table of losses can be certified. Policies are *counted* instead:
# followed over all combinations of runs of the first and of the second stage, with one
# more run per stage that is unlike all that were seen and fails. ``"static"`` looks at
# one kind only: a switch that is fixed beforehand, and a stop as soon as the target is
# reached. (Without this word policies that watch the loss are counted, too. That takes
# longer, and finds nothing cheaper here.)

whole_runs = depl.fit(runs, setup, care=None)
counted = depl.solve_policy(whole_runs, "static", **options)
kept = depl.replay(counted.policy, branches)
low, high = kept.delivered_interval
print(f"promised: cost at most {counted.cost:.1f}, P at least {counted.reached:.3f}")
print(f"delivered: cost {kept.cost:.1f}, {kept.delivered:.3f} reach the target")
print(f"with confidence 0.95, the probability is between {low:.3f} and {high:.3f}")
assert low < counted.reached < high
assert kept.cost < counted.cost

# %%
# This promise is in the interval, and it was bought with a later switch. Beside the
# rules of thumb: the share of runs that have reached the target when so much is spent.

for name, replay in (("by the loss", replayed), ("counted", kept)):
    costs = np.array([run.cost for run in replay.runs])
    outcomes[name] = costs, np.array([run.end == "reached" for run in replay.runs])
spent = np.linspace(25, 115, 361)
shares = {
    name: (spent, [np.mean(reached & (costs <= most)) for most in spent])
    for name, (costs, reached) in outcomes.items()
}
draw_curves(
    shares, ("cost of a run, at most", "share that reached"), across={"0.95": 0.95}
)
report(outcomes)

# %%
# Both policies cost less than the three rules. But be fair: most of it comes from the
# right switch. *Threshold* with a switch after epoch 10 instead of 20 is as cheap and
# as good as the first, and after epoch 12 it *is* the second.

for switch in (8, 10, 12, 14, 20):
    rule = functools.partial(threshold, switch=switch)
    report({f"switch at {switch:2}": followed(rule)})

# %%
# Only, one has to know the epoch, and here it is read off the very runs that judge it.
# The policies found theirs from other runs, and said before the first epoch what they
# promise. Of two promises one was kept: believe what was counted on whole runs, and
# certify on fresh ones what matters (lesson 7). The page :doc:`/policies` has the
# theory, with proofs.
