import signal
import threading

import pytest

from depl.models.solving.interrupts import first_interrupt_ignored


def test_the_first_interrupt_is_ignored_and_the_second_is_not():
    with first_interrupt_ignored():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_after_the_block_interrupts_count_again():
    with first_interrupt_ignored():
        signal.raise_signal(signal.SIGINT)
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
    done = []

    def work():
        with first_interrupt_ignored():
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]
