"""A gamma law that only the tests know is solved by every method, verified, sampled, fitted and explained."""

import functools
import json

import numpy as np
import pytest

import depl
from depl.instances.perturbed import Parameter, scaled
from depl.models.estimation.fit import fit_improvement, fit_switch
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.laws import register_law
from depl.models.scenarios.draws import draw_scenarios
from depl.models.solving.methods import Meaning
from tests.cases.gamma_law import BareGammaLaw, GammaLaw
from tests.problems import plan

GAINS = ((4.0, 1.0), (25.0, 0.1))
JUMP = {"shape": 4.0, "scale": 0.05}
GRID = {"density-greedy", "enumerate", "exact", "scenario-search"}
"""Methods that solve the law that offers nothing: those that certify with it, prove with it, draw from it."""


def instance_of(kind, switches=True):
    """One cluster, one dataset, two models, at most four epochs."""
    content = json.loads(depl.load("tiny").to_json())
    content["clusters"], content["datasets"] = content["clusters"][:1], content["datasets"][:1]
    content["transfers"] = []
    for model, (shape, scale) in zip(content["models"], GAINS, strict=True):
        model["improvement"]["noise"] = {"type": kind, "shape": shape, "scale": scale}
    if switches:
        content["switches"], content["other_switches"] = [], {"type": kind, **JUMP}
    content["target"] |= {"maximum_epochs": 4, "maximum_time": 9.0}
    return depl.Instance.from_json(json.dumps(content))


@pytest.fixture(autouse=True)
def _registered(own_laws):
    register_law(GammaLaw)
    register_law(BareGammaLaw)


CASES = [
    (item.name, kind)
    for item in depl.methods()
    for kind in ("gamma", "bare_gamma")
    if item.name in GRID or (kind == "gamma" and item.name != "milp")  # which draws as scenario-search does
]


@functools.cache
def verified(kind, plan):
    """Whether the verifier accepts a plan with all that it claims; many methods find the same one."""
    return depl.check(instance_of(kind, switches=False), plan).ok


@pytest.mark.parametrize(("method", "kind"), CASES)
def test_every_method_solves_it_and_the_verifier_agrees(method, kind):
    """Cheapest 8 (by enumeration, and by the exact search): no plan that holds under the law costs less."""
    instance = instance_of(kind, switches=False)
    known = {item.name: item for item in depl.methods()}[method]
    count = 20 if known.meaning is Meaning.SCENARIOS else None
    options = {"draws": 5} if method == "random" else {}
    looks = 1500 if method == "depl" else None  # by then it is stuck, in a second or two
    result = depl.solve(instance, method, scenarios=count, options=options, looks=looks)
    assert result.plan is not None
    assert verified(kind, result.plan)
    if method in ("enumerate", "exact"):
        assert result.solution is depl.Solution.PROVEN_OPTIMAL
        assert result.cost == pytest.approx(8.0)
    elif known.meaning is Meaning.LAW:
        assert result.lower_bound <= 8.0 + 1e-9 <= result.cost + 2e-9


def test_a_label_that_needs_what_the_law_does_not_offer_is_refused_in_words():
    whole, bare = (instance_of(kind, switches=False) for kind in ("gamma", "bare_gamma"))
    for label in ("entropic", "normal"):
        assert depl.solve(whole, "depl-paper", options={"label": label}).plan is not None
    depl.solve(bare, "depl-paper", options={"label": "normal"})
    with pytest.raises(NotCoveredError, match="offers no transform"):
        depl.solve(bare, "depl-paper", options={"label": "entropic"})


def switching():
    """Four epochs with two switches."""
    names = ("full", "pruned", "full", "full")
    return plan(*((name, "cloud", 10.0) for name in names), data=("archive",))


@pytest.mark.parametrize("kind", ["gamma", "bare_gamma"])
def test_switches_that_raise_the_loss_are_certified_by_the_grid(kind):
    """The transform of a gamma law ends at 1 / scale: no contour serves where it raises the loss."""
    instance, planned = instance_of(kind), switching()
    found = depl.evaluate(instance, planned)
    drawn = np.random.default_rng(5)
    size = 200_000
    losses = 15 - drawn.gamma(12.0, 1.0, size) - drawn.gamma(25.0, 0.1, size) + drawn.gamma(8.0, 0.05, size)
    share = float((losses > 6.5).mean())
    assert found.violation is not None
    assert found.violation.width < 1e-3
    assert abs(found.violation.middle - share) < 4.5 * (share * (1 - share) / size) ** 0.5 + 1e-3
    assert found.violation.upper < 0.3
    assert depl.check(instance, planned).ok


def test_it_is_explained_sampled_and_instances_are_changed_with_it():
    instance, bare = instance_of("gamma"), instance_of("bare_gamma")
    assert "gamma of mean 4, variance 4" in depl.explain(instance, switching())
    sample = draw_scenarios(instance, 2000, 3)
    assert sample.improvements.shape == (2000, 4, 2)
    assert sample.improvements[:, :, 0].mean() == pytest.approx(4.0, abs=0.15)
    wider = scaled(instance, Parameter.VARIANCE, 2.0).models[0].improvement.noises()[0]
    assert wider.moments() == pytest.approx((4.0, 8.0))
    assert scaled(instance, Parameter.JUMP, 2.0).other_switches.moments() == pytest.approx((0.4, 0.01))
    for parameter, words in ((Parameter.VARIANCE, "spread out"), (Parameter.JUMP, "bare_gamma")):
        with pytest.raises(NotCoveredError, match=words):
            scaled(bare, parameter, 2.0)


def test_it_is_fitted_beside_the_laws_of_the_toolkit():
    rng = np.random.default_rng(11)
    gains = 0.5 * rng.gamma(9.0, 1 / 9, (60, 20)) / np.sqrt(np.arange(1, 21))
    fit = fit_improvement(gains, np.arange(1, 21), rng, resamples=1)
    assert [item.family for item in fit.laws] == ["inverse_gamma", "lognormal", "normal", "gamma"]
    assert fit.best == "gamma"
    noise = fit.as_improvement("gamma").noise
    assert isinstance(noise, GammaLaw)
    assert noise.shape == pytest.approx(9.0, rel=0.15)
    assert noise.moments().mean == pytest.approx(1.0)
    jumps = fit_switch(rng.gamma(4.0, 0.05, 400), rng, resamples=1)
    assert jumps.as_switch("gamma").moments().mean == pytest.approx(0.2, rel=0.1)
