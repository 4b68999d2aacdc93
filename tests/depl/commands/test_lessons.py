"""``depl lessons``: the list, the files, and what is refused before anything is written."""

import builtins
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from depl.lessons.shipped import lessons

Ask = Callable[..., tuple[int, str, str]]


def test_the_list_names_every_lesson_with_its_exercises(ask: Ask) -> None:
    code, out, _ = ask("lessons", "list")
    assert code == 0
    for lesson in lessons():
        assert lesson.title in out
        assert " ".join(lesson.exercises) in out
    listed = json.loads(ask("lessons", "list", "--json")[1])["lessons"]
    assert [entry["name"] for entry in listed] == [lesson.name for lesson in lessons()]


def test_notebooks_of_all_lessons_are_written_without_running_any(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("depl.lessons.export.run_cells", None)
    code, out, err = ask("lessons", "export", "--to", tmp_path / "new" / "course", "--only", "notebook")
    assert code == 0
    written = sorted(path.name for path in (tmp_path / "new" / "course").iterdir())
    assert written == [f"{lesson.name}.ipynb" for lesson in lessons()]
    assert len(out.splitlines()) == len(written)
    assert f"{len(written)} files written" in err


def test_a_lesson_is_written_as_notebook_slides_and_handout(ask: Ask, tmp_path: Path) -> None:
    code, out, _ = ask("lessons", "export", 4, "--to", tmp_path, "--json")
    assert code == 0
    stem = tmp_path / "4_submodular"
    wanted = [f"{stem}.ipynb", f"{stem}-slides.html", f"{stem}-handout.html"]
    assert json.loads(out)["files"] == wanted
    for name in wanted[1:]:
        page = Path(name).read_text(encoding="utf-8")
        assert "<h1>4. Submodular or not</h1>" in page
        assert "0.5, 0.35, 0.3" in page or "f({}) = 0.5" in page


def test_a_file_that_is_there_is_kept_unless_it_is_forced_away(ask: Ask, tmp_path: Path) -> None:
    there = tmp_path / "1_reduction.ipynb"
    there.write_text("mine", encoding="utf-8")
    words = ("lessons", "export", 1, 2, "--to", tmp_path, "--only", "notebook")
    code, _, err = ask(*words)
    assert code == 2
    assert f"{there}: exists already; replace with --force, or name another folder" in err
    assert there.read_text(encoding="utf-8") == "mine"
    assert list(tmp_path.iterdir()) == [there]
    assert ask(*words, "--force")[0] == 0
    assert json.loads(there.read_text(encoding="utf-8"))["nbformat"] == 4


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("99",), "N: there is no lesson 99; they are 1 to"),
        (("0",), "0"),
        (("2", "--only", "kit"), "--only: lesson 2 has no kit"),
        (("1", "--only", "slide"), "'slide' is no choice"),
    ],
)
def test_what_there_is_not_is_refused_and_nothing_is_written(
    ask: Ask, tmp_path: Path, words: tuple[str, ...], complaint: str
) -> None:
    code, _, err = ask("lessons", "export", *words, "--to", tmp_path / "new")
    assert code == 2
    assert complaint in err
    assert not (tmp_path / "new").exists()


def test_a_file_in_the_place_of_the_folder_is_refused(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    code, _, err = ask("lessons", "export", 1, "--only", "notebook", "--to", tmp_path / "file")
    assert code == 2
    assert "is no folder; name another one" in err


def test_without_docutils_pages_are_refused_with_the_name_of_the_extra(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *given: object, **named: object) -> object:
        if name.split(".")[0] == "docutils":
            raise ImportError(name)
        return real(name, *given, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    code, _, err = ask("lessons", "export", 1, "--to", tmp_path / "new")
    assert code == 2
    assert "pip install 'depl[teaching]'" in err
    assert not (tmp_path / "new").exists()
    assert ask("lessons", "export", 1, "--to", tmp_path / "new", "--only", "notebook")[0] == 0


def test_what_tells_answers_lies_apart_from_what_is_handed_out(ask: Ask, tmp_path: Path) -> None:
    code, out, _ = ask("lessons", "export", 1, "--to", tmp_path, "--only", "kit")
    assert code == 0
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.html")}
    stem = "1_reduction-kit"
    assert written == {
        *(f"{stem}-{part}.html" for part in ("handout", "exercises")),
        *(f"teacher/{stem}-{part}.html" for part in ("plan", "marking")),
    }
    assert str(tmp_path / "teacher" / f"{stem}-marking.html") in out.splitlines()
