"""Method `exact` proves what writing out every plan shows, and says why it stopped."""

import math
from types import SimpleNamespace

import pytest
from scipy import stats

import depl
from depl.models.exact import law as module
from depl.models.exact.law import exact
from depl.models.exact.law_problem import LawProblem
from depl.models.exact.search import Task
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.laws import Normal
from depl.models.risk.verdicts import Verdict
from depl.models.solving.limits import Limits
from depl.models.solving.result import Solution, Termination
from tests.cases.law_search_cases import AWKWARD, BELL, law_search, make, require_agreement, tabled
from tests.problems import atoms

TINY = depl.load("tiny")


def test_the_optimum_of_an_instance_of_the_paper_is_proved():
    found = depl.solve(depl.load("paper-alexnet-deadline-13"), "exact", time_limit=100)
    assert found.termination is Termination.OPTIMAL
    assert found.cost == pytest.approx(76.62686129, rel=1e-9)
    assert found.lower_bound >= found.cost * (1 - 1e-9)


# Ends.


def test_an_unreachable_target_names_a_time_that_would_certainly_do():
    """An epoch takes 0.7 at least. P(three gain 4) = 0.7009 by the normal law, whatever 200 draws say."""
    steady = make([BELL], maximum_time=2.0, quantile_level=0.702)
    assert stats.norm.cdf((3 * 1.5 - 4) / math.sqrt(3 * 0.3)) < 0.702 < stats.norm.cdf(2 / math.sqrt(4 * 0.3))
    found = depl.solve(steady, "exact", seed=1)
    assert found.termination is Termination.INFEASIBLE
    assert found.reason.endswith(
        "; a plan that changes model or data at most once and meets it takes 2.8, maximum_time is 2"
    )
    assert depl.solve(steady.replace(maximum_time=2.8), "exact").epochs == 4


def test_what_cannot_be_decided_is_neither_accepted_nor_excluded():
    """P = 1 - omega exactly, next to a normal law: no interval of positive width can tell."""
    edge = tabled(2.0, Normal(mean=1.5, variance=4e-4), atoms(-1000.0, 1.5, weights=(1.0, 9.0)))
    on_the_edge = make([edge], maximum_epochs=3, maximum_loss=5.5, maximum_time=40.0)
    known, found = (depl.solve(on_the_edge, method) for method in ("enumerate", "exact"))
    assert (known.termination, found.termination) == (Termination.EXHAUSTED,) * 2
    assert (found.plan, found.solution) == (None, Solution.NONE)
    assert found.lower_bound == pytest.approx(known.lower_bound, rel=1e-9)
    assert found.lower_bound <= known.lower_bound
    assert "too close to 1 - omega to be decided" in found.reason


def test_the_bound_never_exceeds_the_cost_of_an_undecided_plan(monkeypatch):
    """The optimum, of cost 28, is made undecided: 28 is then the bound, also when the user interrupts."""
    usual = LawProblem.verdict

    def verdict(self, choices):
        found = usual(self, choices)
        cheap = found is Verdict.MET and depl.evaluate(TINY, self.plan(choices)).cost < 28.5
        return Verdict.UNDECIDED if cheap else found

    monkeypatch.setattr(LawProblem, "verdict", verdict)
    monkeypatch.setattr(module, "TIGHTENINGS", 0)  # no first plans
    outcome = exact(TINY, Limits())
    assert outcome.termination is Termination.EXHAUSTED
    assert outcome.plan is not None
    assert 28 * (1 - 1e-8) <= outcome.lower_bound <= 28
    rows = []

    def interrupt(*row):
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


@pytest.mark.parametrize("bound", [1e-9, 7.0, 1e9])
def test_a_task_that_is_left_keeps_no_bound_above_that_of_its_table(bound, monkeypatch):
    """By the rounding that is granted to proofs it stays below; nothing is ever found."""
    search = law_search(make([BELL]))
    endless = SimpleNamespace(finished=False, root_bound=bound, proceed=lambda nodes: None)
    monkeypatch.setattr(search, "_subproblem", lambda *_: endless)
    left = search._explored(Task(0.5 * bound, search.assigned[0], 3, 0.0), 1_000)
    assert bound * (1 - 1e-8) <= left.bound < bound


@pytest.mark.parametrize("name", AWKWARD)
def test_exact_agrees_where_the_laws_are_awkward(name):
    """At two levels in turn."""
    level = (0.6, 0.95)[list(AWKWARD).index(name) % 2]
    require_agreement(AWKWARD[name].replace(quantile_level=level, maximum_epochs=3))
