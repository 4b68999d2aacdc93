"""``depl bench report`` reads attempts wherever they are, writes one page, and says what it found."""

import json

import pytest

from depl.benchmarks.figures import paper as training
from depl.benchmarks.measure import store
from depl.benchmarks.report.claims import CLAIMS
from depl.commands import bench_report
from tests.cases.attempts_factory import attempt_of
from tests.cases.report_cases import costs, paper
from tests.cases.sweep_cases import write_suites


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


def test_a_page_is_written_from_the_files_that_are_named(report, folder):
    out, text = report(*sorted(folder.glob("*.gz")), "--no-figures")
    mean = (1 + 1 + 9 / 8) / 3
    assert "suites made-up, paper" in text
    assert f'data-value="{mean!r}"' in text
    assert ("<figure" in text, 'id="goals"' in text) == (False, False)
    (line,) = (line for line in out.splitlines() if line.startswith("depl "))
    assert f"{mean:.4g}" in line
    assert f"{folder / 'page.html'}: 18 attempts of 2 suites" in out
    assert not any(claim.key in out or claim.text in text for claim in CLAIMS)


def test_the_papers_claims_are_judged_where_that_is_asked_for(report, folder):
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
    verdicts = {claim["verdict"] for claim in told["claims"]}
    assert verdicts <= {"holds", "holds in part", "fails", "not measured"}
    assert all(claim["agree"] <= claim["others"] for claim in told["claims"])
    (folder / "paper.jsonl.gz").unlink()
    report()
    assert asked == [(family, True, 199) for family in bench_report.TRACES]


def test_figures_and_tables_are_written_beside_the_page_and_what_could_not_be_drawn_is_said(report, folder):
    beside = folder / "new" / "figures"
    _, text = report(*sorted(folder.glob("*.gz")), "--claims", "--folder", beside)
    written = {path.name for path in beside.iterdir()}
    assert {"ratios.csv", "references.csv", "claims.csv", "headline.csv"} <= written
    assert {f"made-up-profiles.{kind}" for kind in ("png", "svg", "pdf", "csv")} <= written
    assert r"\toprule" in (beside / "headline.tex").read_text(encoding="utf-8")
    assert '<figure id="figure-made-up-profiles">' in text
    assert "paper-alexnet-5" in text.partition('<section id="figures">')[2]


def test_whether_limits_were_kept_is_printed_where_attempts_tell(report, tmp_path):
    kept = attempt_of("one", "depl", suite="limits", solve_seconds=61.0, solve_cpu_seconds=60.0, cost=1.0)
    late = attempt_of("two", "depl", suite="limits", solve_seconds=99.0, solve_cpu_seconds=98.0, cost=1.0)
    (file,) = write_suites([kept, late], tmp_path)
    out, text = report("--no-figures", "--folder", tmp_path, file)
    assert "Limits are kept by 1 of 2 attempts; broken by 1 late." in out
    assert "Attempts that broke it" in text
    _, row = (tmp_path / "limits-broken.csv").read_text(encoding="utf-8").splitlines()
    assert row.startswith("limits,two,depl,60.0,99.0,98.0,late")
