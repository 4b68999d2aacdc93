"""Plans within spans of the deviation, by labels: against all plans, and published optima."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from depl.instances.chance_knapsack_files import read_chance_knapsack
from depl.instances.reductions.chance import Chance
from depl.models.exact import chord_search
from depl.models.exact.assignments import assignments
from depl.models.exact.chord_search import ChordSearch
from depl.models.exact.chords import Chords
from depl.models.exact.clusters import Clustered, cheapest_clusters
from depl.models.exact.labels import LabelSearch, mark_undominated
from depl.models.foundation.search import BestFirst
from depl.models.problem.laws import Forbidden
from depl.models.solving.limits import Limits
from depl.models.solving.result import Termination
from depl.models.solving.solve import solve
from tests.cases.knapsack_cases import random_chance_knapsack, subsets
from tests.cases.law_search_cases import BELL, WILD, chorded, make, normals

LENGTH = 4


@pytest.mark.parametrize("seed", range(10))
def test_bounds_and_plans_of_spans_agree_with_all_plans(seed):
    """A plan of least cost is found in some span; with few labels it is said that there are more."""
    problem = chorded(normals(seed, round_deadline=2.0))
    assert LabelSearch.covers(problem)
    few = LabelSearch(problem, next(assignments(problem)))
    line = few.lines((0.0, float(problem.ends[-1])), 1.0)[LENGTH]
    assert few.cheapest((0.0, float(problem.ends[-1])), LENGTH, line, 1e6, 0, lambda: None) == (None, False)
    ends = problem.ends[:: (4, 8, 24)[seed % 3] if problem.size > 1 else 1].tolist()
    for assignment in assignments(problem):
        search = LabelSearch(problem, assignment)
        costs = assignment.cheapest(problem.psi(0.0))
        gains = problem.moments.gains[:, assignment.subsets, assignment.models]
        variances = problem.moments.variances[:, assignment.subsets, assignment.models]
        for length in range(1, LENGTH + 1):
            epochs = np.arange(length)
            by_plan = {}
            for kinds in itertools.product(range(costs.shape[1]), repeat=length):
                chosen = epochs, list(kinds)
                deviation = math.sqrt(variances[chosen].sum())
                if gains[chosen].sum() - problem.safety * deviation >= problem.needed:
                    by_plan[kinds] = deviation, costs[chosen].sum() + assignment.transfers
            found = []
            for span in itertools.pairwise(ends):
                line = search.lines(span, 1.0)[length]
                least = min(
                    (cost for at, cost in by_plan.values() if span[0] <= at <= span[1]), default=math.inf
                )
                assert line.bound <= least + 1e-9
                answer = search.cheapest(span, length, line, 1e6, 1000, lambda: None)
                assert answer.complete
                if answer.kinds is not None:
                    at, cost = by_plan[tuple(answer.kinds.tolist())]
                    assert at <= span[1] + 1e-6
                    found.append(cost)
                    again = search.cheapest(span, length, line, cost * (1 - 1e-6), 1000, lambda: None)
                    assert again == (None, True)
            best = min((cost for _, cost in by_plan.values()), default=math.inf)
            assert min(found, default=math.inf) == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("seed", [1, 4, 5])
def test_where_a_plan_of_a_label_is_not_certified_chords_prove_the_optimum(seed, monkeypatch):
    asked, knapsack = [], random_chance_knapsack(np.random.default_rng([11, seed]))
    monkeypatch.setattr(chord_search, "LONG", 1)
    monkeypatch.setattr(ChordSearch, "_tangent_plans", first_plan)
    monkeypatch.setattr(ChordSearch, "_met", lambda self, *given: bool(asked.append(given)))
    best = max(knapsack.value_of(items) for items in subsets(len(knapsack)) if knapsack.slack(items) >= 0)
    result = solve(Chance.reduce(knapsack), "exact")
    assert asked
    assert result.termination is Termination.OPTIMAL
    assert Chance.value_of_cost(knapsack, result.cost) == best


@pytest.mark.parametrize("seed", range(3))
def test_what_is_proved_by_labels_stays_below_the_bound_of_the_span_that_is_next(seed, monkeypatch):
    next_one, raised = BestFirst.pop, []

    def pop(waiting):
        raised.append([waiting.least])
        return next_one(waiting)

    monkeypatch.setattr(chord_search, "LONG", 1)
    monkeypatch.setattr(BestFirst, "pop", pop)
    monkeypatch.setattr(ChordSearch, "raise_bound", lambda self, bound: raised[-1].append(bound))
    ChordSearch(Chords(chorded(normals(seed, round_deadline=2.0))), Limits()).answer()
    pairs = [pair for pair in raised if len(pair) == 2 and pair[0] > 0]
    assert pairs
    assert all(least * (1 - 1e-8) <= bound < least for least, bound in pairs)


def test_where_nothing_has_to_be_gained_no_price_of_gain_bounds_a_cost():
    search = ChordSearch(Chords(chorded(normals(0, maximum_loss=11.0))), Limits(), Clustered((), 0.5, 0.0))
    search.build()
    assert search._bound_on(search.risk.problem) == 0


def first_plan(search):
    """The plan that takes nothing, which leaves something to be found."""
    (assignment,) = search.assigned
    skipping = int(
        search.problem.moments.variances[:, assignment.subsets, assignment.models].sum(axis=0).argmin()
    )
    kinds = [skipping] * search.problem.epochs
    search.accept(cheapest_clusters(search.problem, assignment, kinds, 0.0))


PUBLISHED = Path(__file__).resolve().parents[2] / "data" / "robust_knapsack"


@pytest.mark.parametrize(
    ("name", "optimum"),
    [("RKP_00500_00100_1_01", 695), pytest.param("RKP_01000_00100_4_03", 54, marks=pytest.mark.slow)],
)
def test_published_robust_knapsacks_of_500_and_1000_items_are_proved(name, optimum):
    knapsack = read_chance_knapsack(PUBLISHED / f"{name}.txt", fewer_items=True)
    result = solve(Chance.reduce(knapsack), "exact", looks=20_000)
    assert result.termination is Termination.OPTIMAL
    assert Chance.value_of_cost(knapsack, result.cost) == optimum


@pytest.mark.parametrize("seed", range(4))
def test_what_epochs_add_is_rounded_in_favour_of_the_plan_to_the_last_bit_of_any_sum(seed):
    problem = chorded(normals(seed, round_deadline=2.0))
    for assignment in assignments(problem):
        chosen = assignment.subsets, assignment.models
        gains, variances = (table[:, *chosen] for table in problem.moments[:2])
        search = LabelSearch(problem, assignment)
        costs = assignment.cheapest(problem.psi(0.0))
        for part, true, sign in zip(search._table, (costs, gains, variances), (-1, 1, -1), strict=True):
            unit = 2.0 ** (math.floor(math.log2(np.abs(true).max(axis=1).sum())) - 51)
            moved = sign * (part - true)
            assert not np.fmod(part, unit).any()
            assert moved.min() >= 0
            assert moved.max() < unit
    # of four epochs: ends are moved, three operations rounded on either side, and sums at prices 2 and 3
    assert search._overlap == pytest.approx(4e-12 * problem.ends[-1], rel=1e-9, abs=0)
    cost, gain, variance = (float(np.abs(part).max(axis=1).sum()) for part in (costs, gains, variances))
    size = gain + problem.safety * math.sqrt(variance)
    assert problem.needed - search._needed >= 3 * 2 * LENGTH * 2.0**-53 * size
    least = cost + 2 * (gain + 3 * variance + problem.needed + problem.safety * problem.ends[-1])
    assert search._rounding(2.0, 3.0)[LENGTH] >= 0.99e-12 * least


def test_labels_are_no_way_where_a_switch_or_a_last_model_is_forbidden():
    for changes in {}, {"switches": {("m0", "m1"): Forbidden()}}, {"deployable": ("m0",)}:
        problem = chorded(make([BELL, WILD], maximum_time=None, round_deadline=2.0, **changes))
        assert LabelSearch.covers(problem) == (not changes)


def test_labels_are_kept_of_which_none_before_that_is_kept_has_as_much_of_both():
    """By the definition, on whole numbers from few, so that many are equal."""
    rng = np.random.default_rng(7)
    for size in range(1, 60):
        assured, gains = rng.integers(0, 12, (2, size)).astype(float)
        kept = np.empty(size, dtype=np.bool_)
        mark_undominated(assured, gains, kept)
        better = (assured >= assured[:, None]) & (gains >= gains[:, None])  # of the column, for the row
        assert kept.tolist() == [not better[place, :place].any() for place in range(size)]
