"""What is asked for becomes the same jobs again, and what cannot be asked for is refused with what can."""

import msgspec
import pytest

from depl.benchmarks.measure.attempt import Request
from depl.benchmarks.measure.catalogue import all_suites, with_imports
from depl.benchmarks.measure.tasks import again, configuration_of, jobs_of
from depl.models.foundation.errors import InvalidInputError
from tests.cases.sweep_cases import own_registry


@pytest.fixture(autouse=True)
def registry():
    with own_registry():
        yield


def tasks(**asked):
    return [job.task for job in jobs_of(Request(suites=("paper",), **asked))]


def test_instances_and_methods_are_chosen_by_name():
    found = tasks(instances="paper-alexnet-*", configurations=("depl", "exact", "depl"), limit=2)
    assert [(task.instance, task.configuration) for task in found] == [
        (instance, method)
        for instance in ("paper-alexnet-5", "paper-alexnet-7")
        for method in ("depl", "exact")
    ]


def test_a_method_that_a_suite_does_not_have_gets_its_longest_time_limit():
    configuration = configuration_of(all_suites()["paper"], "auto")
    assert (configuration.method, configuration.label, configuration.time_limit) == ("auto", "auto", 60.0)
    assert {task.configuration for task in tasks(configurations=("auto",), limit=1)} == {"auto"}


def test_a_task_of_another_version_of_a_suite_is_refused():
    (blank, request), *_ = jobs_of(Request(suites=("paper",), limit=1))
    old = msgspec.structs.replace(blank, task=msgspec.structs.replace(blank.task, version=0))
    with pytest.raises(InvalidInputError, match=r"has version [1-9][0-9]* now, not 0"):
        again(old, request)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "cannot be imported: .*No such file"),
        ("import sys; sys.exit(3)", r"it ends the program; .* \(SystemExit: 3\)"),
        ("STUDY = 3", "must be a depl.benchmarks.measure.registry.Study"),
        ("from depl.benchmarks.studies.behaviour import STUDY", "a study 'behaviour' exists already"),
        ("import depl; depl.register('exact', print)", "cannot be imported: a method 'exact' is registered"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path, text, complaint):
    """Names of what does not exist are refused in the tests of the commands, and code that fails."""
    if text is not None:
        (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError, match=rf"mine\.py: .*{complaint}"):
        with_imports(all_suites(), [str(tmp_path / "mine.py")])


SUITE_OF = (
    "import sys\nimport depl\nimport numpy as np\nfrom depl.benchmarks.measure.registry import *\n"
    "def build():\n    return depl.load('tiny')\n"
    "STUDY = Study('odd', '', draws=lambda: {draws}, configurations=(Configuration('exact'),))"
)


@pytest.mark.parametrize(
    ("draws", "complaint"),
    [
        ("sys.exit(3)", "cannot be made: SystemExit: 3"),
        ("3", "cannot be made: TypeError"),
        ("['tiny']", "must be depl.benchmarks.measure.registry.Draw, not 'tiny'"),
        ("[Draw('tiny', {'n': np.int64(3)}, build)]", "label 'n' of 'tiny' is int64 instead of"),
        ("[Draw('tiny', {}, build), Draw('tiny', {}, build)]", "the name 'tiny' is given twice"),
    ],
)
def test_draws_that_cannot_be_used_are_refused(tmp_path, draws, complaint):
    (tmp_path / "mine.py").write_text(SUITE_OF.replace("{draws}", draws), encoding="utf-8")
    with pytest.raises(InvalidInputError, match=rf"mine\.py: draws of study 'odd': {complaint}"):
        jobs_of(Request(suites=("odd",), imports=(str(tmp_path / "mine.py"),)))
