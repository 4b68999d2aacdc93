"""Processes with capped stages, and what capping is for."""

import itertools

import msgspec
import numpy as np
import pytest

import depl
from depl.models.policy import counted_planner, planning
from depl.models.policy.counted_planner import Caps, capped, proxy
from depl.models.policy.planning import solve_policy
from depl.models.policy.process import Process, process
from depl.models.problem.instance import Instance
from depl.models.solving.result import Termination
from tests.cases.memory_cases import CUT, FULL, fitted, instance_of, random_law, run_of


def schedules(found: Process) -> set[tuple[tuple[str, str], ...]]:
    """All ways through a process, from every start on."""

    def ways(number: int) -> list[tuple[tuple[str, str], ...]]:
        tails = [
            ((item.model, item.cluster), *rest)
            for item in found.nodes[number].trainings
            for rest in ways(item.following)
        ]
        return [(), *tails]

    return {way for start in found.starts for way in ways(start.node)}


def within(way: tuple[tuple[str, str], ...], caps: Caps) -> bool:
    parts = [len(list(items)) for _, items in itertools.groupby(way)]
    return not parts or (parts[0] <= caps.first and all(part <= caps.later for part in parts[1:]))


def of_two_lengths() -> Instance:
    """Six runs may train a second stage for three epochs, twelve more for one; one epoch is enough."""
    rng = np.random.default_rng(5)
    runs = []
    for place in range(18):
        later = 3 if place < 6 else 1
        losses = [2.0, 1.5, 0.8, 0.75, 0.7][: 2 + later]
        runs.append(run_of([(FULL, 1), (CUT, later)], np.array(losses) + 0.001 * place))
    law = fitted(runs, rng, residuals="per_run")
    return instance_of(
        law, round_deadline=6.0, maximum_time=None, maximum_epochs=4, maximum_loss=0.9, quantile_level=0.6
    )


@pytest.mark.parametrize("seed", range(6))
def test_a_capped_process_has_the_ways_that_keep_the_caps_and_no_other(seed):
    rng = np.random.default_rng(seed)
    instance = instance_of(
        random_law(rng, residuals="per_run"), round_deadline=6.0, maximum_time=None, maximum_epochs=4
    )
    whole = process(proxy(instance))
    every = schedules(whole)
    parts = [[len(list(items)) for _, items in itertools.groupby(way)] for way in every]
    longest = Caps(max(part[0] for part in parts if part), max(max(part[1:], default=0) for part in parts))
    for first in range(1, longest.first + 1):
        for later in range(longest.later + 1):
            caps = Caps(first, later)
            assert schedules(capped(whole, caps)) == {way for way in every if within(way, caps)}
    assert schedules(capped(whole, longest)) == every


def test_a_shorter_stage_has_more_runs_behind_it_and_is_chosen():
    found = solve_policy(of_two_lengths())
    assert found.policy is not None
    assert found.policy.certificate.runs == 16  # as balanced: 6 of one schedule, 10 of the other
    assert max(node.epoch for node in found.policy.nodes) == 2


def test_there_is_an_answer_as_soon_as_a_fixed_plan_keeps_the_promise(monkeypatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(counted_planner, "capped", interrupted)
    found = solve_policy(of_two_lengths())
    assert found.termination is Termination.INTERRUPTED
    assert found.policy is not None
    assert found.reached >= 0.6


def test_more_epochs_are_tried_where_those_that_the_proxy_asks_for_keep_no_promise(monkeypatch):
    """The first class has two epochs, after which a third of the runs is below the target."""
    monkeypatch.setattr(planning, "restriction", lambda *_: 2)
    instance = of_two_lengths().replace(maximum_time=20.0, maximum_loss=0.805)
    found = solve_policy(instance)
    assert found.policy is not None
    assert (found.policy.maximum_epochs, found.policy.round_deadline) == (3, 6.0)
    assert found.restriction.startswith("at most 3 epochs of at most 6 each")
    assert depl.evaluate_policy(instance, found.policy).ok
    nothing = solve_policy(instance.replace(quantile_level=0.99))
    assert (nothing.policy, nothing.termination) == (None, Termination.EXHAUSTED)
    assert "Record more runs" in nothing.reason
    assert nothing.restriction.startswith("at most 4 epochs of at most 5 each")


def test_where_the_time_is_over_the_margin_is_named_first_if_it_is_in_the_way(monkeypatch):
    instance = of_two_lengths()
    bold = msgspec.structs.replace(instance.traced_law, deviations=(0.5, 0.6), care=0.95)
    ticks, looks = itertools.count(), 30

    def now():
        return float(next(ticks))

    monkeypatch.setattr(planning, "now", now)
    reasons = [solve_policy(instance, time_limit=1e9).reason]
    while "the most was" not in reasons[-1]:
        looks += 5
        reasons.append(solve_policy(instance.replace(traced_law=bold), time_limit=looks).reason)
    over = "the time was over before anything was certified"
    assert all(one == over or "moved up by the margin" in one for one in reasons[1:])
    assert "as every combination is moved up by the margin" in reasons[-1]
    assert reasons[-1].endswith("the time was over before anything was certified")


def test_where_combinations_carry_a_margin_the_refusal_names_the_ways_around_it():
    instance = of_two_lengths()
    bold = msgspec.structs.replace(instance.traced_law, deviations=(0.5, 0.6), care=0.95)
    found = solve_policy(instance.replace(traced_law=bold))
    assert found.policy is None
    for told in ("fit with --care 0", "depl policy decide PLAN --instance INSTANCE", "record more runs"):
        assert told in found.reason
