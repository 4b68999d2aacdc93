"""The page on a plan: well-formed and complete, with the numbers of evaluation and verifier, by itself."""

import functools
import importlib
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import msgspec
import pytest

import depl
from depl.cli import main
from depl.commands.answer import ExitCode
from depl.models.evaluation.loss_law import loss_law
from depl.models.foundation import clock as clock_module
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
from depl.reporting.facts import PlanFacts, facts_of
from depl.reporting.page import Source, page_of
from tests.cases.memory_cases import FAR, FULL, instance_of
from tests.cases.traced_law_cases import halves, plan_of

SECTIONS = ["promise", "plan", "prices", "limits", "stopping", "others", "certificate", "reproduce"]
VOID = {"meta", "link", "br", "img", "hr", "input"}
OUTSIDE = ("src", "href", "action", "data", "poster", "srcset")


class Seen(HTMLParser):
    """What a reader of the page sees, and whether every element ends where it should."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.goals: list[str] = []
        self.tags: set[str] = set()
        self.sections: dict[str, str] = {}
        self.cells: dict[str, list[list[str]]] = {}
        self.section = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.add(tag)
        known = dict(attrs)
        self.ids += [known["id"]] if "id" in known else []
        self.goals += [known[name] for name in OUTSIDE if name in known]
        if tag == "section":
            self.section = known["id"]
            self.sections[self.section], self.cells[self.section] = "", []
        if tag == "tr":
            self.cells[self.section].append([])
        if tag in ("td", "th"):
            self.cells[self.section][-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs) -> None:
        self.goals += [value for name, value in attrs if name in OUTSIDE]

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag
        if tag == "section":
            self.section = ""

    def handle_data(self, data) -> None:
        if self.section:
            self.sections[self.section] += data
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[self.section][-1][-1] += data


@pytest.fixture(scope="module")
def tiny() -> tuple[Instance, Plan]:
    instance = depl.load("tiny")
    return instance, depl.solve(instance, "enumerate").plan


def by_lists(instance: Instance, method: str) -> depl.Result:
    """A solver for tests: it lists all plans where a real one searches; the loop's place is the peer's."""
    if method == "density-greedy":
        raise InvalidInputError("too <small>")
    return listed(instance.to_json())


@functools.cache
def listed(text: str) -> depl.Result:
    """The cheapest of all plans; the same instances come again and again."""
    return depl.solve(Instance.from_json(text), "enumerate")


DRAWN = page_module._picture
"""What draws the picture of a page; the fixture below stands in its place."""

PICTURES: dict[tuple[str, str], tuple[str, str]] = {}
"""Pictures that were drawn, by instance and plan."""


@pytest.fixture(scope="module", autouse=True)
def drawn_once() -> Iterator[None]:
    """The picture of a plan is drawn once for all tests, which look at what stands around it."""
    draw = page_module._picture

    def known(facts: PlanFacts, seconds: float | None) -> tuple[str, str]:
        key = (facts.instance.to_json(), facts.plan.to_json())
        if key not in PICTURES:
            PICTURES[key] = draw(facts, None)
        return PICTURES[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_module, "_picture", known)
        yield


@pytest.fixture(scope="module")
def priced(tiny):
    facts = facts_of(*tiny, by_lists)
    return facts, page_of(facts, Source("tiny"), 5.0)


def without_law(instance: Instance) -> Instance:
    noise = ConstantImprovement(scale=2.0, noise=Undeclared())
    return instance.replace(
        models=tuple(msgspec.structs.replace(model, improvement=noise) for model in instance.models)
    )


def bare(plan: Plan, **changes) -> Plan:
    return msgspec.structs.replace(plan, **{"instance": None, "claims": None, **changes})


def too_short(plan: Plan) -> Plan:
    """Without its last epoch, which trains elsewhere: it ends above the target too often."""
    used = plan.epochs[0].cluster
    return bare(plan, data=tuple(row for row in plan.data if row.cluster == used), epochs=plan.epochs[:2])


def test_the_page_is_whole_asks_for_nothing_from_outside_and_runs_nothing(priced) -> None:
    text = priced[1].html
    seen = Seen(text)
    assert list(seen.sections) == SECTIONS
    assert len(set(seen.ids)) == len(seen.ids)
    assert all(told.strip() for told in seen.sections.values())
    assert "svg" in seen.tags
    assert not {"script", "img", "iframe", "object", "embed"} & seen.tags
    assert not re.search(r"(?i)\w+://|@import|javascript:", text)
    assert all(goal.startswith(("data:", "#")) for goal in seen.goals)
    assert "default-src 'none'" in text
    assert set(re.findall(r"url\(([^)]*)\)", text)) <= {f"#{name}" for name in seen.ids}
    assert "@media screen and (prefers-color-scheme: dark)" in text
    assert re.search(r"@page \{ size: A4; margin: \d+mm", text)


def test_numbers_are_those_of_evaluation_verifier_and_solves(tiny, priced) -> None:
    instance, _ = tiny
    found, verified, seen = depl.evaluate(*tiny), depl.check(*tiny), Seen(priced[1].html)
    kept = counter_probability(found.violation.exact, 5)
    assert float(number(found.cost)) == verified.cost == 28
    for text in (
        f"cost of {number(found.cost)} ",
        f"probability at least {kept}, certified under the laws",
        f"the probability of missing the loss is exactly {found.violation.exact}",
    ):
        assert text in seen.sections["promise"]
    assert "the expected cost is exactly 109/4, in place of 28" in seen.sections["stopping"].lower()
    rows = {row[0]: row[1:] for row in seen.cells["certificate"]}
    assert all(rows[finding.equation][1] == finding.message for finding in verified.findings)
    assert "No plan costs less than 28: proved again by the verifier" in seen.sections["certificate"]
    _, *rows = seen.cells["prices"]
    assert [row[0] for row in rows] == ["0.7 (asked)", "0.9", "0.95", "0.99"]
    for level, row in zip((0.7, 0.9, 0.95, 0.99), rows, strict=True):
        result = depl.solve(instance.replace(quantile_level=level), "enumerate")
        known = ["–"] * 5 + ["proved infeasible: no plan meets the target"]
        if result.plan is not None:
            cost, time = number(result.cost), number(result.training_time)
            known = [cost, cost, "0 %", str(result.epochs), time, "proved cheapest"]
        assert row[1:] == known
    _, *rows = seen.cells["others"]
    assert rows[0] == ["auto", "28", "28", "the same plan", "proved cheapest"]
    assert rows[-1] == ["density-greedy", "–", "–", "–", "refused: too <small>"]


def test_a_long_reason_ends_with_a_clause_and_counts_no_characters(tiny) -> None:
    clause = "plans that fewer than 6 runs went through need a margin"
    reason = (
        f"models: target 1.2 at omega 0.9 cannot be promised: {clause}, " + "and one that covers 0.95, " * 9
    )

    def refusing(instance: Instance, method: str) -> depl.Result:
        raise InvalidInputError(reason)

    page = page_of(facts_of(*tiny, refusing), Source("tiny"), 5.0)
    told = Seen(page.html).cells["prices"][1][-1]
    assert clause in told
    assert told.endswith("0.95 ...")
    assert "left out ...]" not in page.html


def test_a_cheaper_plan_is_called_so_and_of_the_cheapest_is_said_who_proved_it(tiny, priced) -> None:
    instance, plan = tiny
    more = tuple(msgspec.structs.replace(epoch, resources=4.0) for epoch in plan.epochs)
    expensive = bare(plan, epochs=more)
    page = page_of(facts_of(instance, expensive, by_lists), Source("tiny"), 5.0)
    share = 100 * (28 / depl.evaluate(instance, expensive).cost - 1)
    assert page.ok
    assert Seen(page.html).cells["others"][1][3] == f"{share:+.3g} %: CHEAPER"
    assert page.cheaper == (
        "A cheaper plan for the same promise is known: 28 (method enumerate, proved cheapest), "
        f"{-share:.3g} % less."
    )
    assert f'<p class="warning">{page.cheaper}</p>' in page.html
    cheapest = priced[1]
    assert cheapest.cheaper.startswith("No plan for the same promise costs less under that law: proved by ")
    assert cheapest.cheaper in Seen(cheapest.html).sections["promise"]
    assert "warning" not in cheapest.html.partition("<body>")[2]


def solver_with(bound: Callable[[float], float]) -> Callable[[Instance, str], depl.Result]:
    """Solves that end without a proof, with a lower bound for each probability."""

    def solver(target: Instance, method: str) -> depl.Result:
        least = bound(target.target.quantile_level)
        return replace(by_lists(target, method), lower_bound=least, termination=Termination.EXHAUSTED)

    return solver


def test_where_a_gap_is_left_the_page_says_how_much_could_be_saved(tiny) -> None:
    instance, plan = tiny

    def weak(bound: float) -> str:
        facts = facts_of(instance, bare(plan), solver_with(lambda _: bound))
        return page_of(facts, Source("tiny"), 5.0).cheaper

    assert depl.check(instance, bare(plan)).proved_bound == 0
    assert weak(21.0) == (
        "No cheaper plan for the same promise was found; at most 25 % could be saved, as no plan costs less "
        "than 21: proved by a solve for this page, method enumerate, whose search is not checked again."
    )
    assert "at most 25.1 %" in weak(20.999)  # rounded up
    assert weak(float("-inf")) == (
        "No cheaper plan for the same promise was found, and no lower bound is proved: how much could be "
        "saved is not known."
    )
    alone = page_of(facts_of(instance, bare(plan), None), Source("tiny"), None).cheaper
    assert alone.startswith("Cheaper plans were not looked for")


def test_what_is_proved_at_a_lower_probability_is_used_at_a_higher_one(tiny) -> None:
    instance = tiny[0].replace(maximum_loss=9.0, quantile_level=0.93)
    plan = bare(by_lists(instance, "enumerate").plan)

    def said(bound: Callable[[float], float]) -> str:
        return page_of(facts_of(instance, plan, solver_with(bound)), Source("tiny"), 5.0).cheaper

    lower = said(lambda level: 5.0 if level == 0.9 else 1.0)
    assert (
        "no plan costs less than 5: proved by a solve for this page, method enumerate at omega 0.9" in lower
    )
    assert "which also holds at a higher one" in lower
    assert "no plan costs less than 1: " in said(lambda level: 5.0 if level > 0.93 else 1.0)


@pytest.mark.parametrize(
    ("method", "asked", "line"),
    [
        ("exact", {"gap": 0.05, "time_limit": 30, "seed": 3}, "exact --gap 0.05 --time-limit 30 --seed 3"),
        ("exact", {}, "exact"),
        ("scenario-search", {"scenarios": 20}, "scenario-search --scenarios 20"),
    ],
)
def test_the_solve_that_made_a_plan_is_repeated_as_it_was_asked_for(tiny, method, asked, line) -> None:
    plan = depl.solve(tiny[0], method, **asked).plan
    page = page_of(facts_of(tiny[0], plan, None), Source("tiny"), None)
    assert f"depl solve tiny --method {line} --out plan.json" in page.html


def test_a_plan_that_misses_its_target_is_told_what_keeping_it_costs(tiny) -> None:
    instance, plan = tiny
    page = page_of(facts_of(instance, too_short(plan), by_lists), Source("tiny"), 5.0)
    assert not page.ok
    assert page.cheaper == "A plan that meets the target costs 28 (method enumerate, proved cheapest)."


def test_names_are_shown_and_not_obeyed(tiny) -> None:
    instance, plan = tiny
    text = instance.replace(name='<b>&"tiny"\u202e').to_json()
    bad = Instance.from_json(text.replace('"cloud"', '"<script>alert(1)</script>&amp;"'))
    renamed = Plan.from_json(bare(plan).to_json().replace('"cloud"', '"<script>alert(1)</script>&amp;"'))
    page = depl.report(bad, renamed, prices=False)
    assert "script" not in Seen(page.html).tags
    assert "&lt;b&gt;&amp;&#34;tiny&#34;\\u202e" in page.html
    assert "\u202e" not in page.html


def test_without_prices_the_same_page_comes_out_twice_and_is_saved_as_it_is(tiny, tmp_path) -> None:
    first = depl.report(*tiny, prices=False)
    PICTURES.clear()
    assert first == depl.report(*tiny, prices=False)
    for said in (
        "Left out (--no-prices)",
        "depl report tiny plan.json --no-prices",
        "depl solve tiny --method enumerate --out plan.json",
    ):
        assert said in first.html
    first.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == first.html
    with pytest.raises(InvalidInputError, match="time_limit must be positive"):
        depl.report(*tiny, time_limit=0)


def test_a_plan_with_many_failures_still_fits_on_its_sheets(tiny) -> None:
    instance, plan = tiny
    longer = instance.replace(maximum_epochs=60)
    epochs = tuple(msgspec.structs.replace(plan.epochs[0], resources=99.0) for _ in range(60))
    rows = plan.data[:1] if plan.data[0].cluster == epochs[0].cluster else plan.data[1:]
    page = depl.report(longer, bare(plan, data=rows, epochs=epochs), prices=False)
    promise, cells = Seen(page.html).sections["promise"], Seen(page.html).cells["certificate"]
    assert "If the plan could be carried out, for a cost of" in promise
    assert re.search(r"It cannot be carried out: 6\d of its limits fail", promise)
    assert len({row[0] for row in cells}) == len(cells) < 20
    (capacity,) = (row for row in cells if row[0] == "(5)")
    assert capacity[1] == "FAILED"
    assert capacity[2].endswith("exceeds r(n) = 10 by 89; and 59 more: depl check")


def idle(plan: Plan) -> Plan:
    """With a first epoch that never ends."""
    first = msgspec.structs.replace(plan.epochs[0], resources=0.0)
    return bare(plan, epochs=(first, *plan.epochs[1:]))


EASY = {"maximum_loss": 15.0}
NOTHING = "Nothing is proved here about cheaper plans."


@pytest.mark.parametrize(
    ("changes", "make", "ok", "said"),
    [
        ({}, too_short, False, {"promise": "This is less than asked.", "certificate": "FAILED"}),
        ({}, idle, False, {"plan": "No picture: $.epochs[0].resources"}),
        (
            EASY,
            lambda _: Plan(),
            True,
            {"promise": "For a cost of 0", "certificate": "The plan claims nothing."},
        ),
        (EASY, lambda _: Plan(), True, {"certificate": "Nothing is proved here about cheaper plans."}),
    ],
)
def test_what_is_wrong_missing_or_only_claimed_is_called_so(tiny, changes, make, ok, said) -> None:
    instance, plan = tiny
    page = depl.report(instance.replace(**changes), make(plan), prices=False)
    seen = Seen(page.html)
    assert page.ok == ok
    assert ("NOT accepted" in page.html) != ok
    assert [words for section, words in said.items() if words not in seen.sections[section]] == []
    assert ("svg" in seen.tags) != ("No picture" in seen.sections["plan"])
    assert "The plan claims nothing." in seen.sections["certificate"]


def test_a_claimed_bound_that_is_only_repeated_is_called_so(tiny) -> None:
    instance, plan = tiny
    facts = facts_of(instance, bare(plan, claims=Claims(lower_bound=5.0, method="my own")), None)
    assert not any("my own" in line for line in words.bounds(facts))  # listing all plans proves more
    repeated = Finding("claim: lower_bound", True, "", None, Kind.REPEATED)
    unproved = replace(facts, verified=replace(facts.verified, findings=(repeated,), proved_bound=0.0))
    (line,) = words.bounds(unproved)
    assert line.startswith(
        "No plan costs less than 5: claimed by method my own; the verifier does not contradict"
    )
    assert words.recomputed(unproved).endswith("again: none. Claims only repeated: lower_bound.")


def test_without_a_law_nothing_is_promised_and_nothing_priced(tiny) -> None:
    instance, plan = tiny
    asked: list[str] = []
    facts = facts_of(without_law(instance), bare(plan), lambda _, method: asked.append(method))
    seen = Seen(page_of(facts, Source("mine.json"), 5.0).html)
    assert not asked
    assert "nothing is promised about the final loss" in seen.sections["promise"]
    assert "certified" not in seen.sections["promise"].lower()
    assert "No law of the loss is declared" in seen.sections["prices"]
    assert "Not computed" in seen.sections["stopping"]


def test_under_a_fitted_law_the_promise_names_its_runs() -> None:
    instance, schedule = instance_of(halves()), (FULL, FAR)
    page = depl.report(instance, plan_of(schedule), prices=False)
    promise = Seen(page.html).sections["promise"]
    assert "under a law fitted to training runs" in promise
    assert loss_law(instance).basis(plan_of(schedule)) in promise


@pytest.fixture
def written(tiny, tmp_path, monkeypatch) -> Callable[..., int]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "depl.models.solving.solve.solve", lambda target, method, **_: by_lists(target, method)
    )
    (tmp_path / "plan.json").write_text(tiny[1].to_json(), encoding="utf-8")
    return lambda *words: main(["report", "tiny", "plan.json", *words])


def test_the_command_writes_the_page_and_names_its_own_options(written, tiny, tmp_path, capsys) -> None:
    assert written("--out", "a page.html", "--time-limit", "2.5") == ExitCode.ANSWERED
    text = (tmp_path / "a page.html").read_text(encoding="utf-8")
    assert list(Seen(text).sections) == SECTIONS
    assert len(Seen(text).cells["prices"]) == 5
    assert "depl report tiny plan.json --time-limit 2.5" in text
    out = capsys.readouterr().out
    assert "probability at least 0.75, certified under the laws that the instance declares" in out
    assert "written to a page.html" in out
    (tmp_path / "plan.json").write_text(too_short(tiny[1]).to_json(), encoding="utf-8")
    assert written("--no-prices") == ExitCode.INFEASIBLE
    assert "does NOT accept" in capsys.readouterr().out
    assert "NOT accepted" in (tmp_path / "plan.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--out", "plan.json"], "which is read"),
        (["--out", "no/such/page.html"], "there is no folder"),
        (["--time-limit", "0"], "must be positive"),
        (["--no-prizes"], "--no-prices"),
        (["--target", "7"], "made for another instance"),
    ],
)
def test_what_cannot_be_done_is_refused_before_the_work(written, words, said, tmp_path, capsys) -> None:
    before = (tmp_path / "plan.json").read_bytes()
    code = written(*words)
    assert code == ExitCode.INVALID
    assert said in capsys.readouterr().err
    assert (tmp_path / "plan.json").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.json"]
    assert main(["report", "paper-alexnet-9", "plan.json"]) == ExitCode.INVALID
    assert "plan.json: $.instance: the plan was made for another instance" in capsys.readouterr().err


def test_after_an_interrupt_nothing_is_solved_and_the_page_is_written(written, tmp_path, monkeypatch) -> None:
    asked: list[str] = []

    def stopped(target, method, **_) -> depl.Result:
        asked.append(method)
        return replace(depl.solve(target, "enumerate"), termination=Termination.INTERRUPTED)

    monkeypatch.setattr("depl.models.solving.solve.solve", stopped)
    assert written() == ExitCode.STOPPED
    assert asked == ["auto"]
    rows = Seen((tmp_path / "plan.html").read_text(encoding="utf-8")).cells["prices"]
    assert [row[-1] for row in rows[1:]] == ["stopped by the user", *["not solved: interrupted before"] * 3]


def test_what_takes_longer_than_the_limit_is_left_out_of_the_page_in_words(tiny, monkeypatch) -> None:
    clock = SimpleNamespace(now=0.0, perf_counter=lambda: clock.now)

    def slow(*_: object) -> None:
        clock.now += 3.0
        keep_time()

    monkeypatch.setattr(clock_module, "time", clock)
    monkeypatch.setattr(facts_module, "early_stopping", slow)
    monkeypatch.setattr(importlib.import_module("depl.plot.plan"), "plan", slow)
    facts = facts_of(*tiny, None, 2.0)
    assert facts.stopping == "it takes longer than the limit of 2 seconds"
    assert words.stopping(facts) == ["Not computed: it takes longer than the limit of 2 seconds."]
    said = "No picture: its quantiles take longer than the limit of 2 seconds."
    assert DRAWN(facts, 2.0) == ("", said)
