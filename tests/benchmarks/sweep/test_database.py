"""What a writer left that was killed inside a commit is read; files of others are let alone."""

import contextlib
import shutil
import signal
import sqlite3
import tempfile
from pathlib import Path

import msgspec
import pytest

from depl.benchmarks.measure.store import read_attempts
from depl.benchmarks.sweep import database
from depl.benchmarks.sweep.store import Store, stored_requests
from depl.models.foundation.errors import InvalidInputError
from tests.benchmarks.sweep.test_store import REQUEST, fill
from tests.cases.forks import Forks
from tests.cases.sweep_cases import blanks

FIRST, SECOND = blanks(2)
LONG = msgspec.structs.replace(SECOND, reason="x" * 40_000)
"""Several pages, so that the file grows page by page."""
PAGE = 4096

INSIDE = """
import resource, signal, sys
from depl.benchmarks.sweep.store import Store
from tests.benchmarks.sweep.test_database import LONG
store = Store(sys.argv[1])
limit = store.path.stat().st_size + int(sys.argv[2])
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
store.add(LONG)
"""
"""The kernel ends the process at the write that would make a file longer, as abruptly as kill -9."""

SPILLED = """
import os, signal, sys
from depl.benchmarks.sweep.store import Store
from tests.benchmarks.sweep.test_database import LONG
store = Store(sys.argv[1])
store._connection.execute("PRAGMA cache_size = 1")
block = store.in_one_commit()
block.__enter__()
store.add(LONG)
store._connection.execute("UPDATE attempt SET method = 'lost'")
os.kill(os.getpid(), signal.SIGKILL)
"""
"""With a cache of one page the file is written to before the commit; kill -9 comes then."""


@pytest.fixture
def path(tmp_path):
    """A file of one attempt."""
    fill(tmp_path / "kept.sqlite", [FIRST])
    return tmp_path / "kept.sqlite"


def killed_by_hand(path: Path, pages: int) -> None:
    """The state after a kill inside a commit: the file half changed, and what it was in the journal."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN")
        connection.execute("UPDATE attempt SET document = document || ?", (" " * PAGE * pages,))
        connection.execute("UPDATE attempt SET method = 'lost'")
        states = {name: Path(name).read_bytes() for name in (path, f"{path}-journal")}
        connection.execute("ROLLBACK")
    for name, content in states.items():
        Path(name).write_bytes(content)
    path.with_name(f"{path.name}.lock").touch()


def assert_read_at_the_last_commit(path: Path) -> None:
    journal = path.with_name(f"{path.name}-journal")
    assert journal.read_bytes()[:8] == bytes.fromhex("d9d505f920a163d7"), (
        "a journal that SQLite has to play back"
    )
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    with contextlib.closing(connection), pytest.raises(sqlite3.OperationalError):
        connection.execute("SELECT document FROM attempt")
    assert read_attempts(path) == [FIRST]
    assert stored_requests(path) == [REQUEST]
    assert [item.name for item in path.parent.iterdir()] == [path.name]
    with Store(path) as store:
        store.add(SECOND)
    assert read_attempts(path) == [FIRST, SECOND]


@pytest.fixture(scope="class")
def forks():
    with Forks("tests.benchmarks.sweep.test_database") as forks:
        yield forks


class TestOtherProcesses:
    """One process, which imports once, forks for each of them."""

    @pytest.mark.parametrize(
        "pages", [pytest.param(0, marks=pytest.mark.slow), 1, pytest.param(5, marks=pytest.mark.slow)]
    )
    def test_a_file_killed_inside_a_commit_is_read_at_its_last_commit(self, path, forks, pages):
        assert forks.run(INSIDE, path, pages * PAGE).code == -signal.SIGXFSZ
        assert_read_at_the_last_commit(path)

    def test_a_file_killed_before_a_commit_when_pages_were_written_is_read(self, path, forks):
        assert forks.run(SPILLED, path).code == -signal.SIGKILL
        assert_read_at_the_last_commit(path)

    def test_a_writer_that_is_killed_leaves_whole_attempts_and_no_lock(self, tmp_path, forks):
        path = tmp_path / "kept.sqlite"
        program = (
            "import os, signal, sys; from depl.benchmarks.sweep.store import Store\n"
            "from tests.cases.sweep_cases import blanks\n"
            "store = Store(sys.argv[1]); store.add(blanks(1)[0])\n"
            "block = store.in_one_commit(); block.__enter__(); store.add(blanks(2)[1])\n"
            "os.kill(os.getpid(), signal.SIGKILL)"
        )
        assert forks.run(program, path).code == -signal.SIGKILL
        assert read_attempts(path)[0].task == FIRST.task
        fill(path, [SECOND])
        assert [attempt.task for attempt in read_attempts(path)] == [FIRST.task, SECOND.task]

    def test_who_may_not_write_reads_a_copy(self, forks):
        """As another user, since the superuser may write everywhere."""
        with tempfile.TemporaryDirectory() as name:
            path = Path(name, "kept.sqlite")
            fill(path, [FIRST])
            killed_by_hand(path, 1)
            before = {item.name: item.read_bytes() for item in path.parent.iterdir()}
            path.parent.chmod(0o555)
            path.chmod(0o444)
            program = (
                "import os, sys; from pathlib import Path\n"
                "from depl.benchmarks.measure.store import read_attempts\n"
                "if os.geteuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
                "assert not os.access(sys.argv[1], os.W_OK)\n"
                "print(*(attempt.task.seed for attempt in read_attempts(sys.argv[1])))\n"
            )
            done = forks.run(program, path)
            path.parent.chmod(0o755)
            assert done == (0, "0\n")
            assert {item.name: item.read_bytes() for item in path.parent.iterdir()} == before


@pytest.mark.parametrize("pages", [1, 40])
@pytest.mark.parametrize(
    "words",
    [("export", "{}", "--out", "{}-out"), ("report", "{}", "--out", "{}.html")],
)
def test_every_reader_reads_it(path, ask, words, pages):
    killed_by_hand(path, pages)
    code, _, told = ask("bench", *(word.format(path) for word in words))
    assert (code, told.count("Traceback")) == (0, 0), told
    assert read_attempts(path) == [FIRST]


def test_a_recheck_reads_it(path, ask):
    killed_by_hand(path, 1)
    code, _, told = ask("bench", "recheck", path)
    assert code == 2
    assert "holds no attempt that can be repeated" in told  # it was read: its attempt has crashed


def test_a_copy_is_made_anew_if_the_file_changes_meanwhile(path, monkeypatch):
    killed_by_hand(path, 1)
    copied = shutil.copyfile
    disturbed = []

    def disturb(source, target):
        copied(source, target)
        if not disturbed:
            disturbed.append(read_attempts(path))  # brings the file back, and removes the journal

    monkeypatch.setattr(database.shutil, "copyfile", disturb)
    with database._recovered_copy(path) as copy:
        assert read_attempts(copy) == disturbed[0] == [FIRST]
    monkeypatch.setattr(
        database.shutil, "copyfile", lambda source, target: path.touch() or copied(source, target)
    )
    with pytest.raises(InvalidInputError, match="is being written to"), database._recovered_copy(path):
        pass


def test_a_journal_whose_file_is_gone_is_not_played_back_into_another_one(path, tmp_path):
    killed_by_hand(path, 1)
    path.unlink()
    with Store(path) as store:
        assert store.attempts() == []
        store.add(SECOND)
    assert read_attempts(path) == [SECOND]


def test_the_lock_of_a_killed_process_is_removed_and_that_of_a_living_one_is_not(path):
    lock = path.with_name(f"{path.name}.lock")
    lock.touch()
    read_attempts(path)
    assert not lock.exists()
    with Store(path):
        read_attempts(path)
        assert lock.exists()
    assert not lock.exists()


@pytest.mark.parametrize(
    "content", [b"", b"text, and enough of it to be one", b"SQLite format 3\x00 and more"]
)
def test_what_is_not_ours_is_refused_and_left_alone(tmp_path, monkeypatch, ask, content):
    monkeypatch.chdir(tmp_path)
    Path("theirs").write_bytes(content)
    for words in (
        ("resume", "theirs"),
        ("run", "paper", "--instances", "paper-alexnet-9", "--out", "theirs"),
        ("export", "theirs", "--out", "."),
        ("recheck", "theirs"),
        ("report", "theirs"),
    ):
        code, text, told = ask("bench", *words)
        assert (code, text) == (2, ""), words
        assert "theirs" in told
        assert [(item.name, item.read_bytes()) for item in tmp_path.iterdir()] == [("theirs", content)]


def test_an_interrupted_write_to_a_database_of_others_is_left_to_them(path):
    killed_by_hand(path, 1)
    content = bytearray(path.read_bytes())
    content[68:72] = b"ELSE"  # the application in SQLite's header
    path.write_bytes(content)
    before = {item.name: item.read_bytes() for item in path.parent.iterdir()}
    for use in (read_attempts, stored_requests, Store):
        with pytest.raises(InvalidInputError, match="not one of attempts"):
            use(path)
    assert {item.name: item.read_bytes() for item in path.parent.iterdir()} == before


def test_a_complaint_of_sqlite_that_is_no_text_is_one_all_the_same(path):
    content = path.read_bytes()
    assert b"CREATE TABLE attempt" in content
    path.write_bytes(content.replace(b"CREATE TABLE attempt", b"CREATE T\xccBLE attempt"))

    def resume(path: Path) -> None:
        with Store(path) as store:
            store.commits_by_task()

    for use in (read_attempts, stored_requests, resume):
        with pytest.raises(InvalidInputError, match="cannot be used"):
            use(path)
    assert [item.name for item in path.parent.iterdir()] == [path.name]


def test_names_that_no_file_can_have_are_refused(tmp_path):
    path = tmp_path / ("a" * 300)
    with pytest.raises(InvalidInputError, match="cannot be written"):
        Store(path)
    assert stored_requests(path) == []


def test_a_device_is_no_file_of_attempts():
    with pytest.raises(InvalidInputError, match="no regular file"):
        Store("/dev/null")
    with pytest.raises(InvalidInputError, match="no file of attempts"):
        read_attempts("/dev/null")
    assert not Path("/dev/null.lock").exists()


@pytest.mark.parametrize("table", ["attempt", "request"])
@pytest.mark.parametrize(
    "value", ["NULL", "7", "x'7b7d'", "'{}'", "'" + "[" * 100_000 + "'", "CAST(x'ff' AS TEXT)"]
)
def test_a_document_that_is_none_is_refused(path, tmp_path, ask, table, value):
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET sql = replace(sql, 'document TEXT NOT NULL', 'document')"
        )
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE {table} SET document = {value}")
    for words in (("export", path, "--out", tmp_path), ("resume", path)):
        if (table, words[0]) in {("request", "export"), ("attempt", "resume")}:
            continue  # it has no need of that table before it solves
        code, text, told = ask("bench", *words)
        assert (code, text) == (2, "")
        assert str(path) in told
