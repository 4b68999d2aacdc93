"""``depl bench`` from the outside: answers, files, exit codes and one JSON object."""

import json
import sqlite3
import sys

import msgspec
import pytest

from depl.benchmarks.measure import store as read
from depl.benchmarks.measure.process import ignore
from depl.benchmarks.measure.solving import made
from depl.benchmarks.measure.store import read_attempts
from depl.benchmarks.sweep.recheck import differences
from depl.benchmarks.sweep.request import Request
from depl.benchmarks.sweep.store import stored_requests
from depl.cli import main
from tests.cases.sweep_cases import blanks, own_registry, users_file, write_store

CHOSEN = ("--methods", "exact,expected-cost", "--instances", "paper-alexnet-9")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with ``kept.sqlite``: one shipped instance by two methods."""
    folder = tmp_path_factory.mktemp("bench")
    assert main(["bench", "run", "paper", *CHOSEN, "--out", str(folder / "kept.sqlite")]) == 0
    return folder


@pytest.fixture
def kept(folder):
    return folder / "kept.sqlite"


def test_the_suites_are_listed(ask):
    code, text, _ = ask("bench", "list")
    assert code == 0
    assert text.splitlines()[0].split() == [
        "suite",
        "|",
        "instances",
        "|",
        "methods",
        "|",
        "seeds",
        "|",
        "summary",
    ]
    code, text, _ = ask("bench", "list", "--json")
    (paper,) = [row for row in json.loads(text)["suites"] if row["suite"] == "paper"]
    assert {"exact", "depl"} <= set(paper["configurations"])


def test_a_run_is_a_table_of_endings_and_a_file(kept):
    assert [(row.task.configuration, row.ending) for row in read_attempts(kept)] == [
        ("exact", "optimal"),
        ("expected-cost", "exhausted"),
    ]
    (request,) = stored_requests(kept)
    assert (request.suites, request.configurations) == (("paper",), ("exact", "expected-cost"))


def test_nothing_is_left_to_resume(kept, ask):
    code, text, aside = ask("bench", "resume", kept)
    assert code == 0
    header, _, *rows = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
    assert header == ["suite", "configuration", "attempts", "optimal", "exhausted", "seconds"]
    assert [row[:-1] for row in rows] == [
        ["paper", "exact", "1", "1", ""],
        ["paper", "expected-cost", "1", "", "1"],
    ]
    assert f"2 of 2 attempts in {kept}, 0 made now" in aside
    code, text, _ = ask("bench", "resume", kept, "--json")
    assert json.loads(text) == {
        "file": str(kept),
        "tasks": 2,
        "finished": 2,
        "made": 0,
        "kept": 2,
        "kept_of_other_commits": 0,
        "interrupted": False,
        "endings": {"optimal": 1, "exhausted": 1},
    }


def test_attempts_of_another_commit_are_kept_and_counted(kept, tmp_path, ask):
    moved = tmp_path / "moved.sqlite"
    moved.write_bytes(kept.read_bytes())
    with sqlite3.connect(moved) as connection:
        connection.execute("UPDATE attempt SET \"commit\" = 'another' WHERE method = 'exact'")
    connection.close()
    code, _, aside = ask("bench", "resume", moved)
    assert code == 0
    assert "of those kept, 1 are of another commit" in aside


def test_a_file_with_attempts_is_not_run_into_but_resumed(kept, ask):
    code, _, complaint = ask("bench", "run", "paper", *CHOSEN, "--out", kept)
    assert code == 2
    assert f"'depl bench resume {kept}' goes on" in complaint


def test_the_compact_form_is_the_same_twice(kept, tmp_path, ask):
    code, text, _ = ask("bench", "export", kept, "--out", tmp_path / "first")
    assert code == 0
    assert text.strip() == str(tmp_path / "first" / "paper.jsonl.gz")
    ask("bench", "export", tmp_path / "first", "--out", tmp_path / "second")
    contents = [(tmp_path / name / "paper.jsonl.gz").read_bytes() for name in ("first", "second")]
    assert contents[0] == contents[1]
    assert read_attempts(tmp_path / "first") == read_attempts(kept)


def in_this_process(monkeypatch):
    """From now on rechecks attempt here and not in another process, whose start takes seconds."""
    monkeypatch.setattr("depl.commands.bench_files.attempt_alone", lambda job, process: made(job, ignore))


def test_a_recheck_finds_the_same_or_names_what_differs(kept, tmp_path, monkeypatch, ask):
    monkeypatch.setattr(read, "RECORDED", tmp_path)
    assert ask("bench", "export", kept, "--out", tmp_path)[0] == 0
    code, text, aside = ask("bench", "recheck", "paper")
    assert (code, text) == (0, "all the same\n")
    assert "2 of 2 recorded attempts solved again" in aside
    exact, cheap = read_attempts(kept)
    wrong = [
        msgspec.structs.replace(exact, cost=11.0, ending="exhausted"),
        msgspec.structs.replace(cheap, task=msgspec.structs.replace(cheap.task, instance="gone")),
    ]
    write_store(tmp_path / "wrong.sqlite", wrong, [])
    in_this_process(monkeypatch)
    code, text, _ = ask("bench", "recheck", tmp_path / "wrong.sqlite", "--json")
    assert code == 3
    told = {
        (row["attempt"], row["what"]): (row["recorded"], row["found"])
        for row in json.loads(text)["differences"]
    }
    assert told[("paper/paper-alexnet-9/exact/0", "cost")] == (11.0, exact.cost)
    assert told[("paper/paper-alexnet-9/exact/0", "ending")] == ("exhausted", "optimal")
    assert "no instance 'gone'" in told[("paper/gone/expected-cost/0", "task")][1]
    assert len(told) == 3


def test_a_recheck_remembers_what_was_imported(tmp_path, monkeypatch, ask):
    source = tmp_path / "own.py"
    source.write_text(
        "import depl\n\n\ndef gives_up(instance, limits):\n    return None\n\n\n"
        "depl.register('recheck-gives-up', gives_up)\n",
        encoding="utf-8",
    )
    (row,) = blanks(1)
    task = msgspec.structs.replace(row.task, configuration="recheck-gives-up")
    own = msgspec.structs.replace(row, task=task, ending="exhausted", settings={"time_limit": 5.0})
    seen = []

    def answered(job, process):
        seen.append(job.imports)
        return msgspec.structs.replace(own, settings=own.settings)

    monkeypatch.setattr("depl.commands.bench_files.attempt_alone", answered)
    request = Request(suites=(task.suite,), imports=(str(source),))
    write_store(tmp_path / "own.sqlite", [own], [request])
    code, text, _ = ask("bench", "recheck", tmp_path / "own.sqlite")
    assert (code, text, seen) == (0, "all the same\n", [(str(source),)])


def test_what_the_clock_stops_now_is_a_difference_only_where_a_proof_is_lost():
    (row,) = blanks(1)
    stopped = msgspec.structs.replace(row, ending="time_limit", cost=3.0)
    assert not differences(msgspec.structs.replace(row, ending="exhausted", cost=2.0), stopped)
    assert differences(msgspec.structs.replace(row, ending="optimal", cost=2.0), stopped)


def test_an_attempt_without_a_time_limit_is_named(tmp_path, ask):
    (row,) = blanks(1)
    odd = [
        msgspec.structs.replace(row, ending="exhausted", settings={"time_limit": limit}) for limit in (None,)
    ]
    write_store(tmp_path / "odd.sqlite", odd, [])
    code, text, _ = ask("bench", "recheck", tmp_path / "odd.sqlite", "--json")
    assert code == 3
    (told,) = json.loads(text)["differences"]
    assert told["found"] == "cannot be run: its settings.time_limit is None instead of positive seconds"


def test_what_ended_by_the_clock_cannot_be_rechecked(tmp_path, ask):
    write_store(tmp_path / "crashed.sqlite", blanks(2), [])
    code, _, complaint = ask("bench", "recheck", tmp_path / "crashed.sqlite")
    assert code == 2
    assert "no attempt that can be repeated" in complaint


def test_a_users_suite_is_run_by_its_file(tmp_path, monkeypatch, ask):
    users_file(tmp_path, count=1)
    monkeypatch.chdir(tmp_path)
    with own_registry():
        code, text, _ = ask(
            "bench", "run", "users", "--import", "users.py", "--methods", "answers,exact", "--json"
        )
        assert code == 0
        assert json.loads(text)["endings"] == {"exhausted": 1, "optimal": 1}
        assert [row.method for row in read_attempts("users.sqlite")] == [f"{tmp_path.name}-answers", "exact"]
        in_this_process(monkeypatch)
        code, text, _ = ask("bench", "recheck", "users.sqlite", "--import", "users.py")
        assert (code, text) == (0, "a method may print\nall the same\n")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("run", "none", "--out", "x.sqlite"), "no suite is called 'none'"),
        (("run", "paper", "--methods", "none", "--out", "x.sqlite"), "--methods: no configuration"),
        (("run", "paper", "--import", "none.py", "--out", "x.sqlite"), "none.py: there is no such file"),
        (("run", "paper", "--seconds", "0"), "--seconds: must be positive"),
        (("run", "paper", "--seconds", "soon"), "--seconds: must be a number"),
        (("run", "paper", "--workers", "0"), "--workers: 0 is not in the range x>=1"),
        (("run", "paper", "--workers", "2", "--scheduler", "tcp://there:1"), "not allowed with"),
        (("resume", "none.sqlite"), "none.sqlite: there is no such file"),
        (("export", "none.sqlite", "--out", "."), "none.sqlite: no such file"),
        (("recheck", "none"), "none: no such file, and no recorded suite of that name; known are"),
    ],
)
def test_what_cannot_be_done_is_refused_and_nothing_is_written(tmp_path, monkeypatch, ask, words, complaint):
    monkeypatch.chdir(tmp_path)
    code, text, told = ask("bench", *words)
    assert (code, text) == (2, "")
    assert complaint in told
    assert list(tmp_path.iterdir()) == []


def test_a_scheduler_needs_dask_and_says_so(monkeypatch, tmp_path, ask):
    monkeypatch.setitem(sys.modules, "distributed", None)
    there = ("--scheduler", "tcp://127.0.0.1:1")
    code, _, complaint = ask("bench", "run", "paper", *there, "--out", tmp_path / "x.sqlite")
    assert code == 2
    assert "pip install 'depl[cluster]'" in complaint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["import sys; sys.exit(3)", "exit(0)", "raise SystemExit('no')"])
def test_a_users_file_that_ends_the_program_is_refused_and_proves_nothing(tmp_path, monkeypatch, ask, text):
    """Exit code 3 would say that it is proved infeasible."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    write_store("kept.sqlite", blanks(1), [Request(suites=("paper",), imports=(str(tmp_path / "mine.py"),))])
    repeatable = [msgspec.structs.replace(row, ending="exhausted") for row in blanks(1)]
    write_store("able.sqlite", repeatable, [])
    before = sorted(item.name for item in tmp_path.iterdir() if item.name != "__pycache__")
    for words in (
        ("run", "paper", "--import", "mine.py", "--out", "new.sqlite"),
        ("list", "--import", "mine.py"),
        ("resume", "kept.sqlite"),
        ("recheck", "able.sqlite", "--import", "mine.py"),
    ):
        code, out, told = ask("bench", *words)
        assert (code, out) == (2, ""), words
        assert "mine.py: cannot be imported: it ends the program" in told
    assert sorted(item.name for item in tmp_path.iterdir() if item.name != "__pycache__") == before
