"""A method of the reader's own: what it is compared with, where it loses, and how to run that again."""

import pytest

from depl.benchmarks.report import own
from depl.benchmarks.report.own import own_methods, own_names
from depl.benchmarks.report.page import report
from depl.models.foundation.errors import InvalidInputError
from tests.benchmarks.report.test_page import Page
from tests.cases.attempts_factory import attempt_of
from tests.cases.report_cases import evidence

MINE = {1: 10.0, 2: 15.0, 3: None, 4: 44.0}
BEST = {1: 10.0, 2: 12.0, 3: 7.0, 4: 40.0}


def attempts():
    for number, cost in MINE.items():
        labels = {"size": "small" if number < 3 else "large", "target": 5.0, "number": number}
        one = {"suite": "random", "labels": labels}
        yield attempt_of(f"one [{number}]", "mine", cost=cost, **one)
        ending = "exhausted" if number == 4 else "optimal"
        bound = {"lower_bound": 20.0} if number == 4 else {}
        yield attempt_of(f"one [{number}]", "exact", cost=BEST[number], ending=ending, **bound, **one)
        yield attempt_of(f"one [{number}]", "depl", cost=20.0 if number < 4 else 50.0, **one)


@pytest.fixture
def given():
    return evidence(list(attempts()))


@pytest.fixture
def found(given):
    (only,) = own_methods(given, own_names(given))
    return only


def test_methods_that_are_not_built_in_are_marked_unless_others_are_named(given):
    assert own_names(given) == ("mine",)
    assert own_names(given, ["depl", "mine", "depl"]) == ("depl", "mine")
    with pytest.raises(InvalidInputError, match=r"no attempt of a method 'mime'.*mine"):
        own_names(given, ["mime"])


def test_a_configuration_of_a_shipped_suite_is_nobodys_own():
    kept = attempt_of("one", "annealing", method="gone since", suite="random", cost=1.0)
    assert own_names(evidence([kept])) == ()


def test_the_sentence_counts_what_is_compared(found):
    assert "mine was tried 4 times on 4 instances" in found.sentence
    assert "cost 1.125 on average and 1.250 at most (2 compared, 50 % optimal)" in found.sentence
    assert "they cost at most 2.200 times the optimum on average (1 plan)" in found.sentence
    assert "1 attempt ended without a plan where some method found one" in found.sentence


def test_it_is_compared_with_every_other_method_on_the_same_questions(found):
    rows = {row["against"]: row for row in found.against.records()}
    assert rows["exact"]["tried by both"] == 4
    assert [rows["exact"][name] for name in ("cheaper", "equal", "more expensive")] == [0, 1, 2]
    assert (rows["exact"]["itself without plan"], rows["exact"]["other without plan"]) == (1, 0)
    assert rows["exact"]["mean cost over the other's"] == pytest.approx((1 + 1.25 + 1.1) / 3)
    assert rows["depl"]["cheaper"] == 3


def test_groups_are_those_of_labels_with_several_values_the_worst_first(found):
    rows = [row for row in found.groups.records() if row["label"] == "size"]
    assert [row["value"] for row in rows] == ["large", "small"]
    assert [(row["mean"], row["compared"], row["no plan"]) for row in rows] == [(2.2, 1, 1), (1.125, 2, 0)]
    assert "target" not in found.groups.column("label")  # one value only


def test_the_worst_instances_come_with_who_did_better_and_a_command(found, monkeypatch):
    missed, bounded, costly = found.worst.records()
    assert (missed["instance"], missed["cost"], missed["best known cost"]) == ("one [3]", None, 7.0)
    assert (bounded["over best known"], bounded["over the optimum at most"]) == (pytest.approx(1.1), 2.2)
    assert (costly["instance"], costly["found by"], costly["over best known"]) == ("one [2]", "exact", 1.25)
    words = "depl bench run random --instances 'one [[]2]' --methods mine --out again.sqlite --import FILE.py"
    assert costly["to run it again"] == words
    monkeypatch.setattr(own, "WORST", 2)
    (fewer,) = own_methods(evidence(list(attempts())), ["mine"])
    assert fewer.worst.column("instance") == ("one [3]", "one [4]")


def liars():
    """A method that calls each of its plans cheapest, on three instances, one of them truly so."""
    for number, cost in enumerate((10.0, 12.0, 13.0)):
        yield attempt_of(f"one-{number}", "liar", cost=cost, ending="optimal")
        yield attempt_of(f"one-{number}", "depl", cost=10.0)


def test_claims_of_proof_that_plans_contradict_are_counted_and_named():
    given = evidence(list(liars()))
    (found,) = own_methods(given, ["liar"])
    assert "claims of proof contradicted by cheaper plans: 2 of 3" in found.sentence
    text = report(given, own=[found])
    assert "Claims of proof contradicted by cheaper plans: 2 of 3 (method liar)." in text
    assert "On 2 instances the least cost that was called optimal" in text
    assert "is formed: one-1, one-2." in text
    assert "contradicted" not in report(evidence(list(attempts())))


def test_where_nothing_is_lost_the_page_says_so_and_lists_nothing():
    given = evidence(
        [attempt_of("one", "mine", cost=1.0), attempt_of("one", "exact", cost=1.0, ending="optimal")]
    )
    (found,) = own_methods(given, ["mine"])
    assert "it found a plan wherever some method did" in found.sentence
    assert found.worst.rows == ()
    page = Page(report(given, own=[found]))
    assert "own-1-against" in page.tables
    assert "own-1-worst" not in page.tables


def test_the_page_has_a_section_on_it_and_names_it_first(given, found):
    text = report(given, own=[found])
    page = Page(text)
    assert "own" in page.references
    assert [line[0] for line in page.tables["own-1-worst"][1:]] == ["one [3]", "one [4]", "one [2]"]
    assert "1.125 with mine (at most 1.250, on 2 of 4 attempts)" in text
    assert len(page.ids) == len(set(page.ids))
