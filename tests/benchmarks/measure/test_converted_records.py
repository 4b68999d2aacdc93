"""Records were joined and cut to what is read: each value that is read is the one that was measured.

``tests/data/values_read.json`` holds, by record and path, every value that a page, the report, a figure or a
test read of the records of commit 28d4cd59; ``*`` in a path stands for all rows of a list. The speed ratios
of ``ladder`` are the medians over its rows for ``milp``, the longest seconds of ``exact-law`` those of its
rows, as the README told them.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from depl.benchmarks.measure.results import RESULTS, read

READ = json.loads((Path(__file__).parents[2] / "data" / "values_read.json").read_text(encoding="utf-8"))
MOVED = {
    "label-setting": ("graph", ""),
    "expanded-graph": ("graph", ""),
    "competitive-ratio": ("ratios", ""),
    "stochastic-value": ("ratios", "value_"),
    "default-method": ("default", "known_"),
    "default-drawn-anew": ("default", "anew_"),
    "default-reach": ("default", "reach_"),
    **dict.fromkeys(("ladder", "search-goals", "sample-size"), ("samples", "")),
    "submodular": ("data", ""),
    "chance-knapsacks": ("knapsacks", "chance_"),
    "outside-knapsacks": ("knapsacks", "peers_"),
}
"""Where the values of a record are that became part of another one, and what their names begin with."""


def values_at(held: Any, path: list[str]) -> list[Any]:
    if not path:
        return [held]
    if path[0] != "*":
        return values_at(held[path[0]], path[1:])
    return [value for row in held if not path[1:] or path[1] in row for value in values_at(row, path[1:])]


@pytest.mark.parametrize("record", READ)
def test_every_value_that_is_read_is_what_it_was_before_records_were_joined(record: str) -> None:
    name, prefix = MOVED.get(record, (record, ""))
    held = read(RESULTS / f"{name}.json").values
    for path, value in READ[record].items():
        found = values_at(held, f"{prefix}{path.strip('/')}".split("/"))
        assert found == (value if "*" in path else [value]), path
