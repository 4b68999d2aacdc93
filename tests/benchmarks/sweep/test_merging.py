"""Files of attempts are joined: the same ones once, other commits beside each other, second runs dropped."""

import msgspec

from depl.benchmarks.runner.provenance import Commit
from depl.benchmarks.sweep.merging import merged
from tests.cases.sweep_cases import blanks

FIRST, SECOND, THIRD = blanks(3)
OTHER = msgspec.structs.replace(FIRST, commit=Commit(id="0" * 40, dirty=False), ending="optimal")


def ended(attempt, second, seconds, **changes):
    """``attempt``, begun at that second and taking so many."""
    started = f"2026-01-01T00:00:{second:02}.000+00:00"
    return msgspec.structs.replace(attempt, started=started, total_seconds=seconds, **changes)


def test_the_very_same_attempt_is_kept_once():
    done = merged([FIRST, SECOND, FIRST, THIRD, FIRST])
    assert done.attempts == [FIRST, SECOND, THIRD]
    assert (done.repeated, done.dropped, done.differing) == (2, [], [])


def test_attempts_of_other_commits_are_all_kept():
    done = merged([FIRST, SECOND, OTHER])
    assert done.attempts == [FIRST, SECOND, OTHER]
    assert done.differing == [FIRST.task]


def test_a_commit_with_changes_is_another_commit():
    clean = msgspec.structs.replace(FIRST, commit=Commit(id="0" * 40, dirty=False))
    changed = msgspec.structs.replace(FIRST, commit=Commit(id="0" * 40, dirty=True))
    assert merged([clean, changed]).attempts == [clean, changed]


def test_of_one_commit_the_attempt_that_ended_first_is_kept_whatever_it_holds():
    slow, quick = ended(FIRST, 1, 30.0, ending="optimal"), ended(FIRST, 10, 5.0, ending="hung")
    for order in ([slow, quick], [quick, slow]):
        done = merged([*order, SECOND])
        assert done.attempts == [quick, SECOND]
        assert done.dropped == [slow]
        assert done.differing == []
