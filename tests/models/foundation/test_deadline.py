"""Work that takes long is broken off once its solve is late, and not before; who caught it may finish."""

import math

import pytest

from depl.models.foundation.deadline import LEEWAY, OutOfTimeError, deadline, keep_time


def stopped():
    try:
        keep_time()
    except OutOfTimeError:
        return True
    return False


@pytest.mark.parametrize(
    ("late", "expected"),
    [(-math.inf, False), (-1.0, False), (LEEWAY / 2, False), (LEEWAY, True), (9.0, True)],
)
def test_work_is_broken_off_once_the_leeway_is_used_up(late, expected):
    with deadline(lambda: late):
        assert stopped() is expected
    assert not stopped()


def test_what_caught_it_has_the_leeway_again_to_end():
    late = 3.0
    with deadline(lambda: late):
        assert stopped()
        assert not stopped()
        late = 3.0 + LEEWAY / 2
        assert not stopped()
        late = 3.0 + LEEWAY
        assert stopped()


def test_the_deadline_of_a_part_holds_inside_of_it_alone_and_ends_with_an_error_too():
    with deadline(lambda: -5.0):
        with pytest.raises(OutOfTimeError), deadline(lambda: 5.0):
            keep_time()
        assert not stopped()
