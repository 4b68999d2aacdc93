"""Names neither steer nor flood a terminal; lines and bars appear on one that is watched alone."""

import io
import json
import math
import re
import sys
import time
import unicodedata

import pytest

import depl
from depl.cli import main
from depl.commands.printable import fields, table
from depl.commands.progress import bar, following, held
from depl.models.foundation.errors import LONGEST_MESSAGE, InvalidInputError
from tests.cases.documents import RICH, put

NAME = "a\x1b[31m\x07\x9b\u202eb"
"""Red, a bell, a control sequence of one byte, and from here on from right to left."""


def steering(text):
    """Characters of the categories that Unicode keeps for control and format, but line breaks and tabs."""
    kinds = ("Cc", "Cf", "Zl", "Zp")
    return [sign for sign in text if unicodedata.category(sign) in kinds and sign not in "\n\t"]


def test_names_are_shown_with_escapes_and_not_obeyed(ask, tmp_path, tiny):
    path = tmp_path / "instance.json"
    text = tiny.replace(name=NAME + "größer\U000e0041", description=NAME).to_json()
    path.write_text(text.replace('"cloud"', json.dumps(NAME)), encoding="utf-8")
    for words in (["solve", "--method", "exact", "--explain"], ["instances", "show"]):
        code, out, err = ask(*words, path)
        assert code == 0
        assert out.count(r"a\x1b[31m\x07\x9b\u202eb") > 2
        assert not steering(out + err)
        _, out, err = ask(*words, path, "--json")
        assert not steering(out + err)
        assert repr(NAME)[1:-1] in str(json.loads(out))


LONG = "long " * 200_000 + "name"
NAMES = ["\udcff.json", "n" * 300, "d/" * 3000, "\udcff" * 300 + ".csv", "n" * 300 + ".npz", LONG]
NAMING = ("solve", "diagnose", "instances show", "knapsack", "bench compare")
SOLVE = (
    [NAME],
    ["--method", NAME],
    ["--seed", NAME],
    ["--out", f"nowhere{NAME}/a"],
    ["--target", NAME],
    [LONG],
)
REFUSED = [
    *(["solve", "tiny", *words] for words in SOLVE),
    *([*words, NAME] for words in ([], ["solve"], ["diagnose"], ["bench", "report"])),
    *([*words.split(), name] for words in NAMING for name in NAMES),
]


@pytest.mark.parametrize("words", REFUSED)
def test_any_name_is_refused_in_words_with_escapes_and_not_at_length(ask, words):
    for more in ([], ["--json"]):
        code, out, err = ask(*words, *more)
        assert code == 2
        assert err.startswith("depl")
        assert "Traceback" not in err
        assert len(out + err) < 5 * LONGEST_MESSAGE
        assert LONG not in words or "characters left out" in err
        assert not steering(out + err)
        assert "x1b" in err or NAME not in "".join(words)
        assert not more or words == [NAME] or json.loads(out)["termination"] == "error"


def test_a_defect_shows_its_trace_with_escapes(ask, own_methods):
    def breaks(instance, limits):
        raise ZeroDivisionError(NAME)

    depl.register("printable-breaks", breaks)
    code, _, err = ask("solve", "tiny", "--method", "printable-breaks")
    assert code == 70
    assert not steering(err)


def test_a_message_does_not_repeat_a_megabyte_of_a_file(ask, tmp_path):
    path = tmp_path / "bad.json"
    for document in (put(RICH, "clusters[0].name", LONG), put(RICH, LONG, 1), put(RICH, "format", LONG)):
        path.write_text(json.dumps(document), encoding="utf-8")
        code, out, err = ask("check", path, path, "--json")
        assert (code, len(out + err) < 5 * LONGEST_MESSAGE) == (2, True)
    error = InvalidInputError("begins " + "x" * 10**6 + " and what to do", "." + "y" * 10**6)
    assert re.fullmatch(r"begins x+.* characters left out \.\.\.\] .*x+ and what to do", error.message)
    assert len(str(error)) < 5 * LONGEST_MESSAGE


class Terminal(io.StringIO):
    """A stream that says that somebody is watching."""

    def isatty(self):
        return True

    def rows(self):
        """What it showed, line by line, without what moves the cursor."""
        lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", self.getvalue()))
        return [line.strip() for line in lines if line.strip()]


def test_tables_are_aligned_without_markup_and_folded_in_a_terminal_alone(monkeypatch):
    rows = [("[b]a[/b]", "1"), (":smile: longer", "23")]
    assert table(("name", "count"), rows, right=("count",)).splitlines() == [
        "name           | count",
        "---------------+------",
        "[b]a[/b]       |     1",
        ":smile: longer |    23",
    ]
    assert fields([("a", "1"), ("long", "2")]) == "a     1\nlong  2"
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "30")
    lines = table(("note", "value"), [("x" * 60, "1")]).splitlines()
    assert max(map(len, lines)) <= 30
    assert "".join(lines).count("x") == 60


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
    with following("exact") as told:
        assert told == {}
    with bar("solving", 2) as step:
        step("one")
    assert capsys.readouterr() == ("", "")


def test_the_default_method_names_its_phases_and_an_error_leaves_the_terminal_as_it_was(watched):
    terminal = watched()
    with following("exact", time_limit=1.0) as told:
        told["progress"](1.0, 20.0, 15.0)
        time.sleep(0.6)  # the line is drawn four times a second
        rows = terminal.rows()
    assert any("exact: best plan 20, lower bound 15, gap 25 %" in row for row in rows)
    assert [row for row in rows if "the bound has not moved for" in row]  # for a third of the limit
    terminal = watched()
    assert main(["solve", "tiny"]) == 0
    rows = terminal.rows()
    assert re.fullmatch(r"0\.\d s  auto: no plan yet, no lower bound yet", rows[0])
    assert any(re.match(r"0\.\d s  exact: ", row) for row in rows)
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
    with bar("sweep", 9, done=7) as step:
        step("paper-alexnet-5")
    assert all(said in terminal.getvalue() for said in ("sweep", "paper-alexnet-5", "8/9", "left"))
