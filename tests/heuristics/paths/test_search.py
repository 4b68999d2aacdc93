"""Inside the label setting: passes and whole numbers against exact ones, and how much work searches take."""

import itertools
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from depl.benchmarks.studies.helpers.path_problems import FAMILIES, family_problem
from depl.heuristics.paths import kernels, ranking, search
from depl.heuristics.paths.bounds import RESOLUTION, in_whole_numbers
from depl.heuristics.paths.ranking import RankedPaths
from depl.heuristics.paths.search import LabelSearch, least_weight, prepare
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.tolerances import ATOM_TOLERANCE, TIME_TOLERANCE
from tests.cases.additive_cases import random_problem


def test_rows_count_what_rounding_may_add_and_the_completions_that_they_name():
    for family in FAMILIES:
        prepared = prepare(family_problem(np.random.default_rng(2), family, 4))
        whole, bounds = prepared.whole, prepared.bounds
        tables = np.broadcast_arrays(whole.weights[:, None], whole.times[:, None], whole.losses)
        sizes = [np.where(whole.allowed, abs(table), 0).max(axis=(1, 2)).sum() for table in tables]
        sizes += np.abs([0, whole.maximum_time, whole.loss_budget])
        prices = np.stack(bounds.rows[:3], axis=1)
        may_add = (2 * 4 + 16) * 2.0**-53 * prices @ sizes
        assert bounds.rows.slacks == pytest.approx(np.where(prices[:, 0], 0, may_add))
        assert bounds.slack == pytest.approx(may_add[-len(bounds.points) :].max())
        assert bounds.lower == bounds.points[0].bound - bounds.slack
        assert not prices[: -len(bounds.points), 0].any()
        for j, k, p in np.ndindex(len(prices), 4, 4):
            after, path = bounds.rows_after(k), (p, *bounds.completion(j, k, p))
            steps = [(k + i, *step) for i, step in enumerate(itertools.pairwise(path))]
            total = (
                np.sum([[table[step] for table in tables] for step in steps], axis=0) if steps else [0] * 3
            )
            assert after.totals[j, p].tolist() == list(total)
            assert after.completions[j, p] == pytest.approx(prices[j] @ total, abs=0.1)


# --- whole numbers ---------------------------------------------------------------------------------------


def test_whole_numbers_are_rounded_down_by_less_than_one_and_keep_the_steps_that_may_help():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        epochs = rng.integers(1, 9) if seed % 5 else 150
        drawn = random_problem(rng, epochs, 2)
        latest = epochs * (seed % 4) / 8 if seed % 3 else math.inf
        drawn.times[0] = min(latest * (1 + TIME_TOLERANCE), 9.0), 0.0
        losses = drawn.losses * rng.choice([1, 1, -9], drawn.losses.shape)
        losses[-1, 0] = 1e30
        target = drawn.maximum_loss - 20 * (seed % 2)
        problem = replace(drawn, losses=losses, maximum_time=latest, maximum_loss=target)
        upper = [math.inf, 0.0, np.sort(problem.weights, axis=None)[-9:][0], 1e9][seed % 7 % 4]
        whole = in_whole_numbers(problem, upper)
        on_time = problem.times <= latest * (1 + TIME_TOLERANCE)
        may = problem.allowed & (on_time & (problem.weights <= upper))[:, None]
        may[0, :2] = may[1:, 2] = False
        falls = sum(max(0.0, -losses[k][may[k]].min(initial=0.0)) for k in range(epochs))
        assert whole.allowed.tolist() == (may & (losses <= falls)).tolist()
        assert math.log2(whole.scale).is_integer()
        assert epochs / RESOLUTION <= whole.scale < 2 * epochs / RESOLUTION
        heaviest = sum(problem.weights[k][may[k].any(axis=0)].max(initial=0.0) for k in range(epochs))
        unit = min(heaviest * 1e-13, upper * RESOLUTION / 4 if upper else math.inf) or 1.0
        assert whole.weight_unit == pytest.approx(unit / epochs, rel=1e-9, abs=0)
        needed = Fraction(max(target, problem.initial_loss - 2 * falls - 1)) - Fraction(problem.initial_loss)
        budget = needed + Fraction(ATOM_TOLERANCE - 1e-10)
        used, timed = whole.allowed.any(axis=1), math.isfinite(latest)
        exact = (
            losses[whole.allowed] * whole.scale - whole.losses[whole.allowed],
            float(budget * Fraction(whole.scale) - whole.loss_budget),
            problem.weights[used] / whole.weight_unit - whole.weights[used],
            problem.times[used] / (latest or 1.0) * whole.scale - whole.times[used],
            timed * (1 + TIME_TOLERANCE - 1e-10) * whole.scale - whole.maximum_time,
        )
        assert all(np.all((over > -0.5) & (over < 1.5)) for over in exact)


def test_losses_that_cannot_be_told_apart_are_refused():
    for epochs, fall in ((1, 2**16), (440, 2**15)):
        problem = random_problem(np.random.default_rng(0), epochs, 1, timed=False)
        problem.losses[:], problem.allowed[:] = -fall / epochs, True
        assert in_whole_numbers(problem).allowed.any()
        for wrong in (
            replace(problem, initial_loss=7e4),
            replace(problem, losses=problem.losses - 1 / epochs),
        ):
            with pytest.raises(NotCoveredError, match="larger unit"):
                in_whole_numbers(wrong)


# --- effort ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("solve", "most"),
    [
        (least_weight, (157, 146, 1304, 3748)),
        (lambda problem: [*itertools.islice(RankedPaths(problem), 30)], (152, 146, 79902, 312198)),
    ],
)
def test_searches_do_no_more_work_than_they_did(solve, most, monkeypatch):
    """Cuts of duals, labels of passes and steps that are listed, and 3 % more."""
    counts = Counter()

    def count(owner, name, size):
        original = getattr(owner, name)

        def counted(*arguments, **options):
            found = original(*arguments, **options)
            counts[name] += size(found)
            return found

        monkeypatch.setattr(owner, name, counted)

    count(search, "lagrangian_dual", lambda dual: len(dual.points))
    count(search, "least_time", lambda found: len(found[1].points))
    count(LabelSearch, "run", lambda found: found.labels)
    count(kernels, "surviving_steps", int)
    for module, name in ((search, "FIRST_WIDTH"), (ranking, "FIRST_WIDTH"), (search, "_ROOM")):
        monkeypatch.setattr(module, name, 4)
    for family, seed in itertools.product([*FAMILIES][:5], range(5)):
        solve(family_problem(np.random.default_rng(seed), family, 12, tight=seed > 2))
    done = [counts[name] for name in sorted(counts)]
    assert all(count <= 1.03 * limit for count, limit in zip(done, most, strict=True)), done
