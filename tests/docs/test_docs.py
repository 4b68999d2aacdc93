"""The documentation builds without a warning, and covers every module and erratum."""

import html
import importlib
import re
import subprocess
import sys

import pytest
from docutils.utils.math.latex2mathml import tex2mathml

import depl
from depl.commands.answer import ExitCode
from tests.cases.command_line import leaves, options_of
from tests.docs.pages import DOCS, ROOT, reference_pages, text_of

FOLDERS = ("models", "heuristics", "instances", "benchmarks")


def modules():
    """Every public module of depl: its own, and those of the four folders that are linked into it."""
    own = [path for path in (ROOT / "depl").iterdir() if not path.is_symlink()]
    sources = [path for path in own if path.suffix == ".py"]
    for folder in [*(path for path in own if path.is_dir()), *(ROOT / name for name in FOLDERS)]:
        sources += folder.rglob("*.py")
    parts = [path.relative_to(ROOT).with_suffix("").parts for path in sources if path.name[0] != "_"]
    return sorted(".".join(part if part[0] == "depl" else ("depl", *part)) for part in parts)


def test_the_reference_is_written_lists_every_module_once_and_has_a_line_for_every_name(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(reference_pages, "PAGES", tmp_path)
    (tmp_path / "depl.models.gone.rst").write_text("no such room")
    reference_pages.write_pages()
    pages = {path.stem: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.rst")}
    assert "depl.models.gone" not in pages
    listed = re.findall(r"(?m)^\.\. automodule:: (\S+)$", "".join(pages.values()))
    assert sorted(name for name in listed if name not in pages) == modules()
    assert len(listed) == len(set(listed))
    summary = (tmp_path / "summary.txt").read_text(encoding="utf-8")
    lines = dict(re.findall(r"(?m)^- `(.+?)`: (.+)$", summary))
    names = {re.sub(r" <.+>$", "", name) for name in lines}
    assert names == {f"depl.{name}" for name in set(depl.__all__) - {"__version__"}} | set(modules())
    assert all(told[-1] in ".:" and len(told) > 14 for told in lines.values())
    index = text_of("docs/reference/index.rst")
    assert ("rooms/*" in index, "include:: rooms/summary.txt" in index) == (True, True)


def test_the_public_face_is_listed_with_the_home_of_every_name():
    page = text_of("docs/reference/face.rst")
    rows = dict(re.findall(r"(?m)^   \* - ``(\w+)``\n     - (.+)$", page))
    assert sorted(rows) == sorted(depl.__all__)
    for name in depl._ROOMS:
        assert rows[name] == f"the functions of `{getattr(depl, name).__name__}`"
    for name in set(rows) - {"__version__", *depl._ROOMS}:
        found = getattr(depl, name)
        assert rows[name] == f"`{found.__module__}.{found.__name__}`"


def test_every_erratum_that_the_code_names_is_on_the_page_and_every_test_that_a_page_names_exists():
    known = set(re.findall(r"(?m)^\.\. _erratum-e(\d+):$", text_of("docs/errata.rst")))
    sources = [path.read_text(encoding="utf-8") for name in FOLDERS for path in ROOT.glob(f"{name}/**/*.py")]
    errata = {number for text in sources for number in re.findall(r"\bE(\d{1,2})\b", text)}
    assert {"5"} <= errata <= known
    pages = "".join(path.read_text("utf-8") for path in DOCS.rglob("*.rst"))
    named = set(re.findall(r"\btests/[\w/]+\.py", pages))
    assert "tests/docs/test_errata.py" in named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def resolves(name):
    """Whether a dotted name leads to a module, or to an attribute or declared field of something in one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            own = [vars(base).get("__annotations__", {}) for base in getattr(found, "__mro__", ())]
            if any(part in fields for fields in own):
                return part == parts[-1]
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def test_every_name_that_a_docstring_or_a_page_refers_to_exists_and_one_that_does_not_is_noticed():
    sources = [path for name in (*FOLDERS, "depl", "docs") for path in ROOT.glob(f"{name}/**/*")]
    sources = [path for path in sources if path.suffix in (".py", ".rst") and path.name != "removed.py"]
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    named = set(re.findall(r"`~?(depl(?:\.\w+)+)(?:\(\))?`", text))  # as code, too: glossary and symbols
    assert "depl.models.solving.solve" in named
    assert not [name for name in sorted(named) if not resolves(name)]
    for name in ("depl.models.nothing", "depl.models.problem.instance.Cluster.nothing"):
        assert not resolves(name)


def test_the_page_of_the_command_line_names_every_exit_code_and_is_written_from_the_commands():
    own, written = text_of("docs/cli.rst"), reference_pages.commands()
    assert set(map(int, re.findall(r"(?m)^   \* - (\d+)$", own))) == set(map(int, ExitCode))
    for name, command in leaves():
        (row,) = re.findall(rf"(?m)^   \* - ``depl {name} ?(.*)``$", written)
        assert set(re.findall(r"--[a-z-]+", row)) == options_of(command), name
    assert ".. include:: reference/rooms/commands.txt" in own


def formulas():
    """The mathematics of all pages and lessons, as it is typed."""
    found = []
    for path in [*DOCS.glob("*.rst"), *DOCS.glob("*/*.rst"), *DOCS.glob("lessons/*.py")]:
        text = re.sub(r"(?m)^# ?", "", path.read_text(encoding="utf-8"))
        found += re.findall(r":math:`([^`]+)`", text)
        for indent, first, rest in re.findall(r"(?m)^( *)\.\. math::(.*)\n((?:\1 {3}.*\n|\n)*)", text):
            found.append(f"{first}\n" + re.sub(rf"(?m)^{indent} +:\w+:.*$", "", rest))
    return found


def test_the_font_of_the_formulas_has_every_sign_that_they_use():
    fonts = DOCS / "_static" / "fonts"
    note = (fonts / "README.txt").read_text(encoding="utf-8")
    ranges = re.findall(r"U\+([0-9A-F]+)(?:-([0-9A-F]+))?", note)
    known = {chr(code) for a, b in ranges for code in range(int(a, 16), int(b or a, 16) + 1)}
    signs = {
        sign
        for text in formulas()
        for sign in html.unescape(re.sub("<[^>]+>", "", tex2mathml(text, as_block=True)))
    }
    assert {"∑", "ℓ", "ω", "𝒩"} <= signs
    assert signs - known - set("\n") == set()
    style = text_of("docs/_static/depl.css")
    (name,) = re.findall(r'url\("fonts/(.+?)"\)', style)
    assert (fonts / name).read_bytes()[:4] == b"wOF2"
    assert "SIL OPEN FONT LICENSE Version 1.1" in (fonts / "OFL.txt").read_text(encoding="utf-8")
    assert "http" not in style


@pytest.mark.slow
def test_the_pages_build_without_a_warning(tmp_path):
    options = ["-W", "--keep-going", "-q", "-b", "html", "-d", str(tmp_path / "trees")]
    command = [sys.executable, "-m", "sphinx", *options, str(DOCS), str(tmp_path / "html")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    pages = [path.read_text(encoding="utf-8") for path in (tmp_path / "html").glob("**/*.html")]
    errata = (tmp_path / "html" / "errata.html").read_text(encoding="utf-8")
    assert all(said in errata for said in ("<math ", "<mn>0.75</mn>", 'class="mobile-header"'))
    assert [f'id="erratum-e{number}"' in errata for number in range(1, 15)] == [True] * 14
    assert list((tmp_path / "html" / "_static" / "fonts").glob("*.woff2"))
    assert all((tmp_path / "html" / "_static" / name).exists() for name in ("copybutton.js", "cards.js"))
    assert "url=../tutorials/logs.html" in (tmp_path / "html" / "howto" / "traces.html").read_text("utf-8")
    assert all(any(f"{name}.svg" in page for page in pages) for name in ("system", "loop"))
    wrong = r'<mo>\.</mo>\s*<mn>|<(script|link|img)[^>]*(src|href)="(https?:)?//|Adding a table of contents'
    assert not any(re.search(rf"{wrong}|&lt;promises-kept", page) for page in pages)
