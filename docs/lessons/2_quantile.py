r"""
2. Quantile versus expectation
==============================

The target is a promise: :math:`P(\ell(K) \le \ell_{\max}) \ge \omega`. It is tempting
to plan with the expected loss instead, because expectations add up over the epochs.
This lesson shows on ``tiny`` what that costs, and then two ways to the quantile: a
bound that adds up (EVaR), and the exact value from the same ingredients (a contour
integral).
"""

# %%
# The mean is on the good side
# ----------------------------
#
# ``tiny`` has so few plans that all that are in time can be listed: every choice of
# data for the clusters, and of model and cluster for the epochs, each with its
# cheapest resources.

import math

import numpy as np

import depl
from depl.lessons import *

tiny = depl.load("tiny")
target = tiny.target
plans = [(plan, depl.evaluate(tiny, plan)) for plan in all_plans(tiny)]
print(len(plans), "plans")

# %%
# Which is the cheapest whose *expected* final loss is at most 6.5?


def models(plan):
    """The models of a plan, epoch by epoch."""
    return " / ".join(f"{epoch.model} on {epoch.cluster}" for epoch in plan.epochs)


by_mean = min(
    (pair for pair in plans if pair[1].expected_loss <= target.maximum_loss),
    key=lambda pair: pair[1].cost,
)
promised = min(
    (pair for pair in plans if pair[1].feasible), key=lambda pair: pair[1].cost
)
for plan, found in (by_mean, promised):
    print(f"{found.cost:6.2f}  expected loss {found.expected_loss:.3f}  {models(plan)}")

# %%
# The plan that is chosen by the mean is a fifth cheaper, and its expected loss of
# 6.375 is below 6.5. But look at its four outcomes, which are equally likely. An
# epoch of *full* gains 2 or 6, two of *pruned* gain 2.5 each, and the switch loses
# 0.25 or 0.5.

loss = final_loss(tiny, by_mean[0])
outcomes = sorted(
    target.initial_loss - full - 2 * 2.5 + switch
    for full in (2.0, 6.0)
    for switch in (0.25, 0.5)
)
print(outcomes)
assert math.isclose(np.mean(outcomes), loss.mean())

# %%
# **Exercise 2.1.** With which probability does this plan *miss* the target of 6.5?

chance_of_missing = None
check("2.1", chance_of_missing)

# %%
# All plans at once: the expected loss says little about the probability of missing
# the target. Every mark is a plan that is in time; plans on the left of the vertical
# line are good in the mean, plans below the horizontal one keep the promise.

named = {"by the mean": by_mean[1], "promised": promised[1]}
draw_missed(plans, target, named)

# %%
# A bound that adds up
# --------------------
#
# Expectations add up over independent epochs, quantiles do not. But log-transforms
# do: with :math:`\Lambda(s) = \ln E e^{s L}`, Markov's inequality for :math:`e^{s L}`
# gives Chernoff's bound, for every *s > 0* and *p = 1 - ω*:
#
# .. math::
#
#    P(L > v) \le e^{\Lambda(s) - s v} , \qquad \text{so} \qquad
#    q_\omega(L) \le \frac{\Lambda(s) - \ln p}{s} .
#
# The least bound over *s* is the *entropic value at risk*, EVaR.
#
# **Exercise 2.2.** Write the bound for a normal loss, whose log-transform is
# :math:`\Lambda(s) = s \mu + s^2 \sigma^2 / 2`, as a function of *s*, the mean, the
# *variance* and *p*.

bound = None
check("2.2", bound)

# %%
# For the plan that keeps its promise, EVaR can be put beside the exact quantile,
# which is 6.25: P(miss) = 1/4, so losses up to 6.25 have at least probability 0.7.

kept = final_loss(tiny, promised[0])
quantile = certified_quantile(kept, target.violation_budget)
evar = evar_quantile(kept, target.quantile_level)
print(f"mean {kept.mean():.3f}, quantile {quantile.lower:.3f}, EVaR {evar:.3f}")
assert kept.mean() < quantile.upper <= target.maximum_loss < evar

# %%
# EVaR is above 6.5: judged by the bound, the cheapest plan that keeps its promise
# would be refused. The bound is safe, and it is expensive. How expensive, when many
# epochs add up to a normal law?
#
# **Exercise 2.3.** The quantile of a normal law lies :math:`z_\omega \sigma` above
# its mean. By which factor is the margin of EVaR larger, at *ω* = 0.99? (Minimise your
# bound over *s*. ``scipy.stats.norm.ppf(0.99)`` is :math:`z_{0.99}`.)

factor = None
check("2.3", factor)

# %%
# The exact value, from the same ingredients
# ------------------------------------------
#
# One *real* *s* only bounds the quantile. The transform at many *complex* *s*
# determines it. With the total gain *G*, its deviation *Y = G - E G* and
# :math:`\varphi(s) = E e^{-sY}`, the distribution function of *Y* is an integral
# along a vertical line, a *contour*, in the right half plane:
#
# .. math::
#
#    F(y) = \frac{1}{2 \pi i} \int_{c - i \infty}^{c + i \infty}
#    e^{s y} \, \frac{\varphi(s)}{s} \, ds , \qquad c > 0 .
#
# Logarithms of :math:`\varphi` at the nodes of the line still add up over the epochs,
# and a few nodes are enough: the page :doc:`/risk` bounds what is left out.
# (``tiny``'s own laws have finitely many values, and its probabilities are exact
# fractions. To have a density to look at, take a *smooth twin* of its *full* model:
# an inverse gamma law with the same mean 4 and variance 4.)

smooth = InverseGamma(mean=4.0, variance=4.0)
twin = FinalLoss(
    target.initial_loss - 1.25 + 0.375, ((Term(-1.0, smooth), 2),)
)  # full / full / pruned on edge
assert math.isclose(twin.mean(), kept.mean())
contour = choose_contour(twin.terms, 1 - target.quantile_level)
miss = certified_violation(twin, target.maximum_loss)
print(f"{contour.count} nodes: P(miss) between {miss.lower:.13f} and {miss.upper:.13f}")
assert miss.lower > 0.5

# %%
# So the twin *misses* the target more often than not, although its expected loss,
# 6.125, meets it, and although ``tiny`` itself, with the same mean and variance,
# misses it with probability 1/4 only. Neither the mean nor the variance says enough.
# So many digits deserve a check by an independent method: a million draws.

gains = smooth.sample(np.random.default_rng(7), 2_000_000).reshape(2, -1)
draws = twin.constant - gains.sum(axis=0)
share = (draws > target.maximum_loss).mean()
print(f"share of a million draws: {share:.4f}")
assert abs(share - miss.middle) < 5 * math.sqrt(miss.middle * (1 - miss.middle) / 1e6)

# %%
# The target is missed if and only if :math:`Y < y = E \ell(K) - \ell_{\max}`, and the
# sum for :math:`F(y)` is five lines. The error falls off with the number of nodes until
# rounding stops it; random draws come nowhere near.

# Log-transforms of Y at the nodes, summed over the epochs.
labels = labels_of(twin, contour).transform[0]
y = twin.mean() - target.maximum_loss
values = np.exp(labels + y * contour.nodes) / contour.nodes
values[0] /= 2
sums = contour.spacing / np.pi * np.cumsum(values.real)
assert math.isclose(sums[-1], miss.middle, rel_tol=1e-10)

deviation = math.sqrt(miss.middle * (1 - miss.middle) / 1e6)
counts = np.arange(1, len(sums) + 1)
draw_curves(
    {"contour, by nodes": (counts, abs(sums - miss.middle))},
    ("number of nodes", "error of the probability"),
    across={"a million draws (deviation)": deviation},
    scales=("linear", "log"),
)

# %%
# Move the level
# --------------
#
# The final loss of the twin: its mean, its quantile and EVaR, as *ω* moves. The mean
# does not move; the quantile does, and EVaR keeps ahead of it.

levels = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999])
draw_curves(
    {
        "quantile": (levels, [certified_quantile(twin, 1 - w).middle for w in levels]),
        "EVaR": (levels, [evar_quantile(twin, w) for w in levels]),
    },
    ("level ω", "final loss"),
    across={"mean": twin.mean()},
    marks=("quantile", "EVaR"),
)
