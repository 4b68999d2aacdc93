"""Fuzz: files of all kinds, corrupted or saying something else: each is accepted, or refused in words, soon.

Anything else fails: another exception than `InvalidInputError` (or one that is a `TrippedError`), a warning,
more than `SECONDS` of the processor or `MEMORY` bytes. Here a few files are spoilt, always the same;
``make fuzz`` draws hundreds for every reader anew, makes what fails as simple as it gets, and prints how to
make it again. What once failed stays here, in `ONCE_FAILED`.
"""

import contextlib
import functools
import resource
import signal
import tempfile
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.points import TrippedError, runs_of
from tests.checks.fuzz_readers import readers
from tests.checks.fuzz_spoiling import Chance

SECONDS = 10.0
"""Of the processor for one file; good ones of the same size take milliseconds."""
MEMORY = 2 * 2**30
"""Bytes of addresses beyond those that the process has: twice
`depl.models.foundation.documents.LARGEST_FILE`."""
FEW = settings.get_current_profile_name() == "repeat"
ONCE_FAILED = (
    ("attempts-sqlite", lambda good: good.replace(b'"ending"', b'"\xffnding"')),  # documents, no UTF-8
    ("attempts-sqlite", lambda good: good.replace(b"CREATE TABLE attempt", b"CREATE TABLE attemp\xff")),
    ("record", lambda good: good.replace(b'"summary"', b'"summar\xff"')),
    # losses so far apart that a ratio of them is 0, of which no logarithm is taken
    ("tool-charts", lambda good: good.replace(b'"0.', b'"1e-320', 1).replace(b'"0.', b'"1e300', 1)),
    ("tool-mlflow", lambda good: good.replace(b"CREATE INDEX", b"CREATE IND\xffX", 1)),
)


class TooLongError(BaseException):
    """A file took more than `SECONDS` of the processor; no handler of errors catches it."""


@contextlib.contextmanager
def within(seconds=SECONDS):
    """Stop what takes longer, by the clock of this process alone, or more memory; warnings are errors."""

    def stop(number, frame):
        raise TooLongError(f"more than {seconds:g} CPU-seconds")

    in_use = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    before, (soft, hard) = signal.signal(signal.SIGPROF, stop), resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (in_use + MEMORY, hard))
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def judge(read, suffix, content):
    """Read a file: it is accepted, or refused in words, or what it raises comes out."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"spoilt{suffix}")
        path.write_bytes(content)
        try:
            with within():
                read(path)
        except TrippedError:
            raise
        except InvalidInputError:
            return "refused"
    return "accepted"


@pytest.mark.parametrize("name", readers())
def test_a_file_that_is_not_spoilt_is_accepted(name):
    """Else the fuzz would refuse everything for one reason, and find nothing."""
    reader = readers()[name]
    assert {judge(reader.read, reader.suffix, good) for good in reader.good} == {"accepted"}


@pytest.mark.parametrize("name", readers())
@settings(
    max_examples=5 if FEW else settings.default.max_examples,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_a_spoilt_file_is_accepted_or_refused_in_words(name, data):
    reader, chance = readers()[name], Chance(data.draw)
    content = chance.pick(reader.spoil)(chance, chance.pick(reader.good))
    note(f"{content[:5000]!r}")
    judge(reader.read, reader.suffix, content)


@pytest.mark.parametrize(
    ("name", "spoil"), ONCE_FAILED, ids=[f"{n}-{name}" for n, (name, _) in enumerate(ONCE_FAILED)]
)
def test_what_once_failed_fails_no_more(name, spoil):
    reader = readers()[name]
    content = spoil(reader.good[0])
    assert content != reader.good[0]
    judge(reader.read, reader.suffix, content)


def breaks(path):
    raise KeyError("for a test")


def warns(path):
    warnings.warn("for a test", stacklevel=1)


def hangs(path):
    with within(0.05):
        while True:
            pass


def fills(path):
    bytearray(4 * MEMORY)


@pytest.mark.parametrize(
    ("read", "error"),
    [
        (breaks, KeyError),
        (warns, UserWarning),
        (hangs, TooLongError),
        (fills, MemoryError),
        (functools.partial(runs_of, breaks), TrippedError),
    ],
    ids=["breaks", "warns", "hangs", "fills", "trips"],
)
def test_what_is_not_documented_is_found(read, error):
    with pytest.raises(error):
        judge(read, ".json", b"{}")
