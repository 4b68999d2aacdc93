import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from depl.models.solving.interrupts import first_interrupt_ignored


def test_the_first_interrupt_is_ignored_and_the_second_or_one_after_the_block_is_not():
    for inside in (2, 1):
        with first_interrupt_ignored():
            signal.raise_signal(signal.SIGINT)
            if inside == 2:
                with pytest.raises(KeyboardInterrupt):
                    signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_handler_of_someone_else_is_left_alone(monkeypatch):
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append("theirs"))
    try:
        with first_interrupt_ignored():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == ["theirs"]


def test_it_works_in_other_threads_where_no_handler_can_be_set():
    def work():
        with first_interrupt_ignored():
            return True

    with ThreadPoolExecutor(1) as other:
        assert other.submit(work).result()
