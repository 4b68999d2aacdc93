"""Stopping a plan early under a traced law: survival and its cost, against every combination of runs."""

from fractions import Fraction

import msgspec
import numpy as np
import pytest

from depl.models.evaluation import traced_survival as traced_module
from depl.models.evaluation.traced_survival import traced_survival
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.traced_law import TracedLaw
from depl.models.solving.early_stopping import early_stopping
from tests.cases.memory_cases import FAR, FULL, instance_of
from tests.cases.traced_law_cases import cases, halves, plan_of
from tests.oracles import traced_law as oracle_module
from tests.oracles.traced_law import Oracle, Schedule


@pytest.fixture(scope="module", params=[14, pytest.param(96, marks=pytest.mark.slow)])
def laws(request):
    return cases(request.param)


def exact(law: TracedLaw, schedule: Schedule, maximum_loss: float) -> list[Fraction | None]:
    return [item.exact for item in traced_survival(law, schedule, maximum_loss)]


def test_survival_is_that_of_all_combinations(laws):
    falling, combined = [], 0
    for document, oracle, schedules in laws:
        for schedule in schedules[::2] if document.residuals == "per_run" else ():
            paths = np.array(oracle.paths(schedule))
            known, last = paths[np.isfinite(paths)], paths[-1][np.isfinite(paths[-1])]
            limits = (*np.quantile(last, [0.2, 0.6]), *np.quantile(known, [0.3, 0.8]))
            for limit, maximum in zip(limits, oracle.observed(np.array(limits)), strict=True):
                above = np.cumprod(paths > limit + 1e-9, axis=0)
                if document.confidence is not None:
                    wanted = confident_survival(oracle, schedule, above)
                else:
                    wanted = [Fraction(int(row.sum()), row.size) for row in above]
                assert exact(document, schedule, float(maximum)) == wanted
                falling.append(len(set(wanted)))
                combined += oracle.unseen is not None and not oracle.whole(schedule)
    assert combined > len(laws) / 2
    # met by some runs at one epoch, by others at another
    assert sum(count >= 3 for count in falling) > len(laws)


def test_losses_after_which_a_run_may_not_stop_do_not_count():
    rng, asked = np.random.default_rng(4), 0
    for document, oracle, schedules in cases(14):
        for schedule in schedules[:3]:
            stops = rng.random(len(schedule) + 1) < 0.5
            if document.residuals == "per_run":
                paths = np.array(oracle.paths(schedule))
                weights = np.ones(paths.shape[1], dtype=int)
            elif len(schedule) <= 3:
                paths, weights = every_path(oracle, schedule)
            else:
                continue
            maximum = float(oracle.observed(np.quantile(paths[-1][np.isfinite(paths[-1])], 0.6)))
            limit = oracle_module.on_scale(document, maximum) + 1e-9
            above = np.cumprod((paths > limit) | ~stops[:, None], axis=0)
            found = traced_survival(document, schedule, maximum, stops.tolist())
            if document.confidence is not None:
                assert [item.exact for item in found] == confident_survival(oracle, schedule, above)
                continue
            for item, row in zip(found, above, strict=True):
                wanted = Fraction(int(weights[row > 0].sum()), int(weights.sum()))
                assert wanted <= item.upper
                assert item.exact in (None, wanted)
                asked += 0 < wanted < 1
    assert asked > 8


def confident_survival(oracle: Oracle, schedule: Schedule, above: np.ndarray) -> list[Fraction]:
    """Of so many of n runs that never met the target the upper end."""
    runs = above.shape[1] - 1
    ends = [oracle_module.upper_end(x, runs, oracle.document.confidence or 0) for x in range(runs)]
    ends.append(oracle_module.UNIT)
    return [Fraction(ends[int(row[:-1].sum())], oracle_module.UNIT) for row in above]


def test_survival_by_hand():
    """Eight runs 4, 2 or 3, and then 1 or 2 whatever came before; the maximum 2 is met by half the firsts."""
    law = halves(8)
    assert exact(law, (FULL, FAR), 2.0) == [1, Fraction(1, 2), 0]
    assert exact(law, (FULL, FAR), 1.5) == [1, 1, Fraction(1, 2)]
    assert exact(law, (FULL, FAR), 5.0) == [0, 0, 0]
    moved = halves(8, deviations=(0.0, 0.75))  # a plan is worse throughout, or not at all
    assert exact(moved, (FULL, FAR), 2.0) == [1, Fraction(3, 4), Fraction(1, 4)]


def test_runs_that_diverged_reach_no_target():
    """Eleven of 21 were above 2 after one epoch, the run unlike all among them; four more are after all."""
    law = halves(20, unseen_loss=9.0, diverged=4)
    assert exact(law, (FULL, FAR), 2.0) == [1, Fraction(15, 25), Fraction(5, 25)]
    staged = halves(8, unseen_loss=9.0, diverged=4)  # two stages of eight donors and five beside
    reached = Fraction(8 * 8, 13 * 13)
    left = 1 - reached - Fraction(4 * 5, 13 * 13)
    assert exact(staged, (FULL, FAR), 2.0) == [1, 1 - Fraction(4, 13), left]


def test_stopping_early_is_paid_by_those_who_go_on():
    instance = instance_of(halves(8), maximum_loss=2.0)
    found = early_stopping(instance, plan_of((FULL, FAR)))
    # 3 * 2 for the first epoch; half the runs pay 2 nodes * 1 * 3 and the transfer of 0.75 for the second
    assert found.cost.exact == 6 + Fraction(1, 2) * Fraction("6.75")
    assert found.epochs.exact == Fraction(3, 2)
    assert found.reached.exact == found.final.exact == 1


def test_independent_residuals_are_bounded_from_above(laws):
    """Against every combination of an l(0), residuals and a deviation, followed from epoch to epoch."""
    asked, widths = 0, []
    for document, oracle, schedules in laws:
        for schedule in schedules if document.residuals == "independent" else ():
            if len(schedule) > 3:
                continue
            paths, weights = every_path(oracle, schedule)
            for maximum in oracle.observed(np.quantile(paths[-1], [0.15, 0.5, 0.85])):
                limit = oracle_module.on_scale(document, float(maximum)) + 1e-9
                above = np.cumprod(paths > limit, axis=0)
                found = traced_survival(document, schedule, float(maximum))
                for item, row in zip(found, above, strict=True):
                    wanted = Fraction(int(weights[row > 0].sum()), int(weights.sum()))
                    assert wanted <= item.upper
                    widths.append(item.upper - float(wanted))
                    asked += 0 < wanted < 1
    assert asked > 3 * len(laws)
    assert np.median(widths) < 0.01  # wide only where a loss lies at the limit


def every_path(oracle: Oracle, schedule: Schedule) -> tuple[np.ndarray, np.ndarray]:
    """l(0), ..., l(K) of all combinations, shape (K + 1, n), and their weights; equal ones together."""
    starts = oracle.first_losses(schedule[0])
    paths, weights = np.add.outer(starts, np.zeros(1)).T, np.ones(starts.size)
    for place in oracle_module.places(schedule):
        values, counts = np.unique(np.round(oracle.residuals(place), 12), return_counts=True)
        last = np.add.outer(oracle.step(place, paths[-1], 0.0), values).ravel()
        paths = np.vstack([np.repeat(paths, values.size, axis=1), last])
        weights = np.outer(weights, counts).ravel()
    moved = oracle.deviations
    return np.add.outer(paths, moved).reshape(len(paths), -1), np.repeat(weights, moved.size)


def test_stopping_early_is_bounded_for_independent_residuals():
    """Half the runs are at 2 after one epoch; whoever is not trains a second one, and half of those are at 1.

    All losses lie far from the maximum 2.2, so the bounds of the grid are sharp.
    """
    law = halves(residuals="independent")
    found = early_stopping(instance_of(law, maximum_loss=2.2), plan_of((FULL, FAR)))
    assert found.epochs.upper == pytest.approx(1.5, abs=1e-8)
    assert found.cost.upper == pytest.approx(6 + 0.5 * 6.75, abs=1e-7)
    assert found.reached.lower == pytest.approx(1.0, abs=1e-8)


def test_more_combinations_than_can_be_followed_are_refused(monkeypatch):
    law = halves(8, deviations=(0.0, 1.0))
    monkeypatch.setattr(traced_module, "MOST_PATHS", 127)
    with pytest.raises(NotCoveredError, match="more combinations of runs"):
        traced_survival(law, (FULL, FAR), 1.0)
    monkeypatch.setattr(traced_module, "MOST_PATHS", 128)
    assert exact(law, (FULL, FAR), 1.0)[0] == 1
    whole = msgspec.structs.replace(law, runs=law.runs * 3)
    monkeypatch.setattr(traced_module, "MOST_PATHS", 1)
    assert exact(whole, (FULL, FAR), 1.0) == [1, 1, Fraction(1, 2)]
