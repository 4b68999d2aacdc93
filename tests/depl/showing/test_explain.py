"""Every printed equation is arithmetically right, agrees with the evaluation, and says what binds."""

import re

import msgspec
import numpy as np
import pytest

from depl.instances.generator import random_instances, random_plan
from depl.instances.library import load
from depl.models.evaluation.evaluate import evaluate
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import Deterministic, Normal, StudentT
from depl.models.problem.learning import ConstantImprovement
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.risk import finite_sums, transforms
from depl.models.solving.solve import solve
from depl.showing.explain import explain

TINY = load("tiny")
TINY_OPTIMUM = Plan(
    data=(
        ClusterData(cluster="cloud", datasets=("archive", "sensors")),
        ClusterData(cluster="edge", datasets=("sensors",)),
    ),
    epochs=(
        PlannedEpoch(model="full", cluster="cloud", resources=3),
        PlannedEpoch(model="full", cluster="cloud", resources=3),
        PlannedEpoch(model="pruned", cluster="edge", resources=3),
    ),
)
NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?"
EQUATION = re.compile(rf"(?<![\w.])(?<![+*/] )({NUMBER}(?: [+*/] {NUMBER})+) = ({NUMBER})(?![\w.])")


def paper_plan(counts, resources=1.0):
    """Epochs of the three AlexNet versions, in their order, on cluster A."""
    names = ("fast-unsteady", "intermediate", "slow-steady")
    epochs = [
        PlannedEpoch(model=name, cluster="A", resources=resources)
        for name, count in zip(names, counts, strict=True)
        for _ in range(count)
    ]
    return Plan(data=(ClusterData(cluster="A", datasets=("training-data",)),), epochs=tuple(epochs))


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


def section(text, start):
    """The paragraph that opens with ``start``."""
    return next(part for part in text.split("\n\n") if part.startswith(start))


def test_the_tiny_optimum_comes_out_as_computed_by_hand():
    text = explain(TINY, TINY_OPTIMUM)
    assert text.startswith("Plan of 3 epochs for 'tiny': cost 28, all constraints hold.")
    for line in (
        "E l(2) = 7",
        "pruned on {sensors}, h = 0.5  l_run = -1.25",
        "l(3) has mean 6.125",
        "T(k) = 4 / 3 + 0.5 = 1.83333 each",
        "T(k) = 1 / 3 + 1 = 1.33333",
        "cost = 1 + 24 + 3 = 28",
        "P(l(3) > 6.5) is exactly 1/4; allowed is 0.3, of which 83.3 % are used: holds",
        "the 0.7-quantile of l(3) is exactly 25/4",
        "2 * 1.83333 + 1 * 1.33333 = 5; T_max is 5: holds",
        "(4) training time binds: 5 against 5",
        "one unit more of T_max saves 9 ",
    ):
        assert line in text, line


def test_equal_consecutive_epochs_are_one_line():
    text = explain(load("paper-alexnet", 9), paper_plan((0, 0, 12)))
    assert "epochs 1-12  slow-steady on all data" in text
    assert "E l(12) = 8.24" in text
    assert len(section(text, "(1)").splitlines()) == 2


def test_a_decaying_coefficient_shows_its_first_and_its_last_value():
    instance = load("paper-alexnet-deadline", 9)
    text = explain(instance, paper_plan((1, 4, 18), 6.0))
    first, last = (instance.model("intermediate").improvement.at(k)[0] for k in (2, 5))
    assert f"l_run = {-first:.6g} .. {-last:.6g} X, X ~ inverse gamma of mean 0.5, variance 0.01" in text
    assert re.search(r"epoch 2 +fast-unsteady -> intermediate +l_sw = 0", text)


def test_a_plan_that_misses_the_target_is_said_to_fail_and_by_how_much():
    text = explain(load("paper-alexnet", 9), paper_plan((0, 0, 11)))
    assert "NOT FEASIBLE" in text.splitlines()[0]
    assert section(text, "(3)").splitlines()[1].endswith("FAILS")
    assert "(3) probability of missing the target fails: 0.788073 against 0.01, 0.778073 too much" in text
    first = section(text, "What fails next").splitlines()[1]
    assert re.search(r"\(3\) +l_max +would have to rise from 9 to 9\.844", first)


def test_a_binding_round_deadline_names_its_epochs():
    text = explain(load("paper-alexnet", 9), paper_plan((0, 0, 12)))
    assert "tau round deadline binds: 1 against 1, at epochs 1-12" in text
    assert "one unit more of tau saves 12" in text


def test_exceeded_resources_and_time_are_both_named():
    last = PlannedEpoch(model="pruned", cluster="edge", resources=5)
    spread = msgspec.structs.replace(TINY_OPTIMUM, epochs=(*TINY_OPTIMUM.epochs[:2], last))
    text = explain(TINY.replace(maximum_time=4), spread)
    assert "(5) resources fails: 5 against 4, 1 too much, at epoch 3" in text
    assert "(4) training time fails: 4.86667 against 4, 0.866667 too much" in text
    assert "the cheapest that keep the time limits" in text


def test_time_limits_that_no_resources_keep_have_no_price_but_a_reason():
    text = explain(TINY.replace(maximum_time=3), TINY_OPTIMUM)
    assert "no resources keep the time limits" in text
    assert re.search(r"T_max +would have to rise from 3 to 3\.05", text)


def test_the_plan_that_does_not_train_can_be_explained():
    text = explain(TINY.replace(maximum_loss=15), Plan())
    assert text.startswith("Plan of 0 epochs for 'tiny': cost 0, all constraints hold.")
    assert "cost = 0" in text


def test_nodes_of_a_cluster_share_the_work_and_are_all_paid():
    clusters = tuple(msgspec.structs.replace(item, nodes=2) for item in TINY.clusters)
    text = explain(TINY.replace(clusters=clusters), TINY_OPTIMUM)
    assert "T(k) = 2 / 3 + 0.5 = 1.16667 each" in text
    assert "epochs * nodes * kappa * x = 2 * 2 * 4 * 3 = 48" in text


def test_a_constant_improvement_is_a_number():
    models = tuple(
        msgspec.structs.replace(
            item, improvement=msgspec.structs.replace(item.improvement, noise=Deterministic(value=4))
        )
        for item in TINY.models
    )
    assert "l_run = -4 " in explain(TINY.replace(models=models), TINY_OPTIMUM)


@pytest.mark.parametrize("count", [5, pytest.param(25, marks=pytest.mark.slow)])
def test_every_printed_equation_of_random_plans_is_arithmetically_right(count):
    rng = np.random.default_rng(5)
    checked = 0
    for instance in random_instances(rng, 25)[:count]:
        plan = random_plan(rng, instance)
        text = explain(instance, plan)
        for expression, result in EQUATION.findall(text):
            # Six digits are printed, so each of up to a few terms is off by 5e-6 of itself.
            assert value_of(expression) == pytest.approx(float(result), rel=3e-5, abs=1e-9), expression
            checked += 1
    assert checked > 4 * count


@pytest.mark.parametrize("count", [5, pytest.param(25, marks=pytest.mark.slow)])
def test_the_verdicts_of_random_plans_are_those_of_the_evaluation(count):
    rng = np.random.default_rng(6)
    verdicts = set()
    for instance in random_instances(rng, count):
        plan = random_plan(rng, instance)
        evaluation = evaluate(instance, plan)
        text = explain(instance, plan)
        assert ("all constraints hold" in text) == evaluation.feasible
        assert ("fails:" in text) == (not evaluation.feasible)
        held = evaluation.violation.at_most(instance.target.violation_budget)
        assert section(text, "(3)").splitlines()[1].endswith("holds" if held else "FAILS")
        verdicts.add(evaluation.feasible)
    assert verdicts == {True, False}


def test_a_plan_for_another_instance_is_refused():
    with pytest.raises(InvalidInputError, match="no cluster 'A'"):
        explain(TINY, paper_plan((0, 0, 2)))


@pytest.mark.parametrize("reach", [10.0, 1e4])
def test_a_plan_with_a_switch_cut_far_out_is_explained_at_the_cost_of_one_cut_near(reach, monkeypatch):
    """Users are told to truncate; every epoch and every limit asks for a certificate of its own."""
    exponentials = [0.0]

    def count(module, name, size):
        usual = getattr(module, name)

        def counting(*arguments):
            exponentials[0] += size(*arguments)
            return usual(*arguments)

        monkeypatch.setattr(module, name, counting)

    count(transforms, "_line_sums", lambda variable, z, angle, points, *_: len(z) * len(points))
    count(finite_sums, "_sum_of_atoms", lambda z, offsets, masses: len(z) * len(offsets))
    count(finite_sums, "_sums_on_a_line", lambda z, step, offsets, masses: len(z) * len(offsets) / 16)
    bell = ConstantImprovement(noise=Normal(mean=1, variance=0.2))
    far = StudentT(degrees_of_freedom=2, location=0.05, scale=0.1, lower=-reach, upper=reach)
    instance = TINY.replace(
        models=tuple(msgspec.structs.replace(model, improvement=bell) for model in TINY.models),
        switches=(msgspec.structs.replace(TINY.switches[0], law=far),),
    )
    text = explain(instance, TINY_OPTIMUM)
    assert "Plan of 3 epochs for 'tiny'" in text
    assert exponentials[0] <= 2e7  # about a second


def test_what_matters_comes_first_and_what_has_no_room_last() -> None:
    """The target of the shipped instance needs all its epochs."""
    instance = load("tiny")
    plan = solve(instance, "exact").plan
    assert plan is not None
    heads = [section.splitlines()[0] for section in explain(instance, plan).split("\n\n")]
    assert [head.split(":")[0][:20] for head in heads[1:4]] == [
        "What binds", "What fails next", "What the limits cost"
    ]  # fmt: skip
    following = next(
        part for part in explain(instance, plan).split("\n\n") if part.startswith("What fails next")
    )
    assert "K_max" not in "".join(following.splitlines()[:-1])
    assert following.splitlines()[-1] == "  not at all: K_max (3)"
