"""``depl knapsack``: the best items found by planning, checked independently, for every method and format."""

import json

import pytest

from depl.instances.reductions.knapsack import Knapsack
from depl.instances.reductions.through import Answer, solve_knapsack, solver

SMALL = "4 10\n10 6\n7 5\n4 3\n2 2\n"  # best: items 1 and 3, value 14


@pytest.fixture
def small(tmp_path) -> str:
    (tmp_path / "small").write_text(SMALL, encoding="utf-8")
    return str(tmp_path / "small")


@pytest.mark.parametrize("reduction", ["by-cost", "by-time", "free-resources"])
@pytest.mark.parametrize("method", ["scenario-search", "exact", "milp", "enumerate"])
def test_every_method_finds_the_best_items_by_every_reduction(ask, small, method, reduction) -> None:
    code, text, err = ask("knapsack", small, "--via", method, "--reduction", reduction, "--json")
    answer = json.loads(text)
    assert (code, err) == (0, "")
    assert (answer["value"], answer["checked_value"], answer["upper_bound"]) == (14, 14, 14)
    assert (answer["items"], answer["weight"], answer["proved"]) == ([1, 3], 9, True)
    assert answer["agrees"] is True
    assert answer["solves"] == 1 or reduction != "by-cost"


def test_the_text_says_what_was_proved_by_whom(ask, small, tmp_path) -> None:
    code, text, err = ask("knapsack", small, "--out", tmp_path / "items.txt")
    lines = text.splitlines()
    assert (code, err.strip()) == (0, f"items written to {tmp_path / 'items.txt'}")
    assert lines[0].split() == ["small", "proved", "best"]
    assert lines[1].split() == ["items", "2", "of", "4:", "1", "3"]
    assert lines[3].split() == ["weight", "9", "of", "10"]
    assert "scenario-search, by-cost: 1 solve," in lines[4]
    assert lines[5].endswith("dynamic program over the capacity: 14, the same")
    assert (tmp_path / "items.txt").read_text() == "1\n3\n"


def test_one_of_several_instances_of_a_file_is_named_by_its_number(ask, tmp_path) -> None:
    path = tmp_path / "two.csv"
    path.write_text(
        "first\nn 2\nc 10\nz 14\ntime 0.00\n1,10,6,1\n2,4,3,1\n-----\n\n"
        "second\nn 1\nc 1\nz 9\ntime 0.00\n1,1,1,0\n-----\n\n",
        encoding="utf-8",
    )
    _, text, _ = ask("knapsack", path, "--instance", 2, "--json")
    answer = json.loads(text)
    assert (answer["knapsack"], answer["value"]) == ("second", 1)
    assert answer["checked_by"].endswith("(the file says 9)")
    code, _, err = ask("knapsack", path, "--instance", 3)
    assert code == 2
    assert "holds 2 instances; there is no number 3" in err


def test_a_shipped_instance_is_named(ask) -> None:
    code, text, _ = ask("knapsack", "f5_l-d_kp_15_375", "--json")
    answer = json.loads(text)
    assert code == 0
    assert answer["value"] == answer["checked_value"] == pytest.approx(481.069368)
    assert answer["checked_by"] == "branch and bound"


def test_random_weights_are_planned_under_the_law(ask, tmp_path) -> None:
    path = tmp_path / "chance"
    path.write_text("4 11 0.95\n10 6 4\n7 5 0\n4 3 1\n3 2 0\n", encoding="utf-8")
    code, text, _ = ask("knapsack", path, "--chance", "--json")
    answer = json.loads(text)
    # 1 and 3 need 9 + 1.645 sqrt 5 > 11; 1 and 4 need 8 + 3.29; 2, 3 and 4 need 10 + 1.645; 2 and 3: 9.645.
    assert code == 0
    assert (answer["items"], answer["value"], answer["agrees"]) == ([2, 3], 11, True)
    assert answer["slack"] == pytest.approx(11 - 8 - 1.6448536)
    code, text, _ = ask("knapsack", path, "--chance")
    assert "dynamic program over value and variance: 11, the same" in text
    assert "P(weight <= 11) >= 0.95, a factor of 1.64485 deviations" in text
    assert (answer["omega"], answer["safety_factor"]) == (0.95, pytest.approx(1.6448536))
    path.write_text(path.read_text(encoding="utf-8").replace("0.95", "1"), encoding="utf-8")
    code, _, err = ask("knapsack", path, "--chance")
    assert code == 2
    assert "write z=1 for a probability of 0.841345" in err


def test_scenarios_prove_no_probability(ask, tmp_path) -> None:
    code, _, err = ask("knapsack", tmp_path / "any", "--chance", "--via", "milp")
    assert code == 2
    assert "proves no probability" in err


def test_what_cannot_be_used_is_refused_with_its_place(ask, tmp_path) -> None:
    code, _, err = ask("knapsack", tmp_path / "nothing")
    assert code == 2
    assert "no file and no shipped knapsack" in err
    (tmp_path / "bad").write_text("2 5\n1 1\n1 x\n")
    code, text, err = ask("knapsack", tmp_path / "bad", "--json")
    assert code == 2
    assert "line 3: weight is 'x'" in err
    assert json.loads(text)["path"].endswith("bad: line 3")
    (tmp_path / "large").write_text("2 1\n1000000000 1\n1 1\n", encoding="utf-8")
    code, _, err = ask("knapsack", tmp_path / "large")
    assert code == 2
    assert "could confuse two sums" in err


def test_a_limit_leaves_a_bound_that_is_not_wrong() -> None:
    names = [str(number) for number in range(60)]
    sack = Knapsack.of([97 + 31 * int(n) % 89 for n in names], [97 + 17 * int(n) % 83 for n in names], 4000)
    found: Answer = solve_knapsack(sack, "by-time", solver("scenario-search", 1e-3))
    assert not found.proved
    assert found.value is not None
    assert found.value <= found.bound <= sum(sack.values)
