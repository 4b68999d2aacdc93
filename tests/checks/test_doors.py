"""Every source file of the product is reached from the face, a command, a case, a suite or a page."""

from pathlib import Path

import pytest

from tests.checks import doors


def test_every_file_is_reached_from_a_door():
    assert doors.without_door() == [], "give it a door, move it to the tests, or delete it"


def test_a_file_that_only_tests_and_the_reference_name_has_no_door(monkeypatch):
    known = {**doors.modules(), "depl.models.problem.orphan": doors.ROOT / "models/problem/plan.py"}
    monkeypatch.setattr(doors, "modules", lambda: known)
    assert doors.without_door() == ["depl.models.problem.orphan"]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("import depl.cli", True),
        ("def late():\n    from depl import cli", True),
        ("call('depl.cli:main')", True),
        ("run([python, '-m', 'depl.cli'])", True),
        ("'''Say that `depl.cli` exists.'''", False),
    ],
)
def test_imports_calls_by_name_and_processes_lead_on_and_mere_mention_does_not(line, found, tmp_path: Path):
    (tmp_path / "file.py").write_text(line, encoding="utf-8")
    assert ("depl.cli" in doors.imported(tmp_path / "file.py", doors.modules())) is found


def test_a_page_leads_to_what_its_examples_import_and_its_commands_run(monkeypatch):
    text = ">>> from depl.models.risk import (\n...     grid, certify)\n\npython -m depl.benchmarks run x"
    monkeypatch.setattr(doors, "pages", lambda: {Path("page.rst"): text})
    assert {"depl.models.risk.grid", "depl.models.risk.certify", "depl.benchmarks.__main__"} <= doors.doors(
        doors.modules()
    )
