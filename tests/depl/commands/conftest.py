"""A folder with a document of every kind that commands read, and sessions typed in copies of it."""

import json
import math
import shlex
import shutil

import pytest

from depl.commands import runs
from depl.instances.spent_promise import promised_plan, spent_promise
from depl.models.estimation import instance as fitted
from depl.models.policy import planning
from depl.models.solving.replanning import State
from depl.models.traces.files import write_traces
from tests.cases import fit_cases, lost_run_cases
from tests.cases.fit_cases import SETUP, drawn
from tests.cases.policy_cases import TWO
from tests.cases.policy_files import by_hand

FULL = SETUP["models"][0]
NET = {
    "clusters": SETUP["clusters"][:1],
    "models": [{"name": "net", "size": 1}],
    "transfers": [],
    "target": {"maximum_loss": 0.7, "quantile_level": 0.75, "maximum_epochs": 9, "maximum_time": 90},
}


@pytest.fixture(scope="session")
def documents(tmp_path_factory, tiny, tiny_optimum):
    """The folder; nobody writes to it."""
    folder = tmp_path_factory.mktemp("documents")
    texts = {
        "instance.json": tiny.to_json(),
        "plan.json": tiny_optimum.to_json(),
        "spent.json": spent_promise().to_json(),
        "promised.json": promised_plan().to_json(),
        "lucky.json": State(epoch=1, loss=1, model="full").to_json(),
        "state.json": State(epoch=1, loss=2, model="full").to_json(),
        "setup.json": "// a comment\n" + json.dumps(SETUP),
        "alone.json": json.dumps(SETUP | {"models": [FULL]}),
        "third.json": json.dumps(SETUP | {"models": [*SETUP["models"], FULL | {"name": "third"}]}),
        "net.json": json.dumps(SETUP | NET),
        "items.txt": "4 10\n10 6\n7 5\n4 3\n2 2\n",  # best: items 1 and 3, value 14
        "mine.py": "",
        "two.json": TWO.to_json(),
        "strict.json": TWO.replace(quantile_level=0.999).to_json(),
        "easy.json": TWO.replace(quantile_level=0.2).to_json(),
        "policy.json": by_hand().to_json(),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    traces = {"runs": drawn(), "late": fit_cases.without_first_epoch(drawn())}
    traces |= {f"few{runs}": drawn(runs) for runs in (1, 4, 7)}
    for name, found in traces.items():
        write_traces(folder / f"{name}.csv", found)
    for way in ("nan", "key"):
        lost_run_cases.write("keras-history", way, folder / f"{way}-logs")
    return folder


@pytest.fixture
def here(documents, tmp_path, monkeypatch):
    """A copy of the folder, in which commands are called, with few resamples and cells of a grid."""
    monkeypatch.setattr(runs, "_RESAMPLES", 19)
    monkeypatch.setattr(fitted, "_RESAMPLES", 9)
    monkeypatch.setattr(planning, "GRIDS", (128,))  # losses of tiny instances lie on tenths
    for path in documents.iterdir():
        (tmp_path / path.name).symlink_to(path) if path.is_dir() else shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sessions(text):
    """Sessions with empty lines between them, each under its title."""
    parts = [part.split("\n") for part in text.strip().split("\n\n")]
    return [pytest.param(lines, id=title) for title, *lines in parts]


@pytest.fixture
def follow(ask, here):
    """Type the lines of a session that begin with ``$``, and see what is said.

    Right below such a line, ``= 3`` is its exit code (0 where none is given), ``{...}`` is a part of the
    object that it prints, ``- words`` what it does not say, and any other line words that it says, however
    they are spaced. ``> name line`` adds a line to a file, unfinished if its object is.
    """

    def run(lines):
        for line, following in zip(lines, [*lines[1:], ""], strict=True):
            kind, _, rest = line.partition(" ")
            if kind == ">":
                name, _, added = rest.partition(" ")
                with (here / name).open("a", encoding="utf-8") as file:
                    file.write(added + "\n" * added.endswith("}"))
            elif kind == "$":
                code, out, err = ask(*shlex.split(rest))
                told = " ".join(f"{out} {err}".split())
                wanted = following if following.startswith("= ") else "= 0"
                assert f"= {int(code)}" == wanted, (line, out, err)
            elif kind == "-":
                assert rest not in told
            elif kind.startswith("{"):
                assert held(json.loads(line), json.loads(out))
            elif kind != "=":
                assert line in told

    return run


def held(part, whole):
    """Whether an object has these values, and lists these lengths."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and held(part[key], whole[key]) for key in part)
    if isinstance(part, list):
        return len(part) == len(whole) and all(map(held, part, whole))
    if isinstance(part, float) and isinstance(whole, float | int):
        return math.isclose(part, whole, rel_tol=1e-6)
    return bool(part == whole)
