"""The compact form holds the attempts themselves, in the same bytes whatever their order, and little else."""

import gzip

import msgspec
import pytest

from depl.benchmarks.measure import store as read
from depl.benchmarks.measure.provenance import Commit
from depl.benchmarks.measure.store import read_attempts
from depl.benchmarks.sweep import compact
from depl.benchmarks.sweep.compact import decode_attempts, encode_attempts, write_compact
from depl.models.foundation.errors import InvalidInputError
from tests.cases.sweep_cases import blanks

ATTEMPTS = blanks(9)
ELSEWHERE = [msgspec.structs.replace(row, commit=Commit(id="0" * 40, dirty=True)) for row in ATTEMPTS[3:5]]
RENAMED = [
    msgspec.structs.replace(row, task=msgspec.structs.replace(row.task, suite="other"))
    for row in ATTEMPTS[:2]
]


def test_attempts_come_back_in_the_order_of_tasks():
    content = encode_attempts("paper", [*ELSEWHERE, *reversed(ATTEMPTS)])
    found = decode_attempts(content, "")
    assert [row.task.seed for row in found] == [0, 1, 2, 3, 3, 4, 4, 5, 6, 7, 8]
    assert sorted(found, key=repr) == sorted([*ATTEMPTS, *ELSEWHERE], key=repr)


def test_the_bytes_do_not_depend_on_order_or_time():
    first = encode_attempts("paper", [*ATTEMPTS, *ELSEWHERE])
    assert encode_attempts("paper", [*ELSEWHERE, *reversed(ATTEMPTS)]) == first
    assert first[4:8] == bytes(4)  # the time in gzip's header


def test_machine_and_versions_are_written_once_for_each_commit():
    text = gzip.decompress(encode_attempts("paper", [*ATTEMPTS, *ELSEWHERE])).decode()
    assert text.count('"machine"') == text.count('"versions"') == 2
    assert text.count("\n") == 1 + 11


def test_a_folder_has_one_file_per_suite_and_is_read_as_a_whole(tmp_path):
    paths = write_compact([*ATTEMPTS, *RENAMED], tmp_path)
    assert [path.name for path in paths] == ["other.jsonl.gz", "paper.jsonl.gz"]
    assert read_attempts(paths[1]) == ATTEMPTS
    assert read_attempts(tmp_path) == [*RENAMED, *ATTEMPTS]


def test_recorded_attempts_are_found_by_the_name_of_their_suite(tmp_path, monkeypatch):
    monkeypatch.setattr(read, "RECORDED", tmp_path)
    write_compact(ATTEMPTS, tmp_path)
    assert read_attempts("paper") == ATTEMPTS
    with pytest.raises(InvalidInputError, match=r"known are .*paper"):
        read_attempts("other")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b'{"format":"depl-attempts","version":2,"suite":"paper","origins":[]}',
        b'{"format":"depl-attempts","version":1,"suite":"paper","origins":[]}\n{"origin":0,"attempt":{}}',
        b'{"format":"depl-attempts","version":1,"suite":"paper","origins":[]}\n{}',
    ],
)
def test_other_texts_are_refused_with_the_name_of_the_file(text):
    with pytest.raises(InvalidInputError, match=r"^there: .*no file of attempts"):
        decode_attempts(gzip.compress(text), "there")


def test_any_byte_of_a_file_may_be_wrong(tmp_path):
    content = encode_attempts("paper", ATTEMPTS)
    for place in range(0, len(content), 7):
        wrong = content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :]
        try:
            found = decode_attempts(wrong, "there")
        except InvalidInputError:
            continue
        assert found == ATTEMPTS  # a byte of the time, say


def test_a_file_that_holds_more_than_the_most_is_neither_read_nor_written(monkeypatch):
    content = encode_attempts("paper", ATTEMPTS)
    monkeypatch.setattr(compact, "LARGEST", 1000)
    with pytest.raises(InvalidInputError, match="holds more than 0 MiB"):
        decode_attempts(content, "there")
    with pytest.raises(InvalidInputError, match="keep them in SQLite"):
        encode_attempts("paper", ATTEMPTS)


@pytest.mark.parametrize("row", ['{"origin": -1, "attempt": {}}', '{"origin":0,"attempt":{},"origin":0}'])
def test_a_row_with_an_impossible_origin_or_a_key_twice_is_refused(row):
    first = gzip.decompress(encode_attempts("paper", ATTEMPTS)).splitlines()[0]
    with pytest.raises(InvalidInputError, match="is no file of attempts of this depl"):
        decode_attempts(gzip.compress(first + b"\n" + row.encode()), "there")


def test_a_file_that_was_cut_off_is_refused():
    content = encode_attempts("paper", ATTEMPTS)
    with pytest.raises(InvalidInputError, match="no file of attempts"):
        decode_attempts(content[: len(content) // 2], "there")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (b'"suite":"paper"', b'"suite":"../../evil"', "suite"),  # a file is called after it
        (b'"suite":"paper"', b'"suite":"' + b"a" * 300 + b'"', "suite"),
        (b'"started":"2026-01-01T', b'"started":"2026-13-01T', "month must be in"),
        (b'{"origin":0,', b'{"origin":1,', "no file of attempts"),
    ],
)
def test_an_attempt_that_could_not_be_used_is_refused(old, new, complaint):
    text = gzip.decompress(encode_attempts("paper", ATTEMPTS[:1]))
    assert old in text
    with pytest.raises(InvalidInputError, match=rf"^there: .*{complaint}"):
        decode_attempts(gzip.compress(text.replace(old, new)), "there")


def test_the_committed_attempts_read_back_unchanged():
    for path in sorted(read.RECORDED.glob("*.gz")):
        content = path.read_bytes()
        attempts = decode_attempts(content, str(path))
        assert gzip.decompress(encode_attempts(path.name.partition(".")[0], attempts)) == gzip.decompress(
            content
        )
