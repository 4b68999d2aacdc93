"""``depl check`` of plans that claim scenarios: what is checked, what is repeated, scenarios from a file."""

import json

import pytest

from depl.models.scenarios.files import save_scenarios
from tests.cases.verifier_scenarios_cases import claiming, own


def test_the_command_separates_what_is_checked_from_what_is_repeated(ask, tmp_path):
    path = tmp_path / "plan.json"
    assert ask("solve", "tiny", "--method", "scenario-search", "--scenarios", 40, "--out", path)[0] == 0
    code, out, err = ask("check", "tiny", path)
    assert (code, err) == (0, "")
    verdicts = {
        line.split("|")[0].strip(): line.split("|")[1].strip() for line in out.splitlines() if "|" in line
    }
    assert verdicts["claim: dual bound"] == "checked"
    assert verdicts["claim: scenarios.misses"] == "checked"
    assert verdicts["claim: scenarios.digest"] == "repeated"
    assert verdicts["(3)"] == "holds"
    assert out.splitlines()[1] == "Repeated from the plan, not checked: scenarios.digest"
    report = json.loads(ask("check", "tiny", path, "--json")[1])
    assert {"dual bound", "lower_bound", "cost", "scenarios.misses"} <= set(report["checked"])
    assert report["repeated"] == ["scenarios.digest"]
    assert report["lower_bound"] == pytest.approx(28, rel=1e-8)
    assert 0 <= report["gap"] < 1e-8


def test_the_command_lists_a_raised_bound_as_repeated_in_words_and_in_json(ask, tmp_path):
    """Where the plans are too many to be listed and none is proved cheapest, nothing can tell it is wrong."""
    path = tmp_path / "plan.json"
    name = "paper-mobilenet-9"
    assert ask("solve", name, "--method", "expected-greedy", "--out", path)[0] == 0
    document = json.loads(path.read_text(encoding="utf-8"))
    document["claims"]["lower_bound"] = 0.999999 * document["claims"]["cost"]
    path.write_text(json.dumps(document), encoding="utf-8")
    code, out, _ = ask("check", name, path)
    assert code == 0
    assert out.splitlines()[1] == "Repeated from the plan, not checked: lower_bound"
    report = json.loads(ask("check", name, path, "--json")[1])
    assert report["repeated"] == ["lower_bound"]
    assert "lower_bound" not in report["checked"]
    assert report["lower_bound"] is None


def test_the_command_takes_scenarios_from_a_file(ask, tmp_path, bell, steady_plan):
    scenarios = own(bell, [[3, 3, 0], [2, 2.5, 0]])
    instance, plan, file = (tmp_path / name for name in ("bell.json", "plan.json", "own.npz"))
    instance.write_text(bell.to_json(), encoding="utf-8")
    plan.write_text(claiming(bell, scenarios, steady_plan).to_json(), encoding="utf-8")
    save_scenarios(scenarios, file)
    assert ask("check", instance, plan)[0] == 3
    code, out, _ = ask("check", instance, plan, "--scenarios", file)
    assert code == 0
    assert "0 of 2 scenarios end above l_max" in out
    code, _, err = ask("check", instance, plan, "--scenarios", tmp_path / "missing.npz")
    assert code == 2
    assert "missing.npz: cannot be read" in err
