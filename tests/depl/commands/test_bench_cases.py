"""``depl bench cases`` from the outside: goals, records, the table, and the older spelling of the command."""

import dataclasses
import json

import pytest

from depl.benchmarks import __main__ as older_spelling
from depl.benchmarks.measure import results
from depl.benchmarks.measure.registry import Goal, Study
from depl.commands import bench_cases

GOALS = (Goal("mean", "the mean is at most 0.6", "<=", 0.6), Goal("count", "draws", ">=", 1000))
TINY = Study(
    "tiny",
    "The mean of uniform draws.",
    GOALS,
    lambda rng, smoke: {"mean": rng.uniform(), "count": 7},
    seed=3,
)


def stopped(rng, smoke):
    """Be stopped by the user."""
    raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def few_cases(monkeypatch):
    """Make the command line see two small cases."""
    cases = {"tiny": TINY, "stopped": Study("stopped", "Is stopped.", (), stopped)}
    monkeypatch.setattr(bench_cases, "all_studies", lambda: cases)


def test_cases_are_listed_with_their_goals(ask):
    code, text, _ = ask("bench", "cases", "list")
    assert code == 0
    assert "tiny: The mean" in text
    assert "  mean <= 0.6: the mean is at most 0.6" in text
    _, text, _ = ask("bench", "cases", "list", "--json")
    tiny, _ = json.loads(text)["cases"]
    assert (tiny["case"], tiny["seed"], tiny["goals"][0]["threshold"]) == ("tiny", 3, 0.6)


def test_a_case_that_fails_is_told_with_its_line_and_is_no_defect_of_depl(tmp_path, ask, monkeypatch):
    """It divides by a cost that it does not have; its module is named as those of the cases are."""
    path = tmp_path / "case.py"
    path.write_text("def run(rng, smoke):\n    return {'ratio': 1.0 / None}\n", encoding="utf-8")
    space = {"__name__": "depl.benchmarks.studies.failing"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), space)
    failing = Study("failing", "Fails.", (), space["run"])
    monkeypatch.setattr(bench_cases, "all_studies", lambda: {"failing": failing})
    code, _, err = ask("bench", "cases", "run", "failing", "--out", tmp_path)
    assert code == 2
    assert f"depl: {path}, line 2: this code fails with TypeError: unsupported operand" in err
    assert "internal error" not in err


def test_run_writes_a_record_and_table_shows_it(tmp_path, ask):
    code, text, _ = ask("bench", "cases", "run", "tiny", "--out", tmp_path)
    assert code == 0
    assert "  count = 7, goal >= 1000: NOT MET" in text
    (record,) = results.read_all(tmp_path)
    assert record.case == "tiny"
    assert (tmp_path / "README.md").read_text(encoding="utf-8").endswith(results.table([record]))
    code, text, _ = ask("bench", "cases", "table", "--out", tmp_path)
    assert (code, text) == (0, results.table([record]))
    _, text, _ = ask("bench", "cases", "table", "--out", tmp_path, "--json")
    assert [row["case"] for row in json.loads(text)["records"]] == ["tiny"]


def test_a_recording_is_repeated_by_its_seed_where_the_case_draws_anew(tmp_path, ask, monkeypatch):
    anew = dataclasses.replace(TINY, name="anew", seed=None)
    monkeypatch.setattr(bench_cases, "all_studies", lambda: {"anew": anew, "tiny": TINY})
    ask("bench", "cases", "run", "anew", "--out", tmp_path)
    (record,) = results.read_all(tmp_path)
    code, _, _ = ask("bench", "cases", "run", "anew", "--seed", record.seed, "--out", tmp_path)
    (again,) = results.read_all(tmp_path)
    assert (code, again.values) == (0, record.values)
    code, _, message = ask("bench", "cases", "run", "tiny", "--seed", 4, "--out", tmp_path)
    assert code == 2
    assert "'tiny' always takes the seed 3" in message


def test_a_smoke_run_writes_nothing(tmp_path, ask):
    code, text, _ = ask("bench", "cases", "run", "tiny", "--smoke", "--out", tmp_path, "--json")
    assert code == 0
    assert [row["smoke"] for row in json.loads(text)["records"]] == [True]
    assert not list(tmp_path.iterdir())


def test_an_interrupted_run_keeps_the_records_that_are_there(tmp_path, ask):
    code, text, aside = ask("bench", "cases", "run", "tiny", "stopped", "--out", tmp_path)
    assert code == 4
    assert "1 of 2 cases measured" in aside
    assert text.startswith("tiny: ")
    assert [record.case for record in results.read_all(tmp_path)] == ["tiny"]


def test_an_unknown_name_is_refused_with_the_known_ones(tmp_path, ask):
    code, _, aside = ask("bench", "cases", "run", "tiny", "tinny", "--out", tmp_path)
    assert code == 2
    assert "no benchmark is called 'tinny'; did you mean 'tiny'? Known are tiny" in aside
    assert not list(tmp_path.iterdir())


def test_an_unknown_action_exits_2(ask):
    assert ask("bench", "cases", "measure")[0] == 2


def test_the_command_that_older_records_name_still_works(capsys):
    assert older_spelling.main(["run", "tiny", "--smoke"]) == 0
    assert capsys.readouterr().out.startswith("tiny: The mean")
