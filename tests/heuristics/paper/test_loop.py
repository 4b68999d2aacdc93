"""The literal loop of Fig. 3: its ways back, its record, and what it does on instances solved by hand."""

import math

import pytest

import depl
from depl.heuristics.paper.loop import OPTIONS
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.laws import Deterministic, Forbidden, InverseGamma
from depl.models.problem.learning import SubsetEpochs, TableDataLaw
from depl.models.solving.decisions import Stage
from depl.models.solving.methods import find
from depl.models.solving.result import Termination
from tests.problems import datasets, instance, model, site, student, transfers


def gaining(name, gain, work=1.0, size=0.0):
    return model(name, Deterministic(value=gain), work, size)


def kept(result):
    return [(item.stage.value, item.kept) for item in result.decisions]


@pytest.fixture(scope="module")
def two_sets(steady):
    """T^ = 0.5 + 0.2 Q, so K^ T^ is 1.5 * 0.7 for small, 1 * 1.5 for both, 1.4 * 1.3 for large."""
    epochs = {("small",): 1.5, ("large",): 1.4, ("small", "large"): 1.0}
    table = TableDataLaw(subsets=tuple(SubsetEpochs(datasets=d, epochs=k) for d, k in epochs.items()))
    return steady.replace(datasets=datasets(small=1, large=4), data_law=table, maximum_epochs=2)


@pytest.fixture(scope="module")
def split_sites():
    """Sending *wide* takes 1 on slow, more than T_max = 0.9; quick sends at once and costs 100 times more."""
    return instance(
        gaining("wide", 3, size=1),
        clusters=(site("slow", 1000, 1, 1), site("quick", 2000, 1e9, 100)),
        datasets={"data": 1},
        maximum_loss=8,
        maximum_epochs=4,
        maximum_time=0.9,
    )


@pytest.mark.parametrize(
    ("name", "changes", "options", "cost"),
    [
        # 10 - 2 * 2 = 6; two epochs of c = 8 in 5 - 2 / 2 time: (2 sqrt(3 * 8))**2 / 4
        ("steady", {}, {}, 24.0),
        ("steady", {"maximum_time": None, "round_deadline": 2.0}, {}, 2 * 3 * 8 / 1.5),  # x = 8 / (2 - 0.5)
        ("steady", {"maximum_loss": 10.0}, {}, 0.0),
        ("steady", {"initial_loss": -1.0, "maximum_loss": 0.0}, {}, 0.0),
        # E5: Chernoff's bound of three fulls at omega = 0.7 is 7.97, the true quantile 5; the optimum is 28
        ("tiny", {}, {}, None),
        ("tiny", {}, {"label": "normal"}, 12**2 / 3.5 + 1),  # three fulls on the cloud, E12
    ],
)
def test_closed_forms(request, name, changes, options, cost):
    result = depl.solve(request.getfixturevalue(name).replace(**changes), "depl-paper", options=options)
    assert result.cost == (None if cost is None else pytest.approx(cost))
    assert (result.termination, result.lower_bound) == (Termination.EXHAUSTED, 0)
    if cost:
        assert kept(result)[-3:] == [("data", True), ("models", True), ("resources", True)]
        assert result.decisions[-1].cost == pytest.approx(cost)
        assert result.decisions[-1].value > 0
    elif cost == 0:
        assert result.plan.epochs == ()
        assert "nothing has to be trained" in result.decisions[0].outcome


def test_an_option_is_refused_also_where_nothing_has_to_be_trained(tiny):
    easy = tiny.replace(maximum_loss=tiny.target.initial_loss + 1)
    with pytest.raises(InvalidInputError, match="must be a whole number from 1 on"):
        depl.solve(easy, "depl-paper", options={"eta": -3})


def test_data_without_a_path_are_blacklisted_and_the_next_best_are_taken(two_sets):
    # small gains 2 / 1.5 in each of two epochs, too little for 4; both gain 2
    result = depl.solve(two_sets, "depl-paper")
    assert result.cost == pytest.approx((2 * math.sqrt(3 * 10)) ** 2 / 4)
    assert kept(result) == [("data", False), ("data", True), ("models", True), ("resources", True)]
    start = 'the start, read for "no selected datasets"'
    assert result.decisions[0].choice == f"small (K^ T^ = 1.05; {start})"
    assert "ends at 7.4 " in result.decisions[0].outcome  # 26 levels of 0.05 each, 26.67 in truth
    assert result.decisions[1].choice == "large, small (K^ T^ = 1.5)"
    given = depl.solve(two_sets, "depl-paper", options={"backtracks": 0})
    assert given.plan is None
    assert given.reason.endswith("gave up after 0 ways back")


def test_where_all_data_fail_the_nearest_loss_is_told(two_sets):
    result = depl.solve(two_sets.replace(maximum_loss=5.0), "depl-paper")
    assert (result.plan, result.termination) == (None, Termination.EXHAUSTED)
    assert result.reason == (
        "models: target 5 at omega 0.9 is met by no path on 3 choices of data; lowest loss in the graph 6 "
        "(eta = 200) with large, small (certified quantile 6); all options exhausted"
    )
    assert kept(result) == [("data", False)] * 3


def test_models_whose_placement_misses_t_max_by_rounding_are_blacklisted(split_sites):
    # wide ends lower and comes first; its one epoch is split, rounded to slow, and takes 1.001 there.
    # lean has nothing to send: slow alone, x = 1 / 0.9.
    lean = split_sites.replace(models=(gaining("wide", 3, size=1), gaining("lean", 2)))
    result = depl.solve(lean, "depl-paper")
    assert kept(result) == [
        ("data", True),
        ("models", True),
        ("resources", False),
        ("models", True),
        ("resources", True),
    ]
    assert "takes 1.001 even with all resources" in result.decisions[2].outcome
    assert [epoch.model for epoch in result.plan.epochs] == ["lean"]
    assert result.cost == pytest.approx(1 / 0.9)
    paid = lean.replace(transfers=transfers({("data", "slow"): 5, ("data", "quick"): 7}))  # of who trains
    result = depl.solve(paid, "depl-paper")
    assert result.cost == pytest.approx(5 + 1 / 0.9)
    assert [row.cluster for row in result.plan.data] == ["slow"]


def test_stage_three_may_fail_although_the_assumed_cluster_keeps_all_limits(split_sites):
    # on quick the epoch costs 100 / 0.9; most of it is put on slow, where it is late
    split_sites = split_sites.replace(maximum_epochs=1)
    result = depl.solve(split_sites, "depl-paper")
    assert result.plan is None
    assert result.reason == (
        "resources: no rounded placement keeps T_max 0.9; the nearest total time is 1.001 "
        "(1 epoch: 1 wide); all options exhausted"
    )
    assert depl.solve(split_sites, "enumerate").cost == pytest.approx(100 / 0.9)


def test_a_path_that_misses_the_quantile_is_blacklisted_whatever_its_label_says(tiny):
    # tiny by hand: pruned twice has probability 1/2 of missing, once 1/4; omega = 0.7
    result = depl.solve(tiny, "depl-paper", options={"label": "expected", "weight": "root"})
    first, second = (item for item in result.decisions if item.stage is Stage.MODELS)
    assert (first.kept, second.kept) == (False, True)
    assert first.outcome == "certified violation 0.5, allowed 0.3"
    assert result.cost == pytest.approx((4 + 4 + 8**0.5) ** 2 / 3.75 + 1)


def test_e12_counting_epochs_costs_2_40_times_the_optimum():
    counted = instance(
        gaining("fast", 1.02, 2.6),
        gaining("slow", 0.98, 1.0),
        clusters=site("site", 100, 1, 1),
        datasets={"data": 1},
        other_switches=Forbidden(),
        initial_loss=40,
        maximum_loss=14.6,
        maximum_epochs=30,
        maximum_time=1.0,
    )
    cost = {
        weight: depl.solve(counted, "depl-paper", options={"eta": 2000, "weight": weight}).cost
        for weight in ("full-resources", "root")
    }
    assert cost["full-resources"] == pytest.approx(25**2 * 2.6)
    assert cost["root"] == pytest.approx(26**2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eta": 0}, "eta: must be a whole number from 1 on"),
        ({"epsilon": 0}, "epsilon: must be a number above 0"),
        ({"epsilon": True}, "epsilon: must be a number above 0"),
        ({"epsilon": math.inf}, "epsilon: must be a number above 0"),
        ({"weight": "gold"}, "weight: must be "),
        ({"label": "certified"}, "label: must be "),
        ({"backtracks": -1}, "backtracks: must be a whole number from 0 on"),
        ({"zeta": 3}, "takes no option 'zeta'"),
    ],
)
def test_options_that_cannot_be_are_refused(tiny, options, message):
    with pytest.raises(InvalidInputError, match=message):
        depl.solve(tiny, "depl-paper", options=options)
    assert find("depl-paper").options == OPTIONS


@pytest.mark.parametrize(
    ("degrees", "changes", "label", "words"),
    [
        (3.0, {}, "entropic", "no exponential moments"),
        (1.5, {}, "normal", "needs variances"),
        (1.5, {"initial_loss": -1.0, "maximum_loss": -3.0}, "expected", "fractions of l"),
    ],
)
def test_what_is_not_covered_is_refused(degrees, changes, label, words):
    with pytest.raises(NotCoveredError, match=words):
        depl.solve(heavy_switches(degrees).replace(**changes), "depl-paper", options={"label": label})


def heavy_switches(degrees_of_freedom):
    """Two models and a switch law without exponential moments; the target takes a switch."""
    return instance(
        model("fast", InverseGamma(mean=1.5, variance=0.05), 3.0, 0.0),
        model("slow", InverseGamma(mean=1.0, variance=0.01), 1.0, 0.0),
        clusters=site("site", 100, 1, 1),
        datasets={"data": 1},
        switches={("fast", "slow"): student(degrees_of_freedom, 0.1, 0.1)},
        other_switches=Forbidden(),
        initial_loss=12,
        maximum_loss=4.5,
        quantile_level=0.95,
        maximum_epochs=8,
        round_deadline=1.0,
    )


@pytest.mark.parametrize(("degrees", "label"), [(3.0, "label normal"), (1.5, "label expected")])
def test_without_exponential_moments_the_next_label_takes_over(degrees, label):
    result = depl.solve(heavy_switches(degrees), "depl-paper")
    assert result.plan is not None
    chosen = next(item for item in result.decisions if item.stage is Stage.MODELS)
    assert label in chosen.choice


def test_the_time_limit_ends_it_and_is_said_to(steady):
    result = depl.solve(steady, "depl-paper", time_limit=1e-9)
    assert (result.termination, result.plan) == (Termination.TIME_LIMIT, None)


def test_a_failure_of_the_linear_program_is_a_failure_of_stage_three(steady, monkeypatch):
    def fail(*_):
        raise RuntimeError("HiGHS ended with: trouble")

    monkeypatch.setattr("depl.heuristics.paper.loop.place_by_embedding", fail)
    result = depl.solve(steady, "depl-paper")
    assert result.plan is None
    assert result.reason.startswith("resources: HiGHS ended with: trouble")
    monkeypatch.setattr("depl.heuristics.paper.loop.place_by_embedding", lambda *_: None)
    result = depl.solve(steady, "depl-paper")
    assert "nearest total time is 2.6 (2 epochs: 2 net)" in result.reason  # 2 (8 / 10 + 1 / 2)
