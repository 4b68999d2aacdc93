"""Moments and laws of every epoch, against the composition of steps that plans are certified with."""

import numpy as np
import pytest

from depl.heuristics.bounds import learning as module
from depl.heuristics.bounds.learning import Learning
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.epochs import LossStep, compose, loss_step
from depl.models.problem.laws import Deterministic, InverseGamma
from depl.models.problem.learning import InverseSqrtImprovement
from tests.cases.loop_cases import nonempty_sets
from tests.problems import atoms, drawn, model


def sequences(instance, rng):
    """A few sequences of models that are allowed."""
    found = []
    for _ in range(5):
        before, models = instance.target.initial_model, []
        for _ in range(int(rng.integers(1, instance.target.maximum_epochs + 1))):
            names = [i for i, m in enumerate(instance.models) if instance.may_follow(before, m.name)]
            models.append(int(rng.choice(names)))
            before = instance.models[models[-1]].name
        found.append(models)
    return found


def test_sums_of_moments_and_terms_are_those_of_the_final_loss():
    rng = np.random.default_rng(0)
    switched = 0
    for instance in drawn([6, 2], 15, maximum_epochs=(1, 5)):
        learning = Learning.of(instance)
        sets, names = nonempty_sets(instance), [item.name for item in instance.models]
        assert learning.allowed.tolist() == [
            [instance.may_follow(before, name) for name in names]
            for before in (*names, instance.target.initial_model)
        ]
        for models in sequences(instance, rng):
            data = [sets[rng.integers(len(sets))] for _ in models]
            factors = [instance.learning_factor(chosen) for chosen in data]
            names = [instance.models[m].name for m in models]
            before = [instance.target.initial_model, *names[:-1]]
            steps = [
                loss_step(instance, k + 1, int(p == m), p, m, d)
                for k, (p, m, d) in enumerate(zip(before, names, data, strict=True))
            ]
            whole = compose(instance.target.initial_loss, steps)
            rows = [len(instance.models), *models[:-1]]
            k = np.arange(len(models))
            mean = learning.initial_loss - np.array(factors) @ learning.gains[k, models]
            mean += learning.switch_losses[rows, models].sum()
            variance = np.array(factors) ** 2 @ learning.variances[k, models]
            variance += learning.switch_variances[rows, models].sum()
            assert mean == pytest.approx(whole.mean(), rel=1e-10, abs=1e-10)
            assert variance == pytest.approx(whole.variance(), rel=1e-10)
            made = learning.loss(models, factors)
            assert made.constant == pytest.approx(whole.constant, abs=1e-12)
            assert sum(count for _, count in made.terms) == sum(count for _, count in whole.terms)
            for (term, count), (other, times) in zip(
                sorted(made.terms, key=repr), sorted(whole.terms, key=repr), strict=True
            ):
                assert (count, term.law) == (times, other.law)
                assert term.coefficient == pytest.approx(other.coefficient, rel=1e-12)
            switched += len(set(models)) > 1
    assert switched > 12


def test_the_third_ratio_bounds_every_increment_whatever_its_data(steady):
    """E |Y - E Y|**3 / Var Y of atoms, summed by hand; data shrink it by h."""
    skewed = atoms(0, 0, 0, 4)  # mean 1, variance 3, third absolute moment (3 + 27) / 4
    first = model("net", InverseSqrtImprovement(scale=2, noise=skewed))
    other = model("other", atoms(0, 1))  # 1/4 and 1/8
    instance = steady.replace(models=(first, other), other_switches=atoms(0, 8))
    learning = Learning.of(instance)
    ratios = {"run": 2 * 7.5 / 3, "other": 0.125 / 0.25, "switch": (4**3) / 4**2}
    assert learning.third_ratio == pytest.approx(max(ratios.values()))
    assert Learning.of(steady).third_ratio == 0
    assert Learning.of(steady.replace(maximum_epochs=0)).gains.shape == (0, 1)
    bare = Learning.of(instance.replace(other_switches=Deterministic(value=1)))
    assert bare.third_ratio == pytest.approx(ratios["run"])


def test_an_infinite_variance_gets_its_mean_as_a_stand_in(steady):
    wild = InverseGamma(shape=1.5, scale=1)  # mean 2
    learning = Learning.of(steady.replace(models=(model("net", wild),)))
    assert np.isinf(learning.variances).all()
    runs, switches = learning.with_stand_ins()
    assert runs.tolist() == [[4.0]] * 3
    assert np.isfinite(switches).all()


def test_losses_that_decay_are_refused(steady, monkeypatch):
    monkeypatch.setattr(module, "loss_step", lambda *_: LossStep(0.5, -1.0, ()))
    with pytest.raises(NotCoveredError, match="decay by themselves"):
        Learning.of(steady)
