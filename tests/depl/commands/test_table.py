"""Tables: aligned, as wide as needed, no wider than a terminal, and without any markup."""

import io
import sys

from depl.commands.printable import fields, table

ROWS = [("a", "1"), ("longer", "23")]


def test_columns_are_aligned_to_the_left_or_right():
    assert table(("name", "count"), ROWS, right=("count",)).splitlines() == [
        "name   | count",
        "-------+------",
        "a      |     1",
        "longer |    23",
    ]


def test_content_is_not_folded_away_from_a_terminal():
    (row,) = table(("note",), [("word " * 60,)]).splitlines()[2:]
    assert row == ("word " * 60).strip()


def test_content_is_folded_in_a_terminal_and_no_letter_is_lost(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "30")
    lines = table(("note", "value"), [("x" * 60, "1")]).splitlines()
    assert max(map(len, lines)) <= 30
    assert "".join(lines).count("x") == 60


def test_markup_and_emoji_codes_stay_as_they_are():
    text = table(("[b]name[/b]",), [(":smile: [red]x[/red]",)])
    assert "[b]name[/b]" in text
    assert ":smile: [red]x[/red]" in text


def test_fields_stand_below_each_other():
    assert fields([("a", "1"), ("long", "2")]) == "a     1\nlong  2"
