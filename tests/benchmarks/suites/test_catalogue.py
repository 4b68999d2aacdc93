"""Suites come by files alone, and a suite or a draw that cannot be used says why."""

import sys
import textwrap

import pytest

from depl.benchmarks.suites.catalogue import all_suites, find_suite
from depl.benchmarks.suites.suite import Configuration, Draw, Suite
from depl.instances.library import load
from depl.models.foundation.errors import InvalidInputError

TINY = Draw("tiny", {"family": "tiny"}, lambda: load("tiny"))


def suite(**changes: object) -> Suite:
    settings = {
        "name": "one",
        "summary": "",
        "draws": lambda: [TINY],
        "configurations": (Configuration("exact"),),
    }
    return Suite(**{**settings, **changes})


def test_every_shipped_suite_names_each_instance_once():
    suites = all_suites()
    assert "paper" in suites
    for item in suites.values():
        names = [draw.name for draw in item.draws()]
        assert names, item.name
        assert len(set(names)) == len(names), item.name


def test_a_file_in_a_package_is_a_suite_of_that_name(tmp_path, monkeypatch):
    package = tmp_path / "more_suites"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "mine.py").write_text(
        textwrap.dedent("""\
        from depl.benchmarks.suites.suite import Configuration, Suite
        SUITE = Suite("mine", "one", lambda: (), (Configuration("depl"),))
        """)
    )
    monkeypatch.syspath_prepend(tmp_path)
    import more_suites

    assert list(all_suites(more_suites)) == ["mine"]
    (package / "none.py").write_text("")
    with pytest.raises(InvalidInputError, match=r"more_suites\.none defines no SUITE"):
        all_suites(more_suites)
    for name in [name for name in sys.modules if name.startswith("more_suites")]:
        del sys.modules[name]


def test_an_unknown_suite_is_refused_with_those_there_are():
    with pytest.raises(InvalidInputError, match=r"no suite is called 'papper'; did you mean 'paper'"):
        find_suite("papper")


def test_draws_and_configurations_are_found_by_name():
    one = suite()
    assert one.draw("tiny").build().fingerprint == load("tiny").fingerprint
    assert one.configuration("exact").method == "exact"
    with pytest.raises(InvalidInputError, match="has no instance 'other'"):
        one.draw("other")
    with pytest.raises(InvalidInputError, match="has no configuration 'depl'; it has: exact"):
        one.configuration("depl")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": "A b"}, "not usable"),
        ({"configurations": ()}, "needs configurations of different labels"),
        ({"configurations": (Configuration("exact"), Configuration("exact", gap=0.1))}, "different labels"),
    ],
)
def test_a_suite_that_cannot_be_used_says_why(changes, said):
    with pytest.raises(InvalidInputError, match=said):
        suite(**changes)


def test_a_configuration_without_time_is_refused():
    with pytest.raises(InvalidInputError, match="time_limit must be positive, not 0"):
        Configuration("exact", time_limit=0)
