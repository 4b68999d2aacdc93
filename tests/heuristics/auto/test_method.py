"""The method ``auto``: one answer of several methods, each in its turn, and proved where one proves it."""

import math
import threading
from dataclasses import replace

import pytest

import depl
from depl.heuristics.auto import method as module
from depl.models.foundation.errors import NotCoveredError
from depl.models.solving.limits import Cutoff, Limits, Looks
from depl.models.solving.result import Outcome, Phase, Solution, Termination
from depl.models.solving.solve import VerificationError, solve
from tests.cases.memory_cases import instance_of
from tests.cases.traced_law_cases import halves


@pytest.fixture(scope="module")
def optimum(tiny):
    found = solve(tiny, "enumerate")
    return found.plan


@pytest.mark.parametrize("name", ["tiny", "paper-alexnet-9"])
def test_what_exact_proves_is_proved_by_it_alone_and_progress_never_takes_anything_back(name):
    instance, rows, told = depl.load(name), [], []
    found = solve(
        instance, "auto", progress=lambda _, cost, bound: rows.append((cost, bound)), on_phase=told.append
    )
    assert found.solution is Solution.PROVEN_OPTIMAL
    assert found.cost == pytest.approx(solve(instance, "enumerate").cost, rel=1e-9)
    assert "exact" in [phase.method for phase in found.phases]
    assert found.to_dict()["phases"][-1]["method"] == found.phases[-1].method
    assert told[0] == "exact"
    assert list(dict.fromkeys(told)) == [phase.method for phase in found.phases]
    assert [cost for cost, _ in rows] == sorted((cost for cost, _ in rows), reverse=True)
    assert [bound for _, bound in rows] == sorted(bound for _, bound in rows)
    assert all(bound <= cost for cost, bound in rows)


def test_a_traced_law_is_searched_by_enumerate_and_an_interrupt_keeps_its_plan(monkeypatch):
    instance = instance_of(halves(8), maximum_loss=2.0, quantile_level=0.5)
    found, proven = solve(instance, "auto"), solve(instance, "enumerate")
    assert found.cost == proven.cost
    assert [phase.method for phase in found.phases] == ["enumerate"]
    instead(monkeypatch, enumerate_plans=holding(proven.plan, Termination.INTERRUPTED))
    found = solve(instance, "auto")
    assert found.termination is Termination.INTERRUPTED
    assert found.plan is not None


# --- how the phases work together -------------------------------------------------------------------------


def instead(monkeypatch, **methods):
    for name, method in methods.items():
        monkeypatch.setattr(module, name, method)


def refusing(instance, limits):
    raise NotCoveredError("too large")


def holding(plan, ending, lower=0.0, asked=None):
    def answer(instance, limits):
        if asked is not None:
            asked.append(limits.cutoff_cost)
        return Outcome(ending, plan, lower, None if plan is not None else "nothing found")

    return answer


def slow(plan, lower, seen):
    """Never ends by itself; notes what is known at every look at the clock."""

    def answer(instance, limits):
        while not limits.expired():
            seen.append(limits.cutoff_cost)
        return Outcome(Termination.TIME_LIMIT, plan, lower)

    return answer


def interrupted(instance, limits):
    raise KeyboardInterrupt


def broken(instance, limits):
    raise ZeroDivisionError


def optimistic(instance, limits):
    """Tells of a bound that it has to give up, as a search on chords does where it finds ties."""
    limits.report(math.inf, 27.0)
    return Outcome(Termination.EXHAUSTED, None, 4.0)


def impossible(instance, limits):
    return Outcome(Termination.INFEASIBLE, None, math.inf, "models: not in time")


NOTHING = holding(None, Termination.EXHAUSTED)


def bounding(lower, ending=Termination.EXHAUSTED):
    return holding(None, ending, lower)


PRESSED = bounding(0.0, Termination.INTERRUPTED)


@pytest.mark.parametrize(
    ("exact", "loop", "asked", "end", "lower"),
    [
        (refusing, bounding(20.0), {}, Termination.STUCK, 20.0),
        (refusing, bounding(28.0), {}, Termination.OPTIMAL, 28.0),  # the plan of one, the bound of another
        (slow(None, 11.0, []), interrupted, {"looks": 200}, Termination.INTERRUPTED, 11.0),
        (slow(None, 11.0, []), PRESSED, {"looks": 200}, Termination.INTERRUPTED, 11.0),
        (optimistic, NOTHING, {}, Termination.STUCK, 4.0),  # bounds told on the way are no proof
    ],
)
def test_the_cheapest_plan_has_the_best_bound(tiny, optimum, monkeypatch, exact, loop, asked, end, lower):
    """The plan of cost 28 is found by the greedy phase, and told of at once."""
    rows = []
    held = {}
    instead(monkeypatch, exact=exact, density_greedy=holding(optimum, Termination.EXHAUSTED), depl=loop)
    found = solve(
        tiny,
        "auto",
        progress=lambda _, cost, bound: rows.append(cost),
        on_phase=lambda name: held.setdefault(name, min(rows, default=math.inf)),
        **asked,
    )
    assert (found.termination, found.cost) == (end, pytest.approx(28))
    assert found.lower_bound == pytest.approx(lower)
    assert held == {"exact": math.inf, "density-greedy": math.inf, "depl": pytest.approx(28)}
    if lower == 20:
        assert [(phase.method, phase.ending) for phase in found.phases] == [
            ("exact", "refused: too large"),
            ("density-greedy", "exhausted"),
            ("depl", "exhausted"),
        ]


def test_a_wanted_gap_ends_the_turns(tiny, optimum, monkeypatch):
    greedy = holding(optimum, Termination.EXHAUSTED, 21.5)
    loop = holding(None, Termination.EXHAUSTED, 0.0, asked := [])
    instead(monkeypatch, exact=refusing, density_greedy=greedy, depl=loop)
    assert solve(tiny, "auto", gap=0.25).termination is Termination.GAP_REACHED
    assert not asked


def test_who_is_stopped_last_takes_no_proof_back(tiny, monkeypatch):
    """The loop proves that there is no plan; the search, stopped after it, has proved nothing."""
    instead(monkeypatch, exact=slow(None, 3.0, []), density_greedy=NOTHING, depl=impossible)
    found = solve(tiny, "auto", looks=100)
    assert (found.termination, found.lower_bound) == (Termination.INFEASIBLE, math.inf)
    assert found.reason == "models: not in time"


@pytest.mark.parametrize(
    ("exact", "greedy", "loop", "error", "words"),
    [
        (refusing, refusing, refusing, NotCoveredError, "too large"),
        (slow(None, 0.0, []), broken, NOTHING, ZeroDivisionError, None),
        (refusing, None, impossible, VerificationError, "another holds a plan of cost 28: "),
        (refusing, None, bounding(28.1), VerificationError, "another holds a plan of cost 28: "),
    ],
)
def test_defects_are_told_and_no_thread_waits(tiny, optimum, monkeypatch, exact, greedy, loop, error, words):
    """None covers the instance, one fails, or one proves a plan impossible that another holds."""
    before = threading.active_count()
    greedy = greedy or holding(optimum, Termination.EXHAUSTED)
    instead(monkeypatch, exact=exact, density_greedy=greedy, depl=loop)
    with pytest.raises(error, match=words):
        solve(tiny, "auto", looks=100)
    assert threading.active_count() == before


def test_for_long_plans_the_greedy_one_comes_first_and_once(tiny, optimum, monkeypatch):
    monkeypatch.setattr(module, "_LONG", tiny.target.maximum_epochs)
    asked = []
    monkeypatch.setattr(module, "first_greedy_plan", lambda _, limits: asked.append(limits.cutoff_cost))
    loop = holding(optimum, Termination.EXHAUSTED)
    instead(monkeypatch, exact=refusing, density_greedy=refusing, depl=loop)
    found = solve(tiny, "auto")
    assert [phase.method for phase in found.phases] == ["density-greedy", "exact", "depl"]
    assert len(asked) == 1
    assert found.cost == pytest.approx(28)


def test_exact_goes_on_with_what_the_others_found(tiny, optimum, monkeypatch):
    seen = []
    instead(
        monkeypatch,
        exact=slow(None, 12.0, seen),
        density_greedy=holding(None, Termination.EXHAUSTED),
        depl=holding(optimum, Termination.EXHAUSTED, 3.0),
    )
    found = solve(tiny, "auto", looks=400)
    assert seen[0] == math.inf
    assert seen[-1] == pytest.approx(28)
    assert (found.cost, found.lower_bound) == (pytest.approx(28), 12.0)
    assert found.termination is Termination.TIME_LIMIT
    assert [phase.method for phase in found.phases] == ["density-greedy", "depl", "exact"]
    # 5 % and 30 % of the looks, then all that the loop leaves of them
    assert 0.7 * 400 < len(seen) <= 400


def test_a_phase_that_proves_there_is_no_cheaper_plan_proves_the_known_one(tiny, optimum, monkeypatch):
    """The real search, told of a cost before it begins: what it proves is up to there, and no more."""
    for known in (20.0, 28.0):
        found = module.exact(tiny, Limits(cutoff=Cutoff(known)))
        assert known * (1 - 1e-8) <= found.lower_bound <= 28
        own = found.plan is not None and known == 28.0
        assert found.termination is (Termination.OPTIMAL if own else Termination.EXHAUSTED)
    instead(monkeypatch, density_greedy=holding(optimum, Termination.EXHAUSTED))
    monkeypatch.setattr(module, "_MOMENT", (0.0, 0.0))
    found = solve(tiny, "auto")
    assert found.solution is Solution.PROVEN_OPTIMAL
    row = next(row for row in found.phases if row.method == "exact")
    if row.cost is None:
        assert row.ending == "proved that no plan is cheaper than the one held"


def test_without_a_limit_exact_ends_some_time_after_the_loop(tiny, optimum, monkeypatch):
    for name in ("_MOMENT", "_GREEDY", "_FIRST", "_LAST"):
        monkeypatch.setattr(module, name, (getattr(module, name)[0], 0.01))
    loop = holding(optimum, Termination.EXHAUSTED, 5.0)
    greedy = holding(None, Termination.EXHAUSTED)
    instead(monkeypatch, exact=slow(None, 7.0, []), density_greedy=greedy, depl=loop)
    found = solve(tiny, "auto")
    assert (found.termination, found.lower_bound) == (Termination.EXHAUSTED, 7.0)
    assert found.phases[-1] == Phase("exact", "time_limit", found.phases[-1].seconds, None, 7.0)


def test_turns_are_shares_of_what_is_left():
    counted = Limits(looks=Looks(100)).turn(0.3, 5.0)
    assert counted.looks.left == 30
    assert [counted.expired() for _ in range(31)] == [False] * 30 + [True]
    assert counted.looks.whole.left == 69
    assert Limits(time_limit=100.0).turn(0.3, 5.0).time_limit == pytest.approx(30, abs=1)
    assert Limits().turn(0.3, 5.0).time_limit == 5.0


def test_turns_are_counted_in_cpu_seconds(monkeypatch):
    """What else the machine does takes no turn away, up to twice its share of the clock."""
    times = {"clock": 50.0, "cpu": 1.0}
    monkeypatch.setattr("depl.models.solving.limits.time.process_time", lambda: times["cpu"])
    told = []
    free = Limits(clock=lambda: times["clock"], started=40.0, progress=lambda t, *_: told.append(t))
    limited = replace(free, time_limit=110.0)  # 100 are left
    turns = {"free": free.turn(0.3, 5.0), "limited": limited.turn(0.3, 5.0)}
    turns["half"] = turns["limited"].part(0.5)
    for clock, cpu, over in (
        (109.0, 5.9, [False, False, False]),
        (109.0, 6.1, [True, False, False]),
        (109.0, 16.1, [True, False, True]),
        (110.1, 16.1, [True, True, True]),
        (60.0, 31.1, [True, True, True]),
    ):
        times.update(clock=clock, cpu=cpu)
        assert [turn.expired() for turn in turns.values()] == over
    assert turns["limited"].lateness() == pytest.approx(0.1)
    turns["limited"].report(1.0, 0.0)
    assert told == [20.0]  # progress is told by the clock
