"""The mutation check puts in what it says, once each, and reads its tests' verdicts right."""

import ast
import importlib
import json
from pathlib import Path

import pytest

from depl.models.evaluation.traced_law import runs_to_carry
from tests.checks import mutation_forks
from tests.checks.mutation import (
    MOST_SECONDS,
    ROOMS,
    Log,
    UsageError,
    chosen,
    equivalent,
    files_of,
    in_order,
    main,
    summary,
)
from tests.checks.mutation_copies import (
    BrokenRunError,
    copied,
    files_testing,
    importers,
    module_of,
    put_in,
    run,
)
from tests.checks.mutation_operators import Mutant, mutants, mutated

ROOT = Path(__file__).resolve().parents[2]


def changes(source: str) -> dict[str, set[str]]:
    """What every operator makes of a source, by operator."""
    found: dict[str, set[str]] = {}
    for mutant in mutants("x.py", source):
        operator = mutant.name.split(" ")[1].rstrip(":")
        found.setdefault(operator, set()).add(mutated(source, mutant.index).strip())
    return found


@pytest.mark.parametrize(
    ("source", "operator", "expected"),
    [
        ("a < b", "boundary", {"a <= b"}),
        ("a >= b", "boundary", {"a > b"}),
        ("a < b", "comparison", {"a >= b"}),
        ("a < b == c", "comparison", {"a >= b == c", "a < b != c"}),
        ("a in b", "comparison", {"a not in b"}),
        ("a + b", "arithmetic", {"a - b"}),
        ("a * (b / c)", "arithmetic", {"a / (b / c)", "a * (b * c)"}),
        ("a += b", "arithmetic", {"a -= b"}),
        ("1 - high[-1]", "complement", {"high[-1]", "0"}),
        ("f(0, 1.0)", "constant", {"f(1, 1.0)", "f(0, 0.0)"}),
        ("a[2:]", "index", {"a[3:]", "a[1:]"}),
        ("a[-1]", "index", {"a[-2]", "a[-0]"}),
        ("np.minimum(a, max(b))", "extreme", {"np.maximum(a, max(b))", "np.minimum(a, min(b))"}),
        ("a and b", "logic", {"a or b"}),
        ("not a", "logic", {"a"}),
        ("if a:\n    b", "condition", {"if not a:\n    b"}),
        ("[a for a in b if c]", "condition", {"[a for a in b if not c]"}),
        ("def f():\n    return", "return", {"def f():\n    pass"}),
        ("def f():\n    return None", "return", {"def f():\n    pass"}),
    ],
)
def test_an_operator_makes_these_changes_and_no_others(
    source: str, operator: str, expected: set[str]
) -> None:
    assert changes(source)[operator] == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""1 - x < 2."""',
        "raise ValueError(1 - a < b)",
        "f'{a + b}'",
        "def f(a: x[0]) -> y[1]:\n    pass",
        "@g(1)\ndef f():\n    pass",
        "'a' + b",
        "def f():\n    return a",
        "a = 5",
        "a = True",
    ],
)
def test_what_says_nothing_about_behaviour_is_left_alone(source: str) -> None:
    assert changes(source) == {}


def test_every_mutant_of_a_real_file_compiles_differs_and_has_a_name_of_its_own() -> None:
    path = "models/problem/allocation.py"
    source = (ROOT / path).read_text(encoding="utf-8")
    found = list(mutants(path, source))
    assert len({mutant.name for mutant in found}) == len(found) > 150
    for mutant in found[::40]:
        changed = mutated(source, mutant.index)
        compile(changed, path, "exec")
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))


def test_a_mutant_of_risk_is_found_by_its_name() -> None:
    (found,) = chosen("risk", 1, 1, only="_Smooth.exceedance arithmetic: self.mean - values")
    assert found.path.endswith("cores.py")


def test_fewer_mutants_are_the_first_of_more_and_a_seed_draws_its_own() -> None:
    many = chosen("allocation", 3, 20)
    assert chosen("allocation", 3, 5) == many[:5]
    assert chosen("allocation", 4, 20) != many
    with pytest.raises(UsageError, match="no mutant"):
        chosen("allocation", 3, 5, only="nowhere to be found")
    with pytest.raises(UsageError, match="at least 1"):
        chosen("allocation", 3, 0)


NEAR = {
    "risk": "tests/models/risk/test_certify.py",
    "verifier": "tests/models/verifier/test_verify.py",
    "allocation": "tests/models/problem/test_allocation.py",
    "search": "tests/models/exact/test_counted.py",
    "submodular": "tests/heuristics/submodular/test_minimise.py",
    "placement": "tests/heuristics/placement/test_placement.py",
    "paths": "tests/heuristics/paths/test_setting.py",
    "policy": "tests/models/policy/test_controller.py",
    "tool_logs": "tests/models/tool_logs/test_importing.py",
    "estimation": "tests/models/estimation/test_fit.py",
}


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_has_files_and_tests(room: str) -> None:
    assert files_of(room)
    found = files_testing(ROOT, map(module_of, files_of(room)))
    assert NEAR[room] in found


def test_the_mirror_comes_first_then_the_room_then_near_and_quick_ones_as_long_as_there_is_time() -> None:
    mirror, other = "tests/models/risk/test_certify.py", "tests/models/risk/test_grid.py"
    far, quick, slow = "tests/docs/test_errata.py", "tests/depl/test_cli.py", "tests/depl/test_starting.py"
    seconds = {slow: 2.0, quick: 1.0, far: 3.0, other: 4.0, mirror: 5.0, "endless": MOST_SECONDS}
    order = [mirror, other, far, quick, slow]
    assert in_order(seconds, "models/risk/certify.py", {mirror, other, far}) == order
    assert in_order({"endless": MOST_SECONDS + 1}, "models/risk/certify.py", set()) == ["endless"]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like a copy of the project, with small tests and hardly anything to import."""
    folder = tmp_path_factory.mktemp("mutation") / "copy"
    (folder / "tests").mkdir(parents=True)
    (folder / "depl").mkdir()
    (folder / "depl" / "__init__.py").touch()
    for name, body in {
        "fine": "import depl\ndef test_here():\n    assert %r in depl.__file__",
        "failing": "import pytest\n@pytest.mark.parametrize('x', [%r], ids=['two words'])\n"
        "def test_it(x):\n    assert x == 0",
        "hanging": "def test_it():\n    while %r: pass",
        "empty": "x = %r",
    }.items():
        (folder / "tests" / f"test_{name}.py").write_text(body % str(folder), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("name", "seconds", "how"),
    [("fine", 60.0, "passed"), ("failing", 60.0, "failed"), ("hanging", 0.9, "hung")],
)
def test_a_run_in_a_copy_uses_the_copy_and_says_how_it_ended(
    copy: Path, name: str, seconds: float, how: str
) -> None:
    ending = run(copy, [f"tests/test_{name}.py"], seconds)
    assert ending.how == how
    assert ending.by == ("tests/test_failing.py::test_it[two words]" if how == "failed" else "")


def test_a_run_without_tests_is_no_verdict(copy: Path) -> None:
    with pytest.raises(BrokenRunError, match="ended with 5"):
        run(copy, ["tests/test_empty.py"], 60.0)


def test_a_copy_has_the_links_the_sources_and_what_was_compiled(tmp_path: Path) -> None:
    copied(tmp_path)
    assert (tmp_path / "depl" / "models").is_symlink()
    for name in ("models/problem/allocation.py", "tests/conftest.py", "pyproject.toml"):
        assert (tmp_path / name).read_bytes() == (ROOT / name).read_bytes()
        assert (tmp_path / name).stat().st_mtime == (ROOT / name).stat().st_mtime
    copied(tmp_path / "again", tmp_path)
    assert (tmp_path / "again" / "depl" / "models").is_symlink()
    assert (tmp_path / "again" / "models" / "problem" / "allocation.py").exists()


def test_kernels_that_may_contain_a_changed_one_are_dropped(tmp_path: Path) -> None:
    for name, text in {
        "low": "@kernel()\ndef f(): ...",
        "middle": "from depl.models.low import f",
        "high": "import depl.models.middle",
        "other": "import os",
    }.items():
        (tmp_path / "models").mkdir(exist_ok=True)
        (tmp_path / "models" / f"{name}.py").write_text(text, encoding="utf-8")
        (tmp_path / "models" / "__pycache__").mkdir(exist_ok=True)
        (tmp_path / "models" / "__pycache__" / f"{name}.f-1.py311.nbi").touch()
    assert importers(tmp_path, "models/low.py") == {"models/middle.py", "models/high.py"}
    put_in(tmp_path, tmp_path, "models/low.py", "@kernel()\ndef f(): return 1")
    left = {path.name.split(".")[0] for path in (tmp_path / "models" / "__pycache__").iterdir()}
    assert left == {"low", "other"}  # that of the file itself is out of date by its time


def test_lines_are_continued_for_the_same_sources_alone(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    Log(path, {"room": "risk"}).add({"mutant": "m"})
    with path.open("a", encoding="utf-8") as file:
        file.write('{"mutant": "cut off')
    assert Log(path, {"room": "risk"}).known == [{"mutant": "m"}]
    with pytest.raises(UsageError, match="other sources or tests"):
        Log(path, {"room": "search"})


def test_the_score_leaves_out_what_is_equivalent_and_lists_survivors(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = chosen("allocation", 3, 4)
    hows = ("failed", "passed", "hung", "passed")
    rows = [
        {"mutant": mutant.name, "line": mutant.line, "how": how, "wall": 2.0}
        for mutant, how in zip(drawn, hows, strict=True)
    ]
    monkeypatch.setattr("tests.checks.mutation.equivalent", lambda: {drawn[3].name: "no difference"})
    told = summary(drawn, [{"about": {}}, *rows])
    assert f"survived: {drawn[1].name}" in told
    assert f"equivalent (no difference): {drawn[3].name}" in told
    assert "4 mutants, 1 equivalent, 2 noticed (1 hung), 1 survived: score 66.7%" in told


def test_equivalent_mutants_exist_and_have_reasons() -> None:
    paths = {name.partition("::")[0] for name in equivalent()}
    assert paths <= {path for room in ROOMS for path in files_of(room)}
    known = {item.name for path in paths for item in mutants(path, (ROOT / path).read_text(encoding="utf-8"))}
    assert all(name in known and reason.strip() for name, reason in equivalent().items())


def test_a_file_of_something_else_ends_with_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text(json.dumps({"about": "else"}) + "\n", encoding="utf-8")
    assert main(["--room", "allocation", "--mutants", "1", "--out", str(path)]) == 2
    assert "other sources or tests" in capsys.readouterr().err


def one(path: str, text: str) -> Mutant:
    """The first mutant of a file with this in its name."""
    source = (ROOT / path).read_text(encoding="utf-8")
    return next(mutant for mutant in mutants(path, source) if text in mutant.name)


def test_a_fault_is_put_into_a_function_that_is_in_use() -> None:
    before = runs_to_carry.__code__
    try:
        assert mutation_forks.put_in(
            one(
                "models/evaluation/traced_law.py",
                "runs_to_carry arithmetic: (diverged + 1) * omega / (1 - omega)",
            )
        )
        assert runs_to_carry(0.75) != 3
    finally:
        runs_to_carry.__code__ = before
    assert runs_to_carry(0.75) == 3


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("models/exact/kernels.py", "::one_switch_scan "),  # compiled
        ("models/problem/allocation.py", "::module"),
    ],
)
def test_what_a_fork_cannot_change_is_left_to_copies(path: str, text: str) -> None:
    importlib.import_module(module_of(path))
    source = (ROOT / path).read_text(encoding="utf-8")
    found = [mutant for mutant in mutants(path, source) if text in mutant.name]
    if not found:
        pytest.fail(f"no mutant of {path} has {text} in its name")
    assert not mutation_forks.put_in(found[0])
