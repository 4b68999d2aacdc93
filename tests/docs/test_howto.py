"""Examples of pages and lines that they tell a reader to type run, with the output and code shown there."""

import contextlib
import doctest
import io
import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest

from depl import cli
from depl.models.estimation import diagnosis
from depl.models.estimation import fit as fitting
from depl.models.policy import planning
from depl.models.problem.laws import registry
from depl.models.solving import methods
from tests.docs.pages import DOCS

TYPED = sorted(
    path.relative_to(DOCS).as_posix()
    for pattern in ("howto/*.rst", "tutorials/*.rst", "questions.rst", "cli.rst")
    for path in DOCS.glob(pattern)
)
"""Pages with lines for a console."""
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCK = re.compile(r"(?m)^\.\. code-block:: (\w+)\n((?:   :\w+: .+\n)*)\n((?:   .*\n|\n)+)")


def text_of(page):
    return (DOCS / page).read_text(encoding="utf-8")


PAGES = sorted(
    page
    for page in (path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.rst"))
    if ">>> " in text_of(page) and not page.startswith("built_lessons/")
)


def blocks(text):
    """Language, options and text of every literal block: a caption makes it a file."""
    for language, options, body in BLOCK.findall(text):
        plain = "\n".join(line[3:] for line in body.rstrip().split("\n")) + "\n"
        yield language, dict(re.findall(r"(?m)^   :(\w+): (.+)$", options)), plain


def lines(console):
    """What is typed after every ``$``, also on several lines, and what the page shows below it."""
    first, *parts = re.split(r"(?m)^\$ ", console.replace("\\\n", ""))
    assert first == "", "a console block begins with $"
    return [[*part.partition("\n")[::2]] for part in parts]


def run(typed):
    """Exit code and output of one line, in this process: to start another one takes seconds."""
    words = shlex.split(typed)
    out, aside = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(aside):
        if words[0] == "depl":
            code = cli.main(words[1:])
        else:
            assert words[:1] + words[2:] == ["python"], f"{typed}: not a line that this test can run"
            run_script(words[1])
            code = 0
    return code, out.getvalue() if code in (0, 3, 4, 5) else aside.getvalue()


def run_script(name):
    """Run a file: its folder is on the path, and what it imports from there and registers ends with it."""
    laws, known, loaded = registry._registered, methods._REGISTRY, set(sys.modules)
    registry._registered, methods._REGISTRY = dict(laws), dict(known)
    sys.path.insert(0, str(Path.cwd()))
    try:
        runpy.run_path(name, run_name="__main__")
    finally:
        sys.path.pop(0)
        registry._registered, methods._REGISTRY = laws, known
        for module in set(sys.modules) - loaded:
            if Path(getattr(sys.modules[module], "__file__", None) or "/").parent == Path.cwd():
                del sys.modules[module]


def follow(page, slow):
    """Type what a page says, in its order, in the present folder; return how many lines."""
    count, code = 0, 0
    for language, options, text in blocks(text_of(page)):
        if "caption" in options:
            Path(options["caption"]).write_text(text, encoding="utf-8")
        if language != "console" or (options.get("class") == "slow" and not slow):
            continue
        typed = lines(text)
        for number, (line, shown) in enumerate(typed):
            if line == "echo $?":
                assert code == int(shown), f"{page}: {typed[number - 1][0]}"
                continue
            code, output = run(line)
            told = any(after == "echo $?" for after, _ in typed[number + 1 : number + 2])
            assert told or code == 0 or shown.startswith("depl: "), f"{page}: {line}: {output}"
            same = not shown or doctest.OutputChecker().check_output(shown, output, FLAGS)
            assert same, f"{page}: {line}\n{output}"
            count += 1
    return count


@pytest.fixture
def elsewhere(tmp_path, own_methods, own_laws, monkeypatch):
    """An empty folder, and registries that forget what a page registers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["depl"])


@pytest.fixture
def sparing(shipped_fits, monkeypatch):
    """Less work than the pages show, to the same answers; slow tests run them as they are.

    A diagnosis or a fit draws 19 samples, and policies are planned on one coarse grid.
    """
    own, fit = diagnosis.diagnose, fitting.fit_traces

    def diagnosed(traces, rng, resamples=0):
        return own(traces, rng, resamples=19)

    def fitted(traces, rng):
        return fit(traces, rng, resamples=19)

    monkeypatch.setattr(diagnosis, "diagnose", diagnosed)
    monkeypatch.setattr(fitting, "fit_traces", fitted)
    monkeypatch.setattr(planning, "GRIDS", (2048,))


@pytest.mark.usefixtures("elsewhere", "sparing")
@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_give_what_it_says(page):
    run_examples(page)


@pytest.mark.slow
@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(
    "page", [page for page in PAGES if ">>> diagnose(" in text_of(page) or page == "estimation.rst"]
)
def test_the_examples_of_a_page_hold_with_all_samples_and_of_fits_made_anew(page):
    run_examples(page)


def run_examples(page):
    result = doctest.testfile(str(DOCS / page), module_relative=False, optionflags=FLAGS, encoding="utf-8")
    assert (result.failed, result.attempted > 0) == (0, True)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("page", TYPED)
def test_the_quick_lines_of_a_how_to_page_run(page):
    follow(page, slow=False)


@pytest.mark.slow
@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("page", [page for page in TYPED if ":class: slow" in text_of(page)])
def test_all_lines_of_a_how_to_page_run(page):
    assert follow(page, slow=True) > 0


def test_what_answers_otherwise_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "DOCS", tmp_path)
    for line in ("instances show tiny\n   huge", "solve nothing\n   $ echo $?\n   0"):
        text = f".. code-block:: console\n\n   $ depl {line}\n"
        (tmp_path / "wrong.rst").write_text(text, encoding="utf-8")
        with pytest.raises(AssertionError, match=f"depl {line.splitlines()[0]}"):
            follow("wrong.rst", slow=False)
