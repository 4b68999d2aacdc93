"""All plans listed, against brute force and the verifier, the known optima, and refusals and limits."""

import math
import re
from dataclasses import replace

import msgspec
import pytest

import depl
from depl.instances.library import load
from depl.models.exact import listing
from depl.models.exact import plan_classes as plan_classes_module
from depl.models.exact.assignments import few_assignments
from depl.models.exact.choices import MOST_DATASETS, Choices
from depl.models.exact.listing import _ByClass, enumerate_plans
from depl.models.exact.plan_classes import plan_classes
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.instance import Dataset
from depl.models.problem.laws import Forbidden
from depl.models.problem.plan import Plan
from depl.models.solving.limits import Limits
from depl.models.solving.result import Termination
from tests.problems import instance, model, site

TINY = load("tiny")


@pytest.mark.parametrize("change", ["retention", "shift"])
def test_classes_need_increments_that_neither_forget_nor_depend_on_the_time_since_a_switch(
    change, monkeypatch
):
    """Epoch k comes 0 to k - 1 epochs after the last switch; the first has nothing to depend on."""
    data, kept = {TINY.clusters[0].name: frozenset([TINY.datasets[0].name])}, plan_classes_module.loss_step

    def changed(instance, epoch, since, *others):
        assert 0 <= since < epoch
        step = kept(instance, epoch, since, *others)
        return replace(step, **{change: 0.5 if change == "retention" else step.shift + 0.1 * since})

    monkeypatch.setattr(plan_classes_module, "loss_step", changed)
    with pytest.raises(NotCoveredError, match="depend on the past"):
        plan_classes(TINY.replace(maximum_epochs=4), data, cutoff=math.inf, allowed=10**6)
    if change == "shift":
        once = plan_classes(TINY.replace(maximum_epochs=1), data, cutoff=math.inf, allowed=10**6)
        assert len(once.levels) == 2


def with_datasets(count):
    """Tiny with so many datasets, which may be anywhere."""
    return TINY.replace(
        datasets=tuple(Dataset(name=f"d{index}", volume=1) for index in range(count)), transfers=()
    )


def test_too_many_classes_are_refused_with_the_number():
    with pytest.raises(NotCoveredError, match="at most 50 plan classes: there are more at"):
        enumerate_plans(load("paper-alexnet", 5), Limits(), most=50)


@pytest.mark.parametrize(("epochs", "more"), [(1, 1), (40, 3)])
def test_more_sets_of_data_than_can_be_listed_are_refused_with_their_number_and_size(epochs, more):
    """120 bytes a choice and 300 more in every epoch, to two digits."""
    instance = with_datasets(MOST_DATASETS + more).replace(maximum_epochs=epochs)
    number, sets = MOST_DATASETS + more, 2 ** (MOST_DATASETS + more) - 1
    with pytest.raises(NotCoveredError, match=f"there are {number}, and their {sets} sets") as told:
        _ = Choices(instance).subsets
    choices = sets * len(instance.clusters) * len(instance.models)
    (size,) = re.findall(r"about (\S+) GiB", str(told.value))
    assert float(size) == pytest.approx((choices * 120 + choices * epochs * 300) / 2**30, rel=0.05)


@pytest.mark.parametrize("count", [64, 1024, 14_285])
def test_sets_whose_number_nobody_writes_out_are_refused_with_a_power(count):
    """2**1024 is no floating point number, and 2**14285 has more digits than Python prints."""
    instance = with_datasets(count).replace(maximum_epochs=1000)
    listed = rf"there are {count}, and their 2\^{count} sets .* more than"
    words = {"enumerate": rf"2\^{2 * count} assignments of data", "exact": listed, "milp": listed}
    for method, said in (words | {"expected-greedy": "chooses models for given data"}).items():
        with pytest.raises(NotCoveredError, match=said):
            depl.solve(instance, method)


@pytest.mark.parametrize("count", [1000, 14_285])
def test_assignments_that_nobody_lists_are_not_counted_to_the_end(count):
    """Their number has more digits than Python prints."""
    cluster = TINY.clusters[0]
    problem = Choices(
        with_datasets(count).replace(
            clusters=tuple(msgspec.structs.replace(cluster, name=f"c{index}") for index in range(300)),
            maximum_epochs=1000,
        )
    )
    assert not few_assignments(problem)


@pytest.mark.parametrize(("held", "undecided"), [(5.0, math.inf), (5.0, 5.0), (5.0, 4.0), (None, 5.0)])
def test_an_optimum_is_proved_just_where_all_that_is_undecided_costs_as_much(held, undecided):
    found = _ByClass(TINY, Limits(gap=0.19), 1)
    assert found.lower_bound == 0  # before any plan was seen
    found.held, found.cost, found.undecided = held and Plan(), held or math.inf, undecided
    optimal = held is not None and undecided >= held
    assert found._proved() is (Termination.OPTIMAL if optimal else Termination.EXHAUSTED)
    found.limits = Limits(gap=0.2)
    assert (found._proved() is Termination.GAP_REACHED) == (undecided == 4.0)


@pytest.mark.parametrize("batch", [1, 2, 256])
@pytest.mark.parametrize("best", range(3))
def test_the_best_quantile_is_told_where_no_plan_meets_the_target(best, batch, monkeypatch):
    """Of certain gains, a plan of one epoch each: the cheapest, the dearest, and one between."""
    monkeypatch.setattr(listing, "_FIRST_BATCH", batch)
    monkeypatch.setattr(listing, "_LARGEST_BATCH", batch)
    models = [model(f"m{place}", 3.0 if place == best else 2.0, 2 + place) for place in range(3)]
    outcome = enumerate_plans(instance(*models, maximum_epochs=1, maximum_time=50), Limits())
    assert outcome.termination is Termination.INFEASIBLE
    assert outcome.reason.endswith("best quantile 7")


def test_where_no_class_ends_as_it_may_nothing_is_said_of_quantiles():
    """The fastest of two slow sites sends 1 over 0.5 and computes 8 / 10."""
    ways = {("a", "c"): 0, ("c", "b"): 0, ("a", "b"): Forbidden()}
    models, limits = [model(name, 1) for name in "abc"], {"maximum_loss": 9.5, "deployable": ("b",)}
    barred = instance(*models, switches=ways, initial_model="a", maximum_epochs=1, **limits)
    said = "models: no plan within the time limits ends with a model that may be the last"
    assert enumerate_plans(barred, Limits()).reason == said
    places = site("far", 10, 0.5, 3), site("wide", 1, 50, 3)
    slow = instance(model("a", 1), clusters=places, maximum_time=0.1)
    assert enumerate_plans(slow, Limits()).reason.endswith("the fastest takes 2.8")
