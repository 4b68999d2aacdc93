"""The exercises of all lessons: what each accepts, and hints for typical mistakes.

The questions are in the lessons, the solutions on the page ``docs/lesson_solutions.rst``. Formulas here are
closed forms of the questions; the tests compare them with the toolkit's own answers.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from depl.lessons.judges import Judge, choice, function, items, number

_SUBSETS = ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))
_VALUES, _WEIGHTS = (7, 3, 5), (4, 2, 3)
_GAINS = [
    (np.array([[1.0, 2.0], [2.0, 4.0], [4.0, 5.0]]),),
    (np.array([[1.0, 0.5, 2.0], [0.0, 1.5, 2.5], [3.0, 1.0, 1.0], [2.0, 0.0, 0.5]]),),
    (np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [-1.0, -1.0]]),),
]
"""Gains of runs (rows) in epochs (columns): together, against each other, and independent."""


def _variance_ratio(gains: NDArray[np.float64]) -> float:
    return float(np.var(gains.sum(axis=1)) / np.var(gains, axis=0).sum())


EXERCISES: dict[str, Judge] = {
    "1.1": items(
        {0},
        "Sort the items by value per weight, 7/4, 3/2 and 5/3, and take each that still fits into 5. Greedy "
        "never takes an item back.",
    ),
    "1.2": function(
        lambda taken: sum(_VALUES) - sum(_VALUES[item] for item in taken),
        [(subset,) for subset in _SUBSETS],
        "Skipping item k has work v_k, and the deadline 1 forces x = v_k at the price 1. Taking has no work.",
        (
            lambda taken: sum(_VALUES[item] for item in taken),
            "An epoch that takes its item has no work and costs nothing. Which epochs are paid for?",
        ),
        (
            lambda taken: sum(_WEIGHTS) - sum(_WEIGHTS[item] for item in taken),
            "Weights move the loss of this instance. What is paid for is work, and the work is the value.",
        ),
    ),
    "1.3": number(
        25,
        "Which items reach the value 8 with the least weight? Their plan costs (sum of square roots of the "
        "works)², and the root of w² is w.",
        (13, "That is the sum of the works w². The epochs share the time: use the closed form."),
        (16, "Does the item of weight 4 alone reach the value 8?"),
        (5, "That is the least weight. What does the closed form make of it?"),
    ),
    "2.1": number(
        1 / 2,
        "The first epoch gains 2 or 6, the other two 2.5 each, the switch loses 0.25 or 0.5: four outcomes "
        "of probability 1/4. Count those that gain less than 8.5.",
        (0, "The mean is on the good side. Is every outcome?"),
        (3 / 4, "After a gain of 6, does the worse outcome of the switch still leave 8.5?"),
        (1 / 4, "After a gain of 2, can the rest still make up for it?"),
    ),
    "2.2": function(
        lambda s, mean, variance, p: mean + s * variance / 2 - math.log(p) / s,
        [(0.5, 6.0, 2.0, 0.3), (1.0, 6.0, 2.0, 0.3), (2.0, -1.0, 0.5, 0.01)],
        "The bound is (log E exp(s L) - log p) / s, and for a normal law log E exp(s L) = s mean + s² "
        "variance / 2.",
        (
            lambda s, mean, variance, p: mean + s * variance / 2 + math.log(p) / s,
            "The logarithm of p is negative, and a smaller p must raise the bound. Look at its sign.",
        ),
        (
            lambda s, mean, variance, p: mean + s * variance - math.log(p) / s,
            "Look again at the log-transform of a normal law: s times the mean, and a half of something.",
        ),
        (
            lambda s, mean, variance, p: s * mean + s**2 * variance / 2 - math.log(p),
            "That is the numerator. The bound divides all of it by s.",
        ),
    ),
    "2.3": number(
        math.sqrt(2 * math.log(100)) / stats.norm.ppf(0.99),
        "Put the best rate s into the bound of exercise 2.2, take the mean away, and divide by z times the "
        "standard deviation; the deviation cancels.",
        (
            stats.norm.ppf(0.99) / math.sqrt(2 * math.log(100)),
            "The bound is never below the quantile, so the factor is above 1.",
        ),
        (math.sqrt(2 * math.log10(100)) / stats.norm.ppf(0.99), "The logarithm is the natural one."),
        (
            math.sqrt(2 * math.log(1 / 0.99)) / stats.norm.ppf(0.99),
            "p is the probability of missing the target, 1 - omega.",
        ),
    ),
    "3.1": number(
        6,
        "An epoch of pruned counts if 2.5 is at least one whole level, 15 / eta.",
        (5, "A level is then 15/5 = 3, more than an epoch of pruned gains."),
        (7, "That is enough. Is it the least?"),
        (15, "A level is then 1, and 2.5 is two of them. Fewer levels will do."),
    ),
    "3.2": number(
        202,
        "Every single epoch takes a whole number of levels, rounded up.",
        (107, "That rounds the sum. The graph rounds every epoch."),
        (106.05, "The graph knows whole levels only."),
        (101, "1.05 levels do not fit into one."),
    ),
    "3.3": function(
        lambda price: 10 * price / 11,
        [(2,), (10,), (1000,)],
        "In the graph only the expensive model moves: ten epochs at the price R. What does the optimum cost?",
        (lambda price: price, "Compare whole plans: the graph's ten epochs, and the eleven of the optimum."),
        (lambda price: 10 * price, "That is the cost of the graph's plan. Divide by the optimum."),
        (lambda price: 11 / (10 * price), "The ratio is the graph's cost over the optimum, not the inverse."),
    ),
    "4.1": function(
        lambda empty, one, other, both: one + other >= both + empty,
        [(0, 1, 1, 1), (0, 1, 1, 3), (0.5, 0.35, 0.35, 0.3), (0, 1, 1, 2), (5, 4, 3, 1), (5, 4, 3, 3)],
        "What a second dataset adds to the first, f(both) - f(one), must be at most what it adds alone.",
        (
            lambda empty, one, other, both: one + other <= both + empty,
            "That is supermodularity: growing gains. Submodular means that the second dataset adds less.",
        ),
        (
            lambda empty, one, other, both: one + other > both + empty,
            "Equality is allowed: a modular function is submodular.",
        ),
        (lambda empty, one, other, both: one + other >= both, "The value of the empty set need not be 0."),
    ),
    "4.2": choice(
        "refuted",
        {
            "proved": "Put the four values into the function of exercise 4.1.",
            "unknown": "There is one pair of datasets, and you know all four values.",
        },
    ),
    "4.3": number(
        0.5 / 0.2,
        "g'' = b (t0 - t1 Q) / Q² must not be positive on the whole range, so at its left end Q0 too.",
        (0.2 / 0.5, "That is t1 / t0. Where does t0 - t1 Q change its sign?"),
        (0.5, "That is t0. Where does t0 - t1 Q change its sign?"),
    ),
    "5.1": number(
        81 / 16,
        "The price is q², where q = B / (T - A): B the sum of the roots of price times work, A the time of "
        "communication.",
        (9 / 4, "That is the root q of the price."),
        (81 / 4, "That is the cost. The price of time is its slope."),
        (9, "That is the price at T = 5."),
    ),
    "5.2": number(
        17 / 4,
        "Without clipping every x is q times the root of work over price, so x = 9 / (T - 2) on the edge. "
        "When is that 4?",
        (9 / 4, "That is the time for computing. Communication takes time as well."),
        (29 / 10, "That is where the cloud would clip, at x = 10. The edge clips first."),
    ),
    "5.3": number(
        64 / (7 / 4) + 4,
        "Fix x = 4 on the edge: it computes for 1/4. What is left of the time goes to the two epochs on the "
        "cloud, by the closed form.",
        (40.5, "With that q the edge would need x = 4.5, more than its capacity 4. Clip it."),
        (64 / 1.75, "The epoch on the edge costs something, too."),
        (8 / 1.75, "That is x on the cloud. What do the three epochs cost?"),
    ),
    "6.1": number(
        7,
        "At most floor((1 - omega) S) scenarios may miss.",
        (8, "At most a share of 0.3 may miss; 8 of 25 are more."),
        (7.5, "Scenarios are whole."),
        (17, "That is how many must meet the target, rounded down."),
        (18, "That is how many must meet the target. How many may miss it?"),
    ),
    "6.2": function(
        lambda size, allowed, miss: float(stats.binom.cdf(allowed, size, miss)),
        [(10, 3, 0.5), (10, 3, 0.25), (25, 7, 0.5), (100, 30, 0.5)],
        "The number of misses is binomial: sum its probabilities from 0 to what is allowed.",
        (
            lambda size, allowed, miss: float(stats.binom.pmf(allowed, size, miss)),
            "That is the probability of exactly so many misses. Fewer are allowed, too.",
        ),
        (
            lambda size, allowed, miss: float(stats.binom.cdf(allowed - 1, size, miss)),
            "Exactly so many misses are still allowed.",
        ),
        (
            lambda size, allowed, miss: float(stats.binom.sf(allowed, size, miss)),
            "That is the probability that the sample refuses the plan.",
        ),
        (
            lambda size, allowed, miss: float(stats.binom.cdf(allowed, size, 1 - miss)),
            "Count the misses, not the hits.",
        ),
    ),
    "6.3": number(
        math.ceil(math.log(0.05) / math.log(0.7)),
        "If a plan misses with probability 0.3 or more, n runs in a row all meet the target with a "
        "probability of at most 0.7^n.",
        (8, "0.7 to the power of 8 is 0.0576: still more than 0.05."),
        (3, "That solves 0.3^n <= 0.05. What happens to runs that meet the target?"),
    ),
    "7.1": function(
        _variance_ratio,
        _GAINS,
        "Above, the variance over runs of the sum of each row; below, the sum of the variances of columns.",
        (
            lambda gains: 1 / _variance_ratio(gains),
            "That is the ratio upside down: it must be above 1 where some runs are fast in all epochs.",
        ),
        (
            lambda gains: float(np.var(gains.sum(axis=1)) / np.var(gains, axis=0).mean()),
            "Compare with the sum of the variances of all epochs, not with their mean.",
        ),
        (
            lambda gains: float(np.var(gains.sum(axis=0)) / np.var(gains, axis=1).sum()),
            "Rows are runs. What a run gains as a whole is the sum along its row, axis=1.",
        ),
        (
            lambda gains: float(np.std(gains.sum(axis=1)) / np.std(gains, axis=0).sum()),
            "Variances of independent gains add up, standard deviations do not.",
        ),
    ),
    "7.2": number(
        9,
        "Which is the least n with n / (n + 1) at least 0.9?",
        (10, "With 10 runs it is 10/11. Would 9 do?"),
        (29, "That many are needed with confidence 0.95. Here a promise is right on average."),
        (8, "8/9 is less than 0.9."),
    ),
    "7.3": number(
        4,
        "If a plan misses with probability 0.1, misses are binomial with 100 and 0.1. How many have, with "
        "all smaller numbers, a probability of at most 0.05?",
        (10, "A plan that misses with probability 0.1 has at most 10 misses more often than not."),
        (9, "A plan that misses with probability 0.1 has at most 9 misses in almost half of all cases."),
        (5, "At most 5 misses have probability 0.058, which is more than 0.05."),
        (0, "None is safe, but a few may miss: try one after the other."),
    ),
    "8.1": number(
        7 / 4,
        "Work out C / (P - P0) of each policy, and take the least.",
        (4 / 3, "That is C / P, with the runs that are at the target before they are trained."),
        (2, "Two of the policies have that ratio. Does the third have a smaller one?"),
        (7 / 5, "That is C / P of the last policy. Take P0 away from its P."),
    ),
    "8.2": function(
        lambda omega, begun, reached: (omega - begun) / (reached - begun),
        [(0.9, 0.0, 1.0), (0.9, 0.2, 1.0), (0.6, 0.2, 0.8), (0.95, 0.5, 0.99)],
        "With probability q the target is reached with P, else with P0: solve q P + (1 - q) P0 = omega.",
        (
            lambda omega, begun, reached: omega / reached,
            "A run that is not trained may be at the target as well, with probability P0.",
        ),
        (
            lambda omega, begun, reached: 1 - (omega - begun) / (reached - begun),
            "That is the probability that nothing is trained.",
        ),
        (
            lambda omega, begun, reached: omega - begun,
            "That is what is missing. Training adds P - P0 to the probability, not 1.",
        ),
    ),
    "8.3": function(
        lambda cell, retention, noise: math.ceil(retention * cell) + math.ceil(noise),
        [(8, 0.5, 0.7), (5, 0.5, -0.2), (3, 0.5, 0.3), (3, 0.5, -1.2), (7, 0.75, -1.8)],
        "The cell after the epoch is retention times the cell, rounded up, plus the noise, rounded up.",
        (
            lambda cell, retention, noise: math.ceil(retention * cell + noise),
            "That is never below the loss, either. But then the probabilities of the next cell differ "
            "from cell to cell; round the two summands up on their own.",
        ),
        (
            lambda cell, retention, noise: round(retention * cell) + round(noise),
            "That rounds to nearest, and may fall below the loss.",
        ),
        (
            lambda cell, retention, noise: round(retention * cell + noise),
            "That rounds to nearest, and may fall below the loss.",
        ),
        (
            lambda cell, retention, noise: math.floor(retention * cell) + math.floor(noise),
            "That rounds down, and is never above the loss.",
        ),
    ),
    "8.4": number(
        1 / 8,
        "Rounded up, an epoch falls by 0 or 1 cells. With which probability does the run fall by 3 cells in "
        "3 epochs?",
        (1, "Rounding down or to nearest promises that. Up, a fall of 0.6 is one of 0 cells."),
        (1 / 2, "That is the truth. The ledger sees less of it."),
        (0, "A fall of 1.4 is one of 1 cell. Can three of them do?"),
    ),
    "9.1": function(
        lambda slow, quick: (slow + 3 * quick) ** 2 / (2.2 - slow),
        [(2, 0), (1, 1), (0, 2), (1.5, 0.5)],
        "An epoch adds the root of price times work, 1 on slow and 3 on quick. What is left of the time?",
        (lambda slow, quick: (slow + 9 * quick) ** 2 / (2.2 - slow), "The root of the price 9 is 3."),
        (
            lambda slow, quick: (slow + 3 * quick) ** 2 / 2.2,
            "Each epoch on slow sends for a time of 1, in which nothing is computed.",
        ),
        (
            lambda slow, quick: (slow + 9 * quick) / (2.2 - slow),
            "Roots are added first, and the sum is squared.",
        ),
    ),
    "9.2": number(
        0.7,
        "With a epochs on slow, (6 - 2 a)² / (2.2 - a) is to be least. Put u = 2.2 - a.",
        (1.4, "So many of the two epochs train there. Which share is that?"),
        (0.3, "That is the share on quick."),
        (0.5, "That is the best with whole epochs. Here they may be split."),
    ),
    "9.3": number(
        2.02,
        "With all 100 units of slow, how long do two epochs compute, and how long do they send?",
        (2, "So long they send. Computing takes time as well."),
        (1.01, "That is one epoch."),
    ),
}
"""The judge of every exercise, by lesson and number."""
