"""``depl program``: a file whose optimum is the one that is told, or a relaxation that is called so."""

import json

import pytest

from depl.cli import main
from depl.commands.answer import ExitCode
from tests.cases.outside_solvers import cbc, scip


@pytest.mark.parametrize(("form", "ending"), [("price", "lp"), ("price", "mps"), ("cone", "nl")])
def test_the_optimum_that_is_told_is_that_of_the_file(form, ending, tmp_path, capsys):
    path = tmp_path / f"tiny.{ending}"
    words = ["program", "tiny", "--scenarios", "12", "--form", form, "--out", str(path)]
    assert main(words) == ExitCode.ANSWERED
    assert "finished: its optimum is the least cost of a plan on these scenarios" in capsys.readouterr().out
    assert main([*words, "--json"]) == ExitCode.ANSWERED
    told = json.loads(capsys.readouterr().out)
    assert (told["finished"], told["relaxation"], told["scenarios"]) == (True, False, 12)
    found = scip(path, 1e-8) if form == "cone" else cbc(path)
    assert found == pytest.approx(told["optimum"], rel=1e-6)
    assert told["note"]["optimum"] == told["optimum"]
    assert told["binaries"] > 0


def test_a_relaxation_is_told_as_that_and_the_cone_form_as_exact(tmp_path, capsys):
    path = tmp_path / "tiny.lp"
    assert main(["program", "tiny", "--relaxation", "--out", str(path)]) == ExitCode.ANSWERED
    assert "a relaxation: its optimum is a lower bound of the cost" in capsys.readouterr().out
    assert "RELAXATION" in path.read_text().splitlines()[0]
    words = ["program", "tiny", "--relaxation", "--form", "cone", "--scenarios", "5", "--out", str(path)]
    assert main(words) == ExitCode.ANSWERED
    assert "exact as it is; not solved" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--out", "tiny.txt"], "the file must end in .lp, .mps or .nl, not '.txt'"),
        (["--out", "tiny.mps", "--form", "cone"], "MPS files have no cones"),
        (["--out", "tiny.lp", "--scenarios", "nowhere.npz"], "nowhere.npz"),
        (["--out", "tiny.lp", "--time-limit", "1e-9"], "the optimum was not proved"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_is_solved(
    words, said, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main(["program", "tiny", *words]) == ExitCode.INVALID
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
