"""Final losses under the affine law: by recursion, and by the runs themselves."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from depl.instances.training.recorded import recorded_traces
from depl.models.estimation.affine import fit_affine
from depl.models.evaluation import traced_prediction as prediction
from depl.models.evaluation.traced_lending import suffix_weights
from depl.models.evaluation.traced_prediction import final_atoms, final_loss, order_statistic
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.affine_law import AffineLaw, Known, maturity, positions
from depl.models.risk.certify import certified_quantile
from depl.models.risk.sampling import sample_final_loss
from depl.models.traces.table import Schedule
from tests.models.estimation.test_affine import EPOCHS, FULL, STARTS, drawn, schedule


@pytest.fixture(scope="module")
def law() -> AffineLaw:
    return fit_affine(drawn(40, 0.1, np.random.default_rng(0)))


def recursion(law: AffineLaw, plan: Schedule, loss: float, residuals: list[float]) -> float:
    for item, residual in zip(positions(plan), residuals, strict=True):
        step = law.step(item)
        loss = step.intercept + step.start_slope * maturity(item.start) + step.retention * loss + residual
    return loss


def test_runs_of_a_plan_give_back_their_own_final_losses(law: AffineLaw) -> None:
    for start in STARTS:
        found = final_atoms(law, schedule(start))
        own = [run.losses[-1] for run in law.records if run.positions == positions(schedule(start))]
        assert (found.together, found.donors) == (True, 40)
        assert found.values == pytest.approx(np.sort(own), abs=1e-12)
        assert found.quantile(0.9) == pytest.approx(np.sort(own)[36])  # rank 37 = ceil(41 * 0.9)


@pytest.mark.parametrize("family", ["digits-alexnet", "digits-mobilenet"])
def test_real_runs_give_back_their_own_final_losses(family: str) -> None:
    traces = recorded_traces(family)
    law = fit_affine(traces)
    final = traces.matrix()[:, -1]
    for plan, runs in traces.by_schedule().items():
        if len(runs) >= 30:
            found = final_atoms(law, plan)
            assert found.together
            assert found.values == pytest.approx(np.sort(final[runs]), abs=1e-12)


def test_the_runs_of_a_shorter_plan_give_back_their_losses_on_the_way(law: AffineLaw) -> None:
    plan = schedule(3, epochs=6)
    own = [run.losses[6] for run in law.records if run.positions[:6] == positions(plan)]
    assert final_atoms(law, plan).values == pytest.approx(np.sort(own), abs=1e-12)


def test_an_unseen_plan_combines_every_first_stage_with_every_second(monkeypatch: pytest.MonkeyPatch) -> None:
    law = fit_affine(drawn(6, 0.1, np.random.default_rng(2)), least=6, least_jumps=6)
    plan = schedule(4)
    found = final_atoms(law, plan)
    firsts = [run for run in law.records if run.positions[3].trained == FULL]
    seconds = [
        run.residuals[run.positions[-1].start :][:4] for run in law.records if run.positions[-1].age >= 4
    ]
    brute = [
        recursion(law, plan, float(one.losses[0]), [*one.residuals[:4], *other])
        for one, other in product(firsts, seconds)
    ]
    assert (len(firsts), len(seconds), found.donors) == (6, 12, 6)
    assert not found.together
    assert found.values == pytest.approx(np.sort(brute), abs=1e-12)
    assert found.quantile(0.9) == found.values[64]  # the 65th of 72

    monkeypatch.setattr(prediction, "MOST_ATOMS", 10)
    fewer = final_atoms(law, plan)
    assert fewer.values.size == 9
    assert fewer.values == pytest.approx(found.values[7::8])  # the greatest of every eight
    assert all(fewer.quantile(level) >= found.quantile(level) for level in np.linspace(0.05, 0.95, 19))


def test_independent_residuals_have_the_moments_of_the_recursion(law: AffineLaw) -> None:
    plan = schedule(4)
    steps = [law.step(item) for item in positions(plan)]
    firsts = [run.losses[0] for run in law.records]  # all begin with the same model
    weights = suffix_weights([step.retention for step in steps])
    found = final_loss(law, plan)
    assert found.mean() == pytest.approx(recursion(law, plan, np.mean(firsts), [0.0] * EPOCHS))
    wanted = weights[0] ** 2 * np.var(firsts) + sum(
        w**2 * s.residuals.var() for w, s in zip(weights[1:], steps, strict=True)
    )
    assert found.variance() == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("runs", "epochs"), [(24, 4), *(pytest.param(40, count, marks=pytest.mark.slow) for count in (4, 5))]
)
def test_a_certified_quantile_of_independent_residuals_holds_for_draws(runs: int, epochs: int) -> None:
    """Sums of residuals of 40 runs are millions of atoms in four epochs, and too many to list in five."""
    law = fit_affine(drawn(runs, 0.1, np.random.default_rng(0)))
    found = final_loss(law, schedule(3, epochs=epochs))
    bounds = certified_quantile(found, Fraction(1, 10))
    draws = sample_final_loss(found, np.random.default_rng(3), 40_000)
    assert bounds.upper - bounds.lower < 0.01
    assert np.mean(draws <= bounds.lower) <= 0.9 + 4 * 0.3 / 200
    assert np.mean(draws <= bounds.upper) >= 0.9 - 4 * 0.3 / 200


@pytest.mark.parametrize("predict", [final_loss, final_atoms])
def test_a_known_loss_moves_the_final_one_by_the_retentions_to_come(
    law: AffineLaw, predict: Callable[..., object]
) -> None:
    plan = schedule(3)
    retained = float(np.prod([law.step(item).retention for item in positions(plan)[5:]]))

    def centre(loss: float) -> float:
        found = predict(law, plan, Known(5, loss))
        return found.mean() if predict is final_loss else found.values.mean()

    assert centre(0.6) - centre(0.5) == pytest.approx(0.1 * retained)


def test_a_factor_of_the_run_widens_only_the_law_that_keeps_runs_together() -> None:
    """Residuals that are the same in every epoch of a run add up; drawn afresh they cancel."""
    rng = np.random.default_rng(4)
    traces = drawn(60, 0.0, rng, starts=(3,))
    factor = np.repeat(rng.normal(size=60), EPOCHS + 1) * np.tile(np.arange(EPOCHS + 1) >= 4, 60)
    bent = traces.loss + 0.1 * factor * np.tile(np.maximum(np.arange(EPOCHS + 1) - 3, 0), 60)
    moved = type(traces)(traces.run, traces.epoch, traces.model, traces.cluster, bent)
    law = fit_affine(moved)
    spread = final_atoms(law, schedule(3)).values.std()
    assert spread == pytest.approx(moved.matrix()[:, -1].std())
    assert final_loss(law, schedule(3)).variance() < 0.5 * spread**2


def test_order_statistics_of_given_numbers() -> None:
    values = np.arange(1.0, 20.0)
    assert order_statistic(values, 0.95) == 19  # nineteen are just enough: 20 * 0.95
    assert order_statistic(values, 0.96) == np.inf
    assert order_statistic(values, 0.9) == 18
    assert order_statistic(values, 0.9, next_run=False) == 18  # ceil(17.1)
    assert order_statistic(values, 0.99, next_run=False) == 19
    for level, chosen in ((0.0, values), (1.0, values), (0.5, values[:0])):
        with pytest.raises(InvalidInputError, match="level"):
            order_statistic(chosen, level)


@pytest.mark.parametrize("start", [3, 4])
def test_a_quantile_meets_a_maximum_exactly_if_the_violation_is_within_the_budget(
    law: AffineLaw, start: int
) -> None:
    """Start 3 was run, start 4 is combined of stages."""
    found = final_atoms(law, schedule(start))
    assert found.together == (start == 3)
    for maximum in [*found.values[:: max(1, found.values.size // 40)], found.values[-1]]:
        violation = Fraction(found.violation(maximum)).limit_denominator(10_000)
        for level in (0.5, 0.7, 0.9, 0.95, 0.97):
            met = found.quantile(level) <= maximum
            assert met == (violation <= 1 - Fraction(str(level))), (maximum, level)


def test_violations_of_runs_by_hand(law: AffineLaw) -> None:
    found = final_atoms(law, schedule(3))
    assert found.violation(found.values[-1]) == 1 / 41
    assert found.violation(found.values[-1] - 1e-10) == 1 / 41  # within the tolerance of an atom
    assert found.violation(found.values[29]) == 11 / 41
    combined = final_atoms(law, schedule(4))
    assert combined.violation(combined.values[-1]) == 0


def test_bad_requests_are_refused(law: AffineLaw) -> None:
    with pytest.raises(InvalidInputError, match="at least one epoch"):
        final_atoms(law, ())
    for known in (Known(EPOCHS, 0.5), Known(-1, 0.5), Known(2, np.nan)):
        with pytest.raises(InvalidInputError, match="no finite loss"):
            final_atoms(law, schedule(3), known)
