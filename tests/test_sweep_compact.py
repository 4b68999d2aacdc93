"""The compact form holds the attempts themselves, in the same bytes whatever their order, and little else."""

import gzip

import msgspec
import pytest

from depl.benchmarks.machine import Commit
from depl.benchmarks.sweep import read
from depl.benchmarks.sweep.compact import decode_attempts, encode_attempts, write_compact
from depl.benchmarks.sweep.read import read_attempts
from depl.models.errors import InvalidInputError
from tests.sweep_cases import blanks

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
    with pytest.raises(InvalidInputError, match="recorded are only: paper"):
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


def test_a_file_that_was_cut_off_is_refused():
    content = encode_attempts("paper", ATTEMPTS)
    with pytest.raises(InvalidInputError, match="no file of attempts"):
        decode_attempts(content[: len(content) // 2], "there")
