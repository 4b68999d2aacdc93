"""``depl bench`` from the outside: answers, files, exit codes, objects, and the page of its report."""

import dataclasses
import json
import sys

import msgspec
import pytest

from depl.benchmarks import __main__ as older_spelling
from depl.benchmarks.figures import paper as training
from depl.benchmarks.measure import catalogue, provenance, recording, results, store, sweep
from depl.benchmarks.measure.provenance import Commit
from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.measure.solving import attempt
from depl.benchmarks.measure.store import read_attempts, read_file
from depl.benchmarks.report.claims import CLAIMS
from depl.benchmarks.studies.sweeps import STUDIES
from depl.cli import main
from depl.commands import bench_report
from tests.cases.attempts_factory import attempt_of
from tests.cases.report_cases import costs, paper
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
    _, text, _ = ask("bench", "resume", kept)
    rows = [[cell.strip() for cell in line.split("|")][:-1] for line in text.splitlines()[2:]]
    assert rows == [["paper", "exact", "1", "1", ""], ["paper", "expected-cost", "1", "", "1"]]
    moved = changed(first, commit=Commit(id="0" * 40, dirty=False))
    file = tmp_path / "moved.jsonl"
    write_store(file, [moved, second], request)
    counts = {"tasks": 2, "finished": 2, "made": 0, "kept": 2, "kept_of_other_commits": 1}
    rest = {"file": str(file), "interrupted": False, "endings": {"optimal": 1, "exhausted": 1}}
    assert json.loads(ask("bench", "resume", file, "--json")[1]) == counts | rest
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
    words = ("--scheduler", "tcp://127.0.0.1:1", "--out", tmp_path / "x.jsonl")
    code, _, complaint = ask("bench", "run", "paper", *words)
    assert (code, "pip install 'depl[cluster]'" in complaint, [*tmp_path.iterdir()]) == (2, True, [])


# --- compare ---------------------------------------------------------------------------------------------


def test_a_comparison_finds_the_same_or_names_what_differs_from_answers_or_from_another_file(
    kept, tmp_path, monkeypatch, ask, here
):
    monkeypatch.setattr(store, "RECORDED", tmp_path)
    write_suites(read_attempts(kept), tmp_path)
    code, text, aside = ask("bench", "compare", "paper")
    assert (code, text, "2 of 2 recorded answers compared" in aside) == (0, "all the same\n", True)
    exact, cheap = read_attempts(kept)
    gone = changed(cheap, task=changed(cheap.task, instance="gone"))
    wrong = tmp_path / "wrong.jsonl"
    write_store(wrong, [changed(exact, cost=11.0, ending="exhausted"), gone])

    def differences(*files):
        code, text, _ = ask("bench", "compare", *files, "--json")
        rows = [tuple(row.values()) for row in json.loads(text)["differences"]]
        return code, {row[:2]: row[2:] for row in rows}

    code, told = differences(wrong)
    asked, other = (f"paper/paper-alexnet-9/{name}/0" for name in ("exact", "expected-cost"))
    differing = {(asked, "cost"): (11.0, exact.cost), (asked, "ending"): ("exhausted", "optimal")}
    assert "no instance 'gone'" in told.pop(("paper/gone/expected-cost/0", "task"))[1]
    assert (code, told) == (3, differing)
    code, told = differences(wrong, kept)
    assert (code, told.items() > differing.items()) == (3, True)
    assert told[other, "answer"] == (None, f"exhausted at cost {cheap.cost}")
    assert ask("bench", "compare", wrong, kept, "--only", "none/*")[0] == 0


def test_a_part_is_drawn_by_a_fresh_seed_that_is_told_and_repeats_it(tmp_path, ask, here):
    recorded = [changed(row, ending="exhausted", total_seconds=40.0) for row in blanks(8)]
    write_store(tmp_path / "some.jsonl", recorded)
    words = ("bench", "compare", tmp_path / "some.jsonl", "--seconds", "90", "--json")
    first = json.loads(ask(*words)[1])
    assert (first["compared"], first["seed"] != json.loads(ask(*words)[1])["seed"]) == (2, True)
    again = json.loads(ask(*words, "--seed", first["seed"])[1])
    assert again["differences"] == first["differences"]


def test_an_update_replaces_what_differs_and_adds_what_is_asked_today(tmp_path, ask, here):
    rows = read_attempts("behaviour")
    by_label = {row.task.configuration: row for row in rows if row.task.instance == "spent-promise"}
    path = tmp_path / "mine.jsonl.gz"
    recorded = [changed(by_label["exact"], cost=6.0), changed(by_label["random-200"], cost=7.0)]
    write_store(path, recorded)
    words = ("bench", "compare", path, "--all", "--update", "--only", "spent-promise/e[nx]*")
    code, text, _ = ask(*words)
    assert (code, "behaviour/spent-promise/exact/0" in text) == (0, True)
    found = {row.task.configuration: row for row in read_attempts(path)}
    assert (found["exact"].cost, found["random-200"]) == (5.0, recorded[1])
    assert {"enumerate", "expected-cost", "expected-greedy"} <= found.keys()
    assert ask(*words)[:2] == (0, "all the same\n")


def test_without_a_file_every_recorded_study_is_asked_and_those_without_attempts_are_named(
    kept, tmp_path, monkeypatch, ask, here
):
    for module, name in ((store, "RECORDED"), (store, "RESULTS"), (results, "RESULTS")):
        monkeypatch.setattr(module, name, tmp_path)
    write_suites(read_attempts(kept), tmp_path)
    (tmp_path / "squares.json").touch()
    code, _, aside = ask("bench", "compare")
    assert (code, "recorded before attempts were kept, so not compared: squares" in aside) == (0, True)
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
    assert (code, "internal error" in complaint) == (2, False)
    assert "task 'squares/number=2 seed=[85, 2]': failed: ValueError: no square" in complaint
    assert ask("bench", "run", "squares", *mine, "--out", "out")[0] == 2  # it holds attempts
    (tmp_path / "able").touch()
    code, text, _ = ask("bench", "resume", "out/squares.jsonl")
    assert (code, text.splitlines()[1]) == (0, "  sum = 14, goal == 14: met")
    (record,) = results.read_all(tmp_path / "out")
    assert record.values == {"sum": 14, "endings": ["answered"] * 4}
    kept = {"README.md", "squares.json", "squares.jsonl.gz"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == kept
    assert ask("bench", "compare", "out/squares.jsonl.gz")[:2] == (0, "all the same\n")
    _, (first, *_) = read_file(tmp_path / "out" / "squares.jsonl.gz")
    write_store("wrong.jsonl", [changed(first, answer={"square": 1.0, "seconds": 2.0})])
    code, text, _ = ask("bench", "compare", "wrong.jsonl", *mine)
    assert (code, "squares/number=0 seed=[85, 0]" in text) == (3, True)
    code, _, complaint = ask("bench", "compare", "wrong.jsonl", *mine, "--update")
    assert (code, "has a record made of these answers" in complaint) == (2, True)


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
    assert "\n  mean = 0.5, goal < 0.6: met\n  worst = " in text
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


@pytest.mark.usefixtures("studies")
def test_what_no_record_of_this_commit_speaks_of_is_recorded_and_what_was_begun_goes_on(
    tmp_path, monkeypatch, ask
):
    places = (store, "RECORDED"), (store, "RESULTS"), (results, "RESULTS"), (recording, "RECORDED")
    for module, name in places:
        monkeypatch.setattr(module, name, tmp_path)
    commits, alone = [Commit(id="a" * 40, dirty=True)], sweep.attempt_alone
    found, (sweeps,) = catalogue.all_studies(), [row for row in STUDIES if row.name == "scaling-scenarios"]
    few = dataclasses.replace(
        sweeps, draws=lambda: sweeps.instances()[:1], configurations=sweeps.configurations[:1]
    )
    for module in (catalogue, recording, results):
        monkeypatch.setattr(module, "all_studies", lambda: {**found, few.name: few})
    monkeypatch.setattr(catalogue, "all_suites", lambda: {few.name: few})
    monkeypatch.setattr(recording, "here", lambda: changed(provenance.here(), commit=commits[-1]))
    monkeypatch.setattr(
        sweep, "attempt_alone", lambda job, process: changed(alone(job, process), commit=commits[-1])
    )
    code, _, complaint = ask("bench", "record", "tiny")
    assert (code, "commit what was changed" in complaint) == (2, True)
    commits.append(Commit(id="a" * 40, dirty=False))
    assert ask("bench", "record", "tiny", few.name)[:2] == (0, f"recorded: tiny, {few.name}\n")
    assert {row.commit for row in read_attempts(few.name)} == {commits[-1]}
    code, text, aside = ask("bench", "record", "--json")
    assert (code, json.loads(text)) == (4, {"recorded": ["anew"], "lacking": ["stopped"]})
    assert "the same command goes on with stopped" in aside
    (seed,) = (row.seed for row in results.read_all(tmp_path) if row.case == "anew")
    commits.append(Commit(id="b" * 40, dirty=False))
    assert ask("bench", "record", "anew")[1] == "recorded: anew\n"
    again = next(row for row in results.read_all(tmp_path) if row.case == "anew")
    assert (again.commit, [row.seed for row in again.earlier]) == (commits[-1], [seed])
    assert ask("bench", "record", "anew")[1].startswith("recorded: nothing, as all is recorded")


@pytest.fixture
def folder(tmp_path):
    """Attempts of two suites."""
    made_up = [
        attempt_of(f"made-up-{number}", method, cost=10.0 + number * (method == "depl"), ending=ending)
        for number in range(6)
        for method, ending in (("exact", "optimal"), ("depl", "exhausted"))
    ]
    write_suites([*paper(costs(exact=(17, 12, 8), depl=(17, 12, 9)))], tmp_path)
    write_suites(made_up, tmp_path)
    return tmp_path


@pytest.fixture
def report(ask, tmp_path):
    """The command: what it prints, and the page that it writes."""

    def run(*words):
        code, out, err = ask("bench", "report", *words, "--out", tmp_path / "page.html")
        assert code == 0, err
        return out, (tmp_path / "page.html").read_text(encoding="utf-8")

    return run


def test_a_page_is_written_from_the_files_that_are_named_and_judges_claims_where_asked(report, folder):
    out, text = report(*sorted(folder.glob("*.gz")), "--no-figures")
    mean = (1 + 1 + 9 / 8) / 3
    assert ("<figure" in text, 'id="goals"' in text, f'data-value="{mean!r}"' in text) == (False, False, True)
    (line,) = (line for line in out.splitlines() if line.startswith("depl "))
    assert f"{mean:.4g}" in line
    assert f"{folder / 'page.html'}: 18 attempts of 2 suites" in out
    assert not any(claim.key in out or claim.text in text for claim in CLAIMS)
    out, text = report(folder / "paper.jsonl.gz", "--no-figures", "--claims")
    assert all(claim.key in out and claim.main.statement in out for claim in CLAIMS)
    assert "Of 33 claims of the paper, each in its main reading, 2 hold, 2 hold in part, 10 fail" in out
    assert 'id="goals"' in text


def test_methods_that_are_named_or_not_built_in_get_a_section(ask, report, tmp_path):
    both = (("exact", 10.0, "optimal"), ("mine", 12.0, "exhausted"))
    made = [attempt_of(f"one-{n}", name, cost=cost, ending=end) for name, cost, end in both for n in range(3)]
    (file,) = write_suites(made, tmp_path)
    out, text = report(file, "--no-figures", "--folder", tmp_path / "beside")
    assert "mine was tried 3 times on 3 instances" in out
    assert '<section id="own-1">' in text
    assert (tmp_path / "beside" / "own-1-worst.csv").read_text(encoding="utf-8").count("again.jsonl") == 3
    assert "exact was tried 3 times" in report(file, "--no-figures", "--methods", "exact,mine")[0]
    code, _, err = ask("bench", "report", file, "--methods", "mime", "--out", tmp_path / "other.html")
    assert (code, "no attempt of a method 'mime'" in err) == (2, True)


def test_the_committed_attempts_and_traces_are_taken_where_no_file_is_named(report, folder, monkeypatch):
    asked = []

    def drawings(family, traces, rng, resamples):
        asked.append((family, len(traces.runs) > 0, resamples))
        return []

    monkeypatch.setattr(training, "training_drawings", drawings)
    report(folder / "paper.jsonl.gz", "--no-claims")
    assert asked == []
    monkeypatch.setattr(bench_report, "RECORDED", folder)
    monkeypatch.setattr(store, "RECORDED", folder)
    told, bare, part = (
        json.loads(report("--no-figures", *words, "--json")[0])
        for words in ((), ("--no-claims",), ("paper",))
    )
    assert (told["attempts"], bare["claims"], part["attempts"]) == (18, [], 6)
    assert [claim["key"] for claim in told["claims"]] == [claim.key for claim in CLAIMS]
    (folder / "paper.jsonl.gz").unlink()
    report()
    assert asked == [(family, True, 199) for family in bench_report.TRACES]
