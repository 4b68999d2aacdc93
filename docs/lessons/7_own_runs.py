r"""
7. Your own runs
================

Until now the laws were given. This lesson begins where you begin: with a file of
losses that training wrote. It goes from there to fitted laws, asks whether they may be
used, finds a plan, and says how many fresh runs must be trained before anybody should
be promised anything.
"""

# %%
# A file of losses
# ----------------
#
# The file has a line per run and epoch, under whatever names your tool gives to its
# columns. Here ``write_log`` stands in for your training: twelve seeds each of seven
# schedules, that train *full* first and *small* for the rest of twelve epochs. To use
# your own file, put its name and the names of its columns instead of these.

import tempfile
from pathlib import Path

import numpy as np
from scipy import stats  # noqa: F401 - for your answers

import depl
from depl.lessons import *

names = Choices(
    loss="val/loss",
    run="Name",
    epoch="step",
    first=1,
    model="network",
    cluster_name="rack",
)


def logged(schedules, count, seed):
    """The runs of a file; instead of training, as here, read a file of yours."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.csv"
        write_log(log, schedules, count, seed)
        return import_logs([str(log)], names)


schedules = [["full"] * n + ["small"] * (12 - n) for n in range(0, 13, 2)]
reading = logged(schedules, 12, seed=120)
runs = reading.traces
print(
    len(runs.runs), "runs;", *(f"run {note.run} {note.why}" for note in reading.notes)
)

# %%
# Look at the runs before anything is fitted. A run that diverged is named in the
# report, and misses every target; leaving it out would make training look better than
# it is.

draw_runs(runs, targets=[0.7])

# %%
# May the laws be used?
# ---------------------
#
# The paper's law adds up *independent* increments. Then the variance of what a run
# gains as a whole is the sum of the variances of its epochs. If some seeds learn faster
# than others in all their epochs, it is larger, and a quantile under the law promises
# too much.
#
# **Exercise 7.1.** Write the ratio of both variances as a function of an array of
# gains, with a row per run and a column per epoch. (``np.var`` takes ``axis=0`` for
# columns.)

variance_ratio = None
check("7.1", variance_ratio)

# %%
# The toolkit computes this ratio for groups of runs that share a schedule, with an
# interval, and says what it means.

found = diagnose(runs, np.random.default_rng(0), resamples=99)
print(f"variance ratio {found.whole.variance_ratio.value:.2f}")
print(found.warnings[0])

# %%
# So the paper's law is refused here, as it is for all real runs that we trained. The
# law that ``depl.fit`` makes of the runs has a memory instead: the loss after an epoch
# depends on the loss before it, and what remains is drawn from whole runs, so that a
# fast seed stays fast.
#
# What runs do not tell
# ---------------------
#
# Prices, sizes, limits and the target are yours to say. Here a loss of 0.7 is asked
# for, with probability 0.9, within a time of 12.

setup = Setup(
    name="mine",
    clusters=[Cluster(name="rack", capacity=10, bandwidth=10, unit_cost=1)],
    datasets=[Dataset(name="logs", volume=1)],
    models=[
        SetupModel(name="full", size=2, demand=4),
        SetupModel(name="small", size=1, demand=1),
    ],
    target=SetupTarget(
        maximum_loss=0.7, quantile_level=0.9, maximum_epochs=12, maximum_time=12
    ),
)
instance = depl.fit(runs, setup)
result = depl.solve(instance)
print(result)
assert result.solution is depl.Solution.PROVEN_OPTIMAL

# %%
# Read the line *rests on*. Under the fitted law the probability is certified, but the
# law is made of runs, and twelve of them trained this plan. A promise is right, on
# average over sets of runs, if the run to come is as likely to take any place among
# the *n* that were seen: the worst of *n + 1* runs is the new one with probability
# *1 / (n + 1)*. So one more run is counted as a miss, and with all *n* runs below the
# target the promise is *n / (n + 1)*. (The expected loss counts this run, too, at the
# highest loss in the file, before training. That is why it lies above the quantile.)
#
# **Exercise 7.2.** How many runs of a plan does a promise of 0.9 need at least?

runs_of_the_plan = None
check("7.2", runs_of_the_plan)

# %%
# What a promise to somebody else needs
# -------------------------------------
#
# On average over sets of runs is not good enough for somebody who gets one set. And
# the plan was *chosen* by these runs: it is the cheapest that they like, so they
# flatter it (lesson 6 calls this the winner's curse). Train the plan afresh, with seeds
# that had no part in anything above, and count. If the plan missed with probability
# 0.1 or more, few misses would be improbable: that is the certificate, and it needs no
# law of the loss. It assumes three things: the fresh runs are independent, they are
# made as later ones will be, and none is withheld.
#
# **Exercise 7.3.** Of 100 fresh runs, how many may miss the target, so that a promise
# of 0.9 is certified with confidence 0.95? (``stats.binom.cdf`` is the probability of
# at most so many misses.)

allowed = None
check("7.3", allowed)

# %%
# How many runs should be trained? Without any miss 29 are enough, but a plan that
# misses 5 % of the time seldom has none in 29. The design that certifies such a plan
# with probability 0.9:

print("runs without a miss:", least_runs(0.9, 0.95))
wanted = design(level=0.9, confidence=0.95, violation=0.05, power=0.9)
print(f"designed: {wanted.runs} runs, of which {wanted.exceedances} may miss")
assert least_runs(0.9, 0.95) == 29

# %%
# Promise less than you plan for
# ------------------------------
#
# The plan was made for a loss of 0.7. Fix what is promised *before* the fresh runs are
# made: to try targets until one passes is to choose with these runs. So promise 0.85,
# train as many runs as were designed, and ask for both targets.

schedule = [epoch.model for epoch in result.plan.epochs]
fresh = logged([schedule], wanted.runs, seed=1000).traces
certificates = {
    target: depl.certify(fresh, target, 0.9, chosen_by=runs, plan=result.plan)
    for target in (0.7, 0.85)
}
for target, told in certificates.items():
    print(
        f"{target}: {told.verdict.value}, {told.exceedances} of {told.runs} miss,"
        f" {told.allowed} may; at most {told.greatest_violation:.3f} with confidence"
    )
assert certificates[0.85].verdict.value == "certified"
assert certificates[0.7].verdict.value == "refuted"

# %%
# The promise that the runs made is refuted: all twelve ended below 0.7, and of the
# fresh ones far more than a tenth ends above. The promise of 0.85 is certified. Here
# are the shares of runs that end at or below a loss, of the twelve that the plan was
# chosen by and of the fresh ones.

chosen_by = runs.by_schedule()[tuple((model, "rack") for model in schedule)]
seen = sorted(runs.matrix()[chosen_by, -1])
ends = sorted(fresh.matrix()[:, -1])
shares = {
    "runs that chose the plan": (seen, np.arange(1, len(seen) + 1) / len(seen)),
    "fresh runs": (ends, np.arange(1, len(ends) + 1) / len(ends)),
}
draw_curves(shares, ("final loss", "share of runs"), across={"promised, 0.9": 0.9})

# %%
# With your own runs the truth stays unknown. Here it can be looked up, as the runs
# come from a program: 20,000 of them say what the promise for 0.7 was worth. (The seed
# of the log was chosen so that its runs flatter the plan much. Most seeds do so less;
# which kind yours are, only fresh runs tell.)

truth = np.mean([row[-1] > 0.7 for row in train(schedule, 20_000, seed=7)])
print(f"share of runs that miss 0.7: {truth:.3f}, where 0.1 was promised at most")
assert truth > 0.15

# %%
# The same on the command line is on the page :doc:`/tutorials/logs`: ``depl
# diagnose``, ``depl fit``, ``depl solve`` and ``depl certify``.
