"""``depl bench report`` reads attempts wherever they are, writes one page, and says what it found."""

import json

import pytest

from depl.benchmarks.figures import paper as training
from depl.benchmarks.measure import store as read
from depl.benchmarks.report.claims.catalogue import ALL
from depl.benchmarks.sweep.compact import write_compact
from depl.commands import bench_report
from tests.cases.attempts_factory import attempt_of
from tests.cases.report_cases import costs, paper


def made_up(count: int):
    for number in range(count):
        yield attempt_of(f"made-up-{number}", "exact", cost=10.0, ending="optimal")
        yield attempt_of(f"made-up-{number}", "depl", cost=10.0 + number)


@pytest.fixture
def folder(tmp_path):
    write_compact([*paper(costs(exact=(17, 12, 8), depl=(17, 12, 9)))], tmp_path)
    write_compact(made_up(6), tmp_path)
    return tmp_path


def test_a_page_is_written_from_the_files_that_are_named(ask, folder):
    page = folder / "page.html"
    files = [str(path) for path in sorted(folder.glob("*.gz"))]
    code, out, err = ask("bench", "report", *files, "--no-figures", "--out", str(page))
    assert (code, err) == (0, "")
    text = page.read_text(encoding="utf-8")
    assert "(suites made-up, paper)" in text
    assert f'data-value="{(1 + 1 + 9 / 8) / 3!r}"' in text
    assert "<figure" not in text
    assert f"{page}: 18 attempts of 2 suites" in out
    assert not any(claim.claim in out or claim.claim in text for claim in ALL)


def test_the_papers_claims_are_judged_where_that_is_asked_for(ask, folder):
    page = folder / "page.html"
    words = ("bench", "report", str(folder / "paper.jsonl.gz"), "--no-figures", "--out", str(page))
    code, out, _ = ask(*words, "--claims")
    assert code == 0
    assert all(claim.claim in out for claim in ALL)
    assert "Of 33 claims 4 hold, 9 fail, 5 are not decidable" in out
    text = page.read_text(encoding="utf-8")
    assert "Goals of the cases" in text
    assert ask(*words)[0] == 0
    assert "Goals of the cases" not in page.read_text(encoding="utf-8")


def test_the_standard_report_can_do_without_the_claims(ask, folder, monkeypatch):
    monkeypatch.setattr(bench_report, "RECORDED", folder)
    page = folder / "page.html"
    code, out, _ = ask("bench", "report", "--no-figures", "--no-claims", "--out", str(page), "--json")
    assert code == 0
    assert json.loads(out)["claims"] == []


def test_methods_that_are_named_or_not_built_in_get_a_section(ask, tmp_path):
    best = [attempt_of(f"one-{number}", "exact", cost=10.0, ending="optimal") for number in range(3)]
    (file,) = write_compact(
        [*best, *(attempt_of(f"one-{number}", "mine", cost=12.0) for number in range(3))], tmp_path
    )
    page = tmp_path / "page.html"
    words = ("bench", "report", str(file), "--no-figures", "--out", str(page))
    code, out, _ = ask(*words, "--folder", str(tmp_path / "beside"))
    assert code == 0
    assert "mine was tried 3 times on 3 instances" in out
    assert '<section id="own">' in page.read_text(encoding="utf-8")
    assert (tmp_path / "beside" / "own-1-worst.csv").read_text(encoding="utf-8").count("again.sqlite") == 3
    _, out, _ = ask(*words, "--methods", "exact,mine")
    assert "exact was tried 3 times" in out
    code, _, err = ask(*words, "--methods", "mime")
    assert code == 2
    assert "no attempt of a method 'mime'" in err


def test_figures_are_drawn_unless_they_are_left_out(ask, folder):
    page = folder / "page.html"
    code, *_ = ask("bench", "report", str(folder / "made-up.jsonl.gz"), "--out", str(page))
    assert code == 0
    text = page.read_text(encoding="utf-8")
    assert '<figure id="figure-made-up-profiles" ' in text
    assert 'id="numbers-made-up-profiles"' in text


def test_the_committed_attempts_are_taken_where_no_file_is_named(ask, folder, monkeypatch):
    monkeypatch.setattr(bench_report, "RECORDED", folder)
    code, out, _ = ask("bench", "report", "--no-figures", "--out", str(folder / "page.html"), "--json")
    told = json.loads(out)
    assert code == 0
    assert told["attempts"] == 18
    assert [claim["key"] for claim in told["claims"]] == [claim.key for claim in ALL]
    assert {claim["verdict"] for claim in told["claims"]} <= {
        "holds",
        "fails",
        "not decidable from the paper",
        "not measured",
    }
    for claim in told["claims"]:
        assert claim["readings"]["measured"] <= claim["readings"]["all"]
        assert all(part["measured"] < part["instances"] for part in claim["parts"])


def test_a_suite_is_named_by_its_name(ask, folder, monkeypatch):
    monkeypatch.setattr(read, "RECORDED", folder)
    code, out, _ = ask(
        "bench", "report", "paper", "--no-figures", "--out", str(folder / "page.html"), "--json"
    )
    assert code == 0
    assert json.loads(out)["attempts"] == 6


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
    assert {"ratios.csv", "references.csv", "claims.csv"} <= written
    assert {f"made-up-profiles.{kind}" for kind in ("png", "svg", "csv")} <= written
    assert "headline.csv" not in written  # neither of its suites was run
    first = (beside / "ratios.csv").read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("suite,configuration,")


def test_the_headline_is_printed_where_its_suites_were_run(ask, folder):
    command = ("bench", "report", "--no-figures", "--out", str(folder / "page.html"))
    _, out, _ = ask(*command, str(folder / "paper.jsonl.gz"))
    (line,) = (line for line in out.splitlines() if line.startswith("depl "))
    assert f"{(1 + 1 + 9 / 8) / 3:.3f}" in line
    _, out, _ = ask(*command, str(folder / "made-up.jsonl.gz"))
    assert "Mean cost" not in out


def test_whether_limits_were_kept_is_printed_where_attempts_tell(ask, tmp_path):
    kept = attempt_of("one", "depl", suite="limits", solve_seconds=61.0, solve_cpu_seconds=60.0, cost=1.0)
    late = attempt_of("two", "depl", suite="limits", solve_seconds=99.0, solve_cpu_seconds=98.0, cost=1.0)
    (file,) = write_compact([kept, late], tmp_path)
    page = tmp_path / "page.html"
    _, out, _ = ask(
        "bench", "report", "--no-figures", "--out", str(page), "--folder", str(tmp_path), str(file)
    )
    assert "Limits are kept by 1 of 2 attempts; broken by 1 late." in out
    assert "Attempts that broke it" in page.read_text(encoding="utf-8")
    _, row = (tmp_path / "limits-broken.csv").read_text(encoding="utf-8").splitlines()
    assert row.startswith("limits,two,depl,60.0,99.0,98.0,late")
