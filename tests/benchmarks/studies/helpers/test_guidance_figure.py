"""The mixes drawn are those of the cheapest plans, margins are taken off and nothing else, files repeat."""

import csv
import io

import numpy as np
import pytest

import depl
from depl.benchmarks.studies.helpers.guidance_figure import (
    READINGS,
    Mix,
    as_table,
    cheapest_mixes,
    guidance_figure,
    main,
    without_margin,
)
from tests.cases.memory_cases import instance_of, random_law
from tests.cases.picture_cases import require_legends_outside

TINY = depl.load("tiny")
FULL, PRUNED = "full", "pruned"
FOUND = [
    Mix(0.5, 12.4, ((FULL, "cloud", 3),)),
    Mix(0.9, 20.6, ((FULL, "cloud", 2), (PRUNED, "edge", 4))),
    Mix(0.99, None, ()),
]
"""Mixes of the instance `tiny`."""


def test_stages_are_stacked_as_they_are_trained_the_cost_above_and_the_legend_explains_them():
    figure = guidance_figure([TINY], [[FOUND, FOUND[:1]]])
    axes, below = figure.axes
    assert [(bar.get_y(), bar.get_height()) for bar in axes.patches] == [(0, 3), (0, 2), (2, 4)]
    first, second, third = axes.patches
    widths = [0.8 if item == TINY.clusters[0].name else 0.45 for item in ("cloud", "cloud", "edge")]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx(widths)
    assert first.get_facecolor() == second.get_facecolor() != third.get_facecolor()
    assert first.get_hatch() != third.get_hatch()
    assert [text.get_text() for text in axes.texts] == ["12", "21", "no plan"]
    assert [text.xy for text in axes.texts] == [(0, 3), (1, 6), (2, 0)]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.5", "0.9", "0.99"]
    assert axes.get_ylim() == below.get_ylim()
    assert axes.get_title(loc="left") == "tiny, with margin"
    (legend,) = figure.legends
    told, entries = legend.get_title().get_text().replace("\n", " "), legend.get_patches()
    narrow = {"cloud": "edge", "edge": "cloud"}[TINY.clusters[0].name]
    assert told.startswith(f"wide bars: trained on {TINY.clusters[0].name}; narrow bars: on {narrow}")
    assert {item.get_label(): item.get_facecolor() for item in entries} == {
        FULL: first.get_facecolor(),
        PRUNED: third.get_facecolor(),
    }
    require_legends_outside(figure)


def test_mixes_are_the_stages_and_costs_of_the_cheapest_plans():
    assert cheapest_mixes(TINY, (0.6, 0.8)) == [
        Mix(0.6, 28.0, ((FULL, "cloud", 2), (PRUNED, "edge", 1))),
        Mix(0.8, pytest.approx(295 / 7), ((FULL, "cloud", 3),)),
    ]
    assert cheapest_mixes(TINY.replace(maximum_loss=1e-6), (0.9,)) == [Mix(0.9, None, ())]


def test_a_margin_is_taken_off_and_nothing_else():
    law = random_law(np.random.default_rng(3), deviations=(0.25,))
    bare = without_margin(instance_of(law))
    assert bare.traced_law is not None
    assert bare.traced_law.deviations == ()
    assert bare == instance_of(random_law(np.random.default_rng(3)))
    assert without_margin(instance_of(None)) == instance_of(None)


def test_files_are_written_and_repeat_their_bytes_a_line_for_every_stage(tmp_path):
    """At two of the levels."""
    law = random_law(np.random.default_rng(3), deviations=(0.25,))
    (tmp_path / "traced.json").write_text(instance_of(law).to_json(), encoding="utf-8")
    for name in ("first", "second"):
        assert main([str(tmp_path / name), str(tmp_path / "traced.json"), "tiny"], (0.7, 0.9)) == 0
    for suffix in ("png", "svg", "csv"):
        first, second = (tmp_path / name / f"pruning-mix.{suffix}" for name in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()
    lines = list(csv.DictReader(io.StringIO(first.read_text(encoding="utf-8"))))
    told = {(line["instance"], line["reading"]) for line in lines}
    assert told == {(name, reading) for name in ("traced", "tiny") for reading in READINGS}
    stages = [
        tuple(list(line.values())[2:])
        for line in csv.DictReader(io.StringIO(as_table([TINY], [[FOUND, []]])))
    ]
    assert stages == [
        ("0.5", "12.4", "1", FULL, "cloud", "3"),
        ("0.9", "20.6", "1", FULL, "cloud", "2"),
        ("0.9", "20.6", "2", PRUNED, "edge", "4"),
        ("0.99", "", "", "", "", "0"),
    ]


def test_an_instance_that_is_missing_is_said(tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([str(tmp_path), "none"])
    assert stopped.value.code == 2
    assert "none" in capsys.readouterr().err
