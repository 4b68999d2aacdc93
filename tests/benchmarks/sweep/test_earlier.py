"""Old attempts of a method whose name means another thing today are read under what they were."""

from pathlib import Path

import msgspec
import pytest

from depl.benchmarks.measure.store import read_attempts
from depl.benchmarks.sweep.compact import write_compact
from depl.benchmarks.sweep.earlier import FIRST, VERSION, as_meant
from depl.benchmarks.sweep.recheck import differences
from depl.benchmarks.sweep.request import Request, jobs_of
from depl.models.solving.methods import find
from tests.cases.report_cases import attempt_of

OLD = {"time_limit": 10.0, "gap": 0.0, "scenarios": None, "options": {"eta": 50}}


def made(label: str, method: str = "depl-paper", **settings: object):
    attempt = attempt_of("one", method, suite="paper-eta", cost=2.0)
    task = msgspec.structs.replace(attempt.task, configuration=label)
    return msgspec.structs.replace(attempt, task=task, settings={**OLD, **settings})


def test_an_old_attempt_of_depl_paper_is_read_as_the_certified_way_with_its_own_options():
    found = as_meant(made("depl-paper-50"))
    assert found.method == "depl-paper-certified"
    assert found.task.configuration == "depl-paper-certified-50"
    assert found.settings["options"] == {"eta": 50, "data": "certified", "placement": "rounding"}
    assert as_meant(found) == found
    assert as_meant(made("mine")).task.configuration == "mine-depl-paper-certified"


@pytest.mark.parametrize("attempt", [made("depl-paper-50", **{VERSION: 2}), made("depl", "depl")])
def test_attempts_of_today_and_of_other_methods_stay(attempt):
    assert as_meant(attempt) is attempt


def test_new_attempts_keep_the_version_of_their_method():
    settings = {job.blank.method: job.blank.settings for job in jobs_of(Request(suites=("paper",), limit=1))}
    assert find("depl-paper").version == settings["depl-paper"][VERSION] == 2
    assert VERSION not in settings["depl"]


def test_a_recheck_compares_an_old_attempt_with_the_certified_way_of_today():
    old = as_meant(made("depl-paper", options={}))
    now = made("depl-paper-certified", options=dict(FIRST["depl-paper"][1]), **{VERSION: 2})
    assert old.task == now.task
    assert differences(old, now) == []
    literal = made("depl-paper-certified", options={}, **{VERSION: 2})
    assert [item.name for item in differences(old, literal)] == ["settings"]


def test_files_are_read_as_meant_whoever_wrote_them(tmp_path: Path):
    rows = [made("depl-paper"), made("depl-paper", **{VERSION: 2}), made("depl", "depl")]
    (path,) = write_compact(rows[:1] + rows[2:], tmp_path)
    assert [item.method for item in read_attempts(path)] == ["depl", "depl-paper-certified"]
    assert {item.task.configuration for item in read_attempts(tmp_path)} == {"depl", "depl-paper-certified"}
    write_compact(rows[1:], tmp_path)
    assert {item.task.configuration for item in read_attempts(path)} == {"depl", "depl-paper"}
