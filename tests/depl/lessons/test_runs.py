"""The stand-in for a reader's training: seeds that differ as a whole, and logs under other names."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from depl.lessons.drawing import draw_runs
from depl.lessons.runs import train, write_log
from depl.models.tool_logs.importing import Choices, import_logs

NAMES = Choices(loss="val/loss", run="Name", epoch="step", first=1, model="network", cluster_name="rack")


def test_runs_follow_their_seed_and_fast_ones_stay_fast() -> None:
    losses = np.array(train(["full"] * 8, 200, seed=1))
    assert losses.tolist() == train(["full"] * 8, 200, seed=1)
    assert losses[0].tolist() != train(["full"] * 8, 1, seed=2)[0]
    assert (losses > 0).all()
    gains = np.log(losses[:, :-1] - 0.15) - np.log(losses[:, 1:] - 0.15)
    assert np.corrcoef(gains[:, 1], gains[:, 6])[0, 1] > 0.1
    small = np.array(train(["small"] * 8, 200, seed=1))
    assert losses[:, -1].mean() < small[:, -1].mean()


def test_a_log_is_read_back_as_the_runs_that_were_written(tmp_path: Path) -> None:
    schedules = [["full", "small"], ["small", "small"]]
    write_log(tmp_path / "log.csv", schedules, runs=3, seed=5)
    reading = import_logs([str(tmp_path / "log.csv")], NAMES)
    assert not reading.notes
    trained = [tuple(model for model, _ in schedule) for schedule in reading.traces.schedules]
    assert trained == [("full", "small")] * 3 + [("small", "small")] * 3
    wanted = [*train(schedules[0], 3, seed=5), *train(schedules[1], 3, seed=6)]
    assert reading.traces.matrix() == pytest.approx(np.array(wanted), abs=1e-6)


def test_runs_are_drawn_with_their_target(tmp_path: Path) -> None:
    write_log(tmp_path / "log.csv", [["full", "small"]], runs=3, seed=5)
    _, axes = plt.subplots()
    draw_runs(import_logs([str(tmp_path / "log.csv")], NAMES).traces, [0.7], axes)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert {"full", "small"} <= set(labels)
    plt.close("all")
