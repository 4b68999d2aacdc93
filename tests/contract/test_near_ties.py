"""Methods that count scenarios against closed forms: near-ties, signs, edges of omega S, what is infeasible.

All is played on one stage: ``expensive`` (c = 8) and ``cheap`` (c = 4) on one cluster with price 3 and
s / b = 1/2 per epoch; 4 are to be gained. K epochs cost (sum of sqrt(3 c))**2 / (T_max - K / 2). The oracle
that writes all plans out (`tests.oracles.brute_force`) is asked as the methods are.
"""

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from depl.models.problem.instance import Switch
from depl.models.problem.laws import Forbidden, Normal, Zero
from depl.models.scenarios.draws import given_scenarios
from tests.cases.scenario_methods import every_method, proven
from tests.problems import model

WORK = {"expensive": 8.0, "cheap": 4.0}
E, C = "expensive", "cheap"


def closed_form(models, time=5.0):
    roots = math.fsum(math.sqrt(3 * WORK[model]) for model in models)
    return roots**2 / (time - len(models) / 2)


@pytest.fixture(scope="module")
def stage(steady):
    """Switches cost nothing but what the scenarios say."""
    models = model("expensive", Normal(mean=2, variance=1)), model("cheap", Normal(mean=2, variance=1), 1)
    return steady.replace(models=models, other_switches=Normal(mean=0, variance=1), quantile_level=0.9)


@dataclass(frozen=True)
class Case:
    """Gains of a model, the same in every epoch, S numbers or one for all, and the models of the optimum.

    ``switches`` are losses of the switch to cheap and of that back, wherever they are made; None: 0.
    """

    expensive: object
    cheap: object
    models: list[str] | None
    changed: dict[str, object] = field(default_factory=dict)
    switches: tuple[float, float] | None = None
    decimals: int | None = None
    size: int = 10
    closed: bool = True
    """Whether the cost is that of `closed_form`: T_max and capacities are those of the stage."""


def ask(method, stage, case):
    """The method proves the models of the case at their cost, or that there is no plan."""
    instance = stage.replace(**case.changed)
    epochs = instance.target.maximum_epochs
    columns = [
        np.broadcast_to(np.asarray(gain, dtype=float), case.size) for gain in (case.expensive, case.cheap)
    ]
    gains = np.repeat(np.stack(columns, axis=-1)[:, None, :], epochs, axis=1)
    losses = np.zeros((case.size, epochs, 2, 2))
    if case.switches is not None:
        losses[:, :, 0, 1], losses[:, :, 1, 0] = case.switches
    sample = given_scenarios(instance, gains, None if case.switches is None else losses, case.decimals)
    cost, plan = proven(method, instance, sample)
    if case.models is None:
        assert cost == math.inf
        return
    assert [epoch.model for epoch in plan.epochs] == case.models
    assert not case.closed or cost == pytest.approx(closed_form(case.models), rel=1e-9)


def misses(count, size=10, short=3.9):
    """Gains of cheap alone of which so many miss the target."""
    return np.where(np.arange(size) < count, short, 4.1)


ONE, GREAT = {"maximum_epochs": 1}, {"maximum_epochs": 1, "initial_loss": 1000, "maximum_loss": 400}
NO_WAY = (Switch(previous=E, following=C, law=Forbidden()),)
BARRED = {"switches": NO_WAY, "other_switches": Zero()}
NEEDED = [0, *[2.5] * 9]
EDGES = ((0.95, 200, 10), (0.9, 50, 5), (0.95, 199, 9), (0.3, 10, 7), (0.7, 10, 3))
"""omega, S, and how many may miss."""

CASES = {
    # the atom tolerance is 1e-9, and no solver's tolerance may widen it; one miss is allowed, not two
    **{
        f"cheap is short by {short}": Case(5, [0, 4 - short, *[5] * 8], [C] if short <= 1e-9 else [E], ONE)
        for short in (0, 5e-10, -1e-9, -1e-6, 1e-4, 1e-7, 2e-9, 1e-8)
    },
    **{
        f"cheap is short by {short} of 600": Case(
            700, [-500, 600 - short, *[900] * 8], [C] if short <= 1e-9 else [E], GREAT, closed=False
        )
        for short in (1e-8, 2e-9, 0)
    },
    "both are short by 2e-9 of 600": Case(*[[-500, 600 - 2e-9, *[900] * 8]] * 2, None, GREAT, closed=False),
    # 1.9 + 1.8 + 0.3 from the switch are 4; without the switch two epochs gain at most 3.8
    **{
        f"a sum with a switch is short by {short}": Case(
            1.9 - short, 1.8, [C] * 3 if short > 1e-9 else [E, C], switches=(-0.3, 1)
        )
        for short in (1e-6, 2e-9, 5e-10, 0)
    },
    "a switch that gains and is barred is not made": Case(2, 1, [E, E], BARRED, switches=(-1, 0)),
    # the switch gains 100, but nobody can make it: expensive keeps no deadline below 1.3
    "a switch out of reach gains nothing": Case(
        2, 1, None, {"round_deadline": 1.29}, switches=(-100, 0), closed=False
    ),
    "a switch within reach gains": Case(
        2, 1, [E, C], {"round_deadline": 1.3}, switches=(-100, 0), closed=False
    ),
    # two epochs of expensive are needed; they take 2 (8 / 10 + 1 / 2) = 2.6 at least
    "what is needed": Case(NEEDED, 0.5, [E, E]),
    **{
        f"out of reach with {change}": Case(NEEDED, 0.5, None, change)
        for change in (
            {"maximum_loss": -3},
            {"maximum_time": 1.2},
            {"round_deadline": 0.8},
            {"maximum_epochs": 0},
            {"maximum_epochs": 1},
            {"quantile_level": 0.99},
        )
    },
    # expensive takes at least 1.3 an epoch, and cheap may not follow it
    "neither stays nor leaves": Case(
        2, 2, None, {"switches": NO_WAY, "round_deadline": 1.2, "initial_model": E}
    ),
    "stays": Case(
        2, 2, [C, C], {"switches": NO_WAY, "round_deadline": 1.2, "initial_model": C}, closed=False
    ),
    **{
        f"the start meets it with {change}": Case(2, 1, [], change, closed=False)
        for change in ({"maximum_loss": 10}, {"maximum_loss": 11}, {"maximum_loss": 10, "maximum_epochs": 0})
    },
    # floor((1 - omega) S + 1e-9) may miss, though (1 - 0.9) * 50 is 4.999... in floats
    **{
        f"{allowed + more} of {size} miss at {level}": Case(
            5, misses(allowed + more, size), [E] if more else [C], {**ONE, "quantile_level": level}, size=size
        )
        for level, size, allowed in EDGES
        for more in (0, 1)
    },
    # 3 times 0.1 is not 0.3 in floats, nor is 1 - 0.3 equal to 0.7 below; the tolerance closes both gaps
    "sums on a grid are ties": Case(0, 0.1, [C] * 3, {"initial_loss": 1, "maximum_loss": 0.7}, decimals=1),
    # the user's own numbers are obeyed, though the law promises a mean of 2 with variance 1
    "own numbers that lose": Case(40, -40, [E]),
    # 1.96 rounds to 2, so that two epochs gain 4; unrounded they gain 3.92
    "rounded to tenths": Case(0, 1.96, [C] * 2, decimals=1),
    "rounded to hundredths": Case(0, 1.96, [C] * 3, decimals=2),
    "a switch rounded to tenths": Case(2.5, 1.5, [E, C], switches=(0.04, 9), decimals=1),  # 2.5 + 1.5 - 0.0
}


@every_method
@pytest.mark.parametrize("case", CASES)
def test_a_method_that_counts_proves_what_is_worked_out_by_hand(method, case, stage):
    ask(method, stage, CASES[case])
