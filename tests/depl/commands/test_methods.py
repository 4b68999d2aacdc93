"""``depl methods`` and `depl.methods`: what they say of each method is what it does."""

import json

import pytest

import depl
from depl.method_table import Methods
from depl.models.solving.methods import Proof, Registered, register
from depl.models.solving.options import Option


def answers() -> dict[tuple[str, str], depl.Result | None]:
    """What each shipped method answers on two instances; None where it refuses one."""
    found: dict[tuple[str, str], depl.Result | None] = {}
    for instance in (depl.load("tiny"), depl.load("paper-alexnet-9")):
        for method in depl.methods():
            slow = method.needs.startswith("Pyomo") and instance.name != "tiny"
            if method.proof is None or slow:  # of another test; programs on 100 scenarios
                continue
            looks = None if method.proof is Proof.OPTIMUM else 400  # by then the loop has its bound
            try:
                result = depl.solve(instance, method.name, looks=looks)
                found[instance.name, method.name] = result
            except depl.NotCoveredError:
                found[instance.name, method.name] = None
    return found


def test_every_shipped_method_proves_what_it_declares_and_refuses_what_is_among_its_needs():
    shipped, found = {method.name: method for method in depl.methods()}, answers()
    assert {name for _, name in found} >= {"auto", "depl", "exact", "milp", "random"}
    for (_, name), result in found.items():
        if result is None:
            continue
        proof = shipped[name].proof
        assert (result.solution is depl.Solution.PROVEN_OPTIMAL) is (proof is Proof.OPTIMUM), name
        assert (result.lower_bound > 0) is (proof is not Proof.NOTHING), name
    refusing = {name for (_, name), result in found.items() if result is None}
    assert refusing
    for method in depl.methods():
        assert (method.name in refusing) is method.needs.startswith("one cluster")


def test_the_table_has_a_line_for_each_method_those_that_prove_most_first(ask):
    code, out, err = ask("methods")
    assert (code, err) == (0, "")
    rows = [[cell.strip() for cell in line.split("|")] for line in out.splitlines() if "|" in line]
    assert rows[0] == ["method", "proves", "needs", "what it does"]
    names = [row[0] for row in rows[1:]]
    assert sorted(names) == [method.name for method in depl.methods()]
    kinds = [row[1] for row in rows[1:] if row[1] != "not declared"]
    ranks = [("the optimum", "a lower bound", "nothing").index(kind.split(",")[0]) for kind in kinds]
    assert ranks == sorted(ranks)
    assert ["scenario-search", "the optimum, on the scenarios", "scenarios, also with memory"] in [
        row[:3] for row in rows
    ]
    assert "Without --method it is auto" in out


def test_the_json_holds_all_that_is_declared(ask):
    _, out, _ = ask("methods", "--json")
    content = {method["name"]: method for method in json.loads(out)["methods"]}
    assert [name for name, method in content.items() if method["default"]] == ["auto"]
    assert content["exact"]["proves"] == "optimum"
    assert (content["milp"]["counts"], content["milp"]["needs"]) == ("scenarios", "Pyomo and HiGHS")
    assert [option["name"] for option in content["random"]["options"]] == ["draws"]
    assert len(content) == len(depl.methods())


@pytest.mark.usefixtures("own_methods")
def test_the_list_in_python_is_a_tuple_that_prints_as_the_table():
    register("mine", print, "Says <what> it does.", options=(Option("width"),))
    found = depl.methods()
    assert isinstance(found, tuple)
    assert all(isinstance(method, Registered) for method in found)
    assert repr(found) == str(found) == str(Methods(found))
    assert "mine" in str(found)
    assert "not declared" in str(found)
    assert ">Says &lt;what&gt; it does.</td>" in found._repr_html_()
