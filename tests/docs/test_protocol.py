"""The page on the protocol lists every record, as the records are, and names commands that exist."""

import re
from pathlib import Path

import pytest

from depl.benchmarks.measure.catalogue import all_studies
from depl.benchmarks.measure.results import RESULTS
from depl.benchmarks.measure.store import RECORDED
from depl.cli import main
from depl.models.verifier.tolerances import CLAIM_TOLERANCE
from tests.docs.records import LETTERS, PAGE, case_row, records_text, short, table
from tests.docs.test_journal import ROOT

TEXT = PAGE.read_text(encoding="utf-8")
PROTOCOL = " ".join((ROOT / "docs" / "protocol.rst").read_text(encoding="utf-8").split())


def test_the_tables_of_records_are_current():
    assert records_text() == TEXT, "make them again: python -m tests.docs.records"


def test_every_record_is_listed_once_by_a_command_that_exists():
    listed = re.findall(r"``depl bench run ([\w-]+)(?: --seed (\d+))?``", TEXT)
    records = {path.stem for path in RESULTS.glob("*.json")}
    attempts = {path.name.partition(".")[0] for path in RECORDED.glob("*.jsonl.gz")}
    assert sorted(name for name, _ in listed) == sorted(records | attempts)
    studies = all_studies()
    assert all(studies[name].sweeps is (name in attempts) for name, _ in listed)
    assert {name for name, seed in listed if seed} <= {
        name for name, study in studies.items() if study.seed is None
    }


def test_a_row_says_what_its_record_says(record_of_a_case):
    row = case_row(record_of_a_case)
    assert row[0] == "``depl bench run mine``"
    assert row[1:] == ("2026-01-02", "0123abcd+", "of its own", "2", "1 of 2", "unknown machine")
    assert len(short(record_of_a_case)) == LETTERS + 1
    assert table("T", ("a", "b"), [("1", "2")]).splitlines()[-2:] == ["   * - 1", "     - 2"]


@pytest.fixture
def record_of_a_case():
    from depl.benchmarks.measure.provenance import Commit
    from depl.benchmarks.measure.results import MeasuredGoal, Record

    goals = (MeasuredGoal("a", "a", "<=", 1.0, 0.5, True), MeasuredGoal("b", "b", "<=", 1.0, None, False))
    return Record(
        case="mine",
        summary="Mine.",
        command="python -m depl.benchmarks run mine",
        smoke=False,
        seed=7,
        date="2026-01-02",
        wall_seconds=3.0,
        cpu_seconds=2.2,
        goals=goals,
        values={},
        commit=Commit(id="0123abcdef", dirty=True),
        python="CPython 3.11.7",
        versions={},
        machine=None,
    )


@pytest.mark.parametrize("command", re.findall(r"``depl (bench [a-z ]+?)(?: [A-Z]+)*``", PROTOCOL))
def test_a_command_of_the_page_exists(command, capsys):
    try:
        code = main([*command.split(), "--help"])
    except SystemExit as ended:
        code = ended.code
    assert not code
    assert "Usage" in capsys.readouterr().out


def test_the_tolerances_of_the_page_are_those_of_the_code():
    assert CLAIM_TOLERANCE == 1e-9
    assert "relative 1e-9" in PROTOCOL


def test_other_pages_lead_to_the_protocol():
    assert all(
        ":doc:`protocol`" in (ROOT / "docs" / page).read_text(encoding="utf-8")
        for page in ("benchmarks.rst", "index.rst")
    )
    assert Path(PAGE).name in PROTOCOL
