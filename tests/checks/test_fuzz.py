"""Spoilt files of every kind: a small sample of the fuzz, always the same, and all that once failed.

``make fuzz`` draws a new seed each time; here a run of the suite must not depend on chance.
"""

import re
from collections import Counter

import pytest

from depl.models.tool_logs.points import runs_of
from tests.checks import fuzz
from tests.checks.fuzz import TooLongError, drawn, judge, once_failed, outcome, within_seconds
from tests.checks.fuzz_loaders import loaders

SEEDS = (2, 19, 5_761, 2_906_418_377)
"""The first is that of the mutants in ``fuzz_failed.txt``; the others were drawn once."""


@pytest.mark.parametrize("name", loaders())
def test_a_file_that_is_not_spoilt_is_accepted(name, tmp_path):
    """Else the fuzz would refuse everything for one reason, and find nothing."""
    loader = loaders()[name]
    for number, good in enumerate(loader.good):
        path = tmp_path / f"good{number}{loader.suffix}"
        path.write_bytes(good)
        loader.read(path)


@pytest.mark.parametrize("seed", SEEDS)
def test_spoilt_files_are_accepted_or_refused_in_words(seed):
    mutants = len(loaders())
    counts, failures = judge(drawn(seed, mutants, list(loaders())))
    assert not failures
    assert counts.total() == mutants
    assert sum(count for (_, how), count in counts.items() if how == "refused") > mutants / 2


def test_make_fuzz_draws_a_new_seed_and_prints_it(capsys, monkeypatch):
    monkeypatch.setattr(fuzz.resource, "setrlimit", lambda *_: None)  # not for the other tests of the worker
    monkeypatch.setattr(fuzz, "judge", lambda _: (Counter(), []))
    seeds = []
    for _ in range(2):
        assert fuzz.main([]) == 0
        seeds.append(capsys.readouterr().out.splitlines()[0])
    assert all(re.fullmatch(r"seed \d+", line) for line in seeds)
    assert seeds[0] != seeds[1]


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

    def trips(path):
        def read(_):
            raise KeyError("for a test")

        runs_of(read, path)

    kinds = {breaks: "KeyError", trips: "KeyError", warns: "UserWarning", hangs: "TooLongError"}
    for read, what in kinds.items():
        loader = loaders()["plan"]._replace(read=read)
        monkeypatch.setitem(loaders(), "plan", loader)
        how, why = outcome(next(drawn(1, 1, ["plan"])), tmp_path)
        assert how == "failed"
        assert what in why
    with pytest.raises(TooLongError):
        hangs(None)
