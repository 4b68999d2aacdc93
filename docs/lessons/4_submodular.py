r"""
4. Submodular or not
====================

Stage 1 of the paper chooses the data. It minimises :math:`\hat K(D) \, \hat T(D)`,
the epochs needed times the duration of an epoch, and calls this function
*submodular*. If it were, fast exact methods would apply. This lesson tests the claim
on ``tiny`` (:ref:`E4 <erratum-e4>`).
"""

# %%
# These parts of the toolkit are used:

import math
from dataclasses import replace

import numpy as np

import depl
from depl.lessons import *

# %%
# Diminishing gains
# -----------------
#
# A function *f* of sets is *submodular* if an element adds less to a larger set: for
# all sets *A* and elements *i*, *j* outside,
#
# .. math::
#
#    f(A \cup \{i\}) + f(A \cup \{j\}) \ge f(A \cup \{i, j\}) + f(A) .
#
# With two datasets there is a single pair, and *A* is empty.
#
# **Exercise 4.1.** Write a function of the four values of *f*, on no dataset, on the
# one, on the other and on both, that says whether *f* is submodular.

is_submodular = None
check("4.1", is_submodular)

# %%
# The data of ``tiny``
# --------------------
#
# In ``tiny`` more data mean fewer epochs, :math:`\hat K(Q) = 1 / Q` for the volume
# *Q*, and longer ones: 0.5 to send the model, and 0.2 to compute on each dataset.
# Without any data :math:`\hat K` would be infinite, so let a volume of 1 be there in
# any case.

tiny = depl.load("tiny")
present = tiny.replace(data_law=PowerDataLaw(p=1, base_volume=1))
f = selection_function(selection_problem(present))
for chosen in ((), (0,), (1,), (0, 1)):
    names = ", ".join(tiny.datasets[place].name for place in chosen)
    print(f"f({{{names}}}) = {f.value(chosen):g}")
assert math.isclose(f.value(()), 1 / 1 * 0.5)
assert math.isclose(f.value((0,)), 1 / 2 * 0.7)
assert math.isclose(f.value((0, 1)), 1 / 3 * 0.9)

# %%
# **Exercise 4.2.** The toolkit has three verdicts: ``"proved"``, ``"refuted"`` and
# ``"unknown"``. Which is right here?

verdict = None
check("4.2", verdict)

# %%
# So the paper's claim is not a property of the problem. When does it hold?
#
# The shape of a curve
# --------------------
#
# With work proportional to volume, *f* depends on the volume only, :math:`f(D) =
# g(Q)`, and *f* is submodular, however the data are cut into datasets, if and only if
# *g* is *concave*: the slope falls from step to step. Take the logarithmic law of the
# paper, :math:`\hat K = a - b \ln Q`, and epochs that take :math:`t_0 + t_1 Q`. Then
#
# .. math::
#
#    g''(Q) = \frac{b (t_0 - t_1 Q)}{Q^2} .
#
# **Exercise 4.3.** In ``tiny`` an epoch of *full* takes :math:`t_0 = 0.5` to send the
# model and :math:`t_1 = 0.2` per volume. How large must the volume :math:`Q_0`, which
# is there in any case, be at least, so that *f* is submodular whatever the datasets?

least_base_volume = None
check("4.3", least_base_volume)

# %%
# The curve changes its shape there. On the left of it, the second of two equal steps
# adds more than the first; on the right it adds less.


def g(volume):
    """Epochs needed times the duration of an epoch."""
    return (5 - np.log(volume)) * (0.5 + 0.2 * np.asarray(volume))


volumes = np.linspace(0.4, 9, 400)
steps_of_g = {}
for start in (0.5, 6.0):
    steps = start + np.arange(3.0)
    first, second = np.diff(g(steps))
    steps_of_g[f"{first:+.3f}, then {second:+.3f}"] = (steps, g(steps))
draw_curves(
    {"g(Q), with a = 5 and b = 1": (volumes, g(volumes)), **steps_of_g},
    ("volume Q", "epochs times duration"),
    marks=steps_of_g,
)
assert np.diff(g([0.5, 1.5, 2.5]), 2) > 0 > np.diff(g([6.0, 7.0, 8.0]), 2)

# %%
# Proved, refuted, unknown
# ------------------------
#
# The toolkit decides this for each instance: it proves by the shape of the curve, or
# by trying all triples; it refutes by a triple; otherwise it says that it does not
# know. Here is ``tiny`` with the logarithmic law, a base volume with its work in
# every epoch, and a volume of 2 cut into *n* datasets.


def stage_1(base_volume, count):
    """Stage 1 of ``tiny`` with ``count`` equal datasets beside a base volume."""
    instance = tiny.replace(
        data_law=LogDataLaw(a=5.0, b=1.0, base_volume=base_volume),
        datasets=[
            Dataset(name=f"part-{place}", volume=2 / count) for place in range(count)
        ],
        transfers=(),
    )
    problem = selection_problem(instance)
    fixed = problem.fixed_duration + 0.2 * base_volume
    return replace(problem, fixed_duration=fixed)


for base_volume in (1.0, 2.0, 2.4, 4.0):
    row = []
    for count in (2, 12, 24):
        function = selection_function(stage_1(base_volume, count))
        by_shape = function.known.verdict.value
        if count <= 18:  # few enough to try all triples
            found = exhaustive(function)
        else:
            found = random_search(function, np.random.default_rng(0))
        row.append(f"{count}: {by_shape} / {found.verdict.value}")
    print(f"base {base_volume:3g}, by the shape / in the end: ", ", ".join(row))
fewer, more = (selection_function(stage_1(2.4, count)) for count in (12, 24))
assert fewer.known.verdict is Verdict.UNKNOWN
assert exhaustive(fewer).verdict is Verdict.PROVED
assert random_search(more, np.random.default_rng(0)).verdict is Verdict.REFUTED

# %%
# With a base of 2.4 the function is submodular for 2 and 12 datasets and not for 24:
# small datasets feel the short stretch on which the curve is convex. With a base of 4
# it is submodular however the data are cut.
#
# What a proof is good for
# ------------------------
#
# The paper minimises by the *Lovász extension*: the order in which *x* falls gives a
# *greedy base* *s*, what each dataset adds to those before it, and with it a cut
# :math:`t \ge s \cdot x` of a linear program. Stage 1 is one file,
# ``heuristics/paper/data.py``. It calls its answer optimal where submodularity is
# proved, and not otherwise, even where it happens to be right:

problems = stage_1(4.0, 12), selection_problem(present)
answers = [minimise(problem) for problem in problems]
for answer in answers:
    known = f"{answer.verdict.value}, optimal: {answer.optimal}"
    print(sorted(answer.subset), f"{answer.value:.4f}", known)
print(answers[-1].program)  # in units of answers[-1].unit
assert [answer.optimal for answer in answers] == [True, False]

# %%
# The paper's loop takes the best set, and the next one where no plan is found with it:

for choice in data_choices(tiny):
    print(sorted(choice.datasets), f"{choice.value:.2f}, proved: {choice.proved}")

# %%
# Stage 1 needs no submodularity. Where the reciprocal of the data law is convex, the
# best set is found among a few *prefixes*, the datasets sorted by time per volume,
# with a proof (:doc:`/dataset_selection`). For ``tiny``:

found = select_datasets(present)
print(
    found.datasets,
    found.value,
    "optimal:",
    found.optimal,
    "by the rule:",
    found.rule.value,
)
assert found.optimal
assert math.isclose(found.value, 0.3)

# %%
# One more sentence of the paper deserves a test: *if adding a new dataset does not
# help, adding another one will also not help*. The paper takes this for what
# submodularity means, but it does not follow from it: with :math:`\hat K = 5 - 2 \ln
# Q`, :math:`\hat T = Q`, a base volume of 3 and two datasets of volume 3, *f* is
# submodular, the first dataset does not help, and the second does.

values = [float((5 - 2 * np.log(volume)) * volume) for volume in (3, 6, 9)]
print([round(value, 3) for value in values])
assert 2 * values[1] >= values[0] + values[2]  # submodular
assert values[2] < values[0] < values[1]
