"""The house rules that no other tool checks: folders, links, mapping, and which layer may know which."""

import ast
import os
import re
import tomllib

import pytest

from tests.checks.rooms import (
    BELOW,
    FLOORS,
    LAYERS,
    ROOT,
    TABLE,
    imported_names,
    imports_of,
    job,
    parsed,
    rooms_table,
    sources,
    statements,
)

LONGEST = 40
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = PROJECT["tool"]["setuptools"]
MAKERS = {
    "models/programs/quiet.py": "highspy.Highs(",
    "heuristics/submodular/lovasz.py": "cvxpy.HIGHS",
    "depl/lessons/drawing.py": "matplotlib.pyplot",
    "depl/lessons/export.py": "matplotlib.pyplot",
}
"""Of objects that write to the screen, and of global state, and the only files that name them."""
LESSONS = "depl.lessons.texts"
"""Scripts that are data of the installed package, and in a checkout stand in docs/lessons."""


def module_name(layer, path):
    """The import name of a source file."""
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts if layer == "depl" else ["depl", *parts])


def layer_of(name):
    """The layer that an imported name belongs to, None for other projects' names."""
    parts = name.split(".")
    if parts[0] != "depl":
        return None
    return parts[1] if len(parts) > 1 and parts[1] in LAYERS else "depl"


def forbidden(layer, room, names):
    """What a source file of this room of a layer, which imports these names, should not import."""
    found = []
    for line, name in names:
        parts, target = name.split("."), layer_of(name)
        if name.startswith("."):
            found.append(f"line {line}: relative import {name}")
        elif parts[0] in LAYERS:
            found.append(f"line {line}: {name} without 'depl.' in front")
        elif target is not None and target != layer and target not in BELOW[layer]:
            found.append(f"line {line}: {layer} may not import {name}")
        elif target == layer in FLOORS and len(parts) > 2 and parts[2] != room:
            beside = floor_of(layer, parts[2]) >= floor_of(layer, room)
            found += [f"line {line}: {room} may not import {name}"] if beside else []
    return found


def floor_of(layer, room):
    """The floor that a room stands on; what stands beside the rooms is above all of them."""
    floors = (number for number, rooms in enumerate(FLOORS[layer]) if room in rooms)
    return next(floors, len(FLOORS[layer]))


def test_mapping_and_links_name_every_folder_and_no_other():
    folders = {f"depl.{layer}": layer for layer in LAYERS}
    assert SETUPTOOLS["package-dir"] == {**folders, LESSONS: "docs/lessons"}
    assert {path.name for path in (ROOT / "depl").iterdir() if path.is_symlink()} == set(LAYERS)


@pytest.mark.parametrize("layer", LAYERS)
def test_every_folder_has_a_relative_link_inside_depl(layer):
    link = ROOT / "depl" / layer
    assert link.is_symlink(), f"make it again: ln -s ../{layer} depl/{layer}"
    assert os.readlink(link) == f"../{layer}"
    assert (link / "__init__.py").samefile(ROOT / layer / "__init__.py")


def test_every_package_on_disk_is_listed_once_and_every_listed_one_exists():
    on_disk = {
        module_name(layer, path.parent / "__init__.py").removesuffix(".__init__") for layer, path in sources()
    }
    assert sorted(SETUPTOOLS["packages"]) == sorted({*on_disk, LESSONS})
    assert not [path for _, path in sources() if not (path.parent / "__init__.py").exists()]


def test_every_module_opens_with_a_docstring():
    missing = [str(path.relative_to(ROOT)) for _, path in sources() if not ast.get_docstring(parsed(path))]
    assert not missing


def test_functions_fit_on_a_screen():
    long = [
        f"{path.relative_to(ROOT)}: {node.name} has {lines} lines without its docstring, at most {LONGEST}"
        for _, path in sources()
        for node in statements(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (lines := code_lines(node)) > LONGEST
    ]
    assert not long


def test_imports_run_downward_only_between_layers_and_rooms_and_are_absolute():
    wrong = [
        f"{path.relative_to(ROOT)}, {complaint}"
        for layer, path in sources()
        for complaint in forbidden(layer, path.relative_to(ROOT / layer).parts[0], imports_of(path))
    ]
    assert not wrong


@pytest.mark.parametrize(
    ("place", "line", "allowed"),
    [
        ("models/risk", "from depl.models.problem.laws import Law", True),
        ("models/risk", "from depl.models.risk import certify", True),
        ("models/risk", "from depl.models.foundation.errors import DeplError\nimport numpy as np", True),
        ("heuristics/paths", "import depl.models.problem.laws", True),
        ("benchmarks/studies", "import depl\nfrom depl.instances import named", True),
        ("depl/commands", "from depl.benchmarks.measure.results import table", True),
        ("models/risk", "from depl.models.verifier import verify", False),
        ("models/problem", "def late():\n    from depl.models import solving", False),
        ("models/exact", "import depl.models.programs.milp", False),
        ("models/exact", "import depl", False),
        ("models/exact", "from depl import heuristics", False),
        ("models/exact", "from depl.instances.named import load", False),
        ("heuristics/paths", "from depl.benchmarks import registry", False),
        ("heuristics/paths", "from depl.instances import named", False),
        ("instances/data", "def late():\n    import depl.benchmarks.measure.results", False),
        ("benchmarks/studies", "from . import registry", False),
        ("benchmarks/studies", "from models.laws import Law", False),
    ],
)
def test_an_import_that_breaks_the_rule_is_found(place, line, allowed):
    assert bool(forbidden(*place.split("/"), imported_names(ast.parse(line)))) != allowed


@pytest.mark.parametrize("layer", FLOORS)
def test_every_room_stands_on_a_floor_and_no_file_is_left_beside_the_rooms(layer):
    rooms = {path.relative_to(ROOT / layer).parts[0] for owner, path in sources() if owner == layer}
    assert rooms == {room for floor in FLOORS[layer] for room in floor} | {"__init__.py"}


def test_the_table_of_the_rooms_is_current():
    assert TABLE.read_text(encoding="utf-8") == rooms_table(), "make it again: python -m tests.checks.rooms"


def test_the_job_of_a_room_is_the_first_sentence_of_its_docstring(tmp_path):
    (tmp_path / "__init__.py").write_text('"""The loop of Fig. 3 (Sec. IV), ``here``. And more."""\n')
    assert job(tmp_path) == "The loop of Fig. 3, here"


def test_tests_stand_in_the_room_of_what_they_test():
    """Folders of tests are folders of sources, or one of those that no source has."""
    own = {"cases", "checks", "contract", "data", "docs", "oracles"}
    folders = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("*.py")}
    strays = [
        str(folder)
        for folder in folders
        if folder.parts and folder.parts[0] not in own and not (ROOT / folder).is_dir()
    ]
    assert not strays


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_locks_carry_hashes_and_no_address_or_path(lock):
    text = (ROOT / lock).read_text(encoding="utf-8")
    pins = re.findall(r"^[A-Za-z0-9][^\n]*", text, flags=re.MULTILINE)
    assert pins
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[^\s]+( ; .+)? \\", pin) for pin in pins)
    assert text.count(" \\\n    --hash=sha256:") >= len(pins)
    assert not re.search(r"[a-z]://|--(index|extra-index|find-links|trusted)|@ |^/|\s/", text)


def test_every_declared_dependency_is_locked_and_the_development_lock_repeats_every_pin_of_the_runtime_lock():
    runtime, development = (
        dict(re.findall(r"(?m)^([^\s#=]+)==(\S+)", (ROOT / f"requirements{which}.lock").read_text("utf-8")))
        for which in ("", "-dev")
    )
    assert runtime.items() <= development.items()
    project = PROJECT["project"]
    needed = project["dependencies"] + PROJECT["build-system"]["requires"]
    for declared, locked in ((needed, runtime), (project["optional-dependencies"]["dev"], development)):
        bare = {re.split(r"[<>=!~\[ ]", requirement)[0].lower() for requirement in declared}
        assert bare <= {name.lower() for name in locked}, "run `make lock`"


def code_lines(function):
    """Lines of a function without its docstring."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is None:
        return lines
    docstring = function.body[0]
    return lines - ((docstring.end_lineno or docstring.lineno) - docstring.lineno + 1)


def test_nobody_makes_objects_of_highs_past_the_places_that_keep_it_quiet_or_draws_into_global_state():
    found = {}
    for _, path in sources():
        for maker in re.findall(r"highspy\.Highs\(|cvxpy\.HIGHS|matplotlib\.pyplot", path.read_text("utf-8")):
            found[path.relative_to(ROOT).as_posix()] = maker
    assert found == MAKERS


def test_tests_share_by_cases_and_oracles_and_never_import_one_another():
    found = {
        f"{path.relative_to(ROOT)}, line {line}: {name}"
        for path in (ROOT / "tests").rglob("*.py")
        for line, name in imports_of(path)
        if any(word.startswith("test_") for word in name.split(".")[2:-1]) and name.startswith("tests.")
    }
    assert not found
