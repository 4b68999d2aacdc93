"""The page on a plan: well-formed and complete, with the numbers of evaluation and verifier, by itself."""

import functools
import importlib
import json
import math
import re
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree

import msgspec
import pytest
from scipy import stats

import depl
from depl.models.foundation import deadline as clock_module
from depl.models.foundation.deadline import keep_time
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counter_probability, number
from depl.models.problem.instance import ConstantImprovement, Instance
from depl.models.problem.laws import Undeclared
from depl.models.problem.plan import Claims, Plan
from depl.models.solving.result import Termination
from depl.models.verifier.findings import Finding, Kind
from depl.reporting import facts as facts_module
from depl.reporting import page as page_module
from depl.reporting import words
from depl.reporting.facts import facts_of, read_certificate
from depl.reporting.page import Source, page_of
from tests.cases.memory_cases import FAR, FULL, instance_of
from tests.cases.traced_law_cases import halves, plan_of

SECTIONS = ["promise", "plan", "prices", "limits", "stopping", "certificate", "reproduce"]
OUTSIDE = ("src", "href", "action", "data", "poster", "srcset")
VOID = re.compile(r"<!doctype[^>]*>|<(meta|link|br|img|hr|input)\b[^>]*>", re.IGNORECASE)


class Seen:
    """What a reader of the page sees, every element of which ends where it should: it is read as XML."""

    def __init__(self, text):
        tree = ElementTree.fromstring(VOID.sub("", text))
        nodes = [(str(node.tag).rpartition("}")[2], node) for node in tree.iter()]
        self.tags, sections = {tag for tag, _ in nodes}, [node for tag, node in nodes if tag == "section"]
        self.ids = [node.attrib["id"] for _, node in nodes if "id" in node.attrib]
        outside = rf' (?:\w+:)?(?:{"|".join(OUTSIDE)})="([^"]*)"'
        self.goals = re.findall(outside, text)
        self.sections = {node.attrib["id"]: "".join(node.itertext()) for node in sections}
        self.cells = {
            node.attrib["id"]: [["".join(cell.itertext()) for cell in row] for row in node.iter("tr")]
            for node in sections
        }


@pytest.fixture(scope="module")
def tiny():
    instance = depl.load("tiny")
    return instance, depl.solve(instance, "enumerate").plan


def by_lists(instance, method):
    """A solver for tests: it lists all plans where a real one searches; the loop's place is the peer's."""
    if method == "density-greedy":
        raise InvalidInputError("too <small>")
    return listed(instance.to_json())


SOLVE = depl.solve


@functools.cache
def listed(text):
    """The cheapest of all plans; the same instances come again and again."""
    return SOLVE(Instance.from_json(text), "enumerate")


DRAWN = page_module._picture
"""What draws the picture of a page; the fixture below stands in its place."""


@functools.cache
def drawn(instance, plan):
    """The picture of a plan; drawn once for all tests, which look at what stands around it."""
    bare_facts = SimpleNamespace(instance=Instance.from_json(instance), plan=Plan.from_json(plan))
    return DRAWN(bare_facts, None)


@pytest.fixture(scope="module", autouse=True)
def drawn_once():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            page_module, "_picture", lambda facts, _: drawn(facts.instance.to_json(), facts.plan.to_json())
        )
        yield


def page_with(instance, plan, solver=by_lists):
    return page_of(facts_of(instance, plan, solver), Source("tiny"), 5.0)


def bare(plan, **changes):
    return msgspec.structs.replace(plan, **{"instance": None, "claims": None, **changes})


def too_short(plan):
    """Without its last epoch, which trains elsewhere: it ends above the target too often."""
    used = plan.epochs[0].cluster
    return bare(plan, data=tuple(row for row in plan.data if row.cluster == used), epochs=plan.epochs[:2])


def priced_at(plan, resources, **changes):
    epochs = tuple(msgspec.structs.replace(epoch, resources=resources) for epoch in plan.epochs)
    return bare(plan, epochs=epochs, **changes)


def test_the_page_is_whole_runs_nothing_and_has_the_numbers_of_evaluation_verifier_and_solves(tiny):
    instance, page = tiny[0], page_with(*tiny).html
    found, verified, seen = depl.evaluate(*tiny), depl.check(*tiny), Seen(page)
    assert list(seen.sections) == SECTIONS
    assert len(set(seen.ids)) == len(seen.ids)
    assert "svg" in seen.tags
    assert not {"script", "img", "iframe", "object", "embed"} & seen.tags
    assert not re.search(r"(?i)\w+://|@import|javascript:", page)
    assert all(goal.startswith(("data:", "#")) for goal in seen.goals)
    assert set(re.findall(r"url\(([^)]*)\)", page)) <= {f"#{name}" for name in seen.ids}
    assert "default-src 'none'" in page
    missed = found.violation.exact
    assert f"at least {counter_probability(missed, 5)}, certified under the laws" in seen.sections["promise"]
    assert f"the probability of missing the loss is exactly {missed}" in seen.sections["promise"]
    assert "The expected cost is exactly 109/4, in place of 28" in seen.sections["stopping"]
    rows = {row[0]: row[1:] for row in seen.cells["certificate"] if len(row) == 3}
    assert all(rows[finding.equation][1] == finding.message for finding in verified.findings)
    assert ["28", "proved by the verifier, without a solver"] in seen.cells["certificate"]
    _, *rows = seen.cells["prices"]
    for level, row in zip((0.7, 0.9, 0.95, 0.99), rows, strict=False):
        result = listed(instance.replace(quantile_level=level).to_json())
        known = ["-"] * 6 + ["proved infeasible: no plan meets the target"]
        if result.plan is not None:
            cost, time = number(result.cost), number(result.training_time)
            known = [cost, cost, "0 %", str(result.epochs), time, "the same plan", "proved cheapest"]
        assert row == [f"{level:g}{' (asked)' * (level == 0.7)}", "auto", *known]
    assert rows[-1] == ["0.7 (asked)", "density-greedy", *["-"] * 6, "refused: too <small>"]


def test_fresh_runs_are_counted_anew_for_the_page_and_equations_are_folded_away(tiny):
    instance, plan = tiny
    answer = {"target": 6.5, "level": 0.7, "confidence": 0.95, "runs": 20, "exceedances": 2}
    answer |= {"schedule": "2 full@cloud, 1 pruned@edge", "certified": False, "greatest_violation": 0}
    found = read_certificate(json.dumps(answer), instance, plan)
    page = depl.report(instance, plan, prices=False, certificate=found).html
    promise = Seen(page).sections["promise"]
    kept = 1 - stats.beta.ppf(0.95, 3, 18)  # Clopper and Pearson, by scipy's beta
    assert "of 20 fresh runs of this plan, 2 ended above the loss of 6.5. With confidence 0.95, " in promise
    assert f"at least {math.floor(kept * 1e4) / 1e4:g}; asked is 0.7: certified." in promise
    assert "Whether new runs follow" not in promise
    assert {"details", "summary"} <= Seen(page).tags
    assert "details" not in Seen(page_with(instance, too_short(plan)).html).tags  # a failure is to be seen
    for name, value in (("target", 7.0), ("exceedances", 21), ("schedule", "")):
        with pytest.raises(InvalidInputError) as caught:
            read_certificate(json.dumps(answer | {name: value}), instance, plan)
        assert caught.value.path == f"$.{name}"


def without_proof(bound):
    """A solver that ends without a proof, with a lower bound for each probability."""

    def solver(target, method):
        least = bound(target.target.quantile_level)
        return replace(by_lists(target, method), lower_bound=least, termination=Termination.EXHAUSTED)

    return solver


AT_21, ABOVE, UNPROVED = (without_proof(lambda _, bound=bound: bound) for bound in (21, 20.999, -math.inf))
CLAIMED = lambda target, method: replace(AT_21(target, method), claimed=True)  # noqa: E731
AT_LOWER = without_proof(lambda level: 5.0 if level == 0.9 else 1.0)
LOOSE = {"maximum_loss": 9.0, "quantile_level": 0.93}
BETTER = [
    ({}, None, by_lists, "No plan for the same promise costs less under that law: proved by "),
    (
        {},
        4.0,
        by_lists,
        "A cheaper plan for the same promise is known: 28 (method enumerate, proved cheapest)",
    ),
    ({}, 0, by_lists, "A plan that meets the target costs 28 (method enumerate, proved cheapest)."),
    ({}, 3.0, None, "Cheaper plans were not looked for"),
    ({}, 3.0, AT_21, "at most 25 % could be saved"),
    ({}, 3.0, ABOVE, "at most 25.1 % could be saved"),  # rounded up
    ({}, 3.0, UNPROVED, "was found, and no lower bound is proved: how much could be saved is not known."),
    ({}, 3.0, CLAIMED, "nothing here proves it. If that is right, at most 25 % could be saved."),
    (LOOSE, None, AT_LOWER, "method enumerate at omega 0.9, which also holds at a higher one"),
]


@pytest.mark.parametrize(("changes", "resources", "solver", "said"), BETTER)
def test_whether_a_cheaper_plan_is_known_or_how_much_could_be_saved(tiny, changes, resources, solver, said):
    instance = tiny[0].replace(**changes)
    plan = bare(listed(instance.to_json()).plan) if changes else tiny[1]
    if resources is not None:
        plan = priced_at(plan, resources) if resources else too_short(plan)
    page = page_with(instance, plan, solver)
    assert said in page.cheaper
    assert page.cheaper in Seen(page.html).sections["promise"]
    assert (f'<p class="warning">{page.cheaper}</p>' in page.html) == said.startswith("A ")
    if resources == 4.0:
        share = 28 / depl.evaluate(instance, plan).cost - 1
        assert Seen(page.html).cells["prices"][1][-2] == f"{100 * share:+.3g} %: CHEAPER"
        assert page.cheaper.endswith(f"{-100 * share:.3g} % less.")


def test_the_solve_that_made_a_plan_is_repeated_as_it_was_asked_for(tiny):
    plan = depl.solve(tiny[0], "exact", gap=0.05, time_limit=30, seed=3).plan
    page = page_of(facts_of(tiny[0], plan, None), Source("tiny"), None).html
    assert "depl solve tiny --method exact --gap 0.05 --time-limit 30 --seed 3 --out plan.json" in page


def test_names_are_shown_and_not_obeyed(tiny):
    instance, plan = tiny
    text, script = instance.replace(name='<b>&"tiny"\u202e').to_json(), '"<script>alert(1)</script>&amp;"'
    renamed = Plan.from_json(bare(plan).to_json().replace('"cloud"', script))
    page = depl.report(Instance.from_json(text.replace('"cloud"', script)), renamed, prices=False)
    assert "script" not in Seen(page.html).tags
    assert "&lt;b&gt;&amp;&#34;tiny&#34;\\u202e" in page.html
    assert "\u202e" not in page.html


def test_without_prices_the_same_page_comes_out_twice_and_is_saved_as_it_is(tiny, tmp_path):
    first = depl.report(*tiny, prices=False)
    drawn.cache_clear()
    assert first == depl.report(*tiny, prices=False)
    first.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == first.html


def lawless(instance):
    noise = ConstantImprovement(scale=2.0, noise=Undeclared())
    return instance.replace(
        models=tuple(msgspec.structs.replace(model, improvement=noise) for model in instance.models)
    )


def crowded(plan):
    """Sixty epochs that commit more than there is."""
    rows = [row for row in plan.data if row.cluster == plan.epochs[0].cluster]
    return priced_at(bare(plan, data=tuple(rows), epochs=plan.epochs[:1] * 60), 99.0, data=tuple(rows))


TRACED, SCHEDULE = instance_of(halves()), plan_of((FULL, FAR))


def easy(instance):
    return instance.replace(maximum_loss=15.0)


def longer(instance):
    return instance.replace(maximum_epochs=60)


TOLD = [
    (None, too_short, False, {"promise": "This is less than asked.", "certificate": "FAILED"}),
    (None, lambda plan: priced_at(plan, 0.0), False, {"plan": "No picture: $.epochs[0].resources"}),
    (easy, lambda _: Plan(), True, {"promise": "For a cost of 0", "certificate": "Nothing is proved here"}),
    (longer, crowded, False, {"promise": "carried out: 6", "certificate": "; and 59 more: depl check"}),
    (lawless, bare, False, {"promise": "nothing is promised about the final", "stopping": "Not computed"}),
    (lambda _: TRACED, lambda _: SCHEDULE, False, {"promise": "under a law fitted to training runs"}),
]


@pytest.mark.parametrize(("change", "make", "ok", "said"), TOLD)
def test_what_is_wrong_missing_or_rests_on_runs_is_called_so(tiny, change, make, ok, said):
    instance, plan = tiny[0] if change is None else change(tiny[0]), make(tiny[1])
    asked = []
    page = page_with(instance, plan, (lambda *given: asked.append(given)) if change is lawless else None)
    seen = Seen(page.html)
    assert (page.ok, "NOT accepted" in page.html, asked) == (ok, not ok, [])
    assert [words for section, words in said.items() if words not in seen.sections[section]] == []
    assert ("svg" in seen.tags) != ("No picture" in seen.sections["plan"])
    assert "The plan claims nothing." in seen.sections["certificate"]
    assert len(seen.cells["certificate"]) < 21  # all of it fits on its sheets
    assert change is not lawless or "certified" not in seen.sections["promise"].lower()


def test_a_claimed_bound_that_is_only_repeated_is_called_so(tiny):
    instance, plan = tiny
    facts = facts_of(instance, bare(plan, claims=Claims(lower_bound=5.0, method="my own")), None)
    repeated = Finding("claim: lower_bound", True, "", None, Kind.REPEATED)
    unproved = replace(facts, verified=replace(facts.verified, findings=(repeated,), proved_bound=0.0))
    ((bound, proved, who),) = words.lower_bounds(unproved)
    assert (bound, proved, who.partition(";")[0]) == (5, False, "claimed by method my own")
    assert words.certificate(unproved)[0][1].startswith("Claims only repeated: lower_bound.")


@pytest.fixture
def written(ask, tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(depl, "solve", lambda target, method, **_: by_lists(target, method))
    (tmp_path / "plan.json").write_text(tiny[1].to_json(), encoding="utf-8")
    return lambda *words: ask("report", "tiny", "plan.json", *words)


def test_the_command_writes_the_page_also_of_a_plan_that_fails(written, tiny, tmp_path):
    code, out, _ = written("--out", "a page.html", "--time-limit", "2.5")
    text = (tmp_path / "a page.html").read_text(encoding="utf-8")
    assert (code, len(Seen(text).cells["prices"])) == (0, 7)
    assert "depl report tiny plan.json --time-limit 2.5" in text
    assert "probability at least 0.75, certified under the laws that the instance declares" in out
    (tmp_path / "plan.json").write_text(too_short(tiny[1]).to_json(), encoding="utf-8")
    assert written("--no-prices")[0] == 3
    assert "NOT accepted" in (tmp_path / "plan.html").read_text(encoding="utf-8")


def test_after_an_interrupt_nothing_is_solved_and_the_page_is_written(written, tmp_path, monkeypatch):
    asked = []

    def stopped(target, method, **_):
        asked.append(method)
        return replace(listed(target.to_json()), termination=Termination.INTERRUPTED)

    monkeypatch.setattr(depl, "solve", stopped)
    assert written()[0] == 4
    assert asked == ["auto"]
    rows = Seen((tmp_path / "plan.html").read_text(encoding="utf-8")).cells["prices"]
    assert [row[-1] for row in rows[1:]] == ["stopped by the user", *["not solved: interrupted before"] * 5]


def test_what_takes_longer_than_the_limit_is_left_out_of_the_page_in_words(tiny, monkeypatch):
    clock = SimpleNamespace(now=0.0, perf_counter=lambda: clock.now)

    def slow(*_):
        clock.now += 3.0
        keep_time()

    monkeypatch.setattr(clock_module, "time", clock)
    monkeypatch.setattr(facts_module, "early_stopping", slow)
    monkeypatch.setattr(importlib.import_module("depl.plot.plan"), "plan", slow)
    facts = facts_of(*tiny, None, 2.0)
    assert words.stopping(facts) == ["Not computed: it takes longer than the limit of 2 seconds."]
    assert DRAWN(facts, 2.0) == ("", "No picture: its quantiles take longer than the limit of 2 seconds.")
