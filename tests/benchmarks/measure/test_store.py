"""A file of attempts keeps what it was given, cuts what was torn, and lets one process write."""

import contextlib
import gzip
import sqlite3
from pathlib import Path

import msgspec
import pytest

from depl.benchmarks.measure import old_forms, store
from depl.benchmarks.measure.attempt import VERSION, Request
from depl.benchmarks.measure.compare import differences
from depl.benchmarks.measure.store import Store, read_attempts, write_attempts
from depl.models.foundation.errors import InvalidInputError
from tests.cases.attempts_factory import attempt_of
from tests.cases.sweep_cases import blanks, write_suites

ATTEMPTS = blanks(3)
REQUEST = Request(suites=("paper",), limit=2)
DOCUMENTS = Path(__file__).resolve().parents[2] / "data" / "documents"
OLD = [DOCUMENTS / "attempts.sqlite", DOCUMENTS / "attempts.jsonl.gz"]


@pytest.fixture
def path(tmp_path):
    """A file of three attempts."""
    path = tmp_path / "kept.jsonl"
    with Store(path, REQUEST) as opened:
        for attempt in ATTEMPTS:
            opened.add(attempt)
    return path


def test_a_reader_sees_every_attempt_at_once_and_a_second_writer_is_refused(path):
    with Store(path) as opened:
        with pytest.raises(InvalidInputError, match="another process is writing to it"):
            Store(path)
        opened.add(ATTEMPTS[0])
        assert read_attempts(path) == [*ATTEMPTS, ATTEMPTS[0]]
    Store(path).__exit__()


@pytest.mark.parametrize("cut", [1, 30])
def test_a_torn_last_line_is_passed_over_and_cut_off_before_another_is_added(path, cut):
    path.write_bytes(path.read_bytes()[:-cut])
    assert read_attempts(path) == ATTEMPTS[:2]
    with Store(path) as opened:
        assert opened.attempts == ATTEMPTS[:2]
        opened.add(ATTEMPTS[2])
    assert read_attempts(path) == ATTEMPTS


def test_a_compressed_file_is_the_same_bytes_for_the_same_attempts_and_a_folder_is_read_as_a_whole(tmp_path):
    other = [
        msgspec.structs.replace(row, task=msgspec.structs.replace(row.task, suite="other"))
        for row in ATTEMPTS
    ]
    paths = write_suites([*ATTEMPTS, *other], tmp_path)
    assert [path.name for path in paths] == ["other.jsonl.gz", "paper.jsonl.gz"]
    assert read_attempts(tmp_path) == [*other, *ATTEMPTS]
    before = paths[1].read_bytes()
    write_attempts(paths[1], ATTEMPTS)
    assert paths[1].read_bytes() == before
    with pytest.raises(InvalidInputError, match="is compressed"):
        Store(paths[1])


BROKEN = [
    b"",
    b"text",
    b'{"format":"depl-attempts","version":3}\n',
    b'{"format":"depl-attempts","version":2,"request":null}\n{}\n',
    b'{"format":"depl-attempts","version":1,"suite":"paper","origins":[]}\n{"origin":0,"attempt":{}}\n',
    b'{"format":"depl-attempts","version":1,"suite":"paper","origins":[{}]}\n{"origin":-1,"attempt":{}}\n',
    b'{"format":"depl-behaviour","version":2}\n',
    b"SQLite format 3\x00 and then something else",
    b"\x1f\x8b and then something else",
]


@pytest.mark.parametrize("content", BROKEN)
def test_what_is_no_file_of_attempts_is_refused_by_its_name_and_left_alone(tmp_path, content):
    path = tmp_path / "theirs"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=rf"^{path}: is (no|a broken|a behaviour record of an older)"):
        read_attempts(path)
    if content and b'"version":2,"request"' not in content:
        with pytest.raises(InvalidInputError, match=rf"^{path}: is "):
            Store(path)
    assert [item.read_bytes() for item in tmp_path.iterdir()] == [content]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (b'"suite":"paper","version"', b'"suite":"../../evil","version"', "suite"),  # a file is called so
        (b'"suite":"paper","version"', b'"suite":"' + b"a" * 300 + b'","version"', "suite"),
        (b'"started":"2026-01-01T', b'"started":"2026-13-01T', "month must be in"),
        (b'"ending":"crashed"', b'"ending":"crashed","more":1', "unknown field"),
    ],
)
def test_an_attempt_that_could_not_be_used_is_refused_with_its_line(path, old, new, complaint):
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new))
    for use in (read_attempts, Store):
        with pytest.raises(InvalidInputError, match=rf"kept\.jsonl: .*\(line 2: .*{complaint}"):
            use(path)


def test_a_file_that_holds_more_than_the_most_is_not_read(path, tmp_path, monkeypatch):
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    monkeypatch.setattr(store, "LARGEST", 1000)
    with pytest.raises(InvalidInputError, match="holds more than 0 MiB"):
        read_attempts(packed)
    with pytest.raises(InvalidInputError, match="is larger than 0 MiB"):
        read_attempts(path)


def test_what_is_not_there_or_no_file_is_refused(tmp_path):
    for name, complaint in (("nothing.jsonl", "no such file"), ("", "holds no files of attempts")):
        with pytest.raises(InvalidInputError, match=complaint):
            read_attempts(tmp_path / name)
    for name in ("no/folder.jsonl", "a" * 300):
        with pytest.raises(InvalidInputError, match="cannot be written"):
            Store(tmp_path / name)
    with pytest.raises(InvalidInputError, match="no regular file"):
        Store("/dev/null")
    assert not list(tmp_path.iterdir())


# --- older forms -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("old", OLD, ids=lambda path: path.name)
def test_an_older_form_is_read_and_not_written_to(old, tmp_path):
    path = tmp_path / old.name
    path.write_bytes(old.read_bytes())
    assert [row.ending for row in read_attempts(path)] == ["optimal", "exhausted"]
    with pytest.raises(InvalidInputError, match="begin another file with 'depl bench run'"):
        Store(path)
    assert path.read_bytes() == old.read_bytes()


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        ("UPDATE attempt SET document = '{}'", "no file of attempts"),
        ("UPDATE attempt SET document = CAST(x'ff' AS TEXT)", "no file of attempts"),
        ("DROP TABLE attempt", "no such table"),
    ],
)
def test_a_database_that_holds_something_else_is_refused(tmp_path, statement, complaint):
    path = tmp_path / "kept.sqlite"
    path.write_bytes(OLD[0].read_bytes())
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
    with pytest.raises(InvalidInputError, match=rf"kept\.sqlite: .*{complaint}"):
        read_attempts(path)


def made(label, method="depl-paper", **settings):
    attempt = attempt_of("one", method, suite="paper-eta", cost=2.0)
    task = msgspec.structs.replace(attempt.task, configuration=label)
    known = {"time_limit": 10.0, "gap": 0.0, "scenarios": None, "options": {"eta": 50}}
    return msgspec.structs.replace(attempt, task=task, settings={**known, **settings})


def test_an_old_attempt_of_depl_paper_is_read_as_the_certified_way_with_its_own_options():
    found = old_forms._as_meant(made("depl-paper-50"))
    assert found.method == "depl-paper-certified"
    assert found.task.configuration == "depl-paper-certified-50"
    assert found.settings["options"] == {"eta": 50, "data": "certified", "placement": "rounding"}
    assert old_forms._as_meant(found) == found
    assert old_forms._as_meant(made("mine")).task.configuration == "mine-depl-paper-certified"
    for other in (made("depl-paper-50", **{VERSION: 2}), made("depl", "depl")):
        assert old_forms._as_meant(other) is other
    certified = made("depl-paper-certified-50", options=found.settings["options"], **{VERSION: 2})
    assert differences(found, certified) == []
    assert [row.what for row in differences(found, made("depl-paper-certified-50"))] == ["settings.options"]
