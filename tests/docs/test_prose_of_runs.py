"""Figures in prose that follow from shipped runs, or from numbers beside them, computed once more."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, ks_2samp

from depl.benchmarks.measure.results import RESULTS, read
from depl.instances.training.recorded import recorded_traces

DOCS = Path(__file__).resolve().parents[2] / "docs"


def words_of(page: str) -> str:
    return " ".join((DOCS / page).read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def losses() -> dict[tuple[str, str], np.ndarray]:
    """Losses of the runs of each plan that 104 runs share, by its first and last model; row k is epoch k."""
    traces = recorded_traces("digits-alexnet")
    models: dict[str, dict[int, str]] = {}
    found: dict[str, dict[int, float]] = {}
    for run, epoch, model, loss in zip(traces.run, traces.epoch, traces.model, traces.loss, strict=True):
        models.setdefault(run, {})[int(epoch)] = str(model)
        found.setdefault(run, {})[int(epoch)] = float(loss)
    plans: dict[tuple[str, ...], list[list[float]]] = {}
    for run, values in found.items():
        plan = tuple(models[run][epoch] for epoch in range(1, 61))
        plans.setdefault(plan, []).append([values[epoch] for epoch in range(61)])
    return {(plan[0], plan[-1]): np.array(rows).T for plan, rows in plans.items() if len(rows) == 104}


def test_losses_are_stochastic(losses):
    last, far = losses["pruned-50", "pruned-75"][60], losses["pruned-36", "pruned-90"][60]
    low, high = np.quantile(last, [0.01, 0.99])
    told = f"of the plan of Fig. 4 (104 runs) goes from {low:.2f} to {high:.2f}, which is "
    told += f"{(high - low) / last.mean():.2f} times the mean; for a far-edge model pruned by 0.9 from "
    low, high = np.quantile(far, [0.01, 0.99])
    assert f"{told}{low:.2f} to {high:.2f}" in words_of("estimation.rst")


def test_losses_depend_on_the_model(losses):
    half, quarter = losses["pruned-50", "pruned-75"][17], losses["pruned-25", "pruned-50"][17]
    told = (
        f"At epoch 17 runs of the model pruned by 0.5 have mean {half.mean():.2f}, those of the model pruned "
    )
    told += f"by 0.25 have {quarter.mean():.2f}, with deviations of {half.std(ddof=1):.2f} and "
    told += f"{quarter.std(ddof=1):.2f}; equal distributions are excluded with p = "
    mantissa, exponent = f"{ks_2samp(half, quarter).pvalue:.0e}".split("e")
    assert f"{told}{mantissa}e{int(exponent)}" in words_of("estimation.rst")


def test_the_small_case_of_the_page_on_scenarios():
    text = words_of("scenarios.rst")
    (shown,) = re.findall(r"a loss that misses with ([\d.]+) %", text)
    share = float(shown) / 100
    assert f"(1 - {share:.3f})^{{10}} = {(1 - share) ** 10:.2f}`" in text
    assert f"the two epochs miss {400 * share:.0f} on average" in text
    assert f"that they get through has a probability of {100 * binom.cdf(20, 400, share):.0f} %" in text


def test_the_page_on_exact_search_says_what_its_record_holds():
    seconds = read(RESULTS / "knapsacks.json").values["chance_longest_seconds"]["100"]
    assert round(seconds) == 2
    assert "knapsacks of 100 items (:doc:`reductions`) are proved in about two seconds" in words_of(
        "exact.rst"
    )
