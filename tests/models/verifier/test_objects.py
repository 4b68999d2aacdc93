"""Alter a formula on the solver's side, solve, and the verifier must object: one row per formula."""

import re
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from depl.instances.library import load as load_instance
from depl.models.evaluation import end_law, evaluate, loss_law
from depl.models.exact import choices, plan_classes
from depl.models.foundation.interval import Interval
from depl.models.problem import epochs
from depl.models.problem.epochs import LossStep, Term
from depl.models.problem.instance import Dataset, Instance, InverseSqrtImprovement, PowerDataLaw
from depl.models.problem.laws import InverseGamma, Lognormal, Normal
from depl.models.risk import certify, contour, scaled_transforms
from depl.models.solving.solve import VerificationError, solve
from tests.problems import gain, instance, model, site, student, switches


def everything():
    """Every part of the problem matters to its optimum: decay, switch, data, transfers, budget, nodes."""
    noise = InverseGamma(mean=1.0, variance=0.05)
    return instance(
        model("full", InverseSqrtImprovement(scale=3.2, offset=1, noise=noise), demand=1.5, size=0.4),
        model("pruned", gain(noise, 0.9), demand=0.4, size=0.2),
        clusters=site("edge", 6, 2, 1.3, nodes=2),
        datasets=(Dataset(name="near", volume=1, work=1.2), Dataset(name="far", volume=1.5)),
        transfers={("far", "edge"): 0.7},
        switches={("full", "pruned"): Normal(mean=0.1, variance=0.01)},
        data_law=PowerDataLaw(p=0.5),
        initial_loss=6.0,
        maximum_loss=1.1,
        quantile_level=0.95,
        maximum_epochs=5,
        maximum_time=4.0,
        round_deadline=2.0,
    )


def altered(name, *places, change):
    """A function by its name in these places, and what is made of its answer and arguments."""
    right = getattr(places[0], name)
    return [(place, name, lambda *given: change(right(*given), *given)) for place in places]


def load(**changes):
    def change(found, *_):
        return replace(found, **{name: made(getattr(found, name)) for name, made in changes.items()})

    return altered("load", choices, evaluate, plan_classes, change=change)


def step(change):
    return altered("loss_step", loss_law, plan_classes, change=change)


def terms(of):
    """Other terms of every step."""
    return step(lambda found, *_: LossStep(found.retention, found.shift, tuple(of(found.terms))))


def resources(of):
    """Other resources than those at the KKT point."""
    return altered(
        "allocate", choices, change=lambda found, *_: replace(found, resources=of(found.resources))
    )


def end(name, of):
    """Other ends of the interval that is certified."""
    return altered(
        name, end_law, change=lambda found, *_: Interval(of(found.lower), of(found.upper), found.how)
    )


def uneven(found):
    return np.minimum(found * np.where(np.arange(len(found)) % 2 == 0, 1.06, 1.0), 6.0)


ALL_DATA = step(lambda _, *given: epochs.loss_step(*given[:-1], frozenset(["near", "far"])))

ALTERATIONS = {
    "work c too small": load(work=lambda value: 0.99 * value),
    "nodes not paid": load(price=lambda value: value / 2),
    "capacity r too large": load(capacity=lambda value: 4 * value, work=lambda value: 8 * value),
    "communication s/b forgotten": load(communication=lambda value: 0.0),
    "x not at the KKT point": resources(uneven),
    "x too small for the time budget": resources(lambda found: found * (1 - 1e-6)),
    "transfers forgotten, eq. (2)": [(Instance, "transfer_cost", lambda *_: 0.0)],
    "improvement too large, eq. (8)": terms(
        lambda found: (Term(1.02 * term.coefficient, term.law) for term in found)
    ),
    "epoch index off by one, eq. (8)": step(
        lambda _, *given: epochs.loss_step(given[0], given[1] + 1, *given[2:])
    ),
    "switch loss forgotten, eq. (1)": terms(lambda found: found[:1]),
    "switch loss with the wrong sign": terms(
        lambda found: (Term(-abs(term.coefficient), term.law) for term in found)
    ),
    "probability too small": end("certified_violation", lambda value: 0.9 * value),
    "quantile too small": end("certified_quantile", lambda value: value - 0.01),
}


@pytest.fixture(autouse=True)
def no_labels_are_kept():
    """Labels that were made with an alteration, or without, must not serve the other."""
    contour.labels_of.cache_clear()
    yield
    contour.labels_of.cache_clear()


def test_the_unaltered_solver_satisfies_the_verifier():
    result = solve(everything(), "enumerate")
    models = [epoch.model for epoch in result.plan.epochs]
    assert set(models) == {"full", "pruned"}  # the switch matters
    assert any("far" in row.datasets for row in result.plan.data)  # the transfer matters
    assert result.training_time == pytest.approx(4.0)  # the budget matters


@pytest.mark.parametrize("name", ALTERATIONS)
def test_an_altered_formula_is_objected_to(name, monkeypatch):
    for place in ALTERATIONS[name]:
        monkeypatch.setattr(*place)
    with pytest.raises(VerificationError, match=r"verifier: (\(\d\)|T\(k\)|claim)"):  # it names what fails
        solve(everything(), "enumerate")


def paper(noise):
    given = load_instance("paper-alexnet", 13)
    return given.replace(
        models=tuple(msgspec.structs.replace(row, improvement=gain(noise)) for row in given.models)
    )


def transform_off(found, *_):
    return found[0] * 0.999, found[1]


TRANSFORMS = altered("centred_log_transform", scaled_transforms, change=transform_off)
CORES = [
    (certify, "cored_violation", lambda of, bound, right=certify.cored_violation: right(of, bound + 0.02))
]
JUMP = switches({("full", "pruned"): student(3, 0.1, 0.05)})


@pytest.mark.parametrize(
    ("asked", "alteration", "words"),
    [
        (everything().replace(maximum_loss=2.6), ALL_DATA, "(3)"),
        (paper(Lognormal(mean=1.0, variance=0.05)), TRANSFORMS, "verifier: "),
        (paper(InverseGamma(mean=1.0, variance=0.3)), TRANSFORMS, "verifier: "),
        (everything().replace(switches=JUMP, maximum_epochs=3, maximum_loss=2.3), CORES, "verifier: "),
    ],
    ids=["less data, eq. (7)", "transforms of lognormal laws", "of inverse gamma laws", "cores"],
)
def test_an_error_that_matters_to_some_problems_is_objected_to_there(asked, alteration, words, monkeypatch):
    assert solve(asked, "enumerate").plan is not None
    for place in alteration:
        monkeypatch.setattr(*place)
    contour.labels_of.cache_clear()  # those of the right transform
    with pytest.raises(VerificationError, match=re.escape(words)):
        solve(asked, "enumerate")
