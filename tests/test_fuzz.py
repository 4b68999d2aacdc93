"""Spoilt files of every kind: a small sample of the fuzz, a new one each time, and all that once failed."""

import secrets

import pytest

from tests.fuzz import TooLongError, drawn, judge, once_failed, outcome, within_seconds
from tests.fuzz_loaders import loaders

MUTANTS = 4 * len(loaders())


@pytest.mark.parametrize("name", loaders())
def test_a_file_that_is_not_spoilt_is_accepted(name, tmp_path):
    """Else the fuzz would refuse everything for one reason, and find nothing."""
    loader = loaders()[name]
    for number, good in enumerate(loader.good):
        path = tmp_path / f"good{number}{loader.suffix}"
        path.write_bytes(good)
        loader.read(path)


def test_spoilt_files_are_accepted_or_refused_in_words():
    seed = secrets.randbelow(2**32)
    counts, failures = judge(drawn(seed, MUTANTS, list(loaders())))
    assert not failures, f"seed {seed}; add the names to tests/fuzz_failed.txt once the cause is repaired"
    assert counts.total() == MUTANTS
    assert sum(count for (_, how), count in counts.items() if how == "refused") > MUTANTS / 2


def test_what_once_failed_fails_no_more():
    _, failures = judge(once_failed())
    assert not failures


def test_a_name_makes_the_same_mutant_again():
    for mutant in drawn(7, len(loaders()), list(loaders())):
        assert mutant.content() == type(mutant).named(str(mutant)).content()


def test_what_is_not_documented_is_found(monkeypatch, tmp_path, capsys):
    def breaks(path):
        raise KeyError("for a test")

    def warns(path):
        import warnings

        warnings.warn("for a test", stacklevel=1)

    def hangs(path):
        with within_seconds(0.05):
            while True:
                pass

    for read, what in ((breaks, "KeyError"), (warns, "UserWarning"), (hangs, "TooLongError")):
        loader = loaders()["plan"]._replace(read=read)
        monkeypatch.setitem(loaders(), "plan", loader)
        how, why = outcome(next(drawn(1, 1, ["plan"])), tmp_path)
        assert how == "failed"
        assert what in why
    with pytest.raises(TooLongError):
        hangs(None)
