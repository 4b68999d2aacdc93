"""The mutation check puts in what it says, once each, and reads the verdicts of the right tests."""

import ast
import contextlib
import importlib
import os
import signal
import subprocess
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from depl.models.evaluation.traced_law import runs_to_carry
from tests.checks import mutation
from tests.checks.mutation import IDLED, MOST_SECONDS, ROOT, Ending, awaited, chosen, in_order, run, summary
from tests.checks.mutation_forks import Forks, put_in
from tests.checks.mutation_operators import Mutant, mutants, mutated


def changes(source):
    """What every operator makes of a source."""
    found = mutants("x.py", source)
    return {(one.name.split(" ")[1].rstrip(":"), mutated(source, one.index).strip()) for one in found}


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
        ("a // b % c", "arithmetic", {"a / b % c", "a // b * c"}),
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
        ('"""1 - x < 2."""', "", set()),
        ("raise ValueError(1 - a < b)", "", set()),
        ("f'{a + b}'", "", set()),
        ("def f(a: x[0]) -> y[1]:\n    pass", "", set()),
        ("@g(1)\ndef f():\n    pass", "", set()),
        ("'a' + b", "", set()),
        ("def f():\n    return a", "", set()),
        ("a = 5", "", set()),
        ("a = True", "", set()),
    ],
)
def test_an_operator_makes_these_changes_and_what_says_nothing_about_behaviour_is_left_alone(
    source, operator, expected
):
    found = changes(source)
    assert {changed for name, changed in found if name == operator} == expected
    assert operator or not found


def test_every_mutant_of_a_real_file_compiles_differs_and_has_a_name_of_its_own():
    path = "models/problem/allocation.py"
    source = (ROOT / path).read_text(encoding="utf-8")
    found = list(mutants(path, source))
    assert len({mutant.name for mutant in found}) == len(found) > 120
    for mutant in found[::40]:
        changed = mutated(source, mutant.index)
        compile(changed, path, "exec")
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))


def test_fewer_mutants_are_the_first_of_more_a_seed_draws_its_own_and_names_are_found():
    def drawn(seed, count, only=None):
        return chosen(Namespace(room="allocation", seed=seed, mutants=count, only=only))

    many = drawn(3, 20)
    assert drawn(3, 5) == many[:5]
    assert drawn(4, 20) != many
    assert drawn(3, 1, only=many[7].name) == [many[7]]
    for count, only in ((5, "nowhere to be found"), (0, None)):
        with pytest.raises(SystemExit, match="2"):
            drawn(3, count, only)


def test_the_mirror_comes_first_then_the_room_then_near_and_quick_ones_as_long_as_there_is_time():
    mirror, other = "tests/models/risk/test_certify.py", "tests/models/risk/test_grid.py"
    far, quick, slow = "tests/docs/test_errata.py", "tests/depl/test_cli.py", "tests/depl/test_starting.py"
    order = [f"{mirror}::quick", f"{mirror}::slow", f"{other}::a", f"{far}::a", f"{quick}::a", f"{slow}::a"]
    seconds = dict(zip(order, (1.0, 4.0, 4.5, 3.0, 1.0, 2.0), strict=True)) | {"endless": MOST_SECONDS}
    assert in_order(seconds, "models/risk/certify.py", {mirror, other, far}) == order
    assert in_order({"endless": MOST_SECONDS + 1}, "models/risk/certify.py", set()) == ["endless"]


@pytest.mark.parametrize(
    ("body", "seconds", "how"),
    [
        ("import depl\ndef test_it():\n    assert %r in depl.__file__", 60.0, "passed"),
        (
            "import pytest\n@pytest.mark.parametrize('x', [%r], ids=['two words'])\n"
            "def test_it(x):\n    assert x == 0",
            60.0,
            "failed",
        ),
        ("def test_it():\n    while %r: pass", 0.9, "hung"),
        ("x = %r", 60.0, "no test"),
    ],
)
def test_a_run_in_a_copy_uses_the_copy_and_says_how_it_ended(tmp_path, body, seconds, how):
    (tmp_path / "depl").mkdir()
    (tmp_path / "depl" / "__init__.py").touch()
    (tmp_path / "test_here.py").write_text(body % str(tmp_path), encoding="utf-8")
    if how == "no test":  # which is no verdict
        with pytest.raises(SystemExit):
            run(tmp_path, ["test_here.py"], seconds)
        return
    ending = run(tmp_path, ["test_here.py"], seconds)
    assert ending.how == how
    assert ending.by == ("test_here.py::test_it[two words]" if how == "failed" else "")


def test_a_fault_that_keeps_a_test_file_from_being_imported_is_noticed(tmp_path):
    (tmp_path / "test_here.py").write_text("raise ValueError\ndef test_it(): ...", encoding="utf-8")
    assert run(tmp_path, ["test_here.py::test_it"], 60.0).how == "failed"


def test_a_fault_that_renames_parameters_is_judged_by_the_other_tests(tmp_path):
    (tmp_path / "test_here.py").write_text("def test_it(): ...", encoding="utf-8")
    for names in (["test_here.py::test_gone[1]", "test_here.py::test_it"], ["test_here.py::test_gone[1]"]):
        assert run(tmp_path, names, 60.0)[:2] == ("passed", "")  # without any left it is not noticed


def test_kernels_that_may_contain_a_changed_one_are_dropped(tmp_path):
    kept = tmp_path / "models" / "__pycache__"
    kept.mkdir(parents=True)
    for name, text in {
        "low": "@kernel()\ndef f(): ...",
        "middle": "from depl.models.low import f",
        "high": "import depl.models.middle",
        "other": "import os",
    }.items():
        (tmp_path / "models" / f"{name}.py").write_text(text, encoding="utf-8")
        (kept / f"{name}.f-1.py311.nbi").touch()
    mutation.put_in(tmp_path, "models/low.py", "@kernel()\ndef f(): return 1")
    left = {path.name.split(".")[0] for path in kept.iterdir()}
    assert left == {"low", "other"}  # that of the file itself is out of date by its time


def test_the_score_leaves_out_what_is_equivalent_and_lists_survivors(monkeypatch):
    drawn = [Mutant(name, "x.py", 1, 1) for name in "abcd"]
    hows = dict(zip("abcd", ("failed", "passed", "hung", "passed"), strict=True))
    monkeypatch.setattr(mutation, "equivalent", lambda: {"d": "no difference", "a": "noticed all the same"})
    assert summary(drawn, {name: {"line": 1, "how": how} for name, how in hows.items()}).splitlines() == [
        "equivalent (no difference): d (line 1)",
        "survived: b (line 1)",
        "4 mutants, 1 equivalent, 2 noticed (1 hung), 1 survived: score 66.7%",
    ]


def test_equivalent_mutants_exist_and_have_reasons():
    same = mutation.equivalent()
    paths = {name.partition("::")[0] for name in same}
    known = {item.name for path in paths for item in mutants(path, (ROOT / path).read_text(encoding="utf-8"))}
    assert same.keys() <= known
    assert all(len(reason.split()) > 3 for reason in same.values())


def one(path, text):
    """The first mutant of a file with this in its name."""
    source = (ROOT / path).read_text(encoding="utf-8")
    return next(mutant for mutant in mutants(path, source) if text in mutant.name)


def test_a_fault_is_put_into_a_function_that_is_in_use():
    before = runs_to_carry.__code__
    text = "runs_to_carry arithmetic: (misses + diverged + 1) / budget"
    try:
        assert put_in(one("models/evaluation/traced_law.py", text))
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
def test_what_a_fork_cannot_change_is_left_to_copies(path, text):
    importlib.import_module(mutation.module_of(path))
    assert not put_in(one(path, text))


def test_what_a_shared_fixture_calls_is_recorded_for_the_tests_after_it():
    plugin, code = Forks(Path(), [], []), (lambda: None).__code__
    for scope, shared in (("function", set()), ("module", {code})):
        plugin.now = set()
        setup = plugin.pytest_fixture_setup(cast(Any, SimpleNamespace(scope=scope)))
        next(setup)
        plugin.now.add(code)
        with pytest.raises(StopIteration):
            setup.send(None)
        assert (plugin.now, plugin.shared) == ({code}, shared)


@pytest.mark.parametrize(
    ("alone", "how", "unreliable", "asked"),
    [
        ("failed", "passed", ["b"], [(True, ["a", "b"]), (False, ["b"]), (True, ["a"])]),
        ("passed", "failed", [], [(True, ["a", "b"]), (False, ["b"])]),
    ],
)
def test_a_test_is_believed_that_passes_without_the_fault(alone, how, unreliable, asked):
    seen = []

    def judged(fault, names):
        seen.append((fault, names))
        ends = {(True, 2): "failed", (False, 1): alone, (True, 1): "passed"}
        return Ending(ends[fault, len(names)], "b" if len(names) == 2 else "", 0.0)

    ending, found = mutation.confirmed(judged, ["a", "b"])
    assert (ending.how, found, seen) == (how, unreliable, asked)


@pytest.mark.parametrize(
    ("script", "idle", "code"),
    [
        ("exit 7", 9.0, 7),
        ("sleep 30; :", 0.1, IDLED),
        ("sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; exit 7", 2.0, 7),  # its child is busy
    ],
)
def test_a_run_that_does_nothing_hangs_and_a_busy_one_does_not(script, idle, code):
    process = subprocess.Popen(["sh", "-c", script], start_new_session=True)
    try:
        assert awaited(process.pid, idle, look=0.01) == code
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
