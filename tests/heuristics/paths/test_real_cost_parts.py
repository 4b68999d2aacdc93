"""The parts of the search on the real cost: price forms, completions, dominance, paces, layers."""

import itertools
import math

import numpy as np
import pytest

from depl.heuristics.paths.real_cost_bounds import Bounds, guides_of, network_of
from depl.heuristics.paths.real_cost_curves import PriceCurves
from depl.heuristics.paths.real_cost_kernels import (
    best_loss_price,
    completions,
    real_costs,
    trace,
    undominated,
    weight_and_loss,
)
from depl.heuristics.paths.real_cost_layers import Criterion, Incumbent, pass_over_layers
from depl.heuristics.paths.real_cost_problem import RealCostProblem
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.epoch_costs import price
from tests.cases.real_cost_cases import every_sequence, random_problem


def problems(seed: int, count: int, epochs: int = 4, **options: bool) -> list[RealCostProblem]:
    rng = np.random.default_rng([seed])
    return [random_problem(rng, epochs, 2, 2, **options) for _ in range(count)]


def price_form(problem: RealCostProblem, sequence: tuple[int, ...], pace: float) -> float:
    loads = [problem.loads[k][g] for k, g in enumerate(sequence)]
    return math.fsum(price(item, pace * pace, problem.round_deadline) for item in loads)


def test_pieces_are_the_price_form_and_its_derivative():
    rng = np.random.default_rng(1)
    for problem in problems(20281, 12):
        curves = PriceCurves.of(problem)
        low, high = sorted(rng.uniform(0, 1.5 * curves.last_pace + 0.1, 2))
        paces, pieces = curves.pieces(low, high)
        assert (paces[0], paces[-1]) == (low, high)
        kept = [
            n
            for n, item in enumerate(curves.loads)
            if math.isfinite(price(item, 1.0, problem.round_deadline))
        ]
        for j, (left, right) in enumerate(itertools.pairwise(paces)):
            for pace in np.linspace(left, right, 4):
                square, twice, constant = pieces[kept, j].T
                known = [price(curves.loads[n], pace * pace, problem.round_deadline) for n in kept]
                assert (square * pace + 2 * twice) * pace + constant == pytest.approx(known, rel=1e-12)
                assert curves.prices(pace)[kept] == pytest.approx(known, rel=1e-12)
                if pace > 0:
                    assert square + twice / pace == pytest.approx(curves.times(pace)[kept], rel=1e-9)


def test_the_last_pace_gives_everything_all_resources():
    for problem in problems(20282, 10):
        curves = PriceCurves.of(problem)
        assert curves.times(curves.last_pace) == pytest.approx(curves.fastest, rel=1e-12)


def test_without_clipping_the_price_form_is_the_pareto_pair():
    problem = problems(20283, 1)[0]
    curves = PriceCurves.of(problem)
    chosen = (curves.costs.work > 0) & (curves.costs.price > 0)
    ends = curves.costs.capacity[chosen] * np.sqrt(curves.costs.price[chosen] / curves.costs.work[chosen])
    starts = curves.costs.least[chosen] * np.sqrt(curves.costs.price[chosen] / curves.costs.work[chosen])
    low, high = float(starts.max(initial=0)), float(ends.min())
    assert low < high
    paces, pieces = curves.pieces(low, high)
    assert len(paces) == 2
    roots = np.sqrt(curves.costs.price * curves.costs.work)[chosen]
    assert pieces[chosen, 0, 1] == pytest.approx(roots)
    assert pieces[chosen, 0, 0] == pytest.approx(curves.costs.communication[chosen])
    assert np.all(pieces[chosen, 0, 2] == 0)


def test_real_costs_are_those_of_the_allocation():
    compared = 0
    for problem in problems(20284, 20):
        curves = PriceCurves.of(problem)
        rows = [sequence for _, _, sequence in every_sequence(problem) if sequence][:50]
        if problem.maximum_time is None or not rows:
            continue
        paces, pieces = curves.pieces(0.0, curves.last_pace)
        table = [pieces[[curves.index[k, g] for k, g in enumerate(row)]].sum(axis=0) for row in rows]
        found = real_costs(np.array(table), paces, problem.maximum_time, 1e-9)
        assert found == pytest.approx([problem.allocation(row).cost for row in rows], rel=1e-9, abs=1e-12)
        compared += len(rows)
    assert compared > 100


def test_completions_are_the_cheapest_of_all_sequences():
    rng = np.random.default_rng(2)
    for problem in problems(20285, 8, epochs=3):
        network, curves = network_of(problem), PriceCurves.of(problem)
        weights = curves.prices(float(rng.uniform(0.1, 2)))[curves.index]
        mu = float(rng.uniform(0, 3))
        every = [
            weight_and_loss(network, weights, np.array(row + (-1,) * (3 - len(row))))
            for row in allowed_sequences(problem)
        ]
        least = min(weight + mu * (loss - problem.initial_loss) for weight, loss in every)
        found = completions(network, weights, mu)
        assert found[0, problem.start, 0] == pytest.approx(least, abs=1e-12)
        weight, loss = weight_and_loss(network, weights, trace(network, weights, mu, found))
        assert weight + mu * (loss - problem.initial_loss) == pytest.approx(least, abs=1e-12)


def test_the_price_of_loss_maximises_the_lagrangian():
    for problem in problems(20286, 10, epochs=3):
        network, curves = network_of(problem), PriceCurves.of(problem)
        weights = curves.prices(1.0)[curves.index]
        every = [
            weight_and_loss(network, weights, np.array(row + (-1,) * (3 - len(row))))
            for row in allowed_sequences(problem)
        ]

        def lagrangian(mu, every=every, limit=problem.highest_loss):
            return min(weight + mu * (loss - limit) for weight, loss in every)

        mu, bound, met = best_loss_price(network, weights)
        reaches = [weight for weight, loss in every if loss <= problem.highest_loss]
        if not reaches:
            assert bound == math.inf
            continue
        assert bound == pytest.approx(lagrangian(mu), abs=1e-9)
        assert bound >= max(lagrangian(other) for other in np.linspace(0, 4 * mu + 1, 200)) - 1e-9
        assert bound <= min(reaches) + 1e-9
        for row in met:
            assert problem.loss(tuple(g for g in row.tolist() if g >= 0)) <= problem.highest_loss


def allowed_sequences(problem: RealCostProblem) -> list[tuple[int, ...]]:
    found = []
    for length in range(problem.epochs + 1):
        for row in itertools.product(range(len(problem.kinds)), repeat=length):
            before = (problem.start, *(problem.kinds[g][1] for g in row))
            if all(problem.allowed[k, before[k], g] for k, g in enumerate(row)):
                found.append(row)
    return found


def test_every_guide_bounds_every_feasible_completion_from_below():
    checked = 0
    for problem in problems(20287, 10):
        every = every_sequence(problem)
        if not every or not every[0][2]:
            continue
        bounds = Bounds.of(problem)
        bounds.ascend()
        assert bounds.lower <= every[0][0] * (1 + 1e-9)
        assert bounds.best_cost >= every[0][0] * (1 - 1e-9)
        guides = bounds.guides(bounds.paces(math.inf))
        for cost, _, sequence in every[:200]:
            for length in range(len(sequence) + 1):
                assert guided(bounds, guides, sequence[:length]) <= cost * (1 + 1e-9) + 1e-12
                checked += 1
    assert checked > 500


def guided(bounds, guides, prefix):
    network = bounds.network
    padded = np.array(prefix + (-1,) * (bounds.problem.epochs - len(prefix)))
    opened = int(np.bitwise_or.reduce([0, *(network.bits[g] for g in prefix)]))
    last = network.models[prefix[-1]] if prefix else bounds.problem.start
    found = -math.inf
    for b, mu in enumerate(guides.loss_prices):
        weight, loss = weight_and_loss(network, guides.weights[b], padded)
        rest = guides.completions[b, len(prefix), last, opened] - guides.constants[b]
        found = max(found, weight + rest + mu * (loss - network.highest_loss))
    return found


@pytest.mark.parametrize("count", [30, pytest.param(60, marks=pytest.mark.slow)])
def test_the_optimal_pace_of_every_sequence_of_interest_lies_between_the_ends(count):
    checked = narrow = 0
    for problem in problems(20288, count):
        every = every_sequence(problem)
        bounds = Bounds.of(problem)
        if problem.maximum_time is None or not every or not every[0][2]:
            continue
        upper = every[len(every) // 8][0]
        found = bounds.paces(upper)
        narrow += found.slowest > 0 and found.quickest < bounds.curves.last_pace
        for cost, _, sequence in every:
            pace = math.sqrt(problem.allocation(sequence).multiplier)
            assert pace >= found.slowest * (1 - 1e-6)
            if cost < upper * (1 - 1e-6):
                assert pace <= found.quickest * (1 + 1e-6)
                checked += 1
    assert checked > 3 * count
    assert narrow > count / 20


def test_what_dominates_is_at_least_as_good_with_every_completion():
    dominated = 0
    for problem in problems(20289, 12):
        network, curves = network_of(problem), PriceCurves.of(problem)
        if problem.maximum_time is None or len(curves.loads) < 3:
            continue
        paces, pieces = curves.pieces(0.0, curves.last_pace)
        prefixes = [row for row in allowed_sequences(problem) if len(row) == 2]
        for model in range(len(problem.models)):
            rows = [row for row in prefixes if problem.kinds[row[-1]][1] == model]
            rows.sort(key=problem.loss)
            forms = [pieces[[curves.index[k, g] for k, g in enumerate(row)]].sum(axis=0) for row in rows]
            losses = np.array([problem.loss(row) for row in rows])
            opened = np.array([network.bits[row[0]] | network.bits[row[1]] for row in rows])
            for a, b in itertools.combinations(range(len(rows)), 2):
                kept = np.empty(2, dtype=np.int64)
                pair = [a, b]
                table = np.array([forms[n] for n in pair])
                left = undominated(losses[pair], opened[pair], table, paces, network.charges, kept, (0, 2), 0)
                if left == 1:
                    dominated += 1
                    check_completions(problem, rows[a], rows[b])
    assert dominated > 30


def check_completions(problem, better, worse):
    kinds = range(len(problem.kinds))
    for rest in [(), *itertools.product(kinds, repeat=1), *itertools.product(kinds, repeat=2)]:
        try:
            highest = problem.loss(worse + rest)
        except InvalidInputError:
            continue
        assert problem.loss(better + rest) <= highest + 1e-12
        assert problem.cost(better + rest) <= problem.cost(worse + rest) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("layers", [1, 2, 3, 99])
def test_a_pass_of_one_label_per_layer_or_cut_short_keeps_a_valid_bound(layers):
    missed = narrowed = stopped = 0
    for problem in problems(20291, 25, epochs=5):
        every = every_sequence(problem)
        if problem.maximum_time is None or not every or not every[0][2]:
            continue
        bounds = Bounds.of(problem)
        bounds.ascend()
        paces = bounds.paces(math.inf)
        breaks, pieces = bounds.curves.pieces(paces.slowest, paces.quickest)
        criterion = Criterion(
            bounds.network,
            bounds.curves.index,
            bounds.guides(paces),
            breaks,
            pieces,
            problem.maximum_time,
        )
        incumbent, asked = Incumbent(problem.cost), itertools.count()
        passed = pass_over_layers(
            criterion,
            incumbent,
            gap=0.0,
            most_labels=0,
            widest=1,
            proceed=lambda asked=asked: next(asked) < layers,
        )
        least = every[0][0]
        assert min(passed.lower, incumbent.value) <= least * (1 + 1e-9)
        assert incumbent.value >= least * (1 - 1e-9)
        missed += incumbent.value > least * (1 + 1e-6)
        narrowed += passed.narrowed
        stopped += passed.stopped
    assert missed > 3
    assert stopped > 3 if layers < 3 else narrowed > 3


def test_the_reach_is_the_lowest_loss_of_any_completion():
    for problem in problems(20290, 6, epochs=3):
        network = network_of(problem)
        nothing = np.zeros((1, problem.epochs, len(problem.kinds)))
        guides = guides_of(network, nothing, np.zeros(1), np.zeros(1))
        least = min(problem.loss(row) for row in allowed_sequences(problem))
        reach = problem.initial_loss + guides.least_losses[0, problem.start]
        assert reach == pytest.approx(least, abs=1e-12)


def test_too_many_priced_clusters_are_refused():
    problem = random_problem(np.random.default_rng(3), 2, 1, 2)
    wide = RealCostProblem(
        models=("a",),
        clusters=tuple(f"c{n}" for n in range(11)),
        kinds=tuple((n, 0) for n in range(11)),
        loads=((problem.loads[0][0],) * 11,),
        losses=np.full((1, 2, 11), -1.0),
        allowed=np.ones((1, 2, 11), dtype=bool),
        transfers=np.ones(11),
        initial_loss=1.0,
        maximum_loss=0.0,
        maximum_time=10.0,
        round_deadline=None,
    )
    with pytest.raises(NotCoveredError, match="11 clusters"):
        network_of(wide)
