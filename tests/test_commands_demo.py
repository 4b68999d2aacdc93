"""``depl demo``: a row for every target and method, figures, and "proved" only where it is."""

import json

import depl
from depl.commands import demo
from depl.instances.library import load
from depl.models.methods import Limits, Outcome, find, register
from depl.models.plan import Plan
from depl.models.problem import Instance
from depl.models.result import Termination


def slow_epochs(instance: Instance, limits: Limits) -> Outcome:
    """22 - l_max epochs of the steadiest model, with a bound of 80 % of their cost."""
    document = {
        "format": "depl-plan",
        "version": 1,
        "data": [{"cluster": "A", "datasets": ["training-data"]}],
        "epochs": [{"model": "slow-steady", "cluster": "A", "resources": 1.0}]
        * round(22 - instance.target.maximum_loss),
    }
    plan = Plan.from_json(json.dumps(document))
    return Outcome(Termination.EXHAUSTED, plan, 0.8 * len(plan.epochs))


def test_the_demo_prints_a_row_for_every_target_and_draws_the_figures(ask, tmp_path, monkeypatch):
    register("demo-slow", slow_epochs)
    monkeypatch.setattr(demo, "FAMILIES", ("paper-alexnet",))
    monkeypatch.setattr(demo, "registered", lambda: [find("demo-slow"), find("expected-greedy")])
    code, out, err = ask("demo", "--out", tmp_path / "figures")
    assert (code, err) == (0, "")
    rows = [[cell.strip() for cell in line.split("|")] for line in out.splitlines() if "demo-slow" in line]
    assert [row[0] for row in rows] == ["5", "7", "9", "11", "13"]
    assert [row[2] for row in rows] == ["17", "15", "13", "11", "9"]
    assert {row[3] for row in rows} == {"+25.0 %"}
    assert rows[0][4] == "0 / 0 / 17"
    assert all(float(row[5].removeprefix(">= ")) > 0.99 for row in rows)
    written = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {f"paper-alexnet-{kind}.png" for kind in ("cost", "epochs", "loss", "overview")} <= written
    assert all(str(tmp_path / "figures" / name) in out for name in written if name.endswith(".png"))
    assert "epochs: fast-unsteady / intermediate / slow-steady; asked probability: 0.99" in out
    assert "All roads meet (proved cheapest on these scenarios, costs equal to 1e-09)" in out


def test_the_demo_says_proved_only_of_what_is_proved(ask):
    instance = load("paper-alexnet", 9)
    proved = depl.solve(instance, "enumerate")
    merely = depl.solve(instance, "expected-greedy")
    entries = [demo.Entry("9", instance, result.method, result) for result in (proved, merely)] + [
        demo.Entry("9", instance, "refuses", None, "covers nothing")
    ]
    lines = demo.comparison_table(entries).splitlines()[2:-1]
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    assert [row[3] for row in rows] == ["proved cheapest", "+181.7 %", "covers nothing"]
