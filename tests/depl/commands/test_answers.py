"""What single commands answer: words, exit codes, objects and files."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import depl
from depl.commands.instances import FAMILIES
from depl.commands.knapsack import _code
from depl.instances.library import load
from depl.instances.reductions.knapsack import Knapsack
from depl.instances.reductions.to_planning import solve_knapsack, solver
from depl.instances.shipped import names
from depl.lessons.shipped import lessons
from depl.models.policy.controller import Controller
from depl.models.problem import instance, policy
from depl.models.problem.instance import Instance
from depl.models.scenarios.draws import save_scenarios
from depl.models.solving import front as front_module
from depl.models.solving.methods import Registered, register, ship
from depl.models.solving.options import Option
from depl.models.solving.replanning import State, planned_state
from depl.models.solving.result import Outcome, Result, Solution, Termination
from tests.cases.documents import put
from tests.cases.verifier_scenarios_cases import claiming, own
from tests.depl.commands.conftest import sessions

SESSIONS = """
what a plan claims of scenarios is checked or repeated
$ solve tiny --method scenario-search --scenarios 40 --out new.json
$ check tiny new.json
claim: scenarios.misses | checked
claim: scenarios.digest | repeated
$ check tiny new.json --json
{"repeated": ["scenarios.digest"], "lower_bound": 28.0}

an old and a new rest are weighed, and a written rest is checked and planned again
$ replan spent.json promised.json lucky.json --method exact
old rest 1 epoch (1 distilled); cost to go 3
$ replan spent.json promised.json lucky.json --method depl-paper --eta 50 --json
{"method": "depl-paper"}
$ replan spent.json promised.json lucky.json --explain --json
{"method": "auto", "termination": "optimal", "solution": "proven_optimal", "cost": 1.0}
{"replan": {"choice": "new", "sunk_cost": 2.0, "cost_to_go": 1.0, "total_cost": 3.0}}
{"replan": {"old": {"violation": {"lower": 0, "upper": 0}, "keeps_omega": true}}}
$ replan spent.json promised.json state.json --keep-promise --explain
Plan of 1 epoch for 'spent-promise after epoch 1'
$ replan instance.json plan.json early.json --out new.json --rest rest.json
$ check rest.json new.json
$ replan rest.json new.json later.json

a target that is met means stopping at no cost, and time that is up is infeasible
$ replan instance.json plan.json met.json
cost to go 0 for 0 epochs
$ replan instance.json plan.json too-late.json --out new.json --rest rest.json
= 3
follow nothing: no rest is known that is allowed

a front of no plan at all, and one that is stopped by a limit
$ front tiny --against loss --between -100 -90 --points 2
= 3
proved infeasible
$ front tiny --against loss --between 4 15 --points 4 --time-limit 1e-3 --out front.json
= 5
0 of 4 points, stopped by the time limit
$ front tiny --against loss --between 4 15 --points 4 --out front.json
$ front paper-alexnet-9 --against loss --out front.json
= 2
another instance

what a knapsack is, which items are proved best, by whom, and with what chance
$ knapsack items.txt --via milp --reduction free-resources --json
{"value": 14, "checked_value": 14, "upper_bound": 14, "items": [1, 3], "weight": 9, "proved": true}
$ knapsack f5_l-d_kp_15_375 --json
{"value": 481.069368, "checked_by": "branch and bound"}
$ knapsack sacks.csv --instance 2 --json
{"knapsack": "second", "value": 1}
$ knapsack chance --chance --json
{"value": 11, "items": [2, 3], "agrees": true, "omega": 0.95}
{"slack": 1.3551464, "safety_factor": 1.6448536}

a lesson that is there is kept unless it is forced away
$ lessons export 4 --to . --json --only notebook
{"files": ["4_submodular.ipynb"]}
$ lessons export 4 2 --to . --only notebook
= 2
$ lessons export 4 2 --to . --only notebook --force
2 files written

a program is finished with its optimum, or a relaxation that is called so
$ program tiny --scenarios 12 --out tiny.mps --json
{"finished": true, "relaxation": false, "scenarios": 12, "optimum": 28.0, "note": {"optimum": 28.0}}
$ program tiny --relaxation --out tiny.lp
a relaxation: its optimum is a lower bound of the cost

methods are one object with all that is declared
$ methods exact milp random --json
{"methods": [{"proves": "optimum"}, {"counts": "scenarios", "needs": "Pyomo and HiGHS"}, {}]}
{"methods": [{}, {}, {"options": [{"name": "draws"}]}]}

the scripts of other shells than bash ask depl, too
$ completion zsh
_DEPL_COMPLETE=zsh_complete
$ completion fish
_DEPL_COMPLETE=fish_complete

an instance shows where its values come from
$ instances show unequal.json
cloud | 3 | 2 | 4 | 4 | 1
$ solve unequal.json --method exact --explain
Unequal nodes each commits x(k) / v
"""


@pytest.fixture
def more(here, tiny, tiny_optimum):
    """Further documents that these sessions read."""
    early = planned_state(tiny, tiny_optimum, 1, 13.0).to_json()
    sack = "{}\nn {}\nc {}\nz {}\ntime 0.00\n{}\n-----\n\n"
    each = {"capacity": 4, "bandwidth": 4, "unit_cost": 1}
    groups = [{**each, "count": 3, "speed": 2}, each]
    texts = {
        "early.json": early,
        "later.json": State(epoch=1, loss=7, model="full", elapsed_time=1.2).to_json(),
        "too-late.json": early.replace('"elapsed_time": ', '"elapsed_time": 9'),
        "met.json": planned_state(tiny, tiny_optimum, 1, 6.0).to_json(),
        "sacks.csv": sack.format("first", 2, 10, 14, "1,10,6,1\n2,4,3,1")
        + sack.format("second", 1, 1, 9, "1,1,1,0"),
        # needed: 9 + 1.645 sqrt 5 by 1 and 3, 8 + 3.29 by 1 and 4, 11.645 by 2, 3 and 4, 9.645 by 2 and 3
        "chance": "4 11 0.95\n10 6 4\n7 5 0\n4 3 1\n3 2 0\n",
        "unequal.json": json.dumps(
            put(json.loads(tiny.to_json()), "clusters[0]", {"name": "cloud", "groups": groups})
        ),
    }
    for name, text in texts.items():
        (here / name).write_text(text, encoding="utf-8")
    return here


@pytest.mark.parametrize("lines", sessions(SESSIONS))
def test_what_is_typed_is_answered(follow, more, lines):
    follow(lines)


# --- check and replan -----------------------------------------------------------------------------------


def test_a_raised_bound_is_listed_as_repeated_where_nothing_can_tell_that_it_is_wrong(ask, tmp_path):
    """Where the plans are too many to be listed and none is proved cheapest."""
    path = tmp_path / "plan.json"
    assert ask("solve", "paper-mobilenet-9", "--method", "expected-greedy", "--out", path)[0] == 0
    document = json.loads(path.read_text(encoding="utf-8"))
    document["claims"]["lower_bound"] = 0.999999 * document["claims"]["cost"]
    path.write_text(json.dumps(document), encoding="utf-8")
    code, out, _ = ask("check", "paper-mobilenet-9", path, "--json")
    report = json.loads(out)
    assert (code, report["repeated"], report["lower_bound"]) == (0, ["lower_bound"], None)
    assert "lower_bound" not in report["checked"]


def test_scenarios_of_a_plan_are_taken_from_a_file(ask, tmp_path, bell, steady_plan):
    scenarios = own(bell, [[3, 3, 0], [2, 2.5, 0]])
    instance, plan, file = (tmp_path / name for name in ("bell.json", "plan.json", "own.npz"))
    instance.write_text(bell.to_json(), encoding="utf-8")
    plan.write_text(claiming(bell, scenarios, steady_plan).to_json(), encoding="utf-8")
    save_scenarios(scenarios, file)
    assert ask("check", instance, plan)[0] == 3
    code, out, _ = ask("check", instance, plan, "--scenarios", file)
    assert (code, "0 of 2 scenarios end above l_max" in out) == (0, True)


ENDS = {"time_limit": (5, 4), "exhausted": (5, 0), "infeasible": (3, 0), "error": (70, 70)}


@pytest.mark.parametrize("ending", ENDS)
def test_an_old_rest_that_may_go_on_is_an_answer(ask, here, own_methods, ending):
    ended = Outcome(Termination(ending), None, reason="for a test")
    ship([Registered("ends", lambda instance, limits: ended, "", shipped=True)])
    words = ("replan", "spent.json", "promised.json", "state.json", "--method", "ends")
    assert (ask(*words)[0], ask(*words, "--keep-promise")[0]) == ENDS[ending]


def test_the_log_of_a_controller_that_follows_the_plan_is_a_state(ask, here):
    """That of another plan is refused with the others in the tests of the controller."""
    controller = Controller(Path("promised.json"), Path("run.jsonl"), instance=load("spent.json"))
    words = ("replan", "spent.json", "promised.json")
    code, _, err = ask(*words, "run.jsonl")
    assert (code, "holds no loss yet" in err) == (2, True)
    controller.start(3.0)
    controller.observe(1.0)
    found, wanted = (
        json.loads(ask(*words, state, "--method", "exact", "--json")[1])
        for state in ("run.jsonl", "lucky.json")
    )
    assert found["cost"] == 1.0
    assert all(found[key] == wanted[key] for key in ("termination", "cost", "violation"))


# --- front ----------------------------------------------------------------------------------------------

FRONT = ("front", "tiny", "--points", 4, "--against")


def test_every_plan_of_a_front_passes_depl_check_on_the_instance_beside_it(ask, tmp_path):
    plans, table, figure = tmp_path / "plans", tmp_path / "front.csv", tmp_path / "drawn.png"
    words = ("--plans", plans, "--out", table, "--figure", figure)
    code, out, _ = ask(*FRONT, "probability", "--between", 0.5, 0.9, *words, "--json")
    points = json.loads(out)["points"]
    kept = {f"probability-{point['budget']:.12g}" for point in points if point["plan"] is not None}
    assert (code, {path.name for path in plans.glob("*.plan.json")}) == (0, {f"{n}.plan.json" for n in kept})
    for name in kept:
        instance = plans / f"{name}.instance.json"
        assert load(str(instance)).target.quantile_level == float(name.partition("-")[2])
        assert ask("check", instance, plans / f"{name}.plan.json")[0] == 0
    rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    told = [(float(row["budget"]), row["termination"]) for row in rows]
    assert told == [(point["budget"], point["termination"]) for point in points]
    assert figure.stat().st_size > 1000


def test_ctrl_c_leaves_the_points_found_by_then_and_a_front_goes_on_from_its_file(ask, tmp_path, monkeypatch):
    file, plans, own, calls = tmp_path / "front.json", tmp_path / "plans", front_module.solve, []

    def interrupted(*args, **more):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return own(*args, **more)

    monkeypatch.setattr("depl.models.solving.front.solve", interrupted)
    words = (*FRONT, "time", "--between", 1, 12, "--out", file)
    code, out, _ = ask(*words, "--plans", plans)
    assert (code, "2 of 4 points, stopped by the user" in out) == (4, True)
    first = json.loads(file.read_text(encoding="utf-8"))["points"]
    assert len(first) == 2
    assert len(list(plans.glob("*.plan.json"))) == out.count("proved cheapest")
    again = json.loads(ask(*words, "--json")[1])
    asked = [instance.target.maximum_time for instance, *_ in calls[3:]]
    assert (len(asked), 12.0 in asked) == (3, False)  # nor is what has a plan solved again
    assert again == json.loads(file.read_text(encoding="utf-8"))
    assert (len(again["points"]), again["points"][0]["cost"]) == (4, first[0]["cost"])


# --- instances, methods, knapsacks ----------------------------------------------------------------------


def test_every_shipped_instance_is_listed_with_its_targets_and_can_be_shown(ask):
    listed = dict(line.split("|")[:2] for line in ask("instances", "list")[1].splitlines()[2:])
    targets = {name.strip(): cells.split() for name, cells in listed.items()}
    assert (set(targets), targets["paper-alexnet"]) == (set(names()), ["5", "7", "9", "11", "13"])
    assert all(ask("instances", "show", name)[0] == 0 for name in names())
    assert Instance.from_json(ask("instances", "show", "tiny", "--json")[1]) == load("tiny")


@pytest.mark.parametrize("family", FAMILIES)
def test_random_instances_are_of_their_family_and_size_and_again_the_same(ask, tmp_path, family):
    sizes = () if family == "small" else ("--clusters", 4, "--datasets", 3, "--models", 2, "--epochs", 6)
    drawn = []
    for folder in (tmp_path / "one", tmp_path / "again"):
        words = ("--family", family, *sizes, "--seed", 7, "--count", 2, "--out", folder)
        code, out, _ = ask("instances", "make", *words)
        paths = [Path(line) for line in out.splitlines()]
        assert (code, sorted(paths)) == (0, sorted(folder.iterdir()))
        drawn.append([path.read_bytes() for path in paths])
    assert drawn[0] == drawn[1]
    found = load(str(paths[0]))
    parts = [*map(len, (found.clusters, found.datasets, found.models)), found.target.maximum_epochs]
    assert (found.name, family == "small" or parts == [4, 3, 2, 6]) == (paths[0].stem, True)


def test_all_mistakes_of_a_file_are_told_at_once_and_of_a_good_one_what_it_holds(ask, here):
    for words, said in (((), "Instance 'my-training': 2"), (("--setup",), "Setup 'my-training': 2")):
        ask("instances", "new", *words, "--out", f"made{len(words)}.json")
        code, out, _ = ask("instances", "check", f"made{len(words)}.json")
        assert (code, out.splitlines()[0], said in out) == (0, f"made{len(words)}.json: no mistakes", True)
    template = json.loads(load("made0.json").to_json())
    wrong = put(put(template, "clusters[0].capacity", -1), "target.omega", 0.9)
    Path("wrong.json").write_text(json.dumps(put(wrong, "transfers[0].cluster", "moon")), encoding="utf-8")
    places = ["$.clusters[0].capacity", "$.target.omega", "$.transfers[0].cluster"]
    code, _, err = ask("instances", "check", "wrong.json")
    assert (code, [line.split(": ")[-2] for line in err.splitlines()]) == (2, places)
    told = json.loads(ask("instances", "check", "wrong.json", "--json")[1])["mistakes"]
    assert [mistake["path"] for mistake in told] == [f"wrong.json: {place}" for place in places]


def test_the_schemas_of_instances_and_policies_are_printed(ask):
    for command, document in (("instances", instance), ("policy", policy)):
        assert json.loads(ask(command, "schema")[1]) == json.loads(json.dumps(document.json_schema()))


def test_the_methods_are_a_table_in_the_order_of_what_they_prove(ask, own_methods):
    _, *rows = ([*map(str.strip, line.split("|"))] for line in ask("methods")[1].splitlines() if "|" in line)
    assert sorted(row[0] for row in rows) == [method.name for method in depl.methods()]
    order = ("the optimum", "a lower bound", "nothing", "not declared")
    ranks = [order.index(row[1].split(",")[0]) for row in rows]
    assert ranks == sorted(ranks)
    told = json.loads(ask("methods", "--json")[1])["methods"]
    assert [method["name"] for method in told if method["default"]] == ["auto"]
    register("mine", print, "Says <what> it does.", options=(Option("width"),))
    assert ">Says &lt;what&gt; it does.</td>" in depl.methods()._repr_html_()


def test_a_limit_of_a_knapsack_leaves_a_bound_that_is_not_wrong():
    numbers = range(60)
    sack = Knapsack.of([97 + 31 * n % 89 for n in numbers], [97 + 17 * n % 83 for n in numbers], 4000)
    found = solve_knapsack(sack, "by-time", solver("scenario-search", 1e-3))
    assert (found.proved, found.value is None) == (False, False)
    assert found.value <= found.bound <= sum(sack.values)
    assert _code(found).value == 4


# --- lessons, programs, kernels -------------------------------------------------------------------------


def test_lessons_are_listed_and_their_notebooks_need_neither_a_run_nor_docutils(ask, here, monkeypatch):
    listed = json.loads(ask("lessons", "list", "--json")[1])["lessons"]
    assert [entry["name"] for entry in listed] == [lesson.name for lesson in lessons()]
    monkeypatch.setattr("depl.lessons.export.run_cells", None)
    for module in [name for name in sys.modules if name.split(".")[0] == "docutils"] + ["docutils"]:
        monkeypatch.setitem(sys.modules, module, None)
    code, _, err = ask("lessons", "export", 1, "--to", "pages")
    assert (code, "pip install 'depl[teaching]'" in err, Path("pages").exists()) == (2, True, False)
    code, out, _ = ask("lessons", "export", "--to", "new/course", "--only", "notebook")
    written = [f"new/course/{lesson.name}.ipynb" for lesson in lessons()]
    assert (code, sorted(out.splitlines())) == (0, written)
    assert sorted(map(str, Path("new/course").iterdir())) == written


def test_named_methods_are_prepared_once_each(ask, monkeypatch):
    asked, given = [], ("--method", "exact", "--method", "depl", "--method", "exact")
    result = Result(Termination.OPTIMAL, None, solution=Solution.NONE, method="")

    def solved(instance, method, **_):
        asked.append((instance.name, method))
        return result

    monkeypatch.setattr("depl.solve", solved)
    told = json.loads(ask("warm-up", *given, "--json")[1])
    assert [row["method"] for row in told["methods"]] == ["exact", "depl"]
    assert asked == [(name, method) for method in ("exact", "depl") for name in ("tiny", "paper-alexnet-9")]


@pytest.mark.slow
def test_a_solve_after_it_compiles_nothing(tmp_path):
    """In processes of their own, with a cache that was empty."""
    command = [sys.executable, "-m", "depl", "warm-up", "--json"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first, again = (
        subprocess.run(command, env=environment, check=True, capture_output=True).stdout for _ in range(2)
    )
    assert json.loads(first)["compiling_seconds"] > 1
    assert json.loads(again)["compiling_seconds"] == 0
