"""Every number on the errata page, recomputed.

The reductions of E6 are tested in ``tests/instances/reductions``, the inequalities of E10 in
``tests/heuristics/paper/test_guarantees.py`` and its families in ``tests/instances/test_counterexamples.py``.
"""

import itertools
import math
import re
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special, stats

from depl.heuristics.paths.additive_labels import evar_quantile
from depl.instances.library import load as load_instance
from depl.models.evaluation.evaluate import Reading, evaluate
from depl.models.problem.allocation import allocate
from depl.models.problem.epochs import FinalLoss, Load, Term, load
from depl.models.problem.instance import (
    Cluster,
    Dataset,
    Instance,
    Model,
    Target,
    Transfer,
)
from depl.models.problem.laws import Deterministic, InverseGamma
from depl.models.problem.learning import ConstantImprovement, PowerDataLaw
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.risk.certify import certified_margin, certified_quantile
from tests.docs.pages import text_of

PAGE = text_of("docs/errata.rst")
ETA = 200
BOTH, ONLY_A = frozenset({"a", "b"}), frozenset({"a"})


def section(number: int) -> str:
    """The text of one erratum."""
    start = PAGE.index(f".. _erratum-e{number}:")
    end = PAGE.find(f".. _erratum-e{number + 1}:")
    return re.sub(r"\s+", " ", PAGE[start : end if end > 0 else None])


def test_the_page_has_fourteen_errata_in_order() -> None:
    assert re.findall(r"(?m)^\.\. _erratum-e(\d+):$", PAGE) == [str(number) for number in range(1, 15)]
    for number in range(1, 15):
        parts = (f"E{number}: ", "**Paper.**", "**True", "**Toolkit.**")
        assert all(part in section(number) for part in parts), number


STATED = {
    1: ["= 28`", "= 32.27`", "15 % more"],
    2: ["= 1.75`", "= 2`", "costs 2.5 and loses"],
    3: [r"5.76 \cdot 10^{12}", r"2.25 \cdot 10^{-6}"],
    4: [
        "= 11`, 10.336 for either, 10.144",
        "20.673",
        "21.144",
        "8.408",
        "8.499",
        "5.450",
        "12, 10, 12",
        "7.757, 8, 9",
    ],
    5: ["1.675", "1.551", "1.305", "1.240", "1.203", "1.155", "1.154", "1.114"],
    6: ["value 4.", "value 9.", "9 / T"],
    10: ["53 %", "202 > 200", "ratio 9.09 for *R = 10*, 909 for *R = 1000*"],
    11: ["10.5, level 210 of 200", "end at 5"],
    12: ["costs 10.4 and 4.", "23.4", "17.85", "cost 16.", "676", "1625: 2.40"],
    13: ["10.8, 9, 7.8, 6.6, 5.4"],
    14: ["3.29", ".881", "1.816", "4.2 %"],
}
"""Numbers of the page that are recomputed below."""


@pytest.mark.parametrize("number", STATED)
def test_the_page_states_the_numbers_that_are_recomputed_here(number: int) -> None:
    assert [text for text in STATED[number] if text not in section(number)] == []


# --- E1 and E2 ----------------------------------------------------------------------------------------


def tiny_plan(rows: list[tuple[str, str]], data: dict[str, tuple[str, ...]]) -> Plan:
    """A plan of ``tiny`` with the cheapest resources."""
    tiny = load_instance("tiny")
    loads = [
        load(tiny, k, model, place, frozenset(data[place])) for k, (model, place) in enumerate(rows, start=1)
    ]
    answer = allocate(loads, tiny.target.maximum_time, None)
    epochs = [
        PlannedEpoch(model=model, cluster=place, resources=float(x))
        for (model, place), x in zip(rows, answer.resources, strict=True)
    ]
    used = [ClusterData(cluster=place, datasets=names) for place, names in data.items()]
    return Plan(data=tuple(used), epochs=tuple(epochs))


def test_e1_the_letter_of_6_forbids_the_optimum_of_tiny_and_costs_15_percent() -> None:
    tiny, everything = load_instance("tiny"), ("archive", "sensors")
    start = [("full", "cloud"), ("full", "cloud")]
    optimum = tiny_plan([*start, ("pruned", "edge")], {"cloud": everything, "edge": ("sensors",)})
    alone = tiny_plan([*start, ("pruned", "cloud")], {"cloud": everything})
    letter = Reading(data_requires_every_epoch=True)
    assert not evaluate(tiny, optimum, letter).feasible
    best, other = evaluate(tiny, optimum), evaluate(tiny, alone, letter)
    assert (best.feasible, other.feasible) == (True, True)
    assert (best.cost, other.cost) == (pytest.approx(28, abs=1e-9), pytest.approx(32.27, abs=0.005))
    assert evaluate(tiny, alone).cost / best.cost == pytest.approx(1.15, abs=0.005)


def test_e1_no_cheaper_plan_of_tiny_stays_on_one_cluster() -> None:
    tiny, costs = load_instance("tiny"), []
    data = (("archive",), ("sensors",), ("archive", "sensors"))
    for place, names, length in itertools.product(("cloud", "edge"), data, (1, 2, 3)):
        for models in itertools.product(("full", "pruned"), repeat=length):
            if ("pruned", "full") not in itertools.pairwise(models):
                plan = tiny_plan([(model, place) for model in models], {place: names})
                value = evaluate(tiny, plan, quantile=False)
                costs += [value.cost] if value.feasible else []
    assert min(costs) == pytest.approx((8 + math.sqrt(8)) ** 2 / 3.75 + 1, abs=1e-9)


def two_datasets() -> Instance:
    """The instance of E2."""
    return Instance(
        name="transfers",
        clusters=(Cluster(name="n", capacity=100, bandwidth=1, unit_cost=1),),
        datasets=(Dataset(name="a", volume=0.5), Dataset(name="b", volume=0.5)),
        models=(Model(name="m", size=0, improvement=ConstantImprovement(noise=Deterministic(value=1.0))),),
        target=Target(initial_loss=2, maximum_loss=0, quantile_level=0.9, maximum_epochs=6, maximum_time=4.0),
        transfers=(Transfer(dataset="b", cluster="n", cost=0.75),),
        data_law=PowerDataLaw(p=1.0),
    )


def test_e2_charging_transfers_in_every_epoch_changes_the_choice_of_data() -> None:
    instance = two_datasets()

    def cost(data: frozenset[str], epochs: int, reading: Reading) -> float:
        x = allocate([load(instance, k, "m", "n", data) for k in range(1, epochs + 1)], 4.0, None).resources
        plan = Plan(
            data=(ClusterData(cluster="n", datasets=tuple(sorted(data))),),
            epochs=tuple(PlannedEpoch(model="m", cluster="n", resources=float(each)) for each in x),
        )
        value = evaluate(instance, plan, reading, quantile=False)
        assert value.feasible
        return value.cost

    letter = Reading(transfer_every_epoch=True)
    assert [cost(BOTH, 2, Reading()), cost(ONLY_A, 4, Reading())] == pytest.approx([1.75, 2])
    assert [cost(BOTH, 2, letter), cost(ONLY_A, 4, letter)] == pytest.approx([2.5, 2])


# --- E3, E4 -------------------------------------------------------------------------------------------


def test_e3_the_printed_complexity_is_below_one_step() -> None:
    models, epochs = 3, 20
    assert (models * epochs * ETA**2) ** 2 == pytest.approx(5.76e12)
    assert models**2 * epochs**2 / ETA**4 == pytest.approx(2.25e-6)


def test_e4_numbers_of_the_page() -> None:
    def product(needed: Callable[[float], float], t0: float, t1: float, volumes: range) -> list[float]:
        return [needed(q) * (t0 + t1 * q) for q in volumes]

    one, two, three = product(lambda q: 10 - 2 * math.log(q), 1, 0.1, range(1, 4))
    assert [one, two, three, 2 * two, one + three] == pytest.approx(
        [11, 10.336, 10.144, 20.673, 21.144], abs=5e-4
    )
    helps_later = product(lambda q: 5 - 2 * math.log(q), 0, 1, range(3, 10, 3))
    assert helps_later == pytest.approx([8.408, 8.499, 5.450], abs=5e-4)
    assert product(lambda q: math.ceil(5 - 2 * math.log(q)), 0, 1, range(4, 7)) == [12, 10, 12]
    floored = product(lambda q: max(5 - 2 * math.log(q), 1), 0, 1, range(7, 10))
    assert floored == pytest.approx([7.757, 8, 9], abs=5e-4)


@given(st.floats(0.05, 20), st.floats(0.01, 30), st.sampled_from(["log", "inverse_log", "power"]))
def test_e4_the_stated_conditions_decide_concavity(base: float, ratio: float, kind: str) -> None:
    # ratio = t0 / t1; second differences of g in extended precision, near the base and far from it
    level = math.log1p(base)
    slack = {
        "log": base - ratio,
        "inverse_log": (base + 2) * level - 2 * base - ratio * (level + 2),
        "power": base - ratio * 1.4 / 0.6,
    }[kind]
    law = {
        "log": lambda q: 100 - np.log(q),
        "inverse_log": lambda q: 1 / np.log1p(q),
        "power": lambda q: q ** np.longdouble(-0.4),
    }[kind]
    if abs(slack) < 0.02 * (1 + base + ratio):
        return
    points = np.longdouble(base) * np.array([1, 1.0005, 1.001], dtype=np.longdouble)
    far = np.geomspace(base, 50 * base, 40).astype(np.longdouble)[:, None] * (points / np.longdouble(base))

    def bend(q: np.ndarray) -> np.ndarray:
        g = law(q) * (ratio + q)
        return np.asarray(g[..., 0] - 2 * g[..., 1] + g[..., 2])

    assert (bend(points) < 0) == (slack > 0)
    if slack > 0:
        assert (bend(far) < 0).all()


# --- E5 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "gaussian", "paper"),
    [(0.9, 1.675, 1.551), (0.99, 1.305, 1.240), (0.999, 1.203, 1.155), (0.9999, 1.154, 1.114)],
)
def test_e5_chernoff_margins_are_too_large_by_the_printed_factors(
    level: float, gaussian: float, paper: float
) -> None:
    budget = 1 - Fraction(repr(level))
    z = stats.norm.isf(float(budget))
    assert math.sqrt(2 * math.log(1 / float(budget))) / z == pytest.approx(gaussian, abs=6e-4)
    loss = FinalLoss(0.0, ((Term(-1.0, InverseGamma(mean=1.02, variance=0.031)), 5),))
    margin = certified_margin(loss, budget)
    assert margin is not None
    assert (evar_quantile(loss, level) - loss.mean()) / margin.middle == pytest.approx(paper, abs=6e-4)


# --- E6 -----------------------------------------------------------------------------------------------


def test_e6_numbers_of_the_page() -> None:
    items, capacity = [(2, 3), (5, 4)], 6
    chosen = [set_ for size in range(3) for set_ in itertools.combinations(items, size)]
    assert max(sum(v for _, v in set_) for set_ in chosen if sum(w for w, _ in set_) <= capacity) == 4
    assert (capacity >= 3 * 2, 3 * 3) == (True, 9)
    two = [Load(work=work, price=1.0, capacity=100.0, communication=0.0) for work in (1.0, 4.0)]
    assert allocate(two, 2.0, None).cost == pytest.approx(9 / 2)


# --- E7 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [20, 77, 200])
def test_e7_the_test_with_fitted_parameters_hardly_ever_rejects(size: int) -> None:
    shape, samples = 102.0, 2000
    rng = np.random.default_rng(size)
    reciprocal = rng.gamma(shape, 1.0, (samples, size))  # 1 / X follows a gamma law
    spread = np.log(reciprocal.mean(1)) - np.log(reciprocal).mean(1)
    fitted = (3 - spread + np.sqrt((spread - 3) ** 2 + 24 * spread)) / (12 * spread)
    for _ in range(5):  # Newton, on the maximum likelihood equation ln a - digamma(a) = spread
        residual = np.log(fitted) - special.digamma(fitted) - spread
        fitted -= residual / (1 / fitted - special.polygamma(1, fitted))
    scale = fitted / reciprocal.mean(1)
    uniform = np.sort(stats.invgamma.cdf(1 / reciprocal, fitted[:, None], scale=scale[:, None]), axis=1)
    steps = np.arange(1, size + 1) / size
    distance = np.maximum((steps - uniform).max(1), (uniform - steps + 1 / size).max(1))
    p_values = stats.kstwo.sf(distance, size)
    assert np.mean(p_values < 0.05) < 0.003  # nominally .05
    assert 0.33 < np.quantile(p_values, 0.05) < 0.44
    assert stats.kstest(uniform[0], "uniform").pvalue == pytest.approx(p_values[0])


# --- E10 ----------------------------------------------------------------------------------------------


def test_e10_numbers_of_the_page() -> None:
    duration = Fraction(105, 100)  # in levels
    assert 101 * duration / ETA == pytest.approx(0.53, abs=5e-4)
    assert 101 * math.ceil(duration) == 202 > ETA
    for price, ratio in ((10, 9.09), (1000, 909)):
        plans = [(c, d) for c in range(30) for d in range(11) if c * Fraction(99, 100) + d >= 10]
        optimum = min(c + d * price for c, d in plans)
        assert optimum == 11
        # Of the graph no cheap epoch gains a level, as 0.99 of one is rounded down to none.
        assert 10 * price / optimum == pytest.approx(ratio, rel=1e-3)


# --- E11, E12 ----------------------------------------------------------------------------------------


def test_e11_a_first_epoch_after_a_switch_leaves_the_graph() -> None:
    first, *_, last = (11 - 0.5 * k for k in range(1, 13))
    assert (first, round(first / (10 / ETA)), last) == (10.5, 210, 5)


def epoch(work: float) -> Load:
    return Load(work=work, price=1.0, capacity=100.0, communication=0.0)


@pytest.mark.parametrize(
    ("works", "gain", "drop", "cost"),
    [
        ([2.6] * 2, 2.04, 1.96, 10.4),
        ([1.0] * 2, 1.96, 1.96, 4.0),
        ([2.6] * 3, 3.06, 3, 23.4),
        ([2.6, 2.6, 1.0], 3.02, 3, 17.85),
        ([1.0] * 4, 3.92, 3, 16.0),
        ([1.0] * 26, 25.48, 25.4, 676.0),
        ([2.6] * 25, 25.5, 25.4, 1625.0),
    ],
)
def test_e12_costs_of_the_page(works: list[float], gain: float, drop: float, cost: float) -> None:
    gains = {2.6: 1.02, 1.0: 0.98}
    assert math.fsum(gains[work] for work in works) == pytest.approx(gain)
    assert gain >= drop
    assert allocate([epoch(work) for work in works], 1.0, None).cost == pytest.approx(cost, abs=5e-3)


def test_e12_fewer_epochs_are_not_enough() -> None:
    assert 1 * 1.02 < 1.96
    assert 2 * 1.02 < 3
    assert 2 * 0.98 + 1.02 < 3 < 2 * 1.02 + 0.98
    assert 24 * 1.02 < 25.4
    assert round(1625 / 676, 2) == 2.40


# --- E13, E14 -----------------------------------------------------------------------------------------

TABLE_1 = {
    "fast-unsteady": (1.02, 0.031, 2.6, [17, 15, 13, 11, 8]),
    "intermediate": (1.00, 0.010, 1.4, [16, 14, 12, 10, 8]),
    "slow-steady": (0.98, 0.007, 1.0, [17, 14, 12, 10, 8]),
}


def epochs_alone(mean: float, variance: float, target: float) -> int:
    """Epochs of one model that bring the .99 quantile from 20 to ``target``."""
    law = InverseGamma(mean=mean, variance=variance)
    for count in range(1, 40):
        quantile = certified_quantile(FinalLoss(20.0, ((Term(-1.0, law), count),)), Fraction(1, 100))
        if quantile.upper <= target:
            return count
    raise AssertionError("more epochs than expected")


@pytest.mark.parametrize("name", TABLE_1)
def test_e13_table_of_the_page(name: str) -> None:
    mean, variance, resources, wanted = TABLE_1[name]
    row = section(13)[section(13).index(f"* - {name}") :]
    cells = [cell.strip() for cell in re.split(r" - ", row)][2:6]
    assert float(cells[0]) == pytest.approx(resources / mean, abs=6e-4)
    assert float(cells[1]) == pytest.approx(variance / mean, abs=6e-5)
    assert [int(cell) for cell in cells[2].split(",")] == wanted
    costs = [float(number) for number in re.findall(r"\d[\d.]*", cells[3].split("(")[0])]
    assert costs == pytest.approx([count * resources for count in wanted])
    assert [epochs_alone(mean, variance, target) for target in (5, 7, 9, 11, 13)] == wanted


def test_e13_mobilenet_costs_of_the_page() -> None:
    costs = [0.6 * epochs_alone(0.92, 0.006, target) for target in (5, 7, 9, 11, 13)]
    assert costs == pytest.approx([10.8, 9, 7.8, 6.6, 5.4])


def test_e13_an_epoch_on_class_b_is_more_expensive_than_on_class_a_at_every_deadline() -> None:
    for deadline in (0.05, 0.5, 5.0):
        on_a = Load(work=1.0, price=1.0, capacity=100.0, communication=0.01)
        on_b = Load(work=1.0, price=1.2, capacity=50.0, communication=0.01)
        assert allocate([on_a], None, deadline).cost < allocate([on_b], None, deadline).cost


def test_e14_gaussian_consequences_of_dependence() -> None:
    count = 30
    mean_reverting = math.sqrt(count * (1 - 0.8**2) / (1 - 0.8 ** (2 * count)))
    assert mean_reverting == pytest.approx(3.29, abs=5e-3)
    common = 1 + (count - 1) * 0.1
    assert stats.norm.cdf(stats.norm.ppf(0.99) / math.sqrt(common)) == pytest.approx(0.881, abs=5e-4)
    neighbours = 1 + 2 * sum((1 - lag / count) * 0.3**lag for lag in range(1, count))
    assert neighbours == pytest.approx(1.816, abs=5e-4)
    assert stats.norm.sf(stats.norm.ppf(0.99) / math.sqrt(neighbours)) == pytest.approx(0.042, abs=5e-4)


def test_e5_the_gaussian_margin_is_the_least_over_s() -> None:
    answer = optimize.minimize_scalar(lambda s: (s**2 / 2 - math.log(0.01)) / s, bounds=(0.1, 20))
    assert answer.fun == pytest.approx(math.sqrt(2 * math.log(100)))
