"""Traces in CSV and npz files: what is written is read back, and what is wrong is found with its row."""

import io
import json
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depl.models.traces.files import read_traces, write_traces
from depl.models.traces.table import Traces
from tests.problems import refusal

CSV = """\
# command: depl train
run,epoch,model,cluster,loss,error_rate,start_loss
7,0,big,edge,2.5,0.9,
7,1,big,edge,1.25,0.5,
7,2,small,far,1.0,0.25,1.5
8,1,big,edge,1.125,0.5,
"""


@pytest.fixture
def file(tmp_path):
    def write(text, name="traces.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
        return path

    return write


def same(one, other):
    columns = ("run", "epoch", "model", "cluster", "loss")
    equal = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in columns)
    metrics = one.metrics.keys() == other.metrics.keys() and all(
        np.array_equal(one.metrics[name], other.metrics[name], equal_nan=True) for name in one.metrics
    )
    return equal and metrics and one.provenance == other.provenance


NAMES = st.sampled_from(["a,b", 'c"d', "the last"]) | st.text(
    st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=6
)
LOSSES = st.floats(-1e100, 1e100)


@settings(max_examples=15)
@given(names=st.lists(NAMES, min_size=1, max_size=3, unique=True), length=st.integers(1, 4), data=st.data())
@pytest.mark.parametrize("end", ["csv", "csv.gz"])
def test_any_traces_are_read_back_in_full(tmp_path_factory, end, names, length, data):
    rows = len(names) * length
    column = st.lists(NAMES, min_size=rows, max_size=rows)
    traces = Traces(
        run=np.repeat(names, length),
        epoch=np.tile(np.arange(length), len(names)),
        model=data.draw(column),
        cluster=data.draw(column),
        loss=data.draw(st.lists(LOSSES, min_size=rows, max_size=rows)),
        metrics={
            "accuracy": np.linspace(0, 1, rows),
            "start_loss": data.draw(st.lists(LOSSES | st.just(np.nan), min_size=rows, max_size=rows)),
        },
        provenance={"command": 'train "x", y: z', "seed": "3"},
    )
    folder = tmp_path_factory.mktemp("any")
    write_traces(folder / f"traces.{end}", traces)
    assert same(read_traces(folder / f"traces.{end}"), traces)
    assert [path.name for path in folder.iterdir()] == [f"traces.{end}"]


def test_equal_traces_make_equal_bytes_and_what_cannot_be_written_leaves_what_was_there(tmp_path, file):
    traces = read_traces(file(CSV))
    for name in ("one.csv.gz", "two.csv.gz"):
        write_traces(tmp_path / name, traces)
    assert (tmp_path / "one.csv.gz").read_bytes() == (tmp_path / "two.csv.gz").read_bytes()
    (tmp_path / "folder.gz").mkdir()
    before = sorted(tmp_path.iterdir())
    told = str(refusal(write_traces, tmp_path / "traces.npz", traces))
    assert "no longer written: write .csv or .csv.gz" in told
    assert "cannot be written" in str(refusal(write_traces, tmp_path / "folder.gz", traces))
    assert sorted(tmp_path.iterdir()) == before


def test_an_archive_with_the_two_conventions_of_old_ones_is_read(tmp_path):
    columns = plain(run=[0, 0], run_names=["the last"], loss=[200001, 150000], loss_decimals=5)
    start = {"start_loss": np.array([-(2**31), 175000]), "start_loss_decimals": 5}
    np.savez_compressed(tmp_path / "old.npz", **columns, **start, provenance='{"command": "train"}')
    traces = read_traces(tmp_path / "old.npz")
    assert traces.runs == ("the last",)
    assert traces.loss.tolist() == [2.00001, 1.5]
    assert np.array_equal(traces.metrics["start_loss"], [np.nan, 1.75], equal_nan=True)
    assert traces.provenance == {"command": "train"}


def test_spreadsheets_add_marks_line_ends_and_empty_lines_that_do_not_matter(file):
    text = "\ufeff" + CSV.replace("\n", "\r\n").replace("8,1,", "\r\n,,,,,,\r\n 8 , 1.0 ,")
    assert same(read_traces(file(text)), read_traces(file(CSV)))


WRONG = """
1.25,0.5 | much,0.5 | row 4, column loss | must be a number, not 'much'
1.25,0.5 | 1_0,0.5 | row 4, column loss | must be a number, not '1_0'
1.25,0.5 | "1,25",0.5 | row 4, column loss | must be a number, not '1,25'
1.25,0.5 | ,0.5 | row 4, column loss | must be a number, not ''
1.25,0.5 | nan,0.5 | row 4, column loss | finite number, not nan; 'depl traces import
1.25,0.5 | 1.25,1.5 | row 4, column error_rate | share
1.25,0.5 | 1.25, | row 4, column error_rate | must be a number
7,1,big | 7,1, | row 4, column model | must be a name
7,1,big | 7,one,big | row 4, column epoch | whole number, not 'one'
7,1,big | 7,1.5,big | row 4, column epoch | whole number, not '1.5'
7,1,big | 7,1,big,x | row 4 | has 8 cells where the header has 7
7,2,small | 7,3,small | row 5, column epoch | 3 follows on 1
7,2,small | 7,1,small | row 5, column epoch | 1 follows on 1
8,1,big | 8,2,big | row 6, column epoch | not at 2
start_loss | speed | column speed | unknown column
start_loss | loss | row 2, column loss | twice
cluster | where | row 2 | there is no column 'cluster'
1.25,0.5, | 1.25,0.5," | row 4 | is no CSV
7,1,big | 7,9223372036854775808,big | row 4, column epoch | must be below 2^53, not
7,1,big | 7,DIGITS,big | row 4, column epoch | must be a whole number, not
7,1,big | 7,9007199254740992,big | row 4, column epoch | must be below 2^53, not
7,1,big | 7,1e300,big | row 4, column epoch | must be below 2^53, not
7,1,big | NAME,1,big | row 4, column run | at most 1000 characters, not one of 1001
"""


@pytest.mark.parametrize(
    ("old", "new", "place", "message"), [row.split(" | ") for row in WRONG.strip().splitlines()]
)
def test_a_wrong_cell_is_found_with_its_row_and_column(file, old, new, place, message):
    new = new.replace("DIGITS", "1" + "0" * 5000).replace("NAME", "n" * 1001)
    path = file(CSV.replace(old, new, 1))
    caught = refusal(read_traces, path)
    assert caught.path == f"{path}, {place}"
    assert message in caught.message
    assert len(caught.message) < 500  # also where the cell is as long as a book


def broken():
    """An archive that holds no array."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("run.npy", b"not an array")
    return content.getvalue()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "is empty"),
        ("a.csv", "# only: this\n", "is empty"),
        ("a.csv", "run,epoch,model,cluster,loss\n", "a header and no row"),
        ("a.csv", b"\xff\xfe\x00", "not UTF-16"),
        ("a.csv", b"\xff\x00", "not UTF-8"),
        ("text.npz", CSV, "is no npz file"),
        ("broken.npz", broken(), "is no npz file of columns"),
        *((name, None, "cannot be read") for name in ("none.csv", "none.npz")),
    ],
)
def test_a_file_without_traces_is_refused(file, tmp_path, name, text, message):
    path = tmp_path / name if text is None else file(text, name)
    assert message in str(refusal(read_traces, path))


def plain(**changes):
    columns = {"run": [1, 1], "epoch": [0, 1], "model": ["m", "m"], "cluster": ["c", "c"], "loss": [2.0, 1.0]}
    return columns | changes


WRONG_COLUMNS = """
{"loss": [2.0, NaN]} | , column loss, row 1 | finite
{"loss": ["a", "b"]} | , column loss | not numbers
{"loss": [2.0]} | , column loss | has 1 row
{"model": [0, 1], "model_names": ["m"]} | , column model | indices of the 1 names
{"model_names": ["m"]} | , column model | not the whole numbers
{"model": [0, 0], "model_names": [1.5]} | , column model | not names
{"loss_decimals": 3} | , column loss | not the whole numbers
{"loss": [2, 1], "loss_decimals": "two"} | | no npz file of columns
{"provenance": "no"} | , column provenance | not a JSON document
{"provenance": "{\\"a\\": \\"b\\", \\"a\\": \\"c\\"}"} | , column provenance.a | given twice
{"provenance": "[1]"} | , column provenance | object
{"cluster": null} | | there is no column 'cluster'
"""
ROWS = ([cell.strip() for cell in row.split("|")] for row in WRONG_COLUMNS.strip().splitlines())


@pytest.mark.parametrize(
    ("changes", "place", "message"),
    [
        *((json.loads(changes), place, message) for changes, place, message in ROWS),
        ({"loss": np.array([2, "x"], dtype=object)}, "", "no npz file of columns"),
        ({"provenance": "[" * 10**5}, ", column provenance", "nested too deeply"),
        ({"epoch": np.array([2**63, 2**63 + 1], dtype=np.uint64)}, ", column epoch", "beyond 64 bits"),
        ({"loss": np.array([1, 1e300]).astype("g") ** 9}, ", column loss, row 1", "finite number, not inf"),
    ],
)
def test_a_wrong_archive_is_refused_with_the_place(tmp_path, changes, place, message):
    path = tmp_path / "traces.npz"
    np.savez(path, **{name: column for name, column in plain(**changes).items() if column is not None})
    caught = refusal(read_traces, path)
    assert caught.path == f"{path}{place}"
    assert message in caught.message


def test_an_archive_of_long_names_is_refused_as_every_row_would_take_their_space(tmp_path):
    columns = plain(model=np.zeros(2, dtype=np.uint8), model_names=np.array(["n" * 1000]))
    for name in ("run", "epoch", "model", "cluster"):
        columns[name] = np.broadcast_to(columns[name][:1], 2**19)
    np.savez_compressed(tmp_path / "wide.npz", **columns)
    caught = refusal(read_traces, tmp_path / "wide.npz")
    assert (caught.path.endswith("column model"), "take shorter ones" in caught.message) == (True, True)
