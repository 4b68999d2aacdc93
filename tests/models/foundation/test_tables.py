"""No cell that is written is a formula for a spreadsheet, and every text comes back as it was."""

import re

from hypothesis import given
from hypothesis import strategies as st

from depl.models.foundation.tables import meant, shown
from depl.models.traces.files import read_traces, write_traces
from depl.models.traces.table import Traces


@given(st.text(alphabet="'=+-@\t\r1.ea", max_size=6))
def test_every_text_comes_back_and_none_is_a_formula(text):
    written = shown(text)
    assert meant(written) == text
    assert shown("-1") == "-1"
    if written.startswith(("=", "+", "-", "@", "\t", "\r")):
        assert re.fullmatch(r"[+-](\d+\.?\d*|\.\d+)(e[+-]?\d+)?", written), "a number alone"


def test_names_in_traces_come_back(tmp_path):
    names = ("=cmd", "-a", "'=b", "+1")
    runs = [name for name in names for _ in range(2)]
    traces = Traces(
        run=runs,
        epoch=[0, 1] * 4,
        model=["@m"] * 8,
        cluster=["-c"] * 8,
        loss=[-1.0] * 8,
        metrics={},
        provenance={},
    )
    path = tmp_path / "traces.csv"
    write_traces(path, traces)
    assert not any(cell[:1] in "=@" for line in path.read_text().splitlines() for cell in line.split(","))
    found = read_traces(path)
    assert found.run.tolist() == runs
    assert (set(found.model), set(found.cluster)) == ({"@m"}, {"-c"})
    assert found.loss.tolist() == [-1.0] * 8
