"""Every combination of model, cluster and schedule is fitted or refused with its reason, none is lost."""

import numpy as np
import pytest

from depl.models.estimation.choices import FitBy
from depl.models.estimation.combinations import Combination, fit_rows, fit_traces, schedule_label
from depl.models.problem.instance import (
    Cluster,
    ConstantImprovement,
    Instance,
    InverseSqrtImprovement,
    Model,
    Switch,
)
from depl.models.problem.laws import InverseGamma, Normal
from depl.models.traces.table import Traces, joined
from tests.cases.drawn_traces import draw_traces


@pytest.fixture(scope="module")
def drawn(bell: Instance) -> Traces:
    """Two schedules of 20 runs: 5 full on edge then 7 or 4 cut on far."""
    noise = InverseGamma(mean=1, variance=0.03)
    models = [
        Model(name=name, size=1, demand=2, improvement=InverseSqrtImprovement(scale=2, offset=b, noise=noise))
        for name, b in (("full", 1.0), ("cut", 4.0))
    ]
    rows = [Switch(previous="full", following="cut", law=Normal(mean=0.4, variance=0.01))]
    places = [Cluster(name=name, capacity=10, bandwidth=2, unit_cost=3) for name in ("edge", "far")]
    instance = bell.replace(models=models, switches=rows, clusters=places)
    rng = np.random.default_rng(1)
    return joined(
        [
            draw_traces(
                instance, ["full"] * 5 + ["cut"] * n, 20, rng, ["edge"] * 5 + ["far"] * n, prefix=f"{n}-"
            )
            for n in (7, 4)
        ]
    )


def test_schedules_are_named_by_their_stages() -> None:
    pairs = (("full", "edge"), ("full", "edge"), ("cut", "far"))
    assert schedule_label(pairs) == "2 full@edge, 1 cut@far"


@pytest.mark.parametrize(
    ("by", "names"),
    [
        (FitBy.MODEL, ["full", "cut"]),
        (FitBy.CLUSTER, ["full / edge", "cut / far"]),
        (
            FitBy.SCHEDULE,
            [
                "full / edge / 5 full@edge, 7 cut@far",
                "cut / far / 5 full@edge, 7 cut@far",
                "full / edge / 5 full@edge, 4 cut@far",
                "cut / far / 5 full@edge, 4 cut@far",
            ],
        ),
    ],
)
def test_combinations_share_observations_as_asked(drawn: Traces, by: FitBy, names: list[str]) -> None:
    found = fit_traces(drawn, np.random.default_rng(2), by, resamples=19)
    assert [str(key) for key in found.improvements] == names
    assert not found.refused
    # 20 runs of 5 full epochs twice, 20 runs of 7 and 20 of 4 cut epochs: nothing is lost or counted twice
    assert sum(fit.ratios.size for fit in found.improvements.values()) == 20 * (5 + 7 + 5 + 4)
    assert found.jumps["full", "cut"].jumps.size == 40
    assert found.estimated_jumps["full", "cut"] == 0


def test_every_run_can_be_fitted_on_its_own(drawn: Traces) -> None:
    few = drawn.select([0, 20])
    found = fit_traces(few, np.random.default_rng(2), FitBy.RUN, resamples=19)
    assert [str(key) for key in found.improvements] == [
        "full / edge / 7-0",
        "cut / far / 7-0",
        "full / edge / 4-0",
    ]
    assert [fit.ratios.size for fit in found.improvements.values()] == [5, 7, 5]
    assert found.refused["cut / far / 4-0"] == "a law is fitted to at least 5 numbers, not 4"


def test_the_table_says_what_the_fits_say(drawn: Traces) -> None:
    found = fit_traces(drawn, np.random.default_rng(2), resamples=99)
    first, second = fit_rows(found.improvements)
    fit = found.improvements[Combination("full")]
    assert (first.combination, second.combination) == ("full", "cut")
    assert (first.runs, first.ratios, first.nonpositive) == (40, 200, 0)
    assert (first.scale, first.offset) == (fit.curve.scale, fit.curve.offset)
    assert first.gamma_shape == dict(fit.law("inverse_gamma").parameters)["shape"]
    assert first.paper_p_value == fit.law("inverse_gamma").goodness.paper_p_value
    assert first.p_value == first.positive_p_value
    assert first.best == fit.best


def test_what_cannot_be_fitted_is_listed_with_its_reason(drawn: Traces) -> None:
    short = drawn.epoch <= 6
    columns = (drawn.run, drawn.epoch, drawn.model, drawn.cluster, drawn.loss)
    cut = Traces(*(column[short] for column in columns))
    found = fit_traces(cut, np.random.default_rng(2), resamples=19)
    assert [str(key) for key in found.improvements] == ["full"]
    assert "at least 3 epochs" in found.refused["cut"]
    assert "full -> cut" in found.refused
    assert not found.jumps


def test_a_table_of_constant_improvements_has_no_law(bell: Instance) -> None:
    steady = ConstantImprovement(noise=Normal(mean=2, variance=1e-20))
    instance = bell.replace(models=[Model(name="net", size=1, demand=2, improvement=steady)])
    traces = draw_traces(instance, ["net"] * 5, 3, np.random.default_rng(0))
    (row,) = fit_rows(fit_traces(traces, np.random.default_rng(0), resamples=19, constant=True).improvements)
    assert (row.best, row.gamma_shape, row.p_value) == ("deterministic", None, None)
    assert row.scale == pytest.approx(2)
