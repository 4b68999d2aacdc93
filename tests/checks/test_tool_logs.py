"""The committed logs of tools are what their provenance says, and tell nothing of the machine."""

import gzip
import re
import tarfile
from pathlib import Path

import pytest

from depl.models.tool_logs.points import TOOLS
from tests.checks.rooms import ROOT

LOGS = ROOT / "tests" / "data" / "tool_logs"
MADE_ELSEWHERE = re.compile(rb"/(tmp|work|root|opt)/")


def contents():
    """Every file, those of archives too, by name."""
    for path in filter(Path.is_file, LOGS.rglob("*")):
        if path.name.endswith(".tar.gz"):
            with tarfile.open(path) as packed:
                files = [(one.name, packed.extractfile(one)) for one in packed if one.isfile()]
                yield from ((f"{path.name}/{name}", file.read()) for name, file in files)
        else:
            content = path.read_bytes()
            yield path.name, gzip.decompress(content) if path.suffix == ".gz" else content


def test_no_log_holds_a_folder_of_the_machine_that_made_it():
    assert not [name for name, content in contents() if MADE_ELSEWHERE.search(content)]


def test_versions_of_the_logs_are_those_that_the_check_installs():
    stated = (LOGS / "PROVENANCE.md").read_text(encoding="utf-8")
    wanted = (ROOT / ".ci" / "tool_logs.txt").read_text(encoding="utf-8")
    pins = re.findall(r"(?m)^([\w-]+)==(\S+)$", wanted)
    assert len(pins) == 8
    assert not [name for name, version in pins if not re.search(rf"- {name} {re.escape(version)}\b", stated)]


@pytest.mark.parametrize("tool", TOOLS)
def test_every_tool_has_logs_and_a_row_of_provenance(tool):
    assert any(path.is_file() for path in (LOGS / tool).rglob("*"))
    assert f"| `{tool}/" in (LOGS / "PROVENANCE.md").read_text(encoding="utf-8")
