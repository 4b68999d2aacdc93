"""The glossary and the table of places name what exists, in order, and words that the pages use."""

import re

import pytest

from tests.docs.pages import DOCS, text_of
from tests.docs.test_symbol_table import resolves

ENTRY = re.compile(r"(?m)^   (\S[^\n]*)\n((?:      .*\n)+)")


def entries() -> dict[str, str]:
    """Words of the glossary, with what is said of them."""
    text = text_of("docs/glossary.rst").partition(".. glossary::\n")[2]
    return dict(ENTRY.findall(text))


def other_pages() -> str:
    """The text of all pages but the glossary, in lower case and on one line."""
    pages = (path for path in DOCS.rglob("*.rst") if path.name != "glossary.rst")
    return " ".join(" ".join(path.read_text(encoding="utf-8").lower().split()) for path in pages)


def places() -> list[str]:
    """Dotted names in the table of the page on the architecture."""
    text = text_of("docs/architecture.rst")
    return re.findall(r"``(depl\.[\w.]+)``", text)


def test_the_words_are_in_order_and_each_stands_once():
    assert len(entries()) > 20
    assert list(entries()) == sorted(entries())


@pytest.mark.parametrize("word", entries())
def test_a_word_is_explained_and_leads_to_code(word):
    sentence, _, name = entries()[word].strip().rpartition("``depl.")
    assert len(sentence.split()) >= 5
    assert resolves("depl." + name.rstrip("`")), f"correct docs/glossary.rst: {name}"


def test_the_pages_use_every_word():
    text = other_pages()
    assert [word for word in entries() if word not in text] == []


@pytest.mark.parametrize("name", places())
def test_a_place_named_by_the_architecture_exists(name):
    assert resolves(name), f"correct docs/architecture.rst: {name}"
