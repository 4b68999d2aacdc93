"""Method `exact` proves what writing out every plan shows, and says why it stopped."""

import itertools
import math
from types import SimpleNamespace

import pytest
from scipy import stats

import depl
from depl.models.exact import law as module
from depl.models.exact.law import exact
from depl.models.exact.law_judge import LawJudge
from depl.models.exact.search import Task
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.instance import Instance
from depl.models.problem.laws import Deterministic, Empirical, Normal, StudentT
from depl.models.risk.verdicts import Verdict
from depl.models.solving.methods import Limits
from depl.models.solving.result import Solution, Termination
from tests.cases.law_search_cases import (
    AWKWARD,
    BELL,
    SKEW,
    constant,
    drawn,
    law_search,
    make,
    require_agreement,
    tabled,
)
from tests.cases.law_search_cases import cost_of as cost_of_plan

TINY = depl.load("tiny")


@pytest.mark.parametrize("level", [0.9, 0.99, 0.999, 0.999999])
def test_a_plan_whose_violation_is_exactly_the_budget_is_found(level):
    """With 1 - omega the last epoch is a disaster; rounding once said that no plan was left."""
    count = round(1 / (1 - level))
    noises = [*(Deterministic(value=value) for value in (2.0, 1.5, 1.5, 1.5, 1.5))]
    noises.append(Empirical(values=(-1000.0, 1.5), weights=(1.0, count - 1.0)))
    instance = make([tabled(*noises)], quantile_level=level, maximum_epochs=6, maximum_loss=1.0)
    assert require_agreement(instance.replace(maximum_time=40.0)) is Termination.OPTIMAL


@pytest.mark.parametrize(
    ("target", "cost"), [(13, 76.62686129), pytest.param(9, 137.8359025, marks=pytest.mark.slow)]
)
def test_the_optima_of_the_papers_instances_are_proved(target, cost):
    found = depl.solve(depl.load(f"paper-alexnet-deadline-{target}"), "exact", time_limit=100)
    assert found.termination is Termination.OPTIMAL
    assert found.cost == pytest.approx(cost, rel=1e-9)
    assert found.lower_bound >= found.cost * (1 - 1e-9)


# Ends.


def test_an_unreachable_target_names_the_quantile_that_is_near():
    found = depl.solve(make([constant(Deterministic(value=0.5))]), "exact")
    assert found.termination is Termination.INFEASIBLE
    assert "the best quantile of a plan that changes model or data at most once is about 8" in found.reason


@pytest.mark.parametrize(
    "seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))]
)
def test_an_unreachable_target_names_a_time_that_would_certainly_do(seed):
    """An epoch takes 0.7 at least. P(three gain 4) = 0.7009 by the normal law, whatever 200 draws say."""
    steady = make([BELL], maximum_time=2.0, quantile_level=0.702)
    assert stats.norm.cdf((3 * 1.5 - 4) / math.sqrt(3 * 0.3)) < 0.702 < stats.norm.cdf(2 / math.sqrt(4 * 0.3))
    found = depl.solve(steady, "exact", seed=seed)
    assert found.termination is Termination.INFEASIBLE
    assert found.reason.endswith(
        "; a plan that changes model or data at most once and meets it takes 2.8, maximum_time is 2"
    )
    assert depl.solve(steady.replace(maximum_time=2.8), "exact").epochs == 4


def hard() -> Instance:
    """Ten times too long to finish within a second."""
    return depl.load("paper-alexnet-deadline-9").replace(maximum_epochs=60)


@pytest.mark.parametrize("seconds", [1e-9, 0.3, pytest.param(1.0, marks=pytest.mark.slow)])
def test_the_time_limit_is_kept_and_leaves_a_valid_bound(seconds):
    optimum = 137.8359025
    found = depl.solve(hard(), "exact", time_limit=seconds)
    assert found.wall_seconds < seconds + 30
    assert found.lower_bound <= optimum * (1 + 1e-9)
    assert found.cost is None or found.cost >= optimum * (1 - 1e-9)
    if seconds < 0.1:
        assert (found.termination, found.solution) == (Termination.TIME_LIMIT, Solution.NONE)
        assert "allow more time" in found.reason


@pytest.mark.parametrize("after", [0, 1, 3])
def test_an_interrupt_leaves_the_incumbent_and_a_valid_bound(monkeypatch, after):
    known = depl.solve(TINY, "enumerate")
    calls = []

    class Interrupting(module.LawSubproblem):
        def proceed(self, nodes):
            calls.append(nodes)
            if len(calls) > after:
                raise KeyboardInterrupt
            return super().proceed(min(nodes, 1))

    monkeypatch.setattr(module, "LawSubproblem", Interrupting)
    outcome = exact(TINY, Limits())
    assert outcome.termination is Termination.INTERRUPTED
    assert outcome.plan is not None
    assert depl.check(TINY, outcome.plan).ok
    assert 0 <= outcome.lower_bound <= known.cost * (1 + 1e-9)


def on_the_edge() -> Instance:
    """P = 1 - omega exactly, next to a normal law: no interval of positive width can tell."""
    edge = [Deterministic(value=2.0), Normal(mean=1.5, variance=4e-4)]
    edge.append(Empirical(values=(-1000.0, 1.5), weights=(1.0, 9.0)))
    return make([tabled(*edge)], maximum_epochs=3, maximum_loss=5.5, maximum_time=40.0)


def test_what_cannot_be_decided_is_neither_accepted_nor_excluded():
    known, found = (depl.solve(on_the_edge(), method) for method in ("enumerate", "exact"))
    assert (known.termination, found.termination) == (Termination.EXHAUSTED,) * 2
    assert (found.plan, found.solution) == (None, Solution.NONE)
    assert found.lower_bound == pytest.approx(known.lower_bound, rel=1e-9)
    assert found.lower_bound <= known.lower_bound
    assert "too close to 1 - omega to be decided" in found.reason


def with_undecided(monkeypatch, instance: Instance, optimum: float) -> None:
    """Let what meets the target below a cost be undecided."""
    usual = LawJudge.verdict

    def verdict(self, choices):
        found = usual(self, choices)
        cheap = found is Verdict.MET and depl.evaluate(instance, self.problem.plan(choices)).cost < optimum
        return Verdict.UNDECIDED if cheap else found

    monkeypatch.setattr(LawJudge, "verdict", verdict)


def test_the_bound_never_exceeds_the_cost_of_an_undecided_plan(monkeypatch):
    """The optimum, of cost 28, is made undecided: 28 is then the bound, also when the user interrupts."""
    with_undecided(monkeypatch, TINY, 28.5)
    monkeypatch.setattr(module, "TIGHTENINGS", 0)  # no first plans
    outcome = exact(TINY, Limits())
    assert outcome.termination is Termination.EXHAUSTED
    assert outcome.plan is not None
    assert 28 * (1 - 1e-8) <= outcome.lower_bound <= 28
    rows = []

    def interrupt(*row: float) -> None:
        rows.append(row)
        if row[2] >= 27.9:
            raise KeyboardInterrupt

    outcome = exact(TINY, Limits(progress=interrupt))
    assert all(bound <= 28 for _, _, bound in rows)
    assert outcome.lower_bound <= 28


def test_tables_that_do_not_fit_are_refused_or_done_without(monkeypatch):
    monkeypatch.setattr(module, "_MOST_BYTES", 60_000)
    with pytest.raises(NotCoveredError, match="does not cover 3 epochs with"):
        exact(TINY, Limits())
    monkeypatch.setattr(module, "_MOST_BYTES", 160_000)  # the coarsest grid alone
    assert depl.solve(TINY, "exact").cost == pytest.approx(28.0)


# What must not change the optimum, and what can only lower it.


def cost_of(instance: Instance) -> float:
    found = exact(instance, Limits())
    assert found.termination in (Termination.OPTIMAL, Termination.INFEASIBLE)
    return cost_of_plan(instance, found.plan)


# Parts.


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("maximum_time", (6.0, 8.0, 12.0, 30.0)),
        ("maximum_loss", (5.0, 5.8, 6.5, 8.0)),
        ("maximum_epochs", (1, 2, 3, 4)),
        ("quantile_level", (0.99, 0.9, 0.7, 0.5)),
    ],
)
def test_asking_for_less_never_costs_more(field, values):
    for instance in (TINY, make([BELL, SKEW], switch=Normal(mean=0.2, variance=0.1))):
        loosened = values
        if instance is TINY and field == "maximum_loss":
            loosened = tuple(TINY.target.maximum_loss + value - 6.0 for value in values)
        costs = [cost_of(instance.replace(**{field: value})) for value in loosened]
        assert all(after <= before * (1 + 1e-9) for before, after in itertools.pairwise(costs))
        assert costs[-1] < costs[0]


def scripted(root_bound: float = 0.0, most: int = 100) -> SimpleNamespace:
    """A subproblem that never finds anything, and the nodes that it was asked to search."""
    asked: list[int] = []

    def proceed(nodes: int) -> None:
        asked.append(nodes)
        if len(asked) > most:
            raise RuntimeError("asked for more than there was effort")

    return SimpleNamespace(finished=False, root_bound=root_bound, proceed=proceed, asked=asked)


@pytest.mark.parametrize("bound", [1e-9, 7.0, 1e9])
def test_a_task_that_is_left_keeps_no_bound_above_that_of_its_table(bound, monkeypatch):
    """By the rounding that is granted to proofs it stays below."""
    search = law_search(make([BELL]))
    monkeypatch.setattr(search, "_subproblem", lambda *_: scripted(bound))
    left = search._explored(Task(0.5 * bound, search.assigned[0], 3, 0.0), 1_000)
    assert bound * (1 - 1e-8) <= left.bound < bound


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_before_the_first_plan_a_share_of_the_fall_stands_for_the_deviation(unit):
    models = [constant(Normal(mean=1.5 * unit, variance=0.3 * unit**2))]
    search = law_search(make(models, initial_loss=10.0 * unit, maximum_loss=6.0 * unit))
    loss = FinalLoss(9.0, ((Term(-1.0, StudentT(degrees_of_freedom=1.5, location=0.0, scale=1.0)), 1),))
    assert 0.01 < search.risk.judge.deviation(loss) / (4.0 * unit) < 1.0
    grid = search.risk._grid(search, 3, 512)
    assert grid.highest * grid.step >= 0.04 * unit


@pytest.mark.parametrize("count", [3, *(pytest.param(more, marks=pytest.mark.slow) for more in (5, 10))])
def test_exact_agrees_where_few_epochs_are_left_or_none_suffice(count):
    endings = []
    for instance in drawn(count, (2, 3)):
        fall = instance.target.initial_loss - instance.target.maximum_loss
        endings.append(require_agreement(instance.replace(maximum_loss=instance.target.maximum_loss - fall)))
    assert Termination.INFEASIBLE in endings


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_exact_agrees_with_all_plans_enumerated_on_500_instances(part):
    for instance in drawn(500, (2, 6))[part::10]:
        require_agreement(instance)


def every_law_at_two_levels():
    """By default each law at one of the levels, in turn; slowly at the other, too."""
    for place, name in enumerate(AWKWARD):
        yield name, (0.6, 0.95)[place % 2]
        yield pytest.param(name, (0.95, 0.6)[place % 2], marks=pytest.mark.slow)


@pytest.mark.parametrize(("name", "level"), list(every_law_at_two_levels()))
def test_exact_agrees_where_the_laws_are_awkward(name, level):
    require_agreement(AWKWARD[name].replace(quantile_level=level, maximum_epochs=3))
