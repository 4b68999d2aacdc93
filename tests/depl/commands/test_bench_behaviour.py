"""``depl bench behaviour`` from the outside: answers kept, differences told, and the older spelling."""

import json

import msgspec
import pytest

from depl.benchmarks.behaviour import __main__ as older_spelling
from depl.benchmarks.behaviour.record import read, write

CHOSEN = ("--problems", "spent-promise", "--settings", "exact")


def worse(record):
    """The record with another cost in its only answer."""
    answer = msgspec.structs.replace(record.answers["spent-promise"]["exact"], cost=6.0)
    return msgspec.structs.replace(record, answers={"spent-promise": {"exact": answer}})


def test_the_command_records_compares_and_tells_by_its_exit_code(tmp_path, ask):
    path, spoilt = tmp_path / "record.json", tmp_path / "spoilt.json"
    assert ask("bench", "behaviour", "record", path, *CHOSEN)[:2] == (0, f"1 answer on 1 problem in {path}\n")
    assert ask("bench", "behaviour", "compare", path, *CHOSEN)[:2] == (0, "1 answer, 0 differences\n")
    write(worse(read(path)), spoilt)
    told = "spent-promise, exact: cost was 6.0, is 5.0\n1 answer, 1 difference\n"
    assert ask("bench", "behaviour", "compare", spoilt, *CHOSEN)[:2] == (3, told)
    code, text, _ = ask("bench", "behaviour", "compare", path, spoilt, "--json")
    assert code == 3
    assert json.loads(text) == {
        "answers": 1,
        "differences": [
            {"problem": "spent-promise", "setting": "exact", "what": "cost", "old": 5.0, "new": 6.0}
        ],
    }
    assert ask("bench", "behaviour", "compare", path, spoilt, "--problems", "tiny")[0] == 0


def test_an_update_replaces_what_is_asked_and_keeps_the_rest(tmp_path, ask):
    path, before = tmp_path / "record.json", tmp_path / "before.json"
    ask("bench", "behaviour", "record", before, "--problems", "spent-promise", "--settings", "ex*")
    full = read(before)
    assert len(full.answers["spent-promise"]) > 1
    wrong = {
        label: msgspec.structs.replace(row, cost=6.0) for label, row in full.answers["spent-promise"].items()
    }
    write(msgspec.structs.replace(full, answers={"spent-promise": wrong}), path)
    code, told, _ = ask("bench", "behaviour", "record", path, "--update", *CHOSEN)
    assert (code, told) == (0, f"1 answer on 1 problem in {path}\n")
    found = read(path)
    assert found.answers["spent-promise"].pop("exact").cost == 5.0
    wrong.pop("exact")
    assert found.answers["spent-promise"] == wrong
    assert found.command.startswith(f"{full.command}; on {full.date}")
    assert found.command.endswith("--problems 'spent-promise' --settings 'exact'")


@pytest.mark.parametrize(
    ("change", "reason"),
    [({"seed": 1}, "other seed"), ({"instances": {"spent-promise": "0"}}, "another one now")],
)
def test_an_update_of_a_record_of_other_questions_is_refused(change, reason, tmp_path, ask):
    path = tmp_path / "record.json"
    ask("bench", "behaviour", "record", path, *CHOSEN)
    rows = {"spent-promise": dict.fromkeys(("exact", "auto"), read(path).answers["spent-promise"]["exact"])}
    write(msgspec.structs.replace(read(path), answers=rows, **change), path)
    kept = path.read_bytes()
    code, _, aside = ask("bench", "behaviour", "record", path, "--update", *CHOSEN)
    assert code == 2
    assert reason in aside
    assert path.read_bytes() == kept


def test_a_record_says_where_when_and_how_it_was_made(tmp_path, ask):
    path = tmp_path / "record.json"
    ask("bench", "behaviour", "record", path, *CHOSEN)
    record = read(path)
    assert record.version == 2
    assert record.command == (
        "depl bench behaviour record FILE --problems 'spent-promise' --settings 'exact'"
    )
    assert record.machine is not None
    assert record.machine.cores >= 1
    assert len(record.date) == len("2026-01-01")
    assert str(tmp_path) not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("content", [None, "", "{}", '{"format": "depl-plan"}', "\x00"])
def test_a_bad_file_ends_with_two_and_a_sentence(content, tmp_path, ask):
    path = tmp_path / "bad.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    code, _, aside = ask("bench", "behaviour", "compare", path)
    assert code == 2
    assert "bad.json is not a behaviour record" in aside


def test_a_question_that_does_not_exist_is_refused(tmp_path, ask):
    code, _, aside = ask("bench", "behaviour", "record", tmp_path / "x.json", "--settings", "magic")
    assert code == 2
    assert "no question matches" in aside
    assert not list(tmp_path.iterdir())


def test_the_older_spelling_of_the_command_still_works(tmp_path, capsys):
    assert older_spelling.main(["compare", str(tmp_path / "none.json")]) == 2
    assert "none.json is not a behaviour record" in capsys.readouterr().err
