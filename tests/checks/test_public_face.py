"""``import depl`` is quick and gives what its first page promises."""

import ast
import doctest
import importlib
import importlib.metadata
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import depl
from depl import built_in

ROOT = Path(__file__).resolve().parents[2]


def test_every_public_name_exists_and_is_explained():
    for name in depl.__all__:
        value = getattr(depl, name)
        if name != "__version__":
            assert value.__doc__, name


def test_the_example_of_the_package_runs():
    result = doctest.testmod(depl)
    assert result.failed == 0
    assert result.attempted >= 5


def test_a_tree_that_is_not_installed_still_has_its_version():
    program = (
        "import importlib.metadata as metadata\n"
        "def missing(name):\n"
        "    raise metadata.PackageNotFoundError(name)\n"
        "metadata.version = missing\n"
        "import depl; print(depl.__version__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == depl.__version__


def test_names_are_loaded_at_their_first_use_lists_need_no_numbers_and_solving_no_drawing_library():
    """All in one fresh process."""
    program = (
        "import sys, depl\n"
        "assert set(depl.__all__) == set(dir(depl))\n"
        "from depl.instances.shipped import full_names\n"
        "found = depl.methods(), full_names()\n"
        "assert not {'numpy', 'scipy', 'numba'} & sys.modules.keys()\n"
        "print(len(depl.methods()), depl.load('tiny').name)\n"
        "import importlib, pkgutil, depl.commands\n"
        "for found in pkgutil.iter_modules(depl.commands.__path__, 'depl.commands.'):\n"
        "    importlib.import_module(found.name)\n"
        "assert set(depl.plot.__all__) == set(dir(depl.plot))\n"
        "depl.solve(depl.load('tiny'))\n"
        "print([name for name in ('matplotlib', 'rich', 'pandas', 'pyomo') if name in sys.modules])\n"
        "depl.nobody\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    shipped = len(built_in.BUILT_IN)
    assert shipped > 10
    assert done.stdout.splitlines() == [f"{shipped} tiny", "[]"], done.stderr
    assert done.stderr.strip().endswith("AttributeError: module 'depl' has no attribute 'nobody'")


@pytest.mark.parametrize("method", built_in.BUILT_IN, ids=lambda method: method.name)
def test_a_built_in_method_is_there_and_its_sentence_is_that_of_its_docstring(method):
    deferred = getattr(method.run, "__wrapped__", method.run)
    assert deferred.function.__doc__.strip().split("\n")[0] == method.summary


@pytest.mark.parametrize("ask", [depl.check, depl.evaluate, depl.report])
def test_the_missing_plan_of_a_solve_that_found_none_is_refused_in_words(ask):
    with pytest.raises(depl.InvalidInputError, match=r"plan: there is no plan: .* see result\.reason"):
        ask(depl.load("tiny"), None)
    with pytest.raises(depl.InvalidInputError, match="plan: must be a Plan, not list"):
        ask(depl.load("tiny"), [])


def test_of_a_solve_that_found_no_plan_the_instance_is_explained():
    result = depl.solve(depl.load("tiny").replace(maximum_epochs=1))
    assert "K_max: each of them alone would do" in depl.explain(result.problem, result.plan)
    with pytest.raises(depl.InvalidInputError, match="plan: must be a Plan, not list"):
        depl.explain(depl.load("tiny"), [])


def test_the_installed_command_is_the_command_line():
    scripts = importlib.metadata.entry_points(group="console_scripts", name="depl")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"]["depl"] == "depl.cli:main"
    assert all(script.value == "depl.cli:main" for script in scripts)


def test_each_public_name_comes_from_the_module_that_type_checkers_are_told():
    tree = ast.parse((ROOT / "depl" / "__init__.py").read_text(encoding="utf-8"))
    told = {
        alias.name: (node.module.removeprefix("depl."), alias.name)
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name not in depl._ROOMS
    }
    told |= {"check": told.pop("verify"), "evaluate_policy": told.pop("verify_policy")}
    assert told == depl._HOMES
    assert {*told, *depl._ROOMS, "__version__"} == set(depl.__all__)
    for name in told:
        assert getattr(depl, name) is depl.__dict__[name]
