"""Restarts and repeats: cases worked out by hand, and a trainer that crashes, whose branches are known."""

import math
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.log_rules import Line, What, kept_lines
from tests.problems import refusal


def written(text):
    """Lines such as ``1 2 2b 3n 4-``: epochs, with n for a loss that is NaN and - for an empty one."""
    found = []
    for row, word in enumerate(text.split(), start=1):
        digits = word.rstrip("abcdn-")
        loss = math.nan if word[-1] in "n-" else row / 100
        found.append(Line(int(digits), row, "loss", loss, word.endswith("-"), unread={"word": float(row)}))
    return found


def read(text, on_repeated, on_missing="end"):
    """The words of each training that count."""
    notes = []
    kept = kept_lines("log", "a", written(text), notes, on_missing, on_repeated)  # type: ignore[arg-type]
    assert list(kept)[:1] in ([], ["a"], ["a (training 2)"])
    words = text.split()
    return [" ".join(words[line.row - 1] for line in lines) for lines in kept.values()], notes


BRANCHES = """
1 2 3                 | 1 2 3                | 1 2 3
3 1 4 2               | 1 2 3 4              | 1 2 3 4
1 2 3 4 5 6 7 5b 6b   | 1 2 3 4 5b 6b        | 1 2 3 4 5 6 7
1 2 3 4 3b 4b 2c 3c   | 1 2c 3c              | 1 2 3 4
0 1 2 3 1b            | 0 1b                 | 0 1 2 3
1 2 3 3b              | 1 2 3b               | 1 2 3
1 1b                  | 1b                   | 1
1 1b 2 2b             | 1b 2b                | ?
1 2 3 2b 3b 4b        | 1 2b 3b 4b           | ?
1 2 3 4 5 1b 2b 3b    | 1 2 3 4 5, 1b 2b 3b  | 1 2 3 4 5, 1b 2b 3b
0 1 2 0b 1b 2b 2c 0d  | 0 1 2, 0b 1b 2c, 0d  | 0 1 2, 0b 1b 2b, 0d
1n 1b 2b              | 1b 2b                | 1b 2b
1- 1 2- 2 3-          | 1 2                  | 1 2
1- 1 2- 2 3- 2- 2b 3b-| 1 2b                 | 1 2
1 2 3 4- 5- 3- 3b     | 1 2 3b               | 1 2 3
1 2 3 4n 3b 4b        | 1 2 3b 4b            | 1 2 3
"""
"""What was logged, and what counts if the last or the first line of an epoch does; ? where nobody knows.

Restarts, the best model evaluated again, epochs evaluated twice, second trainings, one whose first loss was
none, and lines without a loss, which are of the branch in which they stand.
"""


@pytest.mark.parametrize("row", BRANCHES.strip().splitlines())
def test_what_counts_is_one_branch_that_was_trained(row):
    text, last, first = (cell.strip() for cell in row.split("|"))
    assert read(text, "last")[0] == last.split(", ")
    if first != "?":
        assert read(text, "first")[0] == first.split(", ")
        return
    assert "follows on epochs that were logged again" in str(refusal(read, text, "first"))


def test_an_epoch_that_was_trained_again_and_has_no_loss_now_does_not_keep_the_old_one():
    told = str(refusal(read, "1 2 3 4 2- 3b 4b", "last"))
    assert all(words in told for words in ("has no loss in epoch 2; ", " drop alone"))
    assert read("1 2 3 4 2- 3b 4b", "first")[0] == ["1 2 3 4"]


def test_what_does_not_count_is_named_line_by_line():
    _, notes = read("1 2- 2 3 2b 1b 2n", "last")
    assert [(note.what, note.run, note.row) for note in notes] == [
        (What.PASSED_OVER, "a", 2),
        (What.REPEATED, "a", 3),
        (What.REPEATED, "a", 4),
        (What.SECOND, "a (training 2)", 6),
        (What.DIVERGED, "a (training 2)", 7),
    ]


KINDS = """
1 2 3 3b | 4 | a repeat | epoch 3 of run 'a' stands in row 3 already: a repeat; --on-repeated first ... last
1 2 2b 3 | 3 | evaluated again | evaluated again; --on-repeated last ... --where KEY=VALUE or --run KEY
1 2 3 2b 3b | 4 | a restart | a restart, which went back to it from epoch 3; --on-repeated last
1 2 3 1b | 4 | second training | a second training begins; --on-repeated last ... a run of its own
"""


def test_a_refusal_tells_a_restart_from_a_repeat_and_from_a_second_training():
    rows = [row.split(" | ") for row in KINDS.strip().splitlines()]
    for text, row, kind, words in rows:
        caught = refusal(read, text, "refuse")
        assert caught.path == f"log, row {row}"
        assert [other for _, _, other, _ in rows if other in caught.message] == [kind]
        assert all(part in caught.message for part in words.split(" ... "))


class Log(NamedTuple):
    """What a trainer wrote, and the branches of each training, as they were after every line with a loss."""

    lines: list[Line]
    branches: list[list[tuple[Line, ...]]]


@st.composite
def trained(draw):
    """A trainer that evaluates every epoch, crashes, goes on from a checkpoint, and is started again.

    It shares nothing with what is tested: it knows which epochs were trained on which.
    """
    first = draw(st.integers(0, 1))
    lines = []
    branches = [[]]
    branch = ()

    def log(epoch, loss):
        told = math.nan if loss is None else loss
        lines.append(Line(epoch, len(lines) + 1, "loss", told, empty=loss is None))
        return lines[-1]

    for what in draw(st.lists(st.sampled_from("eeeeeetcba"), min_size=1, max_size=30)):
        epoch = first + len(branch)
        if what == "t":  # rows of training
            log(epoch, None)
        elif what == "c" and branch:  # a crash, and on from a checkpoint
            branch = branch[: draw(st.integers(1, len(branch)))]
        elif what == "b" and branch and branch == branches[-1][-1]:  # the best model is evaluated
            branch = (*branch[:-1], log(epoch - 1, draw(st.floats(0, 1))))
            branches[-1].append(branch)
        elif what == "a" and branches[-1] and len(branches[-1][-1]) > 1:  # all over again
            branch = ()
            branches.append([])
        elif what == "e":
            lost = bool(branch) and draw(st.integers(0, 9)) == 0
            branch = (*branch, log(epoch, math.nan if lost else draw(st.floats(0, 1))))
            branches[-1].append(branch)
    return Log(lines, [part for part in branches if part])


def without_end(branches):
    """The branches up to a loss that is missing; None where one is missing in the middle."""
    found = []
    for branch in branches:
        gap = next((place for place, line in enumerate(branch) if line.missing), len(branch))
        if not all(line.missing for line in branch[gap:]):
            return None
        found.append(branch[:gap])
    return found


def require_kept(log, on_repeated, wanted):
    """Exactly these branches are kept, or all is refused."""
    if wanted is None:
        with pytest.raises(InvalidInputError, match=r"follows on epochs that were|a gap cannot be guessed"):
            kept_lines("log", "a", log.lines, [], "end", on_repeated)
    else:
        kept = kept_lines("log", "a", log.lines, [], "end", on_repeated)
        assert list(map(tuple, kept.values())) == wanted


@given(trained())
def test_what_is_read_is_a_branch_that_was_trained_the_last_or_the_first_or_all_is_refused(log):
    require_kept(log, "last", without_end([part[-1] for part in log.branches]))
    starts, beyond = [], False
    for part in log.branches:
        before = [branch for branch, after in pairwise(part) if len(after) <= len(branch)]
        starts.append(before[0] if before else part[-1])
        beyond |= any(len(branch) > len(starts[-1]) for branch in part)
    require_kept(log, "first", None if beyond else without_end(starts))
