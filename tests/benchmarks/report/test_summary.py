"""The first screen: a sentence and a picture whose marks stand where the ratios are."""

import math

import pytest

from depl.benchmarks.report.summary import summary
from tests.cases.attempts_factory import attempt_of
from tests.cases.report_cases import evidence


def of(*costs: tuple[str, float | None], optimum: float | None = 10.0, **fields):
    made = [attempt_of("one", name, cost=cost, **fields) for name, cost in costs]
    if optimum is not None:
        made.append(attempt_of("one", "exact", cost=optimum, ending="optimal", **fields))
    return evidence(made)


def test_marks_stand_at_the_logarithms_of_the_ratios():
    picture = summary(of(("a", 20.0), ("b", 40.0), ("c", None))).picture
    bars = {bar.method: bar for bar in picture.bars}
    assert set(bars) == {"exact", "a", "b"}
    start, end = bars["exact"].middle, bars["b"].end
    assert bars["a"].middle == pytest.approx((start + end) / 2, abs=0.01)
    assert 0 < start < end < 100
    places = {text: place for place, text in picture.ticks}
    assert places["2"] == bars["a"].middle
    assert places["1"] == start


def test_the_sentence_counts_and_names_the_methods_that_are_asked_for():
    given = of(("depl", 11.0), ("depl-paper", 25.0), ("mine", 12.5))
    told = summary(given).sentence
    assert told.startswith("4 methods on 1 problem of 1 suite, in 4 attempts; ")
    assert "is 1.100 with depl (at most 1.100) and 2.500 with depl-paper (at most 2.500)." in told
    assert "is 1.250 with mine (at most 1.250)." in summary(given, ["mine"]).sentence


def test_what_is_not_compared_is_counted_in_the_sentence_and_in_the_picture():
    unproved = [attempt_of("two", name, cost=cost) for name, cost in (("depl", 11.0), ("exact", 10.5))]
    found = summary(evidence([*of(("depl", 11.0)).attempts, *unproved]))
    assert "is 1.100 with depl (at most 1.100, on 1 of 2 attempts)." in found.sentence
    assert [(bar.compared, bar.tried) for bar in found.picture.bars] == [(1, 2)] * 2


def test_without_an_optimum_costs_are_compared_with_the_bound_and_it_is_said():
    found = summary(of(("a", 20.0), ("b", 30.0), optimum=None, lower_bound=10.0))
    assert [bar.mean for bar in found.picture.bars] == [2.0, 3.0]
    assert "best certified lower bound" in found.picture.caption
    assert "best certified lower bound" in found.sentence


def test_where_nothing_is_proved_there_is_no_picture_but_a_sentence():
    found = summary(of(("a", 20.0), optimum=None, lower_bound=None))
    assert found.picture is None
    assert "No optimum and no positive lower bound is proved" in found.sentence


def test_the_headline_is_of_the_papers_and_random_instances_where_they_were_run():
    other = attempt_of("two", "a", suite="scaling", cost=90.0)
    proved = attempt_of("two", "exact", suite="scaling", cost=10.0, ending="optimal")
    here = of(("a", 20.0), suite="random").attempts
    (bar,) = (bar for bar in summary(evidence([*here, other, proved])).picture.bars if bar.method == "a")
    assert (bar.compared, bar.mean) == (1, 2.0)


def test_too_many_methods_are_counted_and_own_ones_are_among_those_shown():
    given = of(*((f"m{number}", 10.0 + number) for number in range(30)))
    picture = summary(given, ["m29"]).picture
    assert picture.left_out == 31 - len(picture.bars) > 0
    assert [bar.method for bar in picture.bars if bar.own] == ["m29"]


@pytest.mark.parametrize("largest", [1.0, 1.00001, 1.04, 1.3, 3.0, 60.0, 1e5])
def test_ticks_are_few_and_in_order(largest):
    picture = summary(of(("a", 10.0 * largest))).picture
    places = [place for place, _ in picture.ticks]
    assert 2 <= len(places) <= 6
    assert places == sorted(places)
    assert all(math.isfinite(place) for place in places)
