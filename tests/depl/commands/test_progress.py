"""Lines and bars appear on a terminal, on standard error, and nowhere else."""

import io
import math
import re
import sys
import time

import pytest

from depl.cli import main
from depl.commands.progress import Bar, following, held


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
    with following("exact") as seen:
        assert (seen.progress, seen.on_phase) == (None, None)
    with Bar("solving", 2) as bar:
        bar.step("one")
    assert capsys.readouterr() == ("", "")


def plain(text):
    """What a terminal showed, line by line, without what moves the cursor."""
    return [line.strip() for line in re.split(r"[\r\n]+", re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", text))]


def test_the_line_says_from_the_start_which_method_runs_and_what_is_held(monkeypatch):
    terminal = watched(monkeypatch)
    with following("exact") as seen:
        first = plain(terminal.getvalue())
        seen.progress(1.0, 20.0, 15.0)
        time.sleep(0.6)  # the line is drawn four times a second
        later = plain(terminal.getvalue())
    assert re.fullmatch(r"0\.0 s  exact: no plan yet, no lower bound yet", first[0])
    assert any(re.fullmatch(r"0\.\d s  exact: best plan 20, lower bound 15, gap 25 %", row) for row in later)


def test_a_row_stays_where_another_method_begins(monkeypatch):
    terminal = watched(monkeypatch)
    with following("auto") as seen:
        seen.on_phase("exact")
        seen.progress(0.1, math.inf, 3.0)
        seen.on_phase("depl")
    rows = [row for row in plain(terminal.getvalue()) if row]
    assert any(row.endswith("exact: no plan yet, no lower bound yet") for row in rows)
    assert any(row.endswith("depl: no plan yet, lower bound 3") for row in rows)


def test_a_terminal_that_cannot_move_its_cursor_gets_the_rows_alone(monkeypatch):
    terminal = watched(monkeypatch)
    monkeypatch.setenv("TERM", "dumb")
    with following("auto") as seen:
        seen.on_phase("exact")
        seen.progress(0.1, 5.0, 5.0)
    assert plain(terminal.getvalue()) == ["0.0 s  exact: no plan yet, no lower bound yet", ""]


def test_the_default_method_names_its_phases_on_the_way(monkeypatch, capsys):
    terminal = watched(monkeypatch)
    assert main(["solve", "tiny"]) == 0
    rows = [row for row in plain(terminal.getvalue()) if row]
    assert re.fullmatch(r"0\.\d s  auto: no plan yet, no lower bound yet", rows[0])
    assert any(re.match(r"0\.\d s  exact: ", row) for row in rows)
    assert "proved cheapest" in capsys.readouterr().out


def test_an_error_on_the_way_leaves_a_terminal_as_it_was(monkeypatch):
    terminal = watched(monkeypatch)
    with pytest.raises(ZeroDivisionError), following("exact"):
        raise ZeroDivisionError
    assert terminal.getvalue().rindex("\x1b[?25h") > terminal.getvalue().rindex("\x1b[?25l")


def test_what_is_held_in_words():
    assert held(math.inf, -math.inf) == "no plan yet, no lower bound yet"
    assert held(20.0, 0.0) == "best plan 20, no lower bound yet"
    assert held(0.0, 0.0) == "best plan 0, no lower bound yet"
    assert held(3.0, 2.99999999) == "best plan 3, lower bound 2.99999, gap below 0.01 %"
    assert held(3.0, 3.0) == "best plan 3, lower bound 3, gap 0 %"
    assert held(3.0, 2.0**-20) == "best plan 3, lower bound 9.53674e-07, gap 99.99997 %"


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
    assert "left" in shown
