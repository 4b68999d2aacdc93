"""The mixes drawn are those of the cheapest plans, margins are taken off and nothing else, files repeat."""

import csv

import numpy as np

import depl
from depl.benchmarks.studies.helpers.guidance_figure import (
    COLUMNS,
    READINGS,
    as_table,
    cheapest_mixes,
    main,
    without_margin,
)
from tests.cases.memory_cases import instance_of, random_law

TINY = depl.load("tiny")
ROWS = [
    dict(zip(COLUMNS, ("tiny", reading, *row), strict=True))
    for reading in READINGS
    for row in (
        ("0.5", "12.4", "1", "full", "cloud", 3),
        ("0.9", "20.6", "1", "full", "cloud", 2),
        ("0.9", "20.6", "2", "pruned", "edge", 4),
        ("0.99", "", "", "", "", 0),
    )
]


def test_mixes_are_the_stages_and_costs_of_the_cheapest_plans():
    found = [tuple(row.values())[2:] for row in cheapest_mixes(TINY, (0.6, 0.8))]
    assert found[:3] == found[3:]  # without a law of traces there is no margin
    assert found[:3] == [
        ("0.6", "28", "1", "full", "cloud", 2),
        ("0.6", "28", "2", "pruned", "edge", 1),
        ("0.8", f"{295 / 7:.6g}", "1", "full", "cloud", 3),
    ]
    (none, _) = cheapest_mixes(TINY.replace(maximum_loss=1e-6), (0.9,))
    assert tuple(none.values())[2:] == ("0.9", "", "", "", "", 0)


def test_a_margin_is_taken_off_and_nothing_else():
    bare, law = (random_law(np.random.default_rng(3), deviations=found) for found in ((), (0.25,)))
    assert without_margin(instance_of(law)) == instance_of(bare)
    assert without_margin(instance_of(None)) == instance_of(None)


def test_files_are_written_and_repeat_their_bytes_a_line_for_every_stage(tmp_path, capsys):
    """At one of the levels; an instance that is missing is said."""
    law = random_law(np.random.default_rng(3), deviations=(0.25,))
    (tmp_path / "traced.json").write_text(instance_of(law).to_json(), encoding="utf-8")
    for name in ("first", "second"):
        assert main([str(tmp_path / name), str(tmp_path / "traced.json"), "tiny"], (0.7,)) == 0
    for suffix in ("png", "svg", "csv"):
        first, second = (tmp_path / name / f"pruning-mix.{suffix}" for name in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()
    lines = list(csv.DictReader(first.read_text(encoding="utf-8").splitlines()))
    told = {(line["instance"], line["reading"]) for line in lines}
    assert told == {(name, reading) for name in ("traced", "tiny") for reading in READINGS}
    lines = list(csv.DictReader(as_table(ROWS).csv().splitlines()))
    assert lines == [{name: str(value) for name, value in row.items()} for row in ROWS]
    assert main([str(tmp_path), "none"]) == main([]) == 2
    assert "none" in capsys.readouterr().err
