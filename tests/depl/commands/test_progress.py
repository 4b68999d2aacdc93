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

    def rows(self):
        """What it showed, line by line, without what moves the cursor."""
        lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", self.getvalue()))
        return [line.strip() for line in lines if line.strip()]


@pytest.fixture
def watched(monkeypatch):
    """Put a terminal in the place of standard error; in the test itself, as pytest changes it before."""

    def put(kind="xterm"):
        monkeypatch.setattr(sys, "stderr", Terminal())
        monkeypatch.setenv("TERM", kind)
        for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
            monkeypatch.delenv(name, raising=False)
        return sys.stderr

    return put


def test_away_from_a_terminal_nothing_is_shown(capsys):
    with following("exact") as seen:
        assert (seen.progress, seen.on_phase) == (None, None)
    with Bar("solving", 2) as bar:
        bar.step("one")
    assert capsys.readouterr() == ("", "")


def test_a_row_stays_where_another_method_begins_and_rows_alone_where_the_cursor_cannot_move(watched):
    shown = {}
    for kind in ("xterm", "dumb"):
        terminal = watched(kind)
        with following("auto") as seen:
            seen.on_phase("exact")
            seen.progress(0.1, math.inf, 3.0)
            if kind == "xterm":
                seen.on_phase("depl")
        shown[kind] = terminal.rows()
    assert shown["dumb"] == ["0.0 s  exact: no plan yet, no lower bound yet"]
    assert any(row.endswith("exact: no plan yet, no lower bound yet") for row in shown["xterm"])
    assert any(row.endswith("depl: no plan yet, lower bound 3") for row in shown["xterm"])


def test_the_default_method_names_its_phases_and_an_error_leaves_the_terminal_as_it_was(watched, capsys):
    terminal = watched()
    with following("exact") as seen:
        seen.progress(1.0, 20.0, 15.0)
        time.sleep(0.6)  # the line is drawn four times a second
        later = terminal.rows()
    assert any(re.fullmatch(r"0\.\d s  exact: best plan 20, lower bound 15, gap 25 %", row) for row in later)
    terminal = watched()
    assert main(["solve", "tiny"]) == 0
    rows = terminal.rows()
    assert re.fullmatch(r"0\.\d s  auto: no plan yet, no lower bound yet", rows[0])
    assert any(re.match(r"0\.\d s  exact: ", row) for row in rows)
    assert "proved cheapest" in capsys.readouterr().out
    terminal = watched()  # which an error on the way leaves as it was
    with pytest.raises(ZeroDivisionError), following("exact"):
        raise ZeroDivisionError
    assert terminal.getvalue().rindex("\x1b[?25h") > terminal.getvalue().rindex("\x1b[?25l")


def test_what_is_held_in_words():
    for given, words in {
        (math.inf, -math.inf): "no plan yet, no lower bound yet",
        (20.0, 0.0): "best plan 20, no lower bound yet",
        (0.0, 0.0): "best plan 0, no lower bound yet",
        (3.0, 2.99999999): "best plan 3, lower bound 2.99999, gap below 0.01 %",
        (3.0, 3.0): "best plan 3, lower bound 3, gap 0 %",
        (3.0, 2.0**-20): "best plan 3, lower bound 9.53674e-07, gap 99.99997 %",
    }.items():
        assert held(*given) == words


def test_a_bar_shows_what_was_done_last_how_many_are_done_and_the_pace(watched):
    terminal = watched()
    with Bar("sweep", 9, done=7) as bar:
        assert "sweep" in terminal.getvalue()
        bar.step("paper-alexnet-5")
    shown = terminal.getvalue()
    assert all(said in shown for said in ("paper-alexnet-5", "8/9", "left"))
