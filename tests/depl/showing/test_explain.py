"""Every printed equation is arithmetically right, agrees with the evaluation, and says what binds."""

import re

import msgspec
import numpy as np
import pytest

from depl.instances.generator import random_instances, random_plan
from depl.instances.library import load
from depl.models.evaluation.evaluate import evaluate
from depl.models.problem.laws import Deterministic
from depl.models.problem.plan import Plan, PlannedEpoch
from depl.showing.explain import explain
from tests.problems import plan

TINY = load("tiny")
ROWS = [("full", "cloud", 3), ("full", "cloud", 3), ("pruned", "edge", 3)]
TINY_OPTIMUM = plan(*ROWS, data={"cloud": ("archive", "sensors"), "edge": ("sensors",)})
NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?"
EQUATION = re.compile(rf"(?<![\w.])(?<![+*/] )({NUMBER}(?: [+*/] {NUMBER})+) = ({NUMBER})(?![\w.])")


def paper_plan(counts):
    """Epochs of the three AlexNet versions, in their order, on cluster A."""
    names = ("fast-unsteady", "intermediate", "slow-steady")
    rows = [(name, "A", 1.0) for name, count in zip(names, counts, strict=True) for _ in range(count)]
    return plan(*rows, data=("training-data",))


def value_of(expression):
    """A sum of products and quotients of numbers."""
    total = 0.0
    for summand in expression.split(" + "):
        first, *rest = re.split(r" ([*/]) ", summand)
        product = float(first)
        for sign, factor in zip(rest[::2], rest[1::2], strict=True):
            product = product * float(factor) if sign == "*" else product / float(factor)
        total += product
    return total


def moved(instance, field, **changes):
    """The instance with every item of a field changed."""
    items = tuple(msgspec.structs.replace(item, **changes) for item in getattr(instance, field))
    return instance.replace(**{field: items})


PAPER, DEADLINE = load("paper-alexnet", 9), load("paper-alexnet-deadline", 9)
SURE = msgspec.structs.replace(TINY.models[0].improvement, noise=Deterministic(value=4))
WASTE = PlannedEpoch(model="pruned", cluster="edge", resources=5)
SAID = {
    "tiny": (
        TINY,
        TINY_OPTIMUM,
        """Plan of 3 epochs for 'tiny': cost 28, all constraints hold.
        pruned on {sensors}, h = 0.5 l_run = -1.25
        T(k) = 4 / 3 + 0.5 = 1.83333 each
        P(l(3) > 6.5) is exactly 1/4; allowed is 0.3, of which 83.3 % are used: holds
        the 0.7-quantile of l(3) is exactly 25/4
        (4) training time binds: 5 against 5
        one unit more of T_max saves 9 (
        not at all: K_max (3)""",
    ),
    "equal epochs are one line": (
        PAPER,
        paper_plan((0, 0, 12)),
        """tau round deadline binds: 1 against 1, at epochs 1-12
        one unit more of tau saves 12""",
    ),
    "what misses the target": (
        PAPER,
        paper_plan((0, 0, 11)),
        """, NOT FEASIBLE.
        (3) probability of missing the target fails: 0.788073 against 0.01, 0.778073 too much
        nearest first (3) l_max would have to rise from 9 to 9.844""",
    ),
    "what exceeds resources and time": (
        TINY.replace(maximum_time=4),
        msgspec.structs.replace(TINY_OPTIMUM, epochs=(*TINY_OPTIMUM.epochs[:2], WASTE)),
        """(5) resources fails: 5 against 4, 1 too much, at epoch 3
        (4) training time fails: 4.86667 against 4, 0.866667 too much
        the cheapest that keep the time limits""",
    ),
    "no price but a reason": (
        TINY.replace(maximum_time=3),
        TINY_OPTIMUM,
        "no resources keep the time limits",
    ),
    "no training": (TINY.replace(maximum_loss=15), Plan(), "cost 0, all constraints hold."),
    "nodes share the work and are all paid": (
        moved(TINY, "clusters", nodes=2),
        TINY_OPTIMUM,
        """T(k) = 2 / 3 + 0.5 = 1.16667 each
        epochs * nodes * kappa * x = 2 * 2 * 4 * 3 = 48""",
    ),
    "what is certain": (moved(TINY, "models", improvement=SURE), TINY_OPTIMUM, "l_run = -4 "),
}


@pytest.mark.parametrize(("instance", "plan", "lines"), SAID.values(), ids=SAID)
def test_what_is_printed_of_a_plan(instance, plan, lines):
    text = " ".join(explain(instance, plan).split())
    for line in lines.split("\n"):
        assert line.lstrip() in text, line


@pytest.mark.parametrize("count", [5, pytest.param(25, marks=pytest.mark.slow)])
def test_equations_of_random_plans_are_arithmetically_right_and_verdicts_those_of_the_evaluation(count):
    rng = np.random.default_rng(6)
    checked, verdicts = 0, set()
    for instance in random_instances(rng, count):
        plan = random_plan(rng, instance)
        text, evaluation = explain(instance, plan), evaluate(instance, plan)
        for expression, result in EQUATION.findall(text):
            # Six digits are printed, so each of up to a few terms is off by 5e-6 of itself.
            assert value_of(expression) == pytest.approx(float(result), rel=3e-5, abs=1e-9), expression
            checked += 1
        assert ("all constraints hold" in text, "fails:" in text) == (
            evaluation.feasible,
            not evaluation.feasible,
        )
        held = evaluation.violation.at_most(instance.target.violation_budget)
        target = next(part for part in text.split("\n\n") if part.startswith("(3)"))
        assert target.splitlines()[1].endswith("holds" if held else "FAILS")
        verdicts.add(evaluation.feasible)
    assert checked > 4 * count
    assert verdicts == {True, False}
