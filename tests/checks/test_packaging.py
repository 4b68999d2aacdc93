"""The wheel and the source archive hold every source file exactly once, links or no links."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("models", "heuristics", "instances", "benchmarks")
# The folder is read first: setuptools overwrites the arguments of the process.
BUILD = "import sys, setuptools.build_meta as b; out = sys.argv[1]; b.build_wheel(out)"
AND_SOURCES = "; b.build_sdist(out)"


def copy_of_the_project(target):
    """Copy what a clone holds of the sources, links as links."""
    junk = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("depl", *LAYERS):
        shutil.copytree(ROOT / name, target / name, symlinks=True, ignore=junk)
    shutil.copytree(ROOT / "docs" / "lessons", target / "docs" / "lessons", ignore=junk)
    for name in ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, target / name)


def expected_modules():
    """Import path of every source file, read from the real folders."""
    own = [path.relative_to(ROOT) for path in (ROOT / "depl").rglob("*.py")]
    modules = [path.as_posix() for path in own if path.parts[1] not in LAYERS]
    for layer in LAYERS:
        modules += [f"depl/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / layer).rglob("*.py")]
    lessons = (ROOT / "docs" / "lessons").glob("*.py")
    return sorted([*modules, *(f"depl/lessons/texts/{path.name}" for path in lessons)])


@pytest.mark.parametrize(
    ("links", "sources"),
    [
        ("links", True),
        ("text files", False),  # the source archive takes the files of the same packages
        *(pytest.param(kind, True, marks=pytest.mark.slow) for kind in ("text files", "nothing")),
    ],
)
def test_archives_hold_every_source_once(tmp_path, links, sources):
    project, out = tmp_path / "project", tmp_path / "out"
    project.mkdir()
    out.mkdir()
    copy_of_the_project(project)
    for layer in LAYERS if links != "links" else ():
        (project / "depl" / layer).unlink()
        if links == "text files":  # what git writes where links are not allowed
            (project / "depl" / layer).write_text(f"../{layer}", encoding="utf-8")

    build = BUILD + AND_SOURCES if sources else BUILD
    subprocess.run([sys.executable, "-c", build, str(out)], cwd=project, check=True, capture_output=True)

    (wheel,) = out.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert sorted(name for name in names if name.endswith(".py")) == expected_modules()
    assert "depl/py.typed" in names
    assert {name for name in names if name.startswith("depl/instances/data/")} == shipped_data()
    templates = {"depl/lessons/page.html"}
    kit = {f"depl/lessons/texts/kit/{path.name}" for path in (ROOT / "docs/lessons/kit").glob("*.rst")}
    assert templates | kit <= set(names)
    assert {"depl/reporting/page.css", "depl/reporting/page.html"} <= set(names)
    assert LESSONS_FOUND.format(out / "unpacked") == lessons_of_the_wheel(wheel, out / "unpacked")
    assert any(name.endswith("licenses/LICENSE") for name in names)
    if not sources:
        return
    (sdist,) = out.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        inside = [name.partition("/")[2] for name in archive.getnames()]
    inside = [name.replace("docs/lessons/", "depl/lessons/texts/") for name in inside]
    assert (
        sorted(f"depl/{name.removeprefix('depl/')}" for name in inside if is_module(name))
        == expected_modules()
    )


LESSONS_FOUND = "{}/depl/lessons/texts, from 1_reduction\n"


def lessons_of_the_wheel(wheel, folder):
    """Where what a wheel installs finds its lessons, and the first of them."""
    zipfile.ZipFile(wheel).extractall(folder)
    code = "from depl.lessons.shipped import folder, lessons; print(f'{folder()}, from {lessons()[0].name}')"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, env={}).stdout


def shipped_data():
    """Instances, setups, traces and knapsacks, by their paths in the package."""
    folder = ROOT / "instances" / "data"
    files = [path for path in folder.rglob("[!.]*") if path.is_file()]
    return {f"depl/{path.relative_to(ROOT).as_posix()}" for path in files}


def is_module(name):
    """Whether a member of the source archive is a source file of the package."""
    return name.endswith(".py") and name.split("/")[0] in ("depl", *LAYERS)
