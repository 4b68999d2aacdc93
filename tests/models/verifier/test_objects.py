"""Alter a formula on the solver's side, solve, and the verifier must object: one test per formula."""

import dataclasses
import re

import msgspec
import numpy as np
import pytest

from depl.instances.library import load as load_instance
from depl.models.evaluation import end_law, evaluate, loss_law
from depl.models.exact import choices, plan_classes
from depl.models.foundation.interval import Interval
from depl.models.problem import allocation, epochs
from depl.models.problem.epochs import LossStep, Term
from depl.models.problem.instance import (
    Dataset,
    Instance,
    InverseSqrtImprovement,
    PowerDataLaw,
)
from depl.models.problem.laws import InverseGamma, Lognormal, Normal
from depl.models.risk import certify, contour, scaled_transforms, transforms
from depl.models.solving.solve import VerificationError, solve
from tests.problems import gain, instance, model, site, student, switches


def everything() -> Instance:
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


def test_the_unaltered_solver_satisfies_the_verifier():
    result = solve(everything(), "enumerate")
    models = [epoch.model for epoch in result.plan.epochs]
    assert set(models) == {"full", "pruned"}  # the switch matters
    assert any("far" in row.datasets for row in result.plan.data)  # the transfer matters
    assert result.training_time == pytest.approx(4.0)  # the budget matters


def altered_load(**changes):
    def wrong(*arguments):
        load = epochs.load(*arguments)
        return dataclasses.replace(
            load, **{name: change(getattr(load, name)) for name, change in changes.items()}
        )

    return [(module, "load", wrong) for module in (choices, evaluate, plan_classes)]


def altered_step(change):
    def wrong(*arguments):
        return change(epochs.loss_step(*arguments), arguments)

    return [(module, "loss_step", wrong) for module in (loss_law, plan_classes)]


def scaled_terms(factor):
    def change(step, _):
        terms = tuple(Term(factor * term.coefficient, term.law) for term in step.terms)
        return LossStep(step.retention, step.shift, terms)

    return change


def next_epoch(_, arguments):
    return epochs.loss_step(arguments[0], arguments[1] + 1, *arguments[2:])


def without_switch(step, _):
    return LossStep(step.retention, step.shift, step.terms[:1])


def switch_that_helps(step, _):
    flipped = tuple(Term(-abs(term.coefficient), term.law) for term in step.terms)
    return LossStep(step.retention, step.shift, flipped)


def all_the_data(_, arguments):
    return epochs.loss_step(*arguments[:-1], frozenset(["near", "far"]))


def generous(interval: Interval) -> Interval:
    return Interval(interval.lower * 0.9, interval.upper * 0.9, interval.how)


def wasteful(loads, maximum_time, round_deadline):
    found = allocation.allocate(loads, maximum_time, round_deadline)
    uneven = np.where(np.arange(len(found.resources)) % 2 == 0, 1.06, 1.0)
    return dataclasses.replace(found, resources=np.minimum(found.resources * uneven, 6.0))


def stingy(loads, maximum_time, round_deadline):
    found = allocation.allocate(loads, maximum_time, round_deadline)
    return dataclasses.replace(found, resources=found.resources * (1 - 1e-6))


def no_transfers(self, dataset, cluster):
    return 0.0


EQUATION = re.compile(r"verifier: (\(\d\)|T\(k\)|claim)")

ALTERATIONS = {
    "work c too small": altered_load(work=lambda value: 0.99 * value),
    "nodes not paid": altered_load(price=lambda value: value / 2),
    "capacity r too large": altered_load(capacity=lambda value: 4 * value, work=lambda value: 8 * value),
    "communication s/b forgotten": altered_load(communication=lambda value: 0.0),
    "x not at the KKT point": [(choices, "allocate", wasteful)],
    "x too small for the time budget": [(choices, "allocate", stingy)],
    "transfers forgotten, eq. (2)": [(Instance, "transfer_cost", no_transfers)],
    "improvement too large, eq. (8)": altered_step(scaled_terms(1.02)),
    "epoch index off by one, eq. (8)": altered_step(next_epoch),
    "switch loss forgotten, eq. (1)": altered_step(without_switch),
    "switch loss with the wrong sign": altered_step(switch_that_helps),
    "probability too small": [
        (end_law, "certified_violation", lambda *a: generous(certify.certified_violation(*a))),
    ],
    "quantile too small": [
        (
            end_law,
            "certified_quantile",
            lambda *a: Interval(
                certify.certified_quantile(*a).lower - 0.01, certify.certified_quantile(*a).upper - 0.01, ""
            ),
        ),
    ],
}


@pytest.mark.parametrize("name", ALTERATIONS)
def test_an_altered_formula_is_objected_to(name, monkeypatch):
    for owner, attribute, replacement in ALTERATIONS[name]:
        monkeypatch.setattr(owner, attribute, replacement)
    with pytest.raises(VerificationError) as caught:
        solve(everything(), "enumerate")
    assert EQUATION.search(str(caught.value))  # it names what fails


def test_ignoring_the_data_law_is_objected_to(monkeypatch):
    hard = everything().replace(maximum_loss=2.6)
    assert [len(row.datasets) for row in solve(hard, "enumerate").plan.data] == [1]
    for place, attribute, replacement in altered_step(all_the_data):
        monkeypatch.setattr(place, attribute, replacement)
    with pytest.raises(VerificationError, match=r"\(3\)"):
        solve(hard, "enumerate")


@pytest.fixture(autouse=True)
def no_labels_are_kept():
    """Labels that were made with an alteration, or without, must not serve the other."""
    contour.labels_of.cache_clear()
    yield
    contour.labels_of.cache_clear()


@pytest.mark.parametrize("noise", [Lognormal(mean=1.0, variance=0.05), InverseGamma(mean=1.0, variance=0.3)])
def test_an_error_in_any_transform_is_objected_to(noise, monkeypatch):
    paper = load_instance("paper-alexnet", 13)
    models = tuple(msgspec.structs.replace(row, improvement=gain(noise)) for row in paper.models)
    paper = paper.replace(models=models)
    assert solve(paper, "enumerate").plan is not None

    def off(law, z):
        value, error = transforms.centred_log_transform(law, z)
        return value * 0.999, error

    monkeypatch.setattr(scaled_transforms, "centred_log_transform", off)
    contour.labels_of.cache_clear()  # those of the right transform
    with pytest.raises(VerificationError):
        solve(paper, "enumerate")


def test_an_error_in_the_cores_is_objected_to(monkeypatch):
    jump = switches({("full", "pruned"): student(3, 0.1, 0.05)})
    hard = everything().replace(switches=jump, maximum_epochs=3, maximum_loss=2.3)
    assert solve(hard, "enumerate").plan is not None
    right = certify.cored_violation
    monkeypatch.setattr(certify, "cored_violation", lambda loss, bound: right(loss, bound + 0.02))
    with pytest.raises(VerificationError):
        solve(hard, "enumerate")
