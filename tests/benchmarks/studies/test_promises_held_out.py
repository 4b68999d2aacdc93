"""The studies of promises: how rows are pooled and judged, on rows written by hand and on the records."""

import pytest

from depl.benchmarks.measure.results import RESULTS, read
from depl.benchmarks.studies import promises_kept
from depl.benchmarks.studies.promises_held_out import (
    SIZES,
    _bolder,
    _excesses,
    _figures,
    _fixed_figures,
    _grouped,
    _margins,
    _pooled,
)


def row(known=12, confidence=None, promised=0.9, delivered=0.9, judged=10, refuted=0.0, refused=0.5):
    return {
        "known": known,
        "confidence": confidence,
        "promised": promised,
        "delivered": delivered,
        "judged": judged,
        "refuted": refuted,
        "refused": refused,
    }


def test_every_family_counts_the_same_and_refuted_promises_by_their_number():
    found = _pooled([row(delivered=0.9, judged=30, refuted=0.1), row(delivered=1.0, judged=10, refuted=0.3)])
    assert found["delivered"] == pytest.approx(0.95)
    assert found["standard_error"] == pytest.approx(0.05)
    assert (found["least"], found["families"]) == (0.9, 2)
    assert found["refuted"] == pytest.approx((3 + 3) / 40)


def test_a_family_without_a_promise_is_refused_and_delivers_nothing():
    none = row(delivered=None, judged=0, refuted=None, refused=1.0)
    found = _pooled([none, row(delivered=0.97, refused=0.0)])
    assert (found["families"], found["delivered"], found["standard_error"]) == (1, 0.97, None)
    assert found["refused"] == 0.5
    assert _pooled([none])["delivered"] is None
    assert list(_margins([none])) == list(_excesses([none | {"confidence": 0.95}])) == []


def test_marginal_promises_may_fall_two_standard_errors_below_and_confident_ones_be_refuted_in_a_tenth():
    assert list(_margins([row(delivered=0.88) | {"standard_error": 0.01}])) == pytest.approx([0.0])
    assert not list(_margins([row(confidence=0.95)]))
    assert list(_excesses([row(confidence=0.95, refuted=0.12)])) == pytest.approx([0.02])


def test_refusing_less_with_fewer_runs_is_noticed():
    def refused(known: int) -> float:
        return {12: 0.9, 24: 0.4, 60: 0.6, 300: 0.1}[known]

    rows = [
        row(known, confidence, level, refused=refused(known) if (confidence, level) == (None, 0.9) else 0.0)
        for known in SIZES
        for confidence in (None, 0.95)
        for level in (0.8, 0.9, 0.95, 0.99)
    ]
    assert _bolder(rows) == pytest.approx(0.2)


def test_the_figures_of_the_records_follow_from_their_rows():
    values = read(RESULTS / "promises-held-out.json").values
    few_known = [row for row in values["chosen"] if row["collection"] in ("tuned", "drawn")]
    by_family = [row for row in values["chosen"] if row["collection"] not in ("tuned", "drawn")]
    pooled = [_pooled(rows) for rows in _grouped(by_family).values()]
    assert pooled == values["pooled"]
    found = _figures(few_known, by_family, pooled) | _fixed_figures(values["fixed"])
    assert found == {name: values[name] for name in found}
    values = read(RESULTS / "promises-kept.json").values
    found = promises_kept._figures(values["rows"], values["pilots"])
    assert found == {name: values[name] for name in found}
