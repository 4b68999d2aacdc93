"""Tiny problems for the tests of the search under the law, and every plan of theirs written out.

The laws are chosen to be awkward: heavy tails, atoms, certain gains, losses that rise, switches that gain.
Violations of written-out plans come from `certified_violation`, which knows nothing of the search.
"""

import functools
import itertools
import math

import numpy as np
import pytest

import depl
from depl.models.evaluation.evaluate import evaluate
from depl.models.exact.assignments import assignments
from depl.models.exact.chords import ChordedProblem
from depl.models.exact.kernels import _change, _violation
from depl.models.exact.law import Law, LawSubproblem
from depl.models.exact.law_grid import GridSteps, make_grid
from depl.models.exact.law_problem import LawProblem
from depl.models.exact.listing import enumerate_plans
from depl.models.exact.search import Search
from depl.models.problem.epochs import compose, loss_step
from depl.models.problem.laws import Forbidden, InverseGamma, Lognormal, Normal, Zero
from depl.models.problem.learning import InverseSqrtImprovement
from depl.models.risk.certify import certified_violation
from depl.models.solving.limits import Limits
from depl.models.solving.result import Solution, Termination
from tests.oracles.search import kinds_of
from tests.problems import atoms, gain, gains, instance, law, model, site, student

ZERO = Zero()

constant, tabled = gain, gains


def make(improvements, switch=ZERO, **fields):
    """One cluster, one dataset, models m0, m1, ... of growing demand; T_max = 20, l_max = 6, omega = 0.9."""
    models = [model(f"m{index}", of, 2 + index) for index, of in enumerate(improvements)]
    limits = {"maximum_epochs": 4, "maximum_time": 20.0, "datasets": {"data": 1}}
    return instance(*models, other_switches=switch, **limits | fields)


HEAVY = constant(InverseGamma(shape=1.6, scale=1.0))
SKEW = constant(Lognormal(mean=1.6, variance=1.5))
BELL = constant(Normal(mean=1.5, variance=0.3))
WILD = constant(Normal(mean=1.0, variance=4.0))
SURE = constant(1.4)
COIN = constant(atoms(0.0, 1.0, 2.5, weights=(1.0, 2.0, 3.0)))
MENDED = (2.0, 2.0, atoms(-1000.0, 14.0, weights=(1.0, 9.0)), 1.0)

AWKWARD = {
    "normal gains that may be negative": make([BELL, WILD]),
    "heavy tails": make([HEAVY, SKEW]),
    "atoms": make([COIN, constant(atoms(1.0, 1.2, 1.4))]),
    "nothing random": make([SURE, constant(0.7)]),
    "switches that lose": make([BELL, COIN], switch=Normal(mean=0.4, variance=0.1)),
    "switches that gain": make([BELL, SKEW], switch=-0.6),
    "switches that gain or lose": make([BELL, HEAVY], switch=Normal(mean=-0.5, variance=0.5)),
    "switches that rise beyond the grid": make([SURE, BELL], switch=5.0),
    "switches that rise at random": make([SKEW, BELL], switch=Normal(mean=3.0, variance=1.0)),
    "switches that rise beyond the grid, and disasters": make(
        [tabled(*MENDED), tabled(*MENDED)], switch=9.0
    ),
    "untruncated switches": make([BELL, SKEW], switch=student(3.0, 0.1, 0.1)),
    "truncated switches": make([BELL, COIN], switch=student(2.0, 0.2, 0.3, -0.5, 2.0)),
    "an initial model": make([BELL, SKEW], switch=0.5, initial_model="m1"),
    "a switch that is forbidden": make(
        [BELL, SKEW], switches={("m0", "m1"): Forbidden()}
    ),
    "laws that change": make(
        [
            tabled(*(Normal(mean=mean, variance=0.2) for mean in (0.2, 3.0, 0.2, 3.0))),
            tabled(2.0, -1.0, 2.0, -1.0),
        ]
    ),
    "a rise beyond the grid": make([tabled(3.0, -40.0, 3.0, 43.0), BELL]),
    "a random rise beyond the grid": make(
        [tabled(*(Normal(mean=mean, variance=0.3) for mean in (3.0, -30.0, 3.0, 40.0))), BELL]
    ),
    "one way only, down and up and down": make(
        [tabled(*(Normal(mean=mean, variance=0.05) for mean in (9.0, -7.0, -5.0, 8.5)))]
    ),
}  # fmt: skip


def normals(seed, switching=False, **fields):
    """Models with normal gains or certain ones, the second decaying; numbers are whole, or they are not."""
    rng = np.random.default_rng([5, seed])
    models = []
    for place in range(int(rng.integers(2, 4))):
        whole = rng.random() < 0.5
        drawn = rng.integers(1, [4, 5, 5]) if whole else rng.uniform([0.5, 0.01, 0.5], [2.0, 1.5, 3.0])
        mean, variance, demand = map(float, drawn)
        noise = mean if rng.random() < 0.2 else Normal(mean=mean, variance=variance)
        shape = InverseSqrtImprovement(scale=2.0, noise=law(noise)) if place == 1 else gain(noise)
        models.append(model(f"m{place}", shape, demand, 0.0))
    pairs = itertools.permutations([item.name for item in models], 2) if switching else ()
    limits = {
        "switches": {pair: Normal(mean=float(rng.uniform(-0.3, 0.5)), variance=0.1) for pair in pairs},
        "maximum_loss": 10 - float(rng.uniform(1, 4)),
        "quantile_level": float(rng.choice([0.5, 0.9, 0.99])),
        "maximum_epochs": 4,
    }
    prices = rng.uniform(1, 4, int(rng.integers(1, 3))).tolist()
    places = tuple(site(f"n{place}", 4, 1, price) for place, price in enumerate(prices))
    return instance(*models, clusters=places, datasets={"d": 1}, other_switches=ZERO, **limits | fields)


def chorded(instance):
    """On all chords."""
    return ChordedProblem(instance, 0)


def grid_for(instance, points, tilt, length, room=1.0):
    """A grid that goes ``room`` falls above the start and two falls below the target."""
    fall = instance.target.initial_loss - instance.target.maximum_loss
    return make_grid(instance, points, tilt, length, 2.0 * fall, room * fall)


def subproblem(
    problem,
    length,
    grid,
    cells=24,
    multiplier=1.0,
    cutoff=60.0,
    assignment=None,
):
    """A subproblem with everything on the same grid."""
    chosen = list(assignments(problem))[-1] if assignment is None else assignment
    steps = GridSteps(problem, grid.step, grid.step * (grid.size - 1))
    return LawSubproblem(problem, chosen, length, (multiplier,), cutoff, grid, steps, cells)


def extras(search):
    """Price of every kind at every epoch above the cheapest kind, from the definition; shape (K, J)."""
    priced = search.assignment.cheapest(search.problem.psi(search.multipliers[0]))[: search.length]
    return np.asarray(priced - priced.min(axis=1, keepdims=True))


def final_loss_of(problem, assignment, kinds):
    """l(K) of a sequence of kinds, by the recursion of Sec. III."""
    instance, before, steps = problem.instance, problem.instance.target.initial_model, []
    for epoch, kind in enumerate(kinds, start=1):
        name = instance.models[int(assignment.models[kind])].name
        data = problem.subsets[int(assignment.subsets[kind])]
        steps.append(loss_step(instance, epoch, 0, before, name, data))
        before = name
    return compose(instance.target.initial_loss, steps)


@functools.cache
def interval_of(loss, maximum_loss):
    """Certified interval of P(l(K) > l_max)."""
    return certified_violation(loss, maximum_loss)


def prefix_bound(search, prefix, budget):
    """What the search says of the last child of a prefix with ``budget`` of extra charge left after it."""
    laws = search._risk._replace(tops=np.zeros(search.length + 1, dtype=np.int64), most=math.inf)
    now = np.ones(search._table.shape[-1], dtype=np.complex128)
    before = laws.first_model
    for depth, kind in enumerate(prefix[:-1]):
        change, rise = _change(laws, depth, before, kind)
        now, laws.tops[depth + 1], before = now * change, laws.tops[depth] + rise, int(laws.models[kind])
    cell = min(int(budget * search._scale + 1e-6), search._cells - 1)
    return float(min(_violation(laws, search._table, now, len(prefix) - 1, before, prefix[-1], cell), 2.0))


def doubt(search):
    """What wraps round and what the laws' distribution functions may be off, as the search reckons it."""
    return float(search._risk.most - (1 - search.problem.instance.target.quantile_level))


def law_search(instance):
    """Ready to search by laws on grids, whatever they are."""
    search = Search(Law(LawProblem(instance, 0)), Limits())
    search.build()
    return search


def best_completion(search, prefix, budget):
    """Least violation of all plans that continue a prefix within the budget of extra charge; 2 if none."""
    above, count = extras(search), len(prefix)
    least = 2.0
    for kinds in kinds_of(search.problem, search.assignment, search.length):
        if kinds[:count] != tuple(prefix):
            continue
        spent = math.fsum(above[k, kinds[k]] for k in range(count, search.length))
        if spent <= budget:
            loss = final_loss_of(search.problem, search.assignment, kinds)
            least = min(least, interval_of(loss, search.problem.instance.target.maximum_loss).upper)
    return least


def require_agreement(instance):
    """`exact` and `enumerate` prove the same, and what `exact` tells on the way is on either side of it."""
    told = []
    known = enumerate_plans(instance, Limits())
    found = depl.solve(instance, "exact", progress=lambda _, cost, bound: told.append((cost, bound)))
    optimum = math.inf if known.plan is None else evaluate(instance, known.plan, quantile=False).cost
    if known.termination is not Termination.EXHAUSTED:
        assert all(bound <= optimum * (1 + 1e-9) and cost >= optimum * (1 - 1e-9) for cost, bound in told)
    assert (found.termination, found.plan is None) == (known.termination, known.plan is None), instance.name
    if found.termination is Termination.OPTIMAL:
        assert found.solution is Solution.PROVEN_OPTIMAL
        assert found.cost == pytest.approx(optimum, rel=1e-9)
        assert found.cost * (1 - 1e-9) <= found.lower_bound <= found.cost
        assert depl.check(instance, found.plan).ok
    elif found.termination is Termination.INFEASIBLE:
        assert found.lower_bound == math.inf
        assert found.reason
    else:
        assert found.termination is Termination.EXHAUSTED
        assert found.lower_bound <= known.lower_bound * (1 + 1e-9)
    return found.termination
