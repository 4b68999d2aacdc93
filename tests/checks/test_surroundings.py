"""Other surroundings for the tests: what is named is checked, and another order leaves none of them out."""

import itertools
from types import SimpleNamespace

import pytest

from tests.checks import surroundings


def test_another_order_keeps_all_tests_and_the_files_together(monkeypatch):
    names = [f"tests/{file}.py::test_{number}" for file in "abcd" for number in range(5)]
    items = [SimpleNamespace(nodeid=name) for name in names]
    orders = []
    for seed in ("1", "1", "2"):
        monkeypatch.setenv("TESTS_ORDER_SEED", seed)
        shuffled = list(items)
        surroundings.pytest_collection_modifyitems(shuffled)
        orders.append([item.nodeid for item in shuffled])
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2]) == names != orders[0]
    files = [name.partition("::")[0] for name in orders[0]]
    assert sum(one != other for one, other in itertools.pairwise(files)) == 3


def test_the_exit_code_says_whether_all_pass(monkeypatch, capsys):
    monkeypatch.setattr(
        surroundings, "SURROUNDINGS", {"good": lambda tests: 0, "bad": lambda tests: len(tests)}
    )
    assert surroundings.main(["good", "bad"]) == 0
    assert surroundings.main(["--tests", "one"]) == 1
    assert "1 of 2 pass; fails: bad" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        surroundings.main(["other"])
