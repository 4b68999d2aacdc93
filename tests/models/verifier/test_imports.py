"""The verifier stands on its own: what it may import, and which methods of the data it may not call."""

import ast
import sys
from functools import cache
from pathlib import Path

import depl.models.verifier.verify

MODELS = Path(depl.models.verifier.verify.__file__).parents[1]
VERIFIER = sorted(f"verifier.{path.stem}" for path in MODELS.glob("verifier/[!_]*.py"))
DATA = {f"foundation.{name}" for name in ("errors", "documents", "json_keys")}
DATA |= {
    f"problem.{name}"
    for name in ("laws", "learning", "instance", "clusters", "plan", "policy", "counting", "traced_law")
}
DATA |= {
    f"problem.laws.{name}"
    for name in (
        "debye", "finite", "inverse_gamma", "law", "log_variable", "lognormal", "normal", "registry",
        "student_t",
    )
}  # fmt: skip
DATA |= {"foundation.names", "foundation.wording", "traces.fingerprints", "traces.lost"}
VALIDATION = {
    "problem.laws.soundness",
    "problem.affine_law",
    "problem.site_rules",
    "traces.metrics",
    "traces.table",
}  # with which an instance and a traced law check themselves; not the verifier's
SHOWING = {"foundation.tables", "foundation.showing", "problem.units"}  # how it prints: they compute nothing
SHOWING |= {"foundation.users_code"}  # how it ends where a law of a user ends the program
OUTSIDE = {"numpy", "scipy", "msgspec"}
METHODS = {
    "moments", "shape_scale", "log_parameters", "quadrature", "sample", "atoms", "inverse_cdf",
    "interval_mass", "learning_factor", "transfer_cost", "switch_law", "may_follow", "epochs_needed",
    "workload", "last_epoch", "violation_budget", "at", "survival", "quantile", "nodes", "decimals",
    "centred_log_transform", "tilt_points", "tilted_cumulants", "sum_for",
    "third_moment", "resources_of_groups", "rules", "may_train", "may_use", "may_end",
    "may_stop",
}  # fmt: skip


TRACED = {"law", "lent", "trained", "positions", "key", "coefficients", "on_scale", "unseen"}
TRACED |= {"counting", "only_whole_runs", "seen"}
"""What `depl.models.problem.affine_law` works out of the recorded fields of a traced law."""


@cache
def tree(module: str) -> ast.Module:
    place = MODELS / module.replace(".", "/")
    source = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return ast.parse(source.read_text(encoding="utf-8"))


def imports(module: str) -> set[str]:
    nodes = list(ast.walk(tree(module)))
    named = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return named | {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}


STARTS = ("verifier.verify", "verifier.policies")
"""What is called from outside: for plans, and for policies."""


@cache
def reachable() -> set[str]:
    seen: set[str] = set()
    waiting = list(STARTS)
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            inner = (name for name in imports(module) if name.startswith("depl."))
            waiting += [name.removeprefix("depl.models.") for name in inner]
    return seen


def test_the_verifier_reaches_only_the_data_numpy_and_scipy():
    modules = reachable()
    assert {name for name in modules if not name.startswith("verifier.")} <= DATA | VALIDATION | SHOWING
    for module in modules:
        outside = {name.partition(".")[0] for name in imports(module)} - {"depl"}
        frames = {"pandas"} if module == "foundation.tables" else set()  # made where a user asks for one
        assert outside - set(sys.stdlib_module_names) <= OUTSIDE | frames, module


def test_only_the_data_validate_themselves_with_it():
    inner = {f"depl.models.{name}" for name in VALIDATION}
    users = {module for module in reachable() - VALIDATION if inner & imports(module)}
    assert users == {"problem.instance", "problem.traced_law", "traces.fingerprints"}


def test_the_verifier_reads_only_recorded_fields_of_a_traced_law():
    read = {
        module: {node.attr for node in ast.walk(tree(module)) if isinstance(node, ast.Attribute)}
        for module in ("verifier.traces", "verifier.runs", "verifier.scenarios", "verifier.policy_walk")
    }
    assert {"runs", "stages", "losses", "steps", "jumps", "scale"} <= read["verifier.runs"]
    counted = {"whole_runs", "settled_epochs", "confidence", "care", "deviations"}
    assert counted <= read["verifier.traces"]
    assert {"deviations", "scale"} <= read["verifier.scenarios"]
    assert not set().union(*read.values()) & TRACED


def test_every_module_of_the_verifier_is_reached():
    assert set(VERIFIER) == {name for name in reachable() if name.startswith("verifier.")}


def test_it_calls_no_method_of_the_laws_and_no_rule_of_the_problem():
    for module in VERIFIER:
        calls = (node.func for node in ast.walk(tree(module)) if isinstance(node, ast.Call))
        used = {function.attr for function in calls if isinstance(function, ast.Attribute)}
        assert not used & METHODS, module
