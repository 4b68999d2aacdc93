"""What early stopping saves, and what it reaches: closed forms, fractions, draws; reached is not final."""

from fractions import Fraction

import msgspec
import numpy as np
import pytest
from scipy import stats

from depl.models.evaluation.evaluate import epoch_loads, plan_steps
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import Empirical
from depl.models.solving.early_stopping import early_stopping
from tests.cases.policy_cases import tiny as tiny_policy
from tests.problems import atoms, gains, model, plan, student


def test_the_tiny_optimum_saves_its_third_epoch_in_a_quarter_of_the_runs(tiny, tiny_optimum):
    """Both epochs of full gain 6 with probability 1/4; then the last epoch and its 3 are saved."""
    found = early_stopping(tiny, tiny_optimum)
    assert [item.exact for item in found.survival] == [1, 1, Fraction(3, 4), Fraction(1, 4)]
    assert found.cost.exact == 13 + 12 + Fraction(3, 4) * 3
    assert found.epochs.exact == 2 + Fraction(3, 4)
    assert found.reached.exact == found.final.exact == Fraction(3, 4)


def test_a_transfer_is_paid_only_by_runs_that_get_to_it(tiny, tiny_optimum):
    """Archive on the edge costs 2, before epoch 3 only."""
    edge = msgspec.structs.replace(tiny_optimum.data[1], datasets=("archive",))
    other = msgspec.structs.replace(tiny_optimum, data=(tiny_optimum.data[0], edge))
    assert early_stopping(tiny, other).cost.exact == 13 + 12 + Fraction(3, 4) * (3 + 2)


def test_one_epoch_saves_nothing(bell, steady_plan):
    found = early_stopping(bell, plan(("net", "site", 4)))
    reached = stats.norm.sf(4, 2, 1)
    assert 12 <= found.cost.upper < 12 + 1e-9
    assert reached - 1e-8 < found.reached.lower <= reached + 1e-12
    assert (found.cost.lower, found.reached.upper) == (0, 1)
    assert found.final.lower - 1e-12 <= reached <= found.final.upper + 1e-12


def test_a_target_that_is_left_again_was_reached_and_is_not_final(steady, steady_plan):
    """Gain 4, then lose 1 or gain 1: every run reaches 6, half of them do not end there."""
    either = atoms(-1, 1)
    found = early_stopping(steady.replace(models=(model("net", gains(4, either, either)),)), steady_plan)
    assert (found.reached.exact, found.final.exact, found.epochs.exact) == (1, Fraction(1, 2), 1)


def test_an_untruncated_jump_is_bounded(bell, steady_plan):
    jump = student(1.5, 0.3, 0.5)
    other = msgspec.structs.replace(bell.models[0], name="other")
    instance = bell.replace(models=(*bell.models, other), other_switches=jump)
    found = early_stopping(instance, plan(("net", "site", 4), ("other", "site", 4)))
    rng = np.random.default_rng(0)
    first = 10 - rng.normal(2, 1, 200_000)
    last = first - rng.normal(2, 1, 200_000) + jump.sample(rng, 200_000)
    share = float(((first <= 6) | (last <= 6)).mean())
    assert share - 1e-2 <= found.reached.lower <= share + 5e-3
    assert found.reached.lower >= found.final.lower


def followed(instance, given):
    """Expected cost and epochs with early stopping, and P(reached), by all sequences of atoms."""
    target, last = instance.target, instance.target.deployable
    limit = Fraction(repr(target.maximum_loss)) + Fraction(1, 10**9)
    alive = {Fraction(repr(target.initial_loss)): Fraction(1)}
    if last is None or target.initial_model in last:
        alive = {loss: share for loss, share in alive.items() if loss > limit}
    cost, epochs = Fraction(0), Fraction(0)
    for step, demand, epoch in zip(
        plan_steps(instance, given), epoch_loads(instance, given), given.epochs, strict=True
    ):
        going = sum(alive.values(), Fraction(0))
        cost, epochs = cost + going * Fraction(repr(demand.price * epoch.resources)), epochs + going
        moved = {}
        for loss, share in alive.items():
            for change, part in changes_of(step):
                after = loss + change
                moved[after] = moved.get(after, Fraction(0)) + share * part
        alive = moved
        if last is None or epoch.model in last:
            alive = {loss: share for loss, share in alive.items() if loss > limit}
    return cost, epochs, 1 - sum(alive.values(), Fraction(0))


def changes_of(step):
    found = [(Fraction(repr(step.shift)), Fraction(1))]
    for term in step.terms:
        values = [Fraction(repr(float(value))) for value in term.law.values]
        found = [
            (moved + Fraction(repr(float(term.coefficient))) * value, share / len(values))
            for moved, share in found
            for value in values
        ]
    return found


@pytest.mark.parametrize("seed", range(8))
def test_a_run_stops_only_with_a_model_that_may_be_the_last(seed):
    rng = np.random.default_rng(seed)
    values = [tuple(np.round(rng.choice(np.arange(-1, 5), 2, replace=False) / 8, 3).tolist()) for _ in "ab"]
    deployable = ("large",) if seed % 2 else ("small",)
    instance = tiny_policy(
        *(Empirical(values=item) for item in values),
        deployable=deployable,
        initial_model=("small", "large")[int(rng.integers(2))],
        maximum_loss=float(rng.choice([0.25, 0.5, 1.0])),
        maximum_epochs=5,
    )
    models = [("small", "large")[int(index)] for index in rng.integers(0, 2, 4)]
    found = early_stopping(instance, given := plan(*((name, "site", 2.5) for name in models)))
    cost, epochs, reached = followed(instance, given)
    assert found.cost.exact == pytest.approx(cost, rel=1e-12)
    assert found.cost.lower <= found.cost.exact <= found.cost.upper
    assert (found.epochs.exact, found.reached.exact) == (epochs, reached)


def test_a_plan_of_something_else_is_refused(steady, tiny_optimum):
    with pytest.raises(InvalidInputError):
        early_stopping(steady, tiny_optimum)
