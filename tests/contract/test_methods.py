"""What holds for every method (`depl.testing`), against optima from all plans written out by other code.

Each relation is asked of every registered method on problems with and without rules of sites, atoms,
deadlines, two clusters and datasets, and targets that are met at the start or out of reach. `make slow` asks
more.
"""

import functools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import depl
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.solving.methods import Proof, find
from depl.models.solving.result import Termination
from depl.testing import BrokenPromiseError, Problem, check_method
from depl.testing.methods import RELATIONS, Asked
from depl.testing.problems import TARGETS, draw
from tests.cases.site_cases import keeps_rules
from tests.oracles.brute_force import cheapest_by_brute_force, cheapest_under_scenarios

LOOKS = 20
"""Looks that a method may take which does not prove optima; without them some of them take seconds."""


@functools.cache
def problem(meaning, seed, places, ruled, atoms, target):
    """One of the problems; each is made once, so that what is known of it is remembered."""
    rng = np.random.default_rng(seed)
    clusters, datasets = places
    return draw(rng, meaning, clusters=clusters, datasets=datasets, ruled=ruled, atoms=atoms, target=target)


def problems(meaning):
    return st.builds(
        problem,
        st.just(meaning),
        seed=st.integers(0, 2**20),
        places=st.sampled_from([(2, 1), (1, 1), (1, 2), (2, 2)]),
        ruled=st.booleans(),
        atoms=st.booleans(),
        target=st.sampled_from(TARGETS),
    )


@functools.cache
def written_out(asked):
    """Between which costs the optimum lies; shares no code with any method."""
    if asked.scenarios is None:
        met, possible = cheapest_by_brute_force(asked.instance, rule=keeps_rules)
        return possible, met
    sample = asked.scenarios
    given = sample.improvements, sample.switch_losses, sample.decimals
    found, _ = cheapest_under_scenarios(asked.instance, *given, rule=keeps_rules)
    return found, found


@functools.cache
def asked_of(name):
    method = find(name)
    return Asked(method, written_out, None if method.proof is Proof.OPTIMUM else LOOKS)


def ask(name, relation, examples):
    asked, covered = asked_of(name), 0

    @settings(max_examples=examples)
    @given(problems(asked.method.meaning))
    def holds(one):
        nonlocal covered
        try:
            found = asked.answer(one)
        except NotCoveredError:
            return
        covered += 1
        assert found.plan is None or keeps_rules(one.instance, found.plan)
        RELATIONS[relation](asked, one)

    holds()
    assert covered


METHODS = pytest.mark.parametrize("name", [method.name for method in depl.methods()])


@METHODS
@pytest.mark.parametrize("relation", RELATIONS)
def test_every_relation_holds_for_every_method(name, relation):
    many = 3 if find(name).proof is Proof.OPTIMUM else 2
    ask(name, relation, many if relation == "changes" else 4)


@pytest.mark.slow
@METHODS
@pytest.mark.parametrize("relation", RELATIONS)
def test_every_relation_holds_for_every_method_on_many_problems(name, relation):
    ask(name, relation, 60)


# --- the check itself: methods that lie are found out, and the lie is named


def exact(instance, limits):
    found = find("exact").run(instance, limits)
    assert isinstance(found, depl.Outcome)
    return found


def of_its_bound(instance, limits):
    found = exact(instance, limits)
    return replace(found, lower_bound=1.01 * found.lower_bound)


def of_an_absolute_tolerance(instance, limits):
    found = exact(instance, limits)
    return found if found.lower_bound < 20 else depl.Outcome(Termination.EXHAUSTED, None)


def of_nothing_proved(instance, limits):
    return replace(exact(instance, limits), termination=Termination.EXHAUSTED, lower_bound=-math.inf)


def of_no_gap(instance, limits):
    found = exact(instance, limits)
    return replace(found, termination=Termination.EXHAUSTED) if limits.gap else found


def of_no_plan_to_start_from(instance, limits):
    if limits.cutoff is None:
        return exact(instance, limits)
    return depl.Outcome(Termination.EXHAUSTED, None, 1.01 * limits.cutoff.cost)


def of_its_progress(instance, limits):
    found = exact(instance, limits)
    limits.report(math.inf, 1.01 * found.lower_bound)
    return found


def of_no_interrupt(instance, limits):
    try:
        limits.expired()
    except KeyboardInterrupt:
        return replace(exact(instance, limits), termination=Termination.EXHAUSTED)
    return exact(instance, limits)


def of_its_last_moment(instance, limits):
    if limits.expired():
        return depl.Outcome(Termination.INFEASIBLE, None, math.inf, "there was no time")
    return exact(instance, limits)


class OfItsMemory:
    """Every second answer is another one."""

    calls = 0

    def __call__(self, instance, limits):
        self.calls += 1
        found = exact(instance, limits)
        return found if self.calls % 2 else depl.Outcome(Termination.EXHAUSTED, None, found.lower_bound)


LIARS = {
    of_its_bound: "an answer that is verified",
    of_an_absolute_tolerance: "the unit of cost",
    of_nothing_proved: "the optimum",
    of_no_gap: "a gap",
    of_no_plan_to_start_from: "a plan to start from",
    of_its_progress: "progress",
    of_no_interrupt: "an interrupt",
    of_its_last_moment: "no time left",
    OfItsMemory(): "the same answer",
}
"""Methods with what they have no right idea of, and the relation that shows it."""


@pytest.mark.parametrize(("liar", "relation"), LIARS.items(), ids=lambda item: getattr(item, "__name__", ""))
def test_a_promise_that_a_method_breaks_is_named(liar, relation, own_methods):
    proof = None if liar is of_an_absolute_tolerance else Proof.OPTIMUM
    depl.register("liar", liar, proof=proof)
    with pytest.raises(BrokenPromiseError, match="'liar' breaks") as found:
        check_method("liar", count=12)
    assert found.value.relation == relation
    assert isinstance(found.value.problem, Problem)
    assert found.value.problem.instance.name in str(found.value)


def test_a_method_of_which_nothing_is_asked_is_told(own_methods):
    def covers_nothing(*_):
        raise NotCoveredError("nothing")

    depl.register("covers-nothing", covers_nothing)
    with pytest.raises(InvalidInputError, match="covers none of the problems"):
        check_method("covers-nothing", count=2)


def test_a_user_asks_with_problems_of_their_own(tiny):
    check_method(find("fastest-cluster"), given=[Problem(tiny)], looks=LOOKS)
