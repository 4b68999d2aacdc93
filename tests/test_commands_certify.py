"""``depl certify``: verdict, numbers, exit codes, JSON, and what it refuses."""

import json

import numpy as np
import pytest

from depl.models.estimation.held_out import fitted_from
from depl.models.traces.files import write_traces
from depl.models.traces.table import Traces


def drawn(runs: int, misses: int, prefix: str, short: int = 0) -> Traces:
    """Runs of two epochs that end at 1, or at 3 if they miss; the last ``short`` of them end before."""
    rows = [
        (f"{prefix}{run}", epoch, "net", "site", loss)
        for run in range(runs)
        for epoch, loss in enumerate((4.0, 2.0, 3.0 if run < misses else 1.0))
        if epoch < 2 or run < runs - short
    ]
    return Traces(*map(np.array, zip(*rows, strict=True)))


@pytest.fixture
def written(tmp_path):
    def write(name: str, *arguments) -> str:
        write_traces(tmp_path / name, drawn(*arguments))
        return str(tmp_path / name)

    return write


def test_a_promise_that_is_kept_is_certified(ask, written) -> None:
    path, used = written("fresh.csv", 100, 1, "f"), written("used.npz", 5, 0, "u")
    code, text, err = ask("certify", path, "--target", 1.5, "--omega", 0.95, "--chosen-by", used)
    assert (code, err) == (0, "")
    assert text.splitlines()[0] == f"{path}: certified"
    assert "1 of 100 exceed the target; at most 1 may" in text
    assert "2 net@site" in text
    assert "the 0.95-quantile is at most 1 with confidence 0.95 (rank 99 of 100)" in text
    assert "it is at most 1 with probability 0.95, averaged over such samples (rank 96 of 100)" in text
    assert "needed" not in text


def test_too_few_runs_and_a_broken_promise_have_the_exit_code_of_a_check_that_fails(ask, written) -> None:
    few = written("few.csv", 20, 0, "f")
    code, text, err = ask("certify", few, "--target", 1.5, "--omega", 0.95)
    assert code == 3
    assert "no runs were named that chose the plan" in err
    assert "NOT certified: the runs are too few to tell" in text
    assert "so few runs certify nothing" in text
    assert "no bound, which takes 59 runs" in text
    assert "59 runs if no more than 0 exceed; 59 to certify nine times in ten if they exceed as often" in text
    code, text, _ = ask("certify", few, "--target", 0.5, "--omega", 0.95)
    assert code == 3
    assert "NOT certified: the promise is broken" in text
    assert "another plan, or a lower promise" in text


def test_runs_that_ended_early_or_diverged_are_told(ask, written) -> None:
    path = written("short.csv", 62, 0, "f", 2)
    words = ("certify", path, "--target", 1.5, "--omega", 0.9, "--diverged", "f3, gone")
    code, text, _ = ask(*words)
    assert code == 3
    assert "4 of 63 exceed the target" in text
    assert "2 of them because they ended before the plan ('f60', ...)" in text
    assert "2 of them because they diverged ('f3', ...)" in text
    assert "no bound, because too many runs have no final value (rank 61 of 63)" in text
    assert "89 runs if no more than 4 exceed" in text
    content = json.loads(ask(*words, "--json")[1])
    assert (content["stopped"], content["diverged"]) == (["f60", "f61"], ["f3", "gone"])


def test_json_holds_the_certificate(ask, written) -> None:
    path, used = written("fresh.csv", 100, 1, "f"), written("used.csv", 5, 0, "u")
    code, text, _ = ask(
        "certify", path, "--target", 1.5, "--omega", 0.95, "--confidence", 0.9, "--chosen-by", used, "--json"
    )
    content = json.loads(text)
    assert code == 0
    assert (content["certified"], content["verdict"], content["runs"]) == (True, "certified", 100)
    assert (content["target"], content["level"], content["confidence"]) == (1.5, 0.95, 0.9)
    assert (content["exceedances"], content["schedule"], content["chosen_by"]) == (1, "2 net@site", [used])
    few = written("few.csv", 5, 0, "f")
    content = json.loads(ask("certify", few, "--target", 1.5, "--omega", 0.95, "--json")[1])
    assert content["quantile"] == {"value": None, "rank": None, "least_runs": 59}
    assert content["conformal"] == {"value": None, "rank": None, "least_runs": 19}
    assert content["allowed"] is None


def test_what_cannot_certify_is_refused(ask, written, tmp_path) -> None:
    path = written("fresh.csv", 30, 0, "f")
    code, _, err = ask("certify", path, "--target", 1.5, "--omega", 0.9, "--chosen-by", path)
    assert code == 2
    assert ".run[0]: run 'f0' was used to choose the plan" in err
    for words in (("--omega", 1.2), ("--omega", 0.9, "--confidence", 1), ("--omega", 0.9, "--plan", "none")):
        assert ask("certify", path, "--target", 1.5, *words)[0] == 2
    assert ask("certify", path, "--target", "nan", "--omega", 0.9)[0] == 2
    assert ask("certify", path, "--target", 1, "--omega", 0.9, "--metric", "error_rate")[0] == 2
    code, _, err = ask("certify", "digits-alexnet", "--target", 1, "--omega", 0.9)
    assert code == 2  # runs of 75 schedules
    assert "where the plan has" in err


def test_an_instance_and_several_files_may_have_chosen_the_plan(ask, written, tiny, tmp_path) -> None:
    path, used = written("fresh.csv", 30, 0, "f"), written("used.csv", 5, 0, "u")
    other, same = tmp_path / "other.json", tmp_path / "same.json"
    other.write_text(tiny.replace(provenance=(fitted_from(["u1"]),)).to_json(), encoding="utf-8")
    same.write_text(tiny.replace(provenance=(fitted_from(["u1", "f4"]),)).to_json(), encoding="utf-8")
    words = ("certify", path, "--target", 1.5, "--omega", 0.9, "--chosen-by", used, "--chosen-by")
    code, _, err = ask(*words, other)
    assert (code, err) == (0, "")
    code, _, err = ask(*words, same)
    assert code == 2
    assert ".run[12]: run 'f4' was used to choose the plan" in err


def test_a_share_of_exceedances_beyond_the_promise_is_told(ask, written) -> None:
    text = ask("certify", written("f.csv", 20, 3, "f"), "--target", 1.5, "--omega", 0.9)[1]
    assert "too few to tell" in text
    assert "as often as here is too often for a sample of any practical size" in text
    # .05 is above 1 / 20 in floating point, 1 - .95 even farther
    code, text, _ = ask("certify", written("g.csv", 20, 1, "g"), "--target", 1.5, "--omega", 0.95)
    assert code == 3
    assert "93 runs if no more than 1 exceed; as often as here is too often" in text
