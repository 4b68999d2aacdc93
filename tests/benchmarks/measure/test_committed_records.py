"""The committed records, attempts and answers read as they did when they were committed.

``tests/data/read_back.json`` holds, of every such file, the SHA-256 of its bytes and of what was read from
it, field by field. A file that was measured again has other bytes: `python -m
tests.benchmarks.measure.test_committed_records` notes it then, and leaves the rows of unchanged files alone.
"""

import hashlib
import json
import sys
from pathlib import Path

import msgspec
import pytest

from depl.benchmarks.measure import results
from depl.benchmarks.measure.store import RECORDED, read_attempts

NOTED = Path(__file__).parents[2] / "data" / "read_back.json"
RECORD_FIELDS = (
    "case summary command smoke seed date wall_seconds cpu_seconds goals values "
    "commit python versions machine"
)
ATTEMPT_FIELDS = (
    "task labels method meaning settings instance_hash ending solution cost lower_bound violation epochs "
    "epochs_by_model plan measures reason wall_seconds cpu_seconds build_seconds total_seconds "
    "peak_gibibytes started commit python versions machine stage_seconds"
)


def files():
    """Everything that was measured and is committed."""
    yield from sorted(results.RESULTS.glob("*.json"))
    yield from sorted(RECORDED.glob("*.jsonl.gz"))
    yield from sorted(results.RESULTS.glob("*.jsonl.gz"))


def name_of(path):
    return path.relative_to(results.RESULTS).as_posix()


def read_values(path):
    """What a file says, by the names of its fields."""
    if path.suffix == ".gz":
        return [picked(row, ATTEMPT_FIELDS + " answer" * bool(row.answer)) for row in read_attempts(path)]
    return [picked(results.read(path), RECORD_FIELDS)]


def picked(found, names):
    return {name: msgspec.to_builtins(getattr(found, name)) for name in names.split()}


def digests(path):
    """Of the bytes, and of what was read."""
    values = msgspec.json.encode(read_values(path), order="deterministic")
    return sha256(path.read_bytes()), sha256(values)


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def noted():
    return json.loads(NOTED.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", list(files()), ids=name_of)
def test_a_committed_file_reads_as_it_did(path):
    content, values = digests(path)
    known_content, known_values = noted().get(name_of(path), ["", ""])
    assert content == known_content, "measured again? then note it by the command of this file"
    assert values == known_values


def test_no_committed_file_is_missing():
    assert set(noted()) == {name_of(path) for path in files()}


def main():
    """Note what files read as that are new or were measured again."""
    known = noted() if NOTED.exists() else {}
    found = {name_of(path): path for path in files()}
    kept = {
        name: row
        for name, row in known.items()
        if name in found and row[0] == sha256(found[name].read_bytes())
    }
    rows = {name: kept.get(name) or list(digests(path)) for name, path in found.items()}
    NOTED.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(rows) - len(kept)} noted\n")


if __name__ == "__main__":
    main()
