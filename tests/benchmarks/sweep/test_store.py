"""The file of a sweep keeps what it was given, refuses what is not its own, and lets one process write."""

import contextlib
import sqlite3

import msgspec
import pytest

from depl.benchmarks.measure.provenance import Commit
from depl.benchmarks.measure.store import latest, read_attempts
from depl.benchmarks.sweep.request import Request
from depl.benchmarks.sweep.store import Store, stored_requests
from depl.models.foundation.errors import InvalidInputError
from tests.cases.sweep_cases import blanks

ATTEMPTS = blanks(3)
REQUEST = Request(suites=("paper",), limit=2)
OTHER = Commit(id="0" * 40, dirty=False)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "kept.sqlite"


def fill(path, attempts=ATTEMPTS):
    with Store(path) as store:
        store.begin(REQUEST)
        for attempt in attempts:
            store.add(attempt)


def test_what_was_added_comes_back(path):
    fill(path)
    assert read_attempts(path) == ATTEMPTS
    assert stored_requests(path) == [REQUEST]
    with Store(path) as store:
        assert store.attempts() == ATTEMPTS
        assert list(store.commits_by_task()) == [attempt.task for attempt in ATTEMPTS]
        store.begin(REQUEST)
        assert store.requests() == [REQUEST]
        other = Request(suites=("paper",), limit=3)
        store.begin(other)
        assert store.requests() == [other]


def test_columns_hold_what_one_asks_by(path):
    fill(path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT suite, instance, configuration, seed, method, ending FROM attempt")
        assert rows.fetchall() == [
            ("paper", "paper-alexnet-9", "exact", seed, "exact", "crashed") for seed in range(3)
        ]


def test_one_attempt_of_a_task_and_commit_and_more_of_other_commits(path):
    fill(path)
    again = msgspec.structs.replace(ATTEMPTS[0], ending="hung", started="2027-01-01T00:00:00.000+00:00")
    moved = msgspec.structs.replace(again, commit=OTHER)
    with Store(path) as store:
        with pytest.raises(InvalidInputError, match="already"):
            store.add(again)
        store.add(moved)
        assert len(store.commits_by_task()[moved.task]) == 2
    assert read_attempts(path) == [*ATTEMPTS, moved]
    assert latest(read_attempts(path)) == [moved, *ATTEMPTS[1:]]


def test_a_second_writer_is_refused_and_a_reader_is_not(path):
    with Store(path) as store:
        store.add(ATTEMPTS[0])
        with pytest.raises(InvalidInputError, match="another process"):
            Store(path)
        assert read_attempts(path) == ATTEMPTS[:1]
        store.add(ATTEMPTS[1])
    fill(path, ATTEMPTS[2:])
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "no file of attempts"),
        (b"text, and enough of it to be one", "is no file of attempts"),
        (b"SQLite format 3\x00 and then something else", "not one of attempts"),
        (b"SQLite format 3\x00" + bytes(52) + b"DEPL and then something else", "cannot be used"),
        (b"\x1f\x8b and then something else", "is no file of attempts"),
    ],
)
def test_what_is_no_file_of_attempts_is_refused_by_readers(path, content, complaint):
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=complaint):
        read_attempts(path)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is empty"),
        (b"text, and enough of it to be one", "is no file of attempts"),
        (b"SQLite format 3\x00" + bytes(52) + b"DEPL and then something else", "cannot be used"),
    ],
)
def test_what_is_no_database_is_refused_by_writers_and_left_alone(path, content, complaint):
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=complaint):
        Store(path)
    assert [item.read_bytes() for item in path.parent.iterdir()] == [content]


def test_databases_of_others_and_of_other_schemas_are_refused(path):
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE theirs (value)")
    for use in (Store, read_attempts):
        with pytest.raises(InvalidInputError, match="not one of attempts"):
            use(path)
    path.unlink()
    fill(path)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA user_version = 99")
    for use in (Store, read_attempts):
        with pytest.raises(InvalidInputError, match="schema 99"):
            use(path)


def test_an_attempt_of_another_shape_is_refused(path):
    fill(path)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE attempt SET document = '{}' WHERE seed = 1")
    with pytest.raises(InvalidInputError, match="no attempt of this depl"):
        read_attempts(path)


def test_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="no such file"):
        read_attempts(tmp_path / "nothing.sqlite")
    with pytest.raises(InvalidInputError, match="holds no files of attempts"):
        read_attempts(tmp_path)
    with pytest.raises(InvalidInputError, match="cannot be written"):
        Store(tmp_path / "no" / "folder.sqlite")
