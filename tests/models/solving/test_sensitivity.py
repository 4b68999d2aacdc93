"""Prices of the limits against difference quotients; rooms against what lies beyond them."""

import math

import msgspec
import numpy as np
import pytest

from depl.instances.generator import random_instances, random_plan
from depl.instances.library import load
from depl.models.evaluation.evaluate import epoch_loads, evaluate
from depl.models.problem.allocation import allocate
from depl.models.solving.sensitivity import prices, rooms

TINY = load("tiny")


def cheapest_cost(instance, plan):
    """V of the page on the problem; infinite where the limits cannot be kept."""
    target = instance.target
    return allocate(epoch_loads(instance, plan), target.maximum_time, target.round_deadline).cost


def with_capacity(instance, name, capacity):
    changed = [
        msgspec.structs.replace(item, capacity=capacity) if item.name == name else item
        for item in instance.clusters
    ]
    return instance.replace(clusters=tuple(changed))


def with_limit(instance, name, value):
    """``instance`` with another value of the limit that a room or a price is named after."""
    if name.startswith("r("):
        return with_capacity(instance, name[2:-1], value)
    return instance.replace(**{{"T_max": "maximum_time", "tau": "round_deadline"}[name]: value})


def random_cases(seed, count):
    """Random plans that can keep the limits; T_max is close to the fastest time in every second case."""
    rng = np.random.default_rng(seed)
    for index, instance in enumerate(random_instances(rng, count)):
        plan = random_plan(rng, instance)
        if index % 2:
            plan = msgspec.structs.replace(plan, instance=None)
            fastest = allocate(epoch_loads(instance, plan), 1e9, None).fastest_time
            instance = instance.replace(maximum_time=fastest * 1.1) if fastest else instance
        if plan.epochs and math.isfinite(cheapest_cost(instance, plan)):
            yield instance, plan


def test_prices_are_the_difference_quotients_of_the_cheapest_cost():
    compared = {"T_max": 0, "tau": 0, "r": 0}
    for instance, plan in random_cases(1, 60):
        found = prices(instance, plan)
        target = instance.target
        limits = {f"r({name})": (instance.cluster(name).capacity, x) for name, x in found.capacity.items()}
        if target.maximum_time is not None:
            limits["T_max"] = target.maximum_time, found.time
        if target.round_deadline is not None:
            limits["tau"] = target.round_deadline, found.round_deadline
        before = cheapest_cost(instance, plan)
        for name, (value, price) in limits.items():
            step = 1e-6 * value
            after = cheapest_cost(with_limit(instance, name, value + step), plan)
            assert price == pytest.approx((before - after) / step, rel=1e-3, abs=1e-6 * before / value)
            compared[name.partition("(")[0]] += price > 0
    assert min(compared.values()) >= 3


def test_a_limit_at_the_end_of_its_room_holds_and_beyond_it_does_not():
    checked = set()
    for instance, plan in random_cases(2, 10):
        evaluation = evaluate(instance, plan)
        for room in rooms(instance, plan, evaluation):
            if room.relative < 1e-3 or room.name in ("l_max", "K_max") or room.last == 0:
                continue
            kept = with_limit(instance, room.name, room.last * (1 + 1e-6))
            missed = with_limit(instance, room.name, room.last * (1 - 1e-6))
            assert math.isfinite(cheapest_cost(kept, plan)), room
            assert math.isinf(cheapest_cost(missed, plan)), room
            checked.add(room.name.partition("(")[0])
    assert checked == {"T_max", "tau", "r"}


def test_the_target_holds_at_the_end_of_its_room_and_not_far_beyond_it(tiny_optimum):
    room = next(
        item for item in rooms(TINY, tiny_optimum, evaluate(TINY, tiny_optimum)) if item.name == "l_max"
    )
    assert (room.last, room.relative) == (6.25, pytest.approx(0.25 / 8.5))
    assert evaluate(TINY.replace(maximum_loss=6.25), tiny_optimum).feasible
    assert not evaluate(TINY.replace(maximum_loss=6.249), tiny_optimum).feasible
