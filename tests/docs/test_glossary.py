"""The glossary and the table of places name what exists, in order, and words that the pages use."""

import re

import pytest

from tests.docs.pages import DOCS, text_of
from tests.docs.test_symbol_table import resolves

GLOSSARY = text_of("docs/glossary.rst").partition(".. glossary::\n")[2]
ENTRIES = dict(re.findall(r"(?m)^   (\S[^\n]*)\n((?:      .*\n)+)", GLOSSARY))
"""Words, with what is said of them."""
PLACES = re.findall(r"``(depl\.[\w.]+)``", text_of("docs/architecture.rst"))


def test_the_words_are_in_order_each_stands_once_and_the_other_pages_use_it():
    assert len(ENTRIES) > 20
    assert list(ENTRIES) == sorted(ENTRIES)
    pages = (path.read_text(encoding="utf-8") for path in DOCS.rglob("*.rst") if path.name != "glossary.rst")
    text = " ".join(" ".join(page.lower().split()) for page in pages)
    assert [word for word in ENTRIES if word not in text] == []


@pytest.mark.parametrize("word", ENTRIES)
def test_a_word_is_explained_and_leads_to_code(word):
    sentence, _, name = ENTRIES[word].strip().rpartition("``depl.")
    assert len(sentence.split()) >= 5
    assert resolves("depl." + name.rstrip("`")), f"correct docs/glossary.rst: {name}"


@pytest.mark.parametrize("name", PLACES)
def test_a_place_named_by_the_architecture_exists(name):
    assert resolves(name), f"correct docs/architecture.rst: {name}"
