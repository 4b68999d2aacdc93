"""Every shipped suite runs: its first instance by all its configurations, for a moment.

Instances that are large by their labels are made and not solved.
"""

import math

import msgspec
import pytest

from depl.benchmarks.measure.attempt import Attempt, Request
from depl.benchmarks.measure.catalogue import all_suites
from depl.benchmarks.measure.solving import attempt as made
from depl.benchmarks.measure.tasks import jobs_of

SUITES = {name: study for name, study in all_suites().items() if study.tells is None}
LARGE = 10_000
"""Product of the sizes among the labels, such as |N| |D| |M| K_max."""
ALIKE = ("scaling-clusters", "scaling-epochs", "scaling-models")
"""Drawn and attempted like ``scaling-datasets``, which has a measure as well: only another size grows."""
FIRST = {
    (item.method, str(item.options)): name
    for name, study in reversed(SUITES.items())
    for item in study.configurations
}
"""The first suite that attempts something: later ones are asked for what is new in them, and one more."""
BROKEN = {"failed", "crashed", "rejected", "error"}


@pytest.mark.parametrize("name", [name for name in SUITES if name not in ALIKE])
def test_the_first_instance_of_a_suite_is_attempted_by_all_its_configurations(name):
    suite = SUITES[name]
    first = suite.instances()[0]
    fingerprint = first.build().fingerprint
    assert fingerprint
    if math.prod(label for label in first.labels.values() if isinstance(label, int)) > LARGE:
        return
    jobs = jobs_of(Request(suites=(name,), limit=1, seconds=0.05))
    assert len(jobs) == len(suite.configurations) * len(suite.seeds)
    known = {item.label for item in suite.configurations if FIRST[item.method, str(item.options)] != name}
    apart = known - {suite.configurations[0].label}
    attempts = [made(job) for job in jobs if job.task.configuration not in apart]
    broken = {row.task.configuration: row.reason for row in attempts if row.ending in BROKEN}
    assert not broken
    assert any(row.ending != "refused" for row in attempts)
    for attempt in attempts:
        assert attempt.instance_hash == fingerprint
        assert all(value is None or math.isfinite(value) for value in attempt.measures.values())
        text = msgspec.json.encode(attempt)
        assert msgspec.json.encode(msgspec.json.decode(text, type=Attempt)) == text


def test_suites_that_are_alike_differ_in_what_grows_alone():
    whole = SUITES["scaling-datasets"]
    for name in ALIKE:
        assert SUITES[name].configurations == whole.configurations
        assert SUITES[name].seeds == whole.seeds
        assert SUITES[name].instances()[0].labels.keys() == whole.instances()[0].labels.keys()
