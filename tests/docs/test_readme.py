"""What the README shows is so: commands exist, examples run, links resolve, numbers are computed again."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from depl.benchmarks.figures.comparison import compare, entry_of, optimum
from depl.benchmarks.measure.catalogue import all_studies
from depl.benchmarks.measure.results import RESULTS, read, read_all
from depl.benchmarks.measure.store import RECORDED, read_attempts
from depl.benchmarks.report.claims import CLAIMS
from depl.benchmarks.report.evidence import evidence_of
from depl.benchmarks.report.tables import headline_table, printed_steps_table
from depl.benchmarks.report.verdicts import counts, judged, told
from depl.benchmarks.studies.exact_law import FAMILIES
from depl.benchmarks.studies.samples import PROGRAM, SEARCH, SIZES
from depl.cli import main
from depl.commands import diagnose, fit
from depl.commands.demo import METHODS, comparison_table
from depl.instances.library import load, parse
from depl.instances.setups import load_setup
from depl.instances.template import template
from depl.models.estimation import diagnosis
from depl.models.estimation.choices import CARE
from depl.models.policy import planner
from depl.models.solving.result import Solution
from depl.models.solving.solve import solve
from depl.models.traces.fingerprints import fingerprints

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)
PYTHON = [text for language, text in BLOCKS if language == "python"]
COMMANDS = [
    line.split("#")[0].strip() for language, text in BLOCKS if language == "sh" for line in text.splitlines()
]
_HEADLINE = (
    "paper-alexnet",
    "paper-alexnet-deadline",
    "paper-alexnet-deadline-normal",
    "paper-mobilenet",
    "random",
    "largest",
)
_SUITES = ("paper", "random", "reconstruction")
FIRST_ANSWER, TABLE = (text.splitlines() for language, text in BLOCKS if language == "text")
TOLD_OF = ["enumerate", "depl-paper", "expected-cost", "expected-greedy"]
"""The methods that the README compares on the family with deadlines."""
DEFAULTS_OF_FIT = {
    "law": "affine",
    "residuals": "per_run",
    "scale": None,
    "care": CARE,
    "confidence": None,
    "diverged": None,
    "metric": "loss",
    "name": None,
}
"""What `depl fit` asks of `fit_instance` by itself: the shipped instances were fitted so."""
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))


def test_the_first_screen_has_both_commands_and_the_way_without_make():
    first = README[: README.index("## ")]
    assert all(text in first for text in ("make demo", "make test", "without make is below", "![", "```text"))
    assert "python3 -m venv .venv" in README[: README.index("## From Python")]
    assert len(first.splitlines()) <= 45


def test_the_first_answer_is_what_the_template_gives():
    instance = parse(template())
    printed = str(solve(instance)).splitlines()
    assert len(FIRST_ANSWER) == 7
    assert [line for line in printed if line in FIRST_ANSWER] == FIRST_ANSWER
    first = " ".join(README[: README.index("## ")].split())
    edge, cloud = instance.clusters
    assert (edge.nodes, edge.unit_cost, cloud.unit_cost) == (2, 1, 1.5)
    assert sorted(row.cost for row in instance.transfers) == [6, 9]
    target = instance.target
    assert (target.initial_loss, target.maximum_loss) == (6, 4)
    assert (target.maximum_epochs, target.maximum_time, target.quantile_level) == (4, 10, 0.95)
    data = {row.cluster: row.datasets for row in solve(instance).plan.data}
    assert data == {"edge": ("sensors",), "cloud": ("sensors", "archive")}  # the first are brought for 6
    for words, place in (("All epochs on `edge` would cost", edge), ("all on `cloud`", cloud)):
        moved = tuple(row for row in instance.transfers if row.cluster == place.name)
        alone = solve(instance.replace(clusters=(place,), transfers=moved), "exact")
        assert alone.solution is Solution.PROVEN_OPTIMAL
        assert f"{words} {alone.cost:.2f}" in first


def test_every_make_target_that_is_named_exists():
    named = set(
        re.findall(r"\bmake ([a-z]+)\b", " ".join([*COMMANDS, *re.findall(r"`(make [a-z]+)`", README)]))
    )
    assert {"demo", "test", "bench", "picture"} <= named <= TARGETS


@pytest.mark.usefixtures("own_methods")
@pytest.mark.parametrize("example", PYTHON, ids=range(len(PYTHON)))
def test_the_python_examples_run(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(planner, "GRIDS", (2048,))  # on these cells, too, what the example asserts holds
    Path("mine.json").write_text(template(), encoding="utf-8")  # as 'depl instances new' writes it
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(example, "README.md", "exec"), {"__name__": "readme"})


@pytest.fixture
def answered_once(monkeypatch):
    """Not worked out again are a fit that is shipped, and a diagnosis that was asked for before.

    A fit of shipped runs to their shipped setup is read from the file of the fit; slow tests make it anew.
    """
    found, anew = {}, diagnosis.diagnose

    def shipped(traces, setup, **options):
        instance = load(setup.name)
        assert setup == load_setup(setup.name)
        assert fingerprints(traces) == instance.run_fingerprints
        assert options == DEFAULTS_OF_FIT
        return instance

    def diagnosed(traces, rng, metric, resamples):
        key = (fingerprints(traces), repr(rng.bit_generator.state), metric, resamples)
        if key not in found:
            found[key] = anew(traces, rng, metric, resamples)
        return found[key]

    monkeypatch.setattr("depl.fitting.fit_instance", shipped)
    monkeypatch.setattr(diagnosis, "diagnose", diagnosed)


@pytest.mark.usefixtures("answered_once")
def test_the_examples_of_the_command_line_run_one_after_the_other(ask, tmp_path, monkeypatch):
    """With fewer resamples of the diagnosis (one is a part of ``depl fit``) than for a reader."""
    (resamples,) = (param for param in diagnose.diagnose.params if param.name == "resamples")
    monkeypatch.setattr(resamples, "default", 5)
    monkeypatch.setattr(fit, "_RESAMPLES", 5)
    follow_the_commands(ask, tmp_path, monkeypatch)


@pytest.mark.slow
def test_the_examples_of_the_command_line_run_as_a_reader_runs_them(ask, tmp_path, monkeypatch):
    follow_the_commands(ask, tmp_path, monkeypatch)


def follow_the_commands(ask, tmp_path, monkeypatch):
    """Type them in an empty folder; the one that fits makes the shipped instance again, byte by byte."""
    monkeypatch.chdir(tmp_path)
    words = [
        shlex.split(command)
        for command in COMMANDS
        if command.startswith("depl ") and "cases run" not in command
    ]
    assert len(words) >= 6
    fitted = 0
    for _, *arguments in words:
        code, _, err = ask(*arguments)
        assert code == 0, (arguments, err)
        if arguments[0] == "fit":
            shipped = ROOT / "instances" / "data" / f"{arguments[1]}.json"
            assert (tmp_path / arguments[-1]).read_bytes() == shipped.read_bytes()
            fitted += 1
    assert fitted == 1


def test_the_commands_without_make_name_what_there_is():
    begin = COMMANDS.index("python3 -m venv .venv")
    plain = COMMANDS[begin : begin + 3]
    assert all(".venv" in command for command in plain)
    assert (ROOT / plain[1].split()[-1]).name == "requirements.lock"
    assert (ROOT / "requirements.lock").exists()
    assert main(["demo", "--help"]) == 0


def test_the_benchmarks_that_are_named_exist():
    named = {command.split()[-1] for command in COMMANDS if "depl bench run" in command}
    assert named
    assert named <= all_studies().keys()


def test_links_and_pictures_resolve():
    links = re.findall(r"\]\(([^)\s]+)\)", README)
    local = [link for link in links if not link.startswith("https://")]
    assert len(local) >= 5
    assert not [link for link in local if not (ROOT / link).is_file()]
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README)
    assert len(pictures) == 3
    assert all((ROOT / picture).read_bytes().startswith(b"\x89PNG\r\n") for picture in pictures)


def cells(line):
    """Cells of a row of the table without the seconds; a line beside it as it is."""
    return [cell.strip() for cell in line.split("|")[:-1]] or line


def rows_of_table(lines, methods):
    """Cells of the lines of a table that are no row, or the row of one of the methods."""
    found = [cells(line) for line in lines if set(line) != {"-", "+"}]
    return [row for row in found if row[0] != "9" or row[1] in methods]


def test_the_default_and_a_first_path_are_as_recorded():
    default, path = (read(RESULTS / f"{name}.json").values for name in ("default", "first-path"))
    words = " ".join(README.split())
    by_exact = (
        f"exact search alone proves {default['known_proved_by_exact']} within {default['known_limit']:g} s"
    )
    asked = f"Of {default['known_instances']} instances of four suites, {by_exact}"
    assert f"{asked}, and `auto` {default['known_proved']}, all that exact search proves in 8 s" in words
    assert default["known_missed_count"] == 0
    assert f"in {default['known_median_ratio']:.2f} of the CPU time" in words
    seconds = f"{path['seconds_in_all']:.0f} s, {path['seconds']['demo']:.0f} of them `make demo`"
    assert f"took {seconds}" in words


def test_the_default_on_instances_drawn_anew_is_as_recorded():
    values = read(RESULTS / "default.json").values
    words = " ".join(README.split())
    assert f"On {values['anew_instances']} instances drawn anew" in words
    assert (
        f"exact search proves {values['anew_proved_by_exact']} and `auto` {values['anew_proved']}:" in words
    )
    assert f"it misses {values['anew_missed_count']} of those that exact search proves in 8 s" in words
    assert f"{values['anew_worse_plan_count']} of its plans costs more" in words
    assert f"the median is {values['anew_median_ratio']:.2f}." in words


@pytest.mark.parametrize(
    "methods", [[name for name in METHODS if name != "depl"], pytest.param(METHODS, marks=pytest.mark.slow)]
)
def test_the_table_shows_what_the_demo_computes(methods):
    """The loop takes longest: its row is that of its record in quick tests, but for what it proves."""
    instance = load("paper-alexnet-deadline", 9)
    computed = comparison_table([entry_of("9", instance, method, None) for method in methods]).splitlines()
    assert set(TABLE[1]) == set(computed[1]) == {"-", "+"}
    assert rows_of_table(TABLE, METHODS) != rows_of_table(TABLE, [])
    assert rows_of_table(TABLE, methods) == rows_of_table(computed, methods)


def test_the_row_of_the_loop_is_what_was_recorded(recorded):
    (row,) = rows_of_table([line for line in TABLE if line.lstrip().startswith("9 ")], ["depl"])
    (item,) = (
        item
        for item in recorded.suite("paper")
        if item.task.instance == "paper-alexnet-deadline-9" and item.task.configuration == "depl"
    )
    epochs = [item.epochs_by_model.get(model.name, 0) for model in load("paper-alexnet-deadline", 9).models]
    assert row[2:4] == [f"{item.cost:.2f}", f"{recorded.ratio(item):.3f}"]
    assert row[5] == " / ".join(map(str, epochs))
    told = float(row[6].removeprefix(">= "))
    assert told <= 1 - item.violation[1] < told + 1e-6  # six digits, rounded down


def of_other_methods(costs):
    """Check what the README says of them by costs, None without a plan, of methods and targets."""
    least = {target: cost for (method, target), cost in costs.items() if method == "enumerate"}

    def worst(*methods):
        return max(
            cost / least[target]
            for (method, target), cost in costs.items()
            if method in methods and cost is not None
        )

    assert len(least) == 5
    assert len(costs) == 4 * 5
    text = " ".join(README.split())
    assert f"cost up to {worst('depl-paper'):.1f} times the optimum" in text
    assert (
        f"up to {100 * (worst('expected-cost', 'expected-greedy') - 1):.0f} % more than the optimum" in text
    )
    without = {target for (method, target), cost in costs.items() if method == "depl-paper" and cost is None}
    assert without == {5, 7, 9}
    assert "the tighter targets get no plan at all" in text


@pytest.mark.slow
def test_what_is_said_of_the_other_methods_is_computed_again():
    entries = compare("paper-alexnet-deadline", TOLD_OF)
    assert all(optimum(entries, entry.target) is not None for entry in entries)
    of_other_methods({(entry.method, float(entry.target)): entry.cost for entry in entries})


@pytest.fixture(scope="module")
def recorded():
    return evidence_of([item for suite in _SUITES for item in read_attempts(suite)], ())


def test_what_is_said_of_the_other_methods_is_what_was_recorded(recorded):
    """A page of the documentation computes the same costs again (`depl_paper`, `questions`)."""
    rows = [
        item
        for item in recorded.suite("paper")
        if item.labels["family"] == "paper-alexnet-deadline" and item.task.configuration in TOLD_OF
    ]
    assert all(item.proved_optimal for item in rows if item.task.configuration == "enumerate")
    of_other_methods({(item.task.configuration, item.labels["target"]): item.cost for item in rows})


def test_the_headline_is_that_of_the_recorded_attempts(recorded):
    found = {str(row["method"]): row for row in headline_table(recorded).records()}
    rows = re.findall(r"^\| `([a-z-]+)` \| (\d\.\d{3} \|.*) \|$", README, flags=re.MULTILINE)
    assert [name for name, _ in rows] == [name for name in found if name != "enumerate"]
    for name, text in rows:
        means = [f"{found[name][column]:.3f}{compared_with(recorded, name, column)}" for column in _HEADLINE]
        assert text.split(" | ") == [*means, str(found[name]["no plan"])]
    commits = {item.commit.id[:8] for suite in _SUITES for item in recorded.suite(suite)}
    told = README[README.index("The table was recorded on ") : README.index("| method | AlexNet")]
    assert set(re.findall(r"\b[0-9a-f]{8}\b", told)) == commits
    drawn = {item.task.instance for item in recorded.suite("random")}
    assert f"covers only {len(drawn) - 108} of the random instances" in README
    assert found["expected-cost"]["not covered"] == 108


def compared_with(recorded, name, column):
    """How many proved optima a mean is over, if it is not over all of its family."""
    items = [*recorded.suite("paper"), *recorded.suite("random")]
    group = [item for item in items if column in (item.task.suite, item.labels.get("family"))]
    proved = {item.task.instance for item in group if item.proved_optimal}
    own = {item.task.instance for item in group if item.task.configuration == name and item.cost is not None}
    held = len(own & proved)
    return "" if held == len(proved) else f" ({held} of {len(proved)})"


def test_what_the_printed_steps_lose_is_what_was_measured(recorded):
    rows = printed_steps_table(recorded.suite("random")).records()
    (row,) = (item for item in rows if item["configuration"] == "depl-paper")
    text = " ".join(README.split())
    assert f"on {row['data_missed']} of {row['data_compared']} random instances the Lovász extension" in text
    assert f"(K̂T̂ up to {100 * (row['data_largest'] - 1):.1f} % longer)" in text
    assert f"on {row['placement_missed']} of {row['placements_compared']} plans hosting models" in text
    assert f"costs more (up to {100 * (row['placement_largest'] - 1):.1f} %)" in text
    own = [item for item in recorded.suite("random") if item.task.configuration == "depl-paper"]
    assert not any(item.ending == "time_limit" for item in own)


def test_what_is_said_of_the_claims_is_what_the_report_measures(recorded):
    verdicts = {item.claim.key: item for item in judged(CLAIMS, recorded)}
    text = " ".join(README.split())
    said = []
    for key, agree in (
        ("over-27-percent", "agree"),
        ("closely-matches", "agrees"),
        ("general-purpose", "agree"),
    ):
        verdict = verdicts[key]
        others = " other readings" if key == "over-27-percent" else ""
        assert f"{verdict.ruling.value} ({verdict.agree} of {len(verdict.others)}{others} {agree})" in text
        said += [(reading.statement, told(found)) for reading, found in verdict.found]
    whole = judged(CLAIMS, evidence_of(read_attempts(RECORDED), read_all()))
    assert f"{len(whole)} claims of the paper" in text
    *rest, last = counts(whole).split(", ")
    assert f"In it {', '.join(rest)} and {last};" in text

    def measured(*parts):
        (found,) = (text for statement, text in said if all(part in statement for part in parts))
        return found.split(": ")[::-1]

    saving, shipped, table = "saving relative to best-exp", "shipped", "completions of Table I"
    assert measured("with bounds against greedy", saving, shipped)[0] == "means from 31.0% to 64.8%"
    assert measured("with bounds against greedy", saving, table)[1] == "396 of 400"
    assert measured("with bounds against cost-aware", saving, shipped)[0] == "means from 0.0% to 5.9%"
    assert measured("with bounds against cost-aware", saving, table)[1] == "2 of 400"
    assert measured("as printed against greedy", saving, shipped)[0] == "means from -302.7% to -6.5%"
    assert measured("with bounds: a plan", shipped)[0] == "mean cost over the optimum from 1 to 1.009"
    assert measured("with bounds: a plan", table)[1] == "395 of 400"
    assert measured("as printed: a plan", shipped)[0] == "mean cost over the optimum from 2.909 to 7.113"
    assert measured("as printed: a plan", table)[1] == "10 of 400"
    assert (
        "more expensive on 3, cheaper on 97 of"
        in measured("annealing loses to DepL as printed", "on random")[0]
    )
    assert ", cheaper on 0 of" in measured("annealing loses to DepL with bounds", "on random")[0]


def test_the_layout_names_the_folders_that_there_are():
    named = set(re.findall(r"^\| `(\w+)/`", README, flags=re.MULTILINE))
    assert named == {"models", "heuristics", "instances", "benchmarks", "depl", "docs"}
    assert all((ROOT / name).is_dir() for name in named)


def test_the_reach_of_exact_is_that_of_its_record():
    values = read(RESULTS / "exact-law.json").values
    for family in FAMILIES:
        assert (values[f"{family}_proved"], values[f"{family}_instances"]) == (1, 100)
        median, longest = (values[f"{family}_{name}_seconds"] for name in ("median", "longest"))
        assert f"(median {median:.2f} s, longest {longest:.0f} s)" in README


def test_the_gaps_at_full_size_are_those_of_the_record():
    values = read(RESULTS / "scale.json").values
    words = " ".join(README.split())
    for name, said in (
        ("full", "for the recording"),
        ("regions", "by a generator with another cost structure"),
    ):
        gaps = [f"{100 * gap:.1f}" for gap in values[f"{name}_gaps"]]
        assert len(gaps) == 10
        shown = f"{gaps[0]} to {gaps[-1]} %, {100 * values[f'{name}_median_gap']:.1f} % in the median"
        assert f"{shown}, of ten instances drawn anew {said}" in words
    early = 100 * max(values["full_largest_gap_at_a_third"], values["regions_largest_gap_at_a_third"])
    assert (
        f"After 20 CPU-s the lower bound is at most {early:.1f} % below the cost of the final plan" in words
    )
    longest = max(values["full_largest_seconds"], values["regions_largest_seconds"])
    assert f"at most {longest:.0f} CPU-s" in words
    wide = [f"{100 * values[f'{name}_largest_gap']:.1f}" for name in ("wide", "wide_regions")]
    assert f"with 5000 clusters the gaps are {wide[0]} and {wide[1]} %" in words


def test_the_reach_of_ground_truth_is_that_of_the_records():
    values = read(RESULTS / "samples.json").values
    rows = re.findall(r"^\| `([a-z-]+)`.*?\| (\d+) \| (\d+) \|$", README, flags=re.MULTILINE)
    names = [SEARCH, PROGRAM]
    shown = {name: (int(one), int(two)) for name, (_, one, two) in zip(names, rows, strict=True)}
    assert shown == {name: (values["largest_usual"][name], values["largest_cheap"][name]) for name in names}
    factors = [f"{values[f'speed_ratio_{family}']:.0f}" for family in ("usual", "cheap")]
    assert f"{factors[0]} and {factors[1]} times faster" in README
    medians = [values[f"{name}_median_seconds"] for name in SIZES]
    assert "{:.1f}, {:.1f}, {:.1f} and {:.0f} s (the same record)".format(*medians) in README
    assert [values[f"{name}_share_certified"] for name in SIZES] == [0.9, 0.9, 1.0, 1.0]
    assert max(values[f"{name}_largest_gap"] for name in SIZES) == pytest.approx(0.24, abs=0.005)
