"""Units of an instance stand beside its numbers in every text, picture and page, and nowhere else."""

import re

import pytest

import depl
from depl.commands.progress import held
from depl.models.problem.units import Units
from depl.reporting.facts import facts_of
from depl.reporting.page import Source, page_of
from depl.showing.explain import explain

NAMED = Units(cost="EUR", time="h", resource="GPU", data="GB", size="MB", memory="GiB")


@pytest.fixture(scope="module")
def instance():
    return depl.load("tiny").replace(round_deadline=4, units=NAMED)


@pytest.fixture(scope="module")
def result(instance):
    return depl.solve(instance, "enumerate")


SAID = {
    "instance": ["T_max = 5 h", "tau = 4 h", "capacity r [GPU]", "bandwidth b [MB / h]", "beta [EUR]"],
    "of the instance": ["unit cost kappa [EUR / GPU]", "volume q [GB]", "size s [MB]"],
    "result": ["28 EUR, lower bound 28 EUR", "5 of 5 h"],
    "evaluation": ["28 EUR", "27 EUR", "5 h", "4 h"],
    "report": ["28 EUR", "5 h"],
    "front": ["T_max [h]", "cost [EUR]", "lower bound [EUR]", "time [h]"],
    "replanning": ["1.5 of 5 h", "EUR, as planned", "cost to go"],
    "explanation": ["cost 28 EUR", "T_max is 5 h", "EUR (lambda", "the round deadline is 4 h"],
    "page": ["For a cost of 28 EUR", "a time of 5 h of the 5 h allowed"],
    "progress": ["best plan 30 EUR", "lower bound 20 EUR"],
}


def test_every_text_names_the_units(instance, result) -> None:
    state = depl.State(epoch=1, loss=9.0, elapsed_time=1.5, model="full", transferred=result.plan.data[:1])
    page = page_of(facts_of(instance, result.plan, None), Source("tiny"), 10.0)
    texts = {
        "instance": str(instance),
        "of the instance": str(instance),
        "result": str(result),
        "evaluation": str(depl.evaluate(instance, result.plan)),
        "report": str(depl.check(instance, result.plan)),
        "front": str(depl.front(instance, "time", between=(5.0, 6.0), points=2, method="enumerate")),
        "replanning": str(depl.replan(instance, result.plan, state, method="enumerate")),
        "explanation": explain(instance, result.plan),
        "page": re.sub(r"<[^>]+>", " ", page.html),
        "progress": held(30.0, 20.0, NAMED),
    }
    missing = [(what, words) for what, said in SAID.items() for words in said if words not in texts[what]]
    assert missing == []


def test_units_are_all_that_they_add_to_a_text(instance, result) -> None:
    bare = instance.replace(units=Units())
    for text in (
        str,
        lambda given: str(depl.evaluate(given, result.plan)),
        lambda i: explain(i, result.plan),
    ):
        assert _without_units(text(instance)) == _without_units(text(bare))


def _without_units(text: str) -> str:
    """A text without units, blanks and rules: what is left does not depend on the width of columns."""
    text = re.sub(r"\b(one unit|1 (h|GPU)) more", "more", text)
    text = re.sub(r"\[[A-Za-z]+( / [A-Za-z]+)?\]|\b(EUR|GPU|GB|MB|GiB|h)\b", "", text)
    return re.sub(r"[\s|+-]+", "", text)


def test_axes_name_the_units(instance, result) -> None:
    upper, _ = depl.plot.plan(instance, result.plan)
    assert (upper.get_xlabel(), "28 EUR" in upper.get_title(loc="left")) == ("time [h]", True)
    clusters, models, transfers = depl.plot.instance(instance)
    ends = {clusters.get_xlabel(): "[GPU]", clusters.get_ylabel(): "[EUR / GPU]"}
    ends |= {models.get_xlabel(): "[GPU x h]", transfers.get_title(loc="left"): "[EUR]"}
    assert [label for label, end in ends.items() if not label.endswith(end)] == []
    assert depl.plot.compare([result]).get_xlabel() == "cost [EUR]"
