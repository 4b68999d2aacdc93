"""depl policy check, simulate and replay: what they say, and their exit codes."""

import json

import msgspec
import pytest

from depl.cli import main
from depl.models.policy import planner
from depl.models.policy.solve import solve_policy
from depl.models.problem.laws import Empirical
from depl.models.traces.files import write_traces
from tests.cases.policy_cases import tiny
from tests.models.policy.test_replay import policy as by_hand
from tests.models.policy.test_replay import traces


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Paths of an instance and its policy, and the policy."""
    monkeypatch.setattr(planner, "GRIDS", (128,))
    instance = tiny(
        Empirical(values=(-0.1, 0.1, 0.3)),
        Empirical(values=(0.1, 0.4)),
        maximum_loss=0.35,
        quantile_level=0.3,
    )
    policy = solve_policy(instance, gap=0.5).policy
    paths = tmp_path / "mine.json", tmp_path / "policy.json"
    for path, item in zip(paths, (instance, policy), strict=True):
        path.write_text(item.to_json())
    return *map(str, paths), policy


def bold(policy, path):
    """Write the policy with claims that it does not keep."""
    certificate = msgspec.structs.replace(policy.certificate, cost=0.5, reached=0.99)
    with open(path, "w", encoding="utf-8") as file:
        file.write(msgspec.structs.replace(policy, certificate=certificate).to_json())


def test_a_policy_that_was_planned_passes_with_what_was_recomputed(files, capsys):
    assert main(["policy", "check", *files[:2]]) == 0
    text = capsys.readouterr().out
    assert "tiny-policy: everything holds" in text
    assert "Repeated from the policy, not checked: lower_bound, ratio" in text
    assert "expected cost" in text


def test_claims_that_do_not_hold_fail_the_check_with_exit_code_3(files, capsys):
    bold(files[2], files[1])
    assert main(["policy", "check", *files[:2], "--json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert not found["ok"]
    assert {"claim: cost", "claim: reached"} <= {row["rule"] for row in found["findings"] if not row["ok"]}
    assert found["course"]["cost"] > 0.5


def test_simulated_runs_refute_what_is_too_bold_and_nothing_else(files, capsys):
    assert main(["policy", "simulate", *files[:2], "--runs", "20000", "--seed", "3"]) == 0
    assert "No claim is refuted at 1e-06." in capsys.readouterr().out
    bold(files[2], files[1])
    assert main(["policy", "simulate", *files[:2], "--runs", "20000", "--json"]) == 3
    assert len(json.loads(capsys.readouterr().out)["refuted"]) == 2
    assert main(["policy", "simulate", *files[:2], "--runs", "20000"]) == 3
    assert "REFUTED" in capsys.readouterr().out


def test_replayed_runs_are_counted_by_how_they_ended(tmp_path, capsys):
    policy, runs = str(tmp_path / "policy.json"), str(tmp_path / "runs.csv")
    (tmp_path / "policy.json").write_text(by_hand().to_json())
    write_traces(runs, traces())
    assert main(["policy", "replay", policy, runs]) == 0
    text = capsys.readouterr().out
    assert "4 seeds, followed on real training" in text
    assert "0.75 of them, 95 % interval [0.1941, 0.9937]" in text
    assert "3 runs, after epochs 1 to 2" in text
    assert main(["policy", "replay", policy, runs, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ends"] == {"reached": 3, "beyond": 1}
    assert found["cost"] == 2.75


def test_a_branch_that_was_not_trained_ends_the_replay_with_exit_code_2(tmp_path, capsys):
    policy, runs = str(tmp_path / "policy.json"), str(tmp_path / "runs.csv")
    (tmp_path / "policy.json").write_text(by_hand().to_json())
    write_traces(runs, traces("b", (1,)))
    assert main(["policy", "replay", policy, runs]) == 2
    assert "run 'b/1', epoch 2" in capsys.readouterr().err
