"""Stage 2 of the literal loop: one real argument for all log-transforms, and which (E5)."""

import math

import pytest

from depl.heuristics.paper.models import PaperLabel, Selector
from depl.models.evaluation.evaluate import final_loss
from depl.models.exact.choices import build_plan
from depl.models.risk.certify import certified_violation

DATA = frozenset({"data"})


def selector(instance, label=None, levels=200):
    return Selector(instance, levels, label=label)


@pytest.fixture(scope="module")
def long_bell(bell):
    """l(K) is normal, mean 10 - 2 K, variance K; omega = 0.9: Chernoff's margin is sqrt(2 K ln 10)."""
    return bell.replace(maximum_epochs=20, maximum_time=50.0, maximum_loss=7.0)


def test_chernoffs_bound_asks_for_an_epoch_more_than_the_quantile(long_bell):
    # 10 - 2 K + sqrt(2 K ln 10) is 7.72 at K = 3 and 6.29 at K = 4; 10 - 2 K + 1.28 sqrt(K) is 6.22 at K = 3
    graph, label = selector(long_bell).graph(DATA)
    path = next(graph.paths())
    assert len(path.models) == 4
    assert label.safe
    plan = build_plan(long_bell, {"site": DATA}, [("net", "site")] * 3)
    loss = final_loss(long_bell, plan)
    assert certified_violation(loss, 7.0).at_most(long_bell.target.violation_budget)


def test_the_argument_moves_to_the_path_that_the_graph_leads_to(long_bell):
    # The mean needs 2 epochs: s = sqrt(ln 10). With it 4 epochs have the bound 2 + 2 s + ln 10 / s = 6.55;
    # at their own s = sqrt(ln 10 / 2) it is 6.29.
    tight = long_bell.replace(maximum_epochs=4, maximum_loss=6.4)
    graph, label = selector(tight).graph(DATA)
    assert len(next(graph.paths()).models) == 4
    assert label.name == f"entropic, s = {math.sqrt(math.log(10) / 2):.6g}"


def test_the_normal_label_is_the_quantile_of_a_normal_law(long_bell):
    graph, label = selector(long_bell, PaperLabel.NORMAL).graph(DATA)
    path = next(graph.paths())
    assert len(path.models) == 3
    assert label.name == f"normal, sigma = {math.sqrt(3):.6g}"
    assert len(next(selector(long_bell, PaperLabel.EXPECTED).graph(DATA)[0].paths()).models) == 2
