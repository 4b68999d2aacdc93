"""What waits is done once, in order, and not lost when it fails."""

import threading

import pytest

from depl.models.foundation.later import Later


def test_each_call_is_made_once_in_order_and_one_that_fails_is_made_again_at_the_next_need():
    made, later = [], Later()

    def interrupted_once():
        made.append(len(made))
        if made == [0]:
            raise KeyboardInterrupt

    later.add(interrupted_once)
    later.add(lambda: made.append("second"))
    assert made == []
    with pytest.raises(KeyboardInterrupt):
        later.need()
    later.need()
    assert made == [0, 1, "second"]


def test_a_second_thread_waits_until_the_first_has_made_the_call():
    began, may_end, later, found = threading.Event(), threading.Event(), Later(), []
    made = []

    def slow():
        began.set()
        assert may_end.wait(60)
        made.append(1)

    def second():
        later.need()
        found.extend(made)

    later.add(slow)
    threads = [threading.Thread(target=later.need), threading.Thread(target=second)]
    threads[0].start()
    assert began.wait(60)
    threads[1].start()
    threads[1].join(0.05)
    assert threads[1].is_alive()
    may_end.set()
    for thread in threads:
        thread.join(60)
    assert found == [1]
