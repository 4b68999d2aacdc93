"""Rows and bars appear on a terminal, on standard error, and nowhere else."""

import io
import math
import sys

from depl.commands.progress import Bar, pace, progress_rows


class Terminal(io.StringIO):
    """A stream that says that somebody is watching."""

    def isatty(self):
        return True


def watched(monkeypatch):
    """Put a terminal in the place of standard error; in the test itself, as pytest changes it before."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    return stream


def test_away_from_a_terminal_nothing_is_shown(capsys):
    assert progress_rows() is None
    with Bar("solving", 2) as bar:
        bar.step("one")
    assert capsys.readouterr() == ("", "")


def test_a_row_appears_whenever_incumbent_or_bound_move(monkeypatch):
    terminal = watched(monkeypatch)
    show = progress_rows()
    assert show is not None
    for row in ((0.5, math.inf, 0.0), (1.0, 20.0, 5.0), (1.5, 20.0, 5.0), (2.0, 20.0, 20.0), (2.5, 0.0, 0.0)):
        show(*row)
    header, *rows = [line.split() for line in terminal.getvalue().splitlines()]
    assert header == ["seconds", "incumbent", "bound", "gap"]
    assert rows == [
        ["0.50", "infinite", "0", "-"],
        ["1.00", "20", "5", "75.00%"],
        ["2.00", "20", "20", "0.00%"],
        ["2.50", "0", "0", "-"],
    ]


def test_a_bar_shows_what_was_done_last(monkeypatch):
    terminal = watched(monkeypatch)
    with Bar("solving", 2) as bar:
        bar.step("paper-alexnet-5")
    assert "paper-alexnet-5" in terminal.getvalue()


def test_a_bar_shows_how_many_are_done_and_the_pace_of_those_done_now(monkeypatch):
    terminal = watched(monkeypatch)
    with Bar("sweep", 9, done=7) as bar:
        assert "sweep" in terminal.getvalue()
        bar.step("one")
    shown = terminal.getvalue()
    assert "8/9" in shown
    assert "/min" in shown
    assert "left" in shown


def test_the_pace_is_a_rate_and_the_rest_at_that_rate():
    assert pace(3, 7, 60.0) == "3/min, 0:02:20 left"
    assert pace(1, 0, 0.5) == "120/min, 0:00:00 left"
    assert pace(1, 99_999, 1.0) == "60/min, 1 day, 3:46:39 left"
    assert pace(0, 5, 10.0) == ""
