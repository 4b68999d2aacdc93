"""Names of units: what they look like, what is refused, and that they change nothing but what is shown."""

import json

import pytest

import depl
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.units import LONGEST_UNIT, NO_UNITS, Units

NAMED = Units(cost="EUR", time="h", resource="GPU", data="GB", size="MB", memory="GiB")


@pytest.fixture(scope="module")
def tiny() -> depl.Instance:
    return depl.load("tiny")


def test_no_unit_is_a_bare_number() -> None:
    assert NO_UNITS.amount(20.0593, "cost") == "20.0593"
    assert NO_UNITS.titled("price", "cost", "resource") == "price"
    assert NO_UNITS.one("time") == "one unit"
    assert NO_UNITS.work() == ""


def test_a_unit_stands_behind_its_number_and_in_brackets_behind_a_title() -> None:
    assert NAMED.amount(20.0593, "cost") == "20.0593 EUR"
    assert NAMED.after("9 of 10", "time") == "9 of 10 h"
    assert NAMED.titled("bandwidth b", "size", "time") == "bandwidth b [MB / h]"
    assert (NAMED.one("resource"), NAMED.work()) == ("1 GPU", "GPU x h")


def test_a_quotient_of_which_one_part_has_a_name_says_what_the_other_is() -> None:
    assert Units(cost="EUR").titled("price", "cost", "resource") == "price [EUR / resource]"
    assert Units(time="h").work() == "resource x h"


@pytest.mark.parametrize("name", ["", " h", "h ", "h\n", "a\x1b[31m", "u" * (LONGEST_UNIT + 1)])
def test_names_that_cannot_be_shown_are_refused_with_their_place(tiny, name) -> None:
    with pytest.raises(InvalidInputError) as caught:
        Units(time=name)
    assert caught.value.path == ".time"
    written = tiny.to_json().replace('"clusters"', f'"units": {{"time": {json.dumps(name)}}}, "clusters"', 1)
    with pytest.raises(InvalidInputError, match=r"\$\.units\.time"):
        depl.Instance.from_json(written)


def test_units_change_no_number_and_no_fingerprint(tiny) -> None:
    named = tiny.replace(units=NAMED)
    assert named.fingerprint == tiny.fingerprint
    assert named != tiny
    assert depl.Instance.from_json(named.to_json()).units == NAMED
    plan = depl.solve(tiny, "enumerate").plan
    mine, other = depl.solve(named, "enumerate"), depl.evaluate(tiny, plan)
    assert mine.plan.epochs == plan.epochs
    assert (mine.cost, mine.lower_bound) == (other.cost, other.cost)
