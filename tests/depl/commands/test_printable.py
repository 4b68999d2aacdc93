"""Nothing that a user or a file names steers the terminal, floods it, or ends the one JSON object."""

import io
import json
import os
import re
import sys
import unicodedata

import pytest

import depl
from depl.commands.printable import fields, table
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
        for words in (["check", path, path], ["check", path, path, "--json"]):
            code, out, err = ask(*words)
            assert code == 2
            assert len(out + err) < 5 * LONGEST_MESSAGE
    error = InvalidInputError("begins " + "x" * 10**6 + " and what to do", "." + "y" * 10**6)
    assert re.fullmatch(r"begins x+.* characters left out \.\.\.\] .*x+ and what to do", error.message)
    assert len(str(error)) < 5 * LONGEST_MESSAGE


def test_a_name_that_is_not_utf_8_is_shown_in_json_as_far_as_it_can_be(ask, tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff.csv"
    with open(path, "wb") as file:
        file.write(b"run,epoch,model,cluster,loss\n0,1,m,c,x\n")
    code, out, _ = ask("diagnose", os.fsdecode(path), "--json")
    assert (code, json.loads(out)["path"].endswith("\\udcff.csv, row 2, column loss")) == (2, True)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_tables_are_aligned_without_markup_and_folded_in_a_terminal_alone(monkeypatch):
    rows = [("[b]a[/b]", "1"), (":smile: longer", "23")]
    assert table(("name", "count"), rows, right=("count",)).splitlines() == [
        "name           | count",
        "---------------+------",
        "[b]a[/b]       |     1",
        ":smile: longer |    23",
    ]
    assert table(("note",), [("word " * 60,)]).splitlines()[2:] == [("word " * 60).strip()]
    assert fields([("a", "1"), ("long", "2")]) == "a     1\nlong  2"
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "30")
    lines = table(("note", "value"), [("x" * 60, "1")]).splitlines()
    assert max(map(len, lines)) <= 30
    assert "".join(lines).count("x") == 60
