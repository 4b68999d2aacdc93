"""Cases are found, judged by their goals, recorded whole, and each of them runs once as smoke."""

import contextlib
import dataclasses
import io
import math
import subprocess
import sys
import types

import msgspec
import numpy as np
import pytest

from depl.benchmarks.measure import provenance, results
from depl.benchmarks.measure.attempt import Request
from depl.benchmarks.measure.catalogue import all_studies
from depl.benchmarks.measure.registry import Configuration, Draw, Goal, Study
from depl.benchmarks.measure.tasks import jobs_of
from depl.benchmarks.studies import first_path, knapsacks, scale
from depl.benchmarks.studies.helpers import answers
from depl.cli import main
from depl.models.estimation import instance as fitted
from depl.models.foundation.errors import InvalidInputError
from depl.models.policy import planning

CASES = {name: study for name, study in all_studies().items() if not study.sweeps}


def draw(task):
    """Mean of some uniform draws: about one half, and the same for the same seed."""
    draws = np.random.default_rng(task["seed"]).uniform(size=task["size"])
    return {"mean": draws.mean(), "count": np.int64(draws.size), "first": draws[:2], "worst": math.inf}


TINY = Study(
    name="tiny",
    summary="The mean of uniform draws.",
    goals=(
        Goal("mean", "the mean | is < 0.6", "<=", 0.6),
        Goal("worst", "the worst draw is finite", "<", 10),
        Goal("count", "all draws are made", ">=", 1000),
    ),
    tasks=lambda rng, smoke: [{"seed": int(rng.integers(2**31)), "size": 10 if smoke else 1000}],
    run=draw,
    figures=lambda rows: rows[0],
    seed=3,
)


@pytest.fixture
def case_package(tmp_path, monkeypatch):
    """An empty package on disk that cases can be written into, and the folder of it."""
    folder = tmp_path / "extra_cases"
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    package = types.ModuleType("extra_cases")
    package.__path__ = [str(folder)]
    monkeypatch.setitem(sys.modules, "extra_cases", package)
    yield package, folder
    for name in [name for name in sys.modules if name.startswith("extra_cases.")]:
        del sys.modules[name]


CASE_FILE = """
from depl.benchmarks.measure.registry import Study
goals = (("a", "a is one", "==", 1),)
told = {{"tasks": lambda rng, smoke: [{{}}], "run": dict, "figures": lambda rows: {{"a": 1}}}}
STUDY = Study({name!r}, "s", goals, **told)
"""


@pytest.fixture
def fewer_resamples(monkeypatch):
    """A fit resamples for p-values alone, which smoke runs do not look at; few take the same way."""
    monkeypatch.setattr(fitted, "_RESAMPLES", 9)


def look_at_printed_statements(values):
    """The report reads these."""
    (whole, single) = values["improvement_fits"]
    assert (whole["by"], single["by"]) == ("all runs of a combination", "curve by curve")
    assert 0 <= single["honest"] <= 1
    assert values["switch_fits"] == [] or {"as_printed", "honest", "positive"} <= set(
        values["switch_fits"][0]
    )


@pytest.fixture
def shorter(monkeypatch):
    """Large instances are tiny ones, whose plans come in a tenth of a second; and nobody reads the times.

    Policies are planned on a coarse grid."""
    monkeypatch.setattr(scale, "_SMOKE_SECONDS", 0.1)
    for study in (answers, knapsacks, scale):
        monkeypatch.setattr(study, "warm_up", lambda method: None)
    monkeypatch.setattr(planning, "GRIDS", (256,))


@pytest.fixture
def commands_here(monkeypatch):
    """Commands of the path of a first user run in this process: three others would each import SciPy."""

    def here(command, **_):
        assert list(command[:3]) == [sys.executable, "-m", "depl"]
        out, aside = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(aside):
            code = main(list(command[3:]))
        return subprocess.CompletedProcess(command, code, out.getvalue(), aside.getvalue())

    monkeypatch.setattr(first_path, "subprocess", types.SimpleNamespace(run=here))


CLOSER = {"printed-statements": look_at_printed_statements}
"""What else is asked of the values of a smoke run."""


@pytest.mark.usefixtures("fewer_resamples", "commands_here", "shorter")
@pytest.mark.parametrize("name", CASES)
def test_every_registered_case_runs_as_smoke(name):
    check_smoke(name)


@pytest.mark.slow
def test_the_path_of_a_first_user_runs_in_processes_of_its_own():
    check_smoke("first-path")


def check_smoke(name):
    record = results.measure(CASES[name], smoke=True)
    CLOSER.get(name, len)(record.values)
    assert msgspec.json.decode(msgspec.json.encode(record), type=results.Record) == record
    jobs = jobs_of(Request(suites=(name,), draw=CASES[name].seed or 0))  # of a full run: no two are alike
    assert all(len(job.task.instance) < 1000 for job in jobs)


@pytest.mark.parametrize("path", sorted(results.RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_every_committed_record_belongs_to_a_case_and_was_a_full_run(path):
    record = results.read(path)
    assert record.case == path.stem
    assert record.case in CASES
    assert not record.smoke


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ({"second": CASE_FILE.format(name="second"), "first": CASE_FILE.format(name="first")}, None),
        (dict.fromkeys(("one", "two"), CASE_FILE.format(name="same")), r"extra_cases\.two.*'same'"),
        ({"nothing": ""}, r"extra_cases\.nothing defines no STUDY"),
    ],
)
def test_a_file_of_a_package_is_a_study_or_refused(case_package, files, complaint):
    package, folder = case_package
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    if complaint is None:
        assert list(all_studies(package)) == ["first", "second"]
    else:
        with pytest.raises(InvalidInputError, match=complaint):
            all_studies(package)


def test_a_study_asks_every_draw_every_configuration_unless_it_says_otherwise(tiny):
    draws = [Draw(name, {}, lambda: tiny) for name in ("one", "other")]
    pair = (Configuration("exact"), Configuration("depl"))
    study = Study("some", "", draws=lambda: draws, configurations=pair, seeds=(0, 1))
    asked = [(draw.name, item.label, seed) for draw, item, seed in study.questions(draws, pair)]
    assert len(asked) == 8
    assert asked[:3] == [("one", "exact", 0), ("one", "exact", 1), ("one", "depl", 0)]
    fewer = dataclasses.replace(study, asks=lambda draw, item: item.label == draw.name[:1] + "xact")
    assert list(fewer.questions(draws, pair)) == []


SWEEPING = {"tasks": None, "run": None, "figures": None}
SAME = (Configuration("exact"), Configuration("exact", gap=0.1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "../up"}, "needs a usable name"),
        ({"goals": (("a", "s", "about", 1.0),)}, "'about' is unknown"),
        ({"goals": (("a", "s", "<", math.nan),)}, "finite"),
        ({"goals": (("a", "s", "<", 1.0), ("a", "t", ">", 0.0))}, "needs goals of different names"),
        ({"run": None}, "needs either tasks, run and figures, to measure, or draws, to sweep"),
        ({"tasks": None, "figures": None}, "needs either tasks, run and figures"),  # as studies were before
        ({"draws": list, "configurations": SAME}, "needs either tasks"),
        ({**SWEEPING, "draws": list}, "needs configurations of different labels"),
        ({**SWEEPING, "draws": list, "configurations": SAME}, "different labels"),
    ],
)
def test_a_case_that_cannot_be_used_is_refused(change, message):
    with pytest.raises(InvalidInputError, match=message):
        dataclasses.replace(TINY, **change)


@pytest.mark.parametrize(
    ("comparison", "met"),
    [
        ("<", [True, False, False]),
        ("<=", [True, True, False]),
        ("==", [False, True, False]),
        (">=", [False, True, True]),
        (">", [False, False, True]),
    ],
)
def test_a_goal_compares_the_measured_value_with_the_threshold(comparison, met):
    goal = Goal("a", "s", comparison, 2.0)
    assert [goal.met_by(value) for value in (1, np.float64(2.0), 3.5)] == met
    assert not any(goal.met_by(value) for value in (math.nan, None, "3", [3.0]))  # no numbers
    assert Goal("a", "s", "==", 1).met_by(np.bool_(True))


def test_a_record_states_measured_value_threshold_and_verdict_and_survives_writing_and_reading(tmp_path):
    record = results.measure(TINY)
    assert results.read(results.write(record, tmp_path)) == record
    assert results.read_all(tmp_path) == [record]
    mean, worst, count = record.goals
    assert (mean.measured, mean.threshold, mean.met) == (pytest.approx(0.5, abs=0.1), 0.6, True)
    assert (worst.measured, worst.met) == (None, False)
    assert (count.measured, count.met) == (1000.0, True)
    assert results.measure(TINY).values == record.values
    assert results.measure(dataclasses.replace(TINY, seed=4)).values != record.values
    results.write(results.measure(TINY), tmp_path)
    assert results.read(tmp_path / "tiny.json").earlier is None  # it has a seed of its own


def test_a_record_of_a_case_that_draws_anew_lists_all_recordings_before_it(tmp_path):
    anew = dataclasses.replace(TINY, seed=None)
    recorded = [results.measure(anew, seed=seed) for seed in (5, 6, 7)]
    for record in recorded:
        target = results.write(record, tmp_path)
    last = results.read(target)
    assert last.values == recorded[2].values
    assert [item.seed for item in last.earlier] == [5, 6]
    for item, record in zip(last.earlier, recorded, strict=False):
        assert item.measured == {goal.name: goal.measured for goal in record.goals}


def test_a_record_names_versions_but_no_host_and_no_path():
    record = results.measure(TINY)
    assert record.command == "depl bench run tiny"
    assert record.versions["numpy"] == np.__version__
    text = msgspec.json.encode(record).decode()
    assert str(results.RESULTS.parents[1]) not in text
    assert not provenance.platform.node() or provenance.platform.node() not in text
    assert record.machine.cores >= 1


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"mean": 0.5, "count": 3}, r"returned no value for its goal 'worst', only mean, count"),
        ({"mean": 1 + 2j, "worst": 1, "count": 3}, "returned what JSON cannot hold"),
    ],
)
def test_values_that_cannot_be_recorded_are_refused(values, complaint):
    with pytest.raises(InvalidInputError, match=f"'tiny' {complaint}"):
        results.measure(dataclasses.replace(TINY, figures=lambda rows: values))


def test_the_committed_table_is_made_from_the_committed_records(tmp_path):
    for path in results.RESULTS.glob("*.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    fresh = results.write_table(tmp_path).read_text(encoding="utf-8")
    assert (results.RESULTS / "README.md").read_text(encoding="utf-8") == fresh, "run the table command again"


@pytest.mark.parametrize("text", ["{", "{}", '{"case": 3}'])
def test_a_file_that_is_no_record_is_refused_by_name_and_an_unfinished_one_is_none(tmp_path, text):
    for name in (".tiny-x.tmp", ".tiny.json"):
        (tmp_path / name).write_text("{", encoding="utf-8")
    assert results.read_all(tmp_path) == []
    (tmp_path / "tiny.json").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"tiny\.json is not a benchmark record"):
        results.read_all(tmp_path)
