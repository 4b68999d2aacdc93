"""``depl bench`` from the outside: answers, files, exit codes and one JSON object."""

import dataclasses
import json
import sys

import msgspec
import pytest

from depl.benchmarks import __main__ as older_spelling
from depl.benchmarks.measure import catalogue, results, store, sweep
from depl.benchmarks.measure.attempt import Request
from depl.benchmarks.measure.provenance import Commit
from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.measure.solving import attempt
from depl.benchmarks.measure.store import read_attempts, read_file
from depl.cli import main
from tests.cases.sweep_cases import blanks, own_registry, users_file, write_store, write_suites

CHOSEN = ("--methods", "exact,expected-cost", "--instances", "paper-alexnet-9")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A file of attempts: one shipped instance by two methods."""
    path = tmp_path_factory.mktemp("bench") / "kept.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "attempt_alone", lambda job, process: attempt(job))
        assert main(["bench", "run", "paper", *CHOSEN, "--out", str(path)]) == 0
    return path


@pytest.fixture
def here(monkeypatch):
    """Attempts are made here and not in another process, whose start takes seconds."""
    monkeypatch.setattr(sweep, "attempt_alone", lambda job, process: attempt(job))


def changed(row, **values):
    return msgspec.structs.replace(row, **values)


# --- studies that sweep ----------------------------------------------------------------------------------


def test_the_studies_are_listed_with_their_sizes_or_their_goals(ask):
    rows = {row["study"]: row for row in json.loads(ask("bench", "list", "--json")[1])["studies"]}
    assert {"exact", "depl"} <= set(rows["paper"]["configurations"])
    assert rows["exact-law"]["goals"][0].keys() == {"name", "sentence", "comparison", "threshold"}


def test_a_run_is_a_file_that_is_resumed_and_not_run_into(kept, tmp_path, ask):
    request, (first, second) = read_file(kept)
    assert (request.suites, request.configurations) == (("paper",), ("exact", "expected-cost"))
    found = [(row.task.configuration, row.ending) for row in (first, second)]
    assert found == [("exact", "optimal"), ("expected-cost", "exhausted")]
    code, text, aside = ask("bench", "resume", kept)
    assert (code, f"2 of 2 attempts in {kept}, 0 made now" in aside) == (0, True)
    _, _, *rows = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
    told = [["paper", "exact", "1", "1", ""], ["paper", "expected-cost", "1", "", "1"]]
    assert [row[:-1] for row in rows] == told  # attempts, optimal, exhausted
    counts = {"tasks": 2, "finished": 2, "made": 0, "kept": 2, "kept_of_other_commits": 0}
    rest = {"file": str(kept), "interrupted": False, "endings": {"optimal": 1, "exhausted": 1}}
    assert json.loads(ask("bench", "resume", kept, "--json")[1]) == counts | rest
    moved = changed(first, commit=Commit(id="0" * 40, dirty=False))
    write_store(tmp_path / "moved.jsonl", [moved, second], request)
    code, _, aside = ask("bench", "resume", tmp_path / "moved.jsonl")
    assert (code, "of those kept, 1 are of another commit" in aside) == (0, True)
    code, _, complaint = ask("bench", "run", "paper", *CHOSEN, "--out", kept)
    assert (code, f"'depl bench resume {kept}' goes on" in complaint) == (2, True)


def test_a_users_suite_is_run_by_its_file(tmp_path, monkeypatch, ask, here):
    users_file(tmp_path, count=1, limit=60.0)
    monkeypatch.chdir(tmp_path)
    with own_registry():
        words = ("--import", "users.py", "--methods", "answers,exact", "--json")
        code, text, _ = ask("bench", "run", "users", *words)
        assert code == 0
        assert json.loads(text.splitlines()[-1])["endings"] == {"exhausted": 1, "optimal": 1}
        assert [row.method for row in read_attempts("users.jsonl")] == [f"{tmp_path.name}-answers", "exact"]
        code, text, _ = ask("bench", "compare", "users.jsonl")  # the file remembers what was imported
        assert (code, text) == (0, "a method may print\nall the same\n")


def test_a_scheduler_needs_dask_and_says_so(monkeypatch, tmp_path, ask):
    monkeypatch.setitem(sys.modules, "distributed", None)
    there = ("--scheduler", "tcp://127.0.0.1:1")
    code, _, complaint = ask("bench", "run", "paper", *there, "--out", tmp_path / "x.jsonl")
    assert code == 2
    assert "pip install 'depl[cluster]'" in complaint
    assert list(tmp_path.iterdir()) == []


def test_a_users_file_that_ends_the_program_is_refused_and_proves_nothing(tmp_path, monkeypatch, ask):
    """Exit code 3 would say that it is proved infeasible."""
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "mine.py"
    write_store("kept.jsonl", blanks(1), Request(suites=("paper",), imports=(str(mine),)))
    write_store("able.jsonl", [changed(row, ending="exhausted") for row in blanks(1)])
    before = {"able.jsonl", "kept.jsonl", "mine.py"}
    for text, words in {
        "import sys; sys.exit(3)": ("run", "paper", "--import", "mine.py", "--out", "new.jsonl"),
        "exit(0)": ("list", "--import", "mine.py"),
        "raise SystemExit('no')": ("resume", "kept.jsonl"),
        "raise SystemExit(3)": ("compare", "able.jsonl", "--import", "mine.py"),
    }.items():
        mine.write_text(text, encoding="utf-8")
        code, out, told = ask("bench", *words)
        assert (code, out) == (2, ""), words
        assert "mine.py: cannot be imported: it ends the program" in told
    assert {item.name for item in tmp_path.iterdir() if item.name != "__pycache__"} == before


# --- compare ---------------------------------------------------------------------------------------------


def test_a_comparison_finds_the_same_or_names_what_differs(kept, tmp_path, monkeypatch, ask, here):
    monkeypatch.setattr(store, "RECORDED", tmp_path)
    write_suites(read_attempts(kept), tmp_path)
    code, text, aside = ask("bench", "compare", "paper")
    assert (code, text) == (0, "all the same\n")
    assert "2 of 2 recorded answers compared" in aside
    exact, cheap = read_attempts(kept)
    gone = changed(cheap, task=changed(cheap.task, instance="gone"))
    write_store(tmp_path / "wrong.jsonl", [changed(exact, cost=11.0, ending="exhausted"), gone])
    code, text, _ = ask("bench", "compare", tmp_path / "wrong.jsonl", "--json")
    assert code == 3
    told = {
        (row["task"], row["what"]): (row["recorded"], row["found"]) for row in json.loads(text)["differences"]
    }
    asked = "paper/paper-alexnet-9/exact/0"
    assert "no instance 'gone'" in told.pop(("paper/gone/expected-cost/0", "task"))[1]
    assert told == {(asked, "cost"): (11.0, exact.cost), (asked, "ending"): ("exhausted", "optimal")}


def test_a_part_is_drawn_by_a_fresh_seed_that_is_told_and_repeats_it(tmp_path, ask, here):
    recorded = [changed(row, ending="exhausted", total_seconds=40.0) for row in blanks(8)]
    write_store(tmp_path / "some.jsonl", recorded)
    words = ("bench", "compare", tmp_path / "some.jsonl", "--seconds", "90", "--json")
    first, second = (json.loads(ask(*words)[1]) for _ in range(2))
    assert first["compared"] == 2
    assert first["seed"] != second["seed"]
    _, text, aside = ask(*words, "--seed", first["seed"])
    assert json.loads(text)["differences"] == first["differences"]
    assert f"2 of 8 recorded answers compared, drawn with --seed {first['seed']}" in aside


def test_two_files_are_compared_without_asking(kept, tmp_path, ask):
    exact, cheap = read_attempts(kept)
    write_store(tmp_path / "other.jsonl", [changed(exact, cost=6.0)])
    code, text, _ = ask("bench", "compare", kept, tmp_path / "other.jsonl", "--json")
    assert code == 3
    assert [list(row.values()) for row in json.loads(text)["differences"]] == [
        ["paper/paper-alexnet-9/exact/0", "cost", exact.cost, 6.0],
        ["paper/paper-alexnet-9/expected-cost/0", "answer", f"exhausted at cost {cheap.cost}", None],
    ]
    assert ask("bench", "compare", kept, tmp_path / "other.jsonl", "--only", "none/*")[0] == 0


def test_an_update_replaces_what_differs_and_adds_what_is_asked_today(tmp_path, ask, here):
    rows = [row for row in read_attempts("behaviour") if row.task.instance == "spent-promise"]
    by_label = {row.task.configuration: row for row in rows}
    path = tmp_path / "mine.jsonl.gz"
    recorded = [changed(by_label["exact"], cost=6.0), changed(by_label["random-200"], cost=7.0)]
    write_store(path, recorded)
    words = ("bench", "compare", path, "--all", "--update", "--only", "spent-promise/e[nx]*")
    code, text, _ = ask(*words)
    assert code == 0
    assert "behaviour/spent-promise/exact/0" in text
    found = {row.task.configuration: row for row in read_attempts(path)}
    assert found["exact"].cost == 5.0
    assert found["random-200"] == recorded[1]
    assert {"enumerate", "expected-cost", "expected-greedy"} <= found.keys()
    assert ask(*words)[:2] == (0, "all the same\n")


def test_without_a_file_every_recorded_study_is_asked_and_those_without_attempts_are_named(
    kept, tmp_path, monkeypatch, ask, here
):
    for module, name in ((store, "RECORDED"), (store, "RESULTS"), (results, "RESULTS")):
        monkeypatch.setattr(module, name, tmp_path)
    write_suites(read_attempts(kept), tmp_path)
    (tmp_path / "squares.json").touch()
    code, text, aside = ask("bench", "compare")
    assert (code, text) == (0, "all the same\n")
    assert "paper: 2 of 2 recorded answers compared" in aside
    assert "recorded before attempts were kept, so not compared: squares" in aside
    slow, quick = read_attempts(kept)
    write_suites([changed(slow, total_seconds=99.0), quick], tmp_path)
    told = json.loads(ask("bench", "compare", "--json")[1])
    assert (list(told["studies"]), told["without_attempts"]) == (["paper"], ["squares"])
    assert told["studies"]["paper"]["compared"] == 1
    code, _, complaint = ask("bench", "compare", "squares")
    assert (code, "was recorded before attempts were kept" in complaint) == (2, True)


# --- studies that measure --------------------------------------------------------------------------------

TINY = Study(
    name="tiny",
    summary="The mean of uniform draws.",
    goals=(Goal("mean", "the mean is below 0.6", "<", 0.6), Goal("worst", "none is above 0.1", "<", 0.1)),
    tasks=lambda rng, smoke: [{"worst": float(rng.uniform(0.2, 1.0))}],
    run=dict,
    figures=lambda rows: {"mean": 0.5, "worst": rows[0]["worst"]},
    seed=3,
)


SQUARES = """
import os
from pathlib import Path
from depl.benchmarks.measure.registry import Goal, Study


def tasks(rng, smoke):
    seed = int(rng.integers(100))
    for number in range(2 if smoke else 4):
        yield {"number": number, "seed": (seed, number)}


def run(task):
    if task["number"] == 2 and not Path(__file__).with_name("able").exists():
        raise ValueError("no square")
    assert isinstance(task["seed"], list)
    return {"square": task["number"] ** 2, "seconds": os.times().elapsed}


def figures(rows):
    return {"sum": sum(row["square"] for row in rows), "endings": [row["ending"] for row in rows]}


STUDY = Study("squares", "Squares.", (Goal("sum", "", "==", 14),), tasks=tasks, run=run, figures=figures)
"""


def test_a_study_by_tasks_goes_on_after_one_that_failed_and_is_asked_again(tmp_path, monkeypatch, ask, here):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(SQUARES, encoding="utf-8")
    mine = ("--import", "mine.py")
    code, text, _ = ask("bench", "run", "squares", *mine, "--smoke")
    assert (code, text.splitlines()[1]) == (0, "  sum = 1, goal == 14: NOT MET")
    code, _, complaint = ask("bench", "run", "squares", *mine, "--out", "out")
    assert code == 2
    assert "task 'squares/number=2 seed=[85, 2]': failed: ValueError: no square" in complaint
    assert "internal error" not in complaint
    assert ask("bench", "run", "squares", *mine, "--out", "out")[0] == 2  # it holds attempts
    (tmp_path / "able").touch()
    code, text, _ = ask("bench", "resume", "out/squares.jsonl")
    assert (code, text.splitlines()[1]) == (0, "  sum = 14, goal == 14: met")
    (record,) = results.read_all(tmp_path / "out")
    assert record.values == {"sum": 14, "endings": ["answered"] * 4}
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "README.md",
        "squares.json",
        "squares.jsonl.gz",
    ]
    assert ask("bench", "compare", "out/squares.jsonl.gz")[:2] == (0, "all the same\n")
    _, (first, *_) = read_file(tmp_path / "out" / "squares.jsonl.gz")
    write_store("wrong.jsonl", [changed(first, answer={"square": 1.0, "seconds": 2.0})])
    code, text, _ = ask("bench", "compare", "wrong.jsonl", *mine)
    assert code == 3
    assert "squares/number=0 seed=[85, 0]" in text
    code, _, complaint = ask("bench", "compare", "wrong.jsonl", *mine, "--update")
    assert (code, "has a record made of these answers" in complaint) == (2, True)
    code, _, complaint = ask("bench", "compare", "--update")
    assert (code, "--update: replaces answers of one FILE" in complaint) == (2, True)


@pytest.fixture
def studies(monkeypatch):
    """These alone, one of which is interrupted; the slow ones of the project are not run."""

    def alone(job, process):
        if job.task.suite == "stopped":
            raise KeyboardInterrupt
        return attempt(job)

    monkeypatch.setattr(sweep, "attempt_alone", alone)
    found = {
        "anew": dataclasses.replace(TINY, name="anew", seed=None),
        "stopped": dataclasses.replace(TINY, name="stopped"),
        "tiny": TINY,
    }
    monkeypatch.setattr(catalogue, "all_studies", lambda: found)
    monkeypatch.setattr(catalogue, "all_suites", dict)
    monkeypatch.setattr(results, "all_studies", lambda: found)


@pytest.mark.usefixtures("studies")
def test_a_measurement_is_a_record_with_goals_that_its_seed_repeats_and_an_interrupt_keeps(
    tmp_path, ask, capsys
):
    out = ("--out", tmp_path)
    code, text, _ = ask("bench", "run", "tiny", "--smoke", *out, "--json")
    assert (code, [row["smoke"] for row in json.loads(text)["records"]]) == (0, [True])
    assert older_spelling.main(["run", "tiny", "--smoke"]) == 0
    assert capsys.readouterr().out.startswith("tiny: The mean")
    assert not list(tmp_path.iterdir())
    code, text, aside = ask("bench", "run", "tiny", "stopped", *out)
    assert (code, "1 of 2 studies measured" in aside) == (4, True)
    assert text.startswith("tiny: The mean of uniform draws.\n  mean = 0.5, goal < 0.6: met\n  worst = ")
    assert ": NOT MET" in text
    (record,) = results.read_all(tmp_path)
    assert (record.case, record.command) == ("tiny", "depl bench run tiny")
    assert "| tiny | the mean is below 0.6 |" in ask("bench", "table", *out)[1]
    told = json.loads(ask("bench", "table", *out, "--json")[1])["records"]
    assert ([row["case"] for row in told], (tmp_path / "README.md").exists()) == (["tiny"], True)
    ask("bench", "run", "anew", *out)
    drawn = results.read_all(tmp_path)[0]
    assert ask("bench", "run", "anew", "--seed", drawn.seed, *out)[0] == 0
    assert results.read_all(tmp_path)[0].values == drawn.values
    code, _, message = ask("bench", "run", "tiny", "--seed", 4, *out)
    assert (code, "'tiny' always takes the seed 3" in message) == (2, True)


def test_a_figure_is_drawn_from_a_record(tmp_path, ask):
    code, _, _ = ask("bench", "draw", "graph", tmp_path)
    assert (code, sorted(path.name for path in tmp_path.iterdir())) == (0, ["graph.png", "graph.svg"])
