"""The mixes drawn are those of the cheapest plans, margins are taken off and nothing else, files repeat."""

import csv
import io

import numpy as np
import pytest

import depl
from depl.benchmarks.figures.pruning_mix import Mix, Stage, legend_entries, pruning_mix
from depl.benchmarks.studies.helpers import guidance_figure
from depl.benchmarks.studies.helpers.guidance_figure import (
    READINGS,
    Guidance,
    as_table,
    cheapest_mixes,
    main,
    without_margin,
)
from tests.cases.memory_cases import instance_of, random_law
from tests.cases.picture_cases import require_legends_outside

MIXES = (
    Mix(0.5, (Stage("full", "edge", 3),), 12.4),
    Mix(0.9, (Stage("full", "edge", 2), Stage("cut", "far", 4)), 20.6),
    Mix(0.99, (), None),
)
GUIDANCE = Guidance("digits", "no margin", ("full", "cut"), ("edge", "far"), MIXES)


def test_stages_are_stacked_as_they_are_trained_and_the_cost_stands_above() -> None:
    axes = pruning_mix(MIXES, ["full", "cut"], ["edge", "far"])
    bars = [(bar.get_y(), bar.get_height()) for bar in axes.patches]
    assert bars == [(0, 3), (0, 2), (2, 4)]
    first, second, third = axes.patches
    assert first.get_width() == second.get_width() > third.get_width()
    assert first.get_facecolor() == second.get_facecolor() != third.get_facecolor()
    assert first.get_hatch() != third.get_hatch()
    assert [text.get_text() for text in axes.texts] == ["12", "21", "no plan"]
    assert [text.xy for text in axes.texts] == [(0, 3), (1, 6), (2, 0)]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.5", "0.9", "0.99"]


def test_the_legend_shows_models_as_the_bars_do() -> None:
    axes = pruning_mix(MIXES, ["full", "cut"], ["edge", "far"])
    full, cut = legend_entries(["full", "cut"])
    assert full.get_facecolor() == axes.patches[0].get_facecolor()
    assert (cut.get_hatch(), cut.get_label()) == (axes.patches[2].get_hatch(), "cut")
    assert [entry.get_label() for entry in legend_entries(["full", "cut"], {"cut"})] == ["cut"]


def test_the_figure_explains_its_bars() -> None:
    figure = guidance_figure.guidance_figure([[GUIDANCE]])
    require_legends_outside(figure)
    (legend,) = figure.legends
    assert legend.get_title().get_text().replace("\n", " ") == (
        "wide bars: trained on edge; narrow bars: on far; number above a bar: its cost"
    )
    assert figure.axes[0].get_title(loc="left") == "digits, no margin"


def test_nothing_to_draw_gives_empty_axes() -> None:
    assert not pruning_mix([], ["full"], ["edge"]).patches


def test_mixes_are_the_stages_and_costs_of_the_cheapest_plans() -> None:
    tiny = depl.load("tiny")
    assert cheapest_mixes(tiny, (0.6, 0.8)) == (
        Mix(0.6, (Stage("full", "cloud", 2), Stage("pruned", "edge", 1)), 28.0),
        Mix(0.8, (Stage("full", "cloud", 3),), pytest.approx(295 / 7)),
    )
    assert cheapest_mixes(tiny.replace(maximum_loss=1e-6), (0.9,)) == (Mix(0.9, (), None),)


def test_a_margin_is_taken_off_and_nothing_else() -> None:
    law = random_law(np.random.default_rng(3), deviations=(0.25,))
    bare = without_margin(instance_of(law))
    assert bare.traced_law is not None
    assert bare.traced_law.deviations == ()
    assert bare == instance_of(random_law(np.random.default_rng(3)))
    assert without_margin(instance_of(None)) == instance_of(None)


def test_every_stage_is_a_line_and_so_is_no_plan() -> None:
    lines = list(csv.DictReader(io.StringIO(as_table([[GUIDANCE]]))))
    assert [line["omega"] for line in lines] == ["0.5", "0.9", "0.9", "0.99"]
    assert [line["cost"] for line in lines] == ["12.4", "20.6", "20.6", ""]
    assert [(line["stage"], line["model"], line["cluster"], line["epochs"]) for line in lines] == [
        ("1", "full", "edge", "3"),
        ("1", "full", "edge", "2"),
        ("2", "cut", "far", "4"),
        ("", "", "", "0"),
    ]
    assert {(line["instance"], line["reading"]) for line in lines} == {("digits", "no margin")}


def test_files_are_written_and_repeat_their_bytes(tmp_path, monkeypatch) -> None:
    """At two of the levels."""
    monkeypatch.setattr(guidance_figure.guidance, "__defaults__", ((0.7, 0.9),))
    law = random_law(np.random.default_rng(3), deviations=(0.25,))
    (tmp_path / "traced.json").write_text(instance_of(law).to_json(), encoding="utf-8")
    for name in ("first", "second"):
        assert main([str(tmp_path / name), str(tmp_path / "traced.json"), "tiny"]) == 0
    for suffix in ("png", "svg", "csv"):
        first, second = (tmp_path / name / f"pruning-mix.{suffix}" for name in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()
    lines = list(csv.DictReader(io.StringIO(first.read_text(encoding="utf-8"))))
    assert {(line["instance"], line["reading"]) for line in lines} == {
        (name, reading) for name in ("traced", "tiny") for reading in READINGS
    }


def test_an_instance_that_is_missing_is_said(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([str(tmp_path), "none"])
    assert stopped.value.code == 2
    assert "none" in capsys.readouterr().err
