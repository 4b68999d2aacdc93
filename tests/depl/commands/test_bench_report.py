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


def made_up(count: int):
    for number in range(count):
        yield attempt_of(f"made-up-{number}", "exact", cost=10.0, ending="optimal")
        yield attempt_of(f"made-up-{number}", "depl", cost=10.0 + number)


@pytest.fixture
def folder(tmp_path):
    write_suites([*paper(costs(exact=(17, 12, 8), depl=(17, 12, 9)))], tmp_path)
    write_suites(made_up(6), tmp_path)
    return tmp_path


def test_a_page_is_written_from_the_files_that_are_named(ask, folder):
    page = folder / "page.html"
    files = [str(path) for path in sorted(folder.glob("*.gz"))]
    code, out, err = ask("bench", "report", *files, "--no-figures", "--out", str(page))
    assert (code, err) == (0, "")
    text = page.read_text(encoding="utf-8")
    mean = (1 + 1 + 9 / 8) / 3
    assert "suites made-up, paper" in text
    assert f'data-value="{mean!r}"' in text
    assert "<figure" not in text
    (line,) = (line for line in out.splitlines() if line.startswith("depl "))
    assert f"{mean:.4g}" in line
    assert f"{page}: 18 attempts of 2 suites" in out
    assert not any(claim.key in out or claim.text in text for claim in CLAIMS)


def test_the_papers_claims_are_judged_where_that_is_asked_for(ask, folder):
    page = folder / "page.html"
    words = ("bench", "report", str(folder / "paper.jsonl.gz"), "--no-figures", "--out", str(page))
    code, out, _ = ask(*words, "--claims")
    assert code == 0
    assert all(claim.key in out and claim.main.statement in out for claim in CLAIMS)
    assert "Of 33 claims of the paper, each in its main reading, 2 hold, 2 hold in part, 10 fail" in out
    assert 'id="goals"' in page.read_text(encoding="utf-8")
    assert ask(*words)[0] == 0
    assert 'id="goals"' not in page.read_text(encoding="utf-8")


def test_methods_that_are_named_or_not_built_in_get_a_section(ask, tmp_path):
    best = [attempt_of(f"one-{number}", "exact", cost=10.0, ending="optimal") for number in range(3)]
    (file,) = write_suites(
        [*best, *(attempt_of(f"one-{number}", "mine", cost=12.0) for number in range(3))], tmp_path
    )
    page = tmp_path / "page.html"
    words = ("bench", "report", str(file), "--no-figures", "--out", str(page))
    code, out, _ = ask(*words, "--folder", str(tmp_path / "beside"))
    assert code == 0
    assert "mine was tried 3 times on 3 instances" in out
    assert '<section id="own-1">' in page.read_text(encoding="utf-8")
    assert (tmp_path / "beside" / "own-1-worst.csv").read_text(encoding="utf-8").count("again.jsonl") == 3
    _, out, _ = ask(*words, "--methods", "exact,mine")
    assert "exact was tried 3 times" in out
    code, _, err = ask(*words, "--methods", "mime")
    assert code == 2
    assert "no attempt of a method 'mime'" in err


def test_the_committed_attempts_are_taken_where_no_file_is_named(ask, folder, monkeypatch):
    monkeypatch.setattr(bench_report, "RECORDED", folder)
    monkeypatch.setattr(store, "RECORDED", folder)
    words = ("bench", "report", "--no-figures", "--out", str(folder / "page.html"), "--json")
    code, out, _ = ask(*words)
    told = json.loads(out)
    assert (code, told["attempts"]) == (0, 18)
    assert [claim["key"] for claim in told["claims"]] == [claim.key for claim in CLAIMS]
    verdicts = {claim["verdict"] for claim in told["claims"]}
    assert verdicts <= {"holds", "holds in part", "fails", "not measured"}
    assert all(claim["agree"] <= claim["others"] for claim in told["claims"])
    assert json.loads(ask(*words, "--no-claims")[1])["claims"] == []
    assert json.loads(ask(*words, "paper")[1])["attempts"] == 6


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no-such-suite"], "no-such-suite"),
        (["--out", "no/such/folder/page.html"], "no folder"),
    ],
)
def test_what_cannot_be_read_or_written_is_refused(ask, words, message):
    code, out, err = ask("bench", "report", *words)
    assert (code, out) == (2, "")
    assert message in err


def test_an_older_page_stays_whole_if_the_report_fails(ask, folder):
    page = folder / "page.html"
    page.write_text("older", encoding="utf-8")
    (folder / "broken.jsonl.gz").write_bytes(b"no attempts")
    code, *_ = ask("bench", "report", str(folder / "broken.jsonl.gz"), "--out", str(page))
    assert code == 2
    assert page.read_text(encoding="utf-8") == "older"


def test_the_standard_report_draws_the_shipped_traces_as_well(ask, folder, monkeypatch):
    asked = []

    def drawings(family, traces, rng, resamples):
        asked.append((family, len(traces.runs) > 0, resamples))
        return []

    monkeypatch.setattr(training, "training_drawings", drawings)
    (folder / "paper.jsonl.gz").unlink()
    page = folder / "page.html"
    assert ask("bench", "report", str(folder), "--out", str(page))[0] == 0
    assert asked == []
    monkeypatch.setattr(bench_report, "RECORDED", folder)
    assert ask("bench", "report", "--out", str(page))[0] == 0
    assert asked == [(family, True, 199) for family in bench_report.TRACES]


def test_the_page_says_what_could_not_be_drawn(ask, folder):
    page = folder / "page.html"
    assert ask("bench", "report", str(folder / "paper.jsonl.gz"), "--out", str(page))[0] == 0
    assert "paper-alexnet-5" in page.read_text(encoding="utf-8").partition('<section id="figures">')[2]


def test_figures_and_tables_are_written_beside_the_page_if_a_folder_is_named(ask, folder):
    page, beside = folder / "page.html", folder / "new" / "figures"
    source = str(folder / "made-up.jsonl.gz")
    code, *_ = ask("bench", "report", source, "--claims", "--out", str(page), "--folder", str(beside))
    assert code == 0
    written = {path.name for path in beside.iterdir()}
    assert {"ratios.csv", "references.csv", "claims.csv", "headline.csv"} <= written
    assert {f"made-up-profiles.{kind}" for kind in ("png", "svg", "pdf", "csv")} <= written
    assert (beside / "ratios.csv").read_text(encoding="utf-8").startswith("suite,configuration,")
    assert r"\toprule" in (beside / "headline.tex").read_text(encoding="utf-8")
    text = page.read_text(encoding="utf-8")
    assert '<figure id="figure-made-up-profiles">' in text
    assert 'id="numbers-made-up-profiles"' in text


def test_whether_limits_were_kept_is_printed_where_attempts_tell(ask, tmp_path):
    kept = attempt_of("one", "depl", suite="limits", solve_seconds=61.0, solve_cpu_seconds=60.0, cost=1.0)
    late = attempt_of("two", "depl", suite="limits", solve_seconds=99.0, solve_cpu_seconds=98.0, cost=1.0)
    (file,) = write_suites([kept, late], tmp_path)
    page = tmp_path / "page.html"
    words = ("bench", "report", "--no-figures", "--out", str(page), "--folder", str(tmp_path), str(file))
    _, out, _ = ask(*words)
    assert "Limits are kept by 1 of 2 attempts; broken by 1 late." in out
    assert "Attempts that broke it" in page.read_text(encoding="utf-8")
    _, row = (tmp_path / "limits-broken.csv").read_text(encoding="utf-8").splitlines()
    assert row.startswith("limits,two,depl,60.0,99.0,98.0,late")
