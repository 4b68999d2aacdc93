"""The verifier stands on its own: what it may import, and which methods of the data it may not call."""

import ast
import sys
from functools import cache
from pathlib import Path

import depl.models.verifier.verify

MODELS = Path(depl.models.verifier.verify.__file__).parents[1]
VERIFIER = {f"verifier.{path.stem}" for path in MODELS.glob("verifier/[!_]*.py")}
STARTS = ("verifier.verify", "verifier.policies")
"""What is called from outside: for plans, and for policies."""

FOUNDATION = "documents errors mistakes names wording"
SHOWING = "showing tables users_code"  # how it prints, and ends where a law of a user ends the program
PROBLEM = "clusters counting instance laws learning plan policy traced_law units"
LAWS = "finite inverse_gamma law log_variable lognormal normal registry student_t"
VALIDATION = {"problem.affine_law", "problem.site_rules"}
VALIDATION |= {"traces.metrics", "traces.table"}
"""With which an instance and a traced law check themselves; not the verifier's."""

DATA = {
    f"{room}.{name}"
    for room, names in (
        ("foundation", f"{FOUNDATION} {SHOWING}"),
        ("problem", PROBLEM),
        ("problem.laws", LAWS),
        ("traces", "fingerprints lost"),
    )
    for name in names.split()
}

METHODS = {
    "moments", "shape_scale", "log_parameters", "quadrature", "sample", "atoms", "inverse_cdf",
    "interval_mass", "learning_factor", "transfer_cost", "switch_law", "may_follow", "epochs_needed",
    "workload", "last_epoch", "violation_budget", "at", "survival", "quantile", "decimals",
    "centred_log_transform", "tilt_points", "tilted_cumulants", "sum_for",
    "third_moment", "resources_of_groups", "rules", "may_train", "may_use", "may_end",
    "may_stop",
}  # fmt: skip
TRACED = {"law", "lent", "trained", "positions", "key", "coefficients", "on_scale", "unseen"}
TRACED |= {"beside", "only_whole_runs", "seen"}
"""What `depl.models.problem.affine_law` works out of the recorded fields of a traced law."""


@cache
def tree(module):
    place = MODELS / module.replace(".", "/")
    source = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return ast.parse(source.read_text(encoding="utf-8"))


def imports(module):
    nodes = list(ast.walk(tree(module)))
    named = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return named | {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}


@cache
def reachable():
    seen = set()
    waiting = list(STARTS)
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            inner = (name for name in imports(module) if name.startswith("depl."))
            waiting += [name.removeprefix("depl.models.") for name in inner]
    return seen


def test_the_verifier_reaches_only_the_data_numpy_and_scipy_and_all_of_itself():
    modules = reachable()
    assert {name for name in modules if name.startswith("verifier.")} == VERIFIER
    assert modules - VERIFIER <= DATA | VALIDATION
    for module in modules:
        outside = {name.partition(".")[0] for name in imports(module)} - {"depl", *sys.stdlib_module_names}
        frames = {"pandas"} if module == "foundation.tables" else set()  # made where a user asks for one
        assert outside <= {"numpy", "scipy", "msgspec"} | frames, module


def test_only_the_data_validate_themselves_with_it():
    inner = {f"depl.models.{name}" for name in VALIDATION}
    users = {module for module in reachable() - VALIDATION if inner & imports(module)}
    assert users == {"problem.instance", "problem.traced_law", "traces.fingerprints"}


def test_the_verifier_reads_only_recorded_fields_of_a_traced_law():
    read = {
        node.attr
        for module in ("verifier.traces", "verifier.runs", "verifier.scenarios", "verifier.policy_walk")
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Attribute)
    }
    assert {"runs", "stages", "losses", "steps", "jumps", "scale", "confidence", "care", "deviations"} <= read
    assert not read & TRACED


def test_it_calls_no_method_of_the_laws_and_no_rule_of_the_problem():
    for module in VERIFIER:
        calls = [node.func for node in ast.walk(tree(module)) if isinstance(node, ast.Call)]
        used = {function.attr for function in calls if isinstance(function, ast.Attribute)}
        assert not used & METHODS, module
        assert "require_sound" not in {function.id for function in calls if isinstance(function, ast.Name)}
