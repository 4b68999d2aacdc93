"""The first screen: a sentence, and a table of cost over the optimum."""

from depl.benchmarks.report.summary import summary
from tests.cases.attempts_factory import attempt_of
from tests.cases.report_cases import evidence


def of(*costs: tuple[str, float | None], optimum: float | None = 10.0, **fields):
    made = [attempt_of("one", name, cost=cost, **fields) for name, cost in costs]
    if optimum is not None:
        made.append(attempt_of("one", "exact", cost=optimum, ending="optimal", **fields))
    return evidence(made)


def rows(found) -> dict[str, dict[str, str]]:
    """What the table shows, by method and column."""
    names = [name for name, _ in found.table.head]
    return {
        cells[0].text: dict(zip(names, (cell.text for cell in cells), strict=True))
        for cells in found.table.rows
    }


def test_the_table_has_mean_and_largest_of_every_method_with_a_plan():
    found = rows(summary(of(("a", 20.0), ("b", 40.0), ("c", None))))
    assert set(found) == {"exact", "a", "b"}
    assert (found["a"]["mean"], found["b"]["largest"], found["exact"]["mean"]) == ("2.000", "4.000", "1.000")


def test_the_sentence_counts_and_names_the_methods_that_are_asked_for():
    given = of(("depl", 11.0), ("depl-paper", 25.0), ("mine", 12.5))
    told = summary(given).sentence
    assert told.startswith("4 methods on 1 problem of 1 suite, in 4 attempts; ")
    assert "is 1.100 with depl (at most 1.100) and 2.500 with depl-paper (at most 2.500)." in told
    assert "is 1.250 with mine (at most 1.250)." in summary(given, ["mine"]).sentence


def test_what_is_not_compared_is_counted_in_the_sentence_and_in_the_table():
    unproved = [attempt_of("two", name, cost=cost) for name, cost in (("depl", 11.0), ("exact", 10.5))]
    found = summary(evidence([*of(("depl", 11.0)).attempts, *unproved]))
    assert "is 1.100 with depl (at most 1.100, on 1 of 2 attempts)." in found.sentence
    assert [(row["compared"], row["tried"]) for row in rows(found).values()] == [("1", "2")] * 2


def test_without_an_optimum_costs_are_compared_with_the_bound_and_it_is_said():
    found = summary(of(("a", 20.0), ("b", 30.0), optimum=None, lower_bound=10.0))
    assert [row["mean"] for row in rows(found).values()] == ["2.000", "3.000"]
    assert "best certified lower bound" in found.table.caption
    assert "best certified lower bound" in found.sentence


def test_where_nothing_is_proved_there_is_no_table_but_a_sentence():
    found = summary(of(("a", 20.0), optimum=None, lower_bound=None))
    assert found.table is None
    assert "No optimum and no positive lower bound is proved" in found.sentence


def test_the_headline_is_of_the_papers_and_random_instances_where_they_were_run():
    other = attempt_of("two", "a", suite="scaling", cost=90.0)
    proved = attempt_of("two", "exact", suite="scaling", cost=10.0, ending="optimal")
    here = of(("a", 20.0), suite="random").attempts
    found = rows(summary(evidence([*here, other, proved])))["a"]
    assert (found["compared"], found["mean"]) == ("1", "2.000")
