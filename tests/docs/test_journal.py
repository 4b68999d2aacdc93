"""The paper for a journal has the journal's form, and the ways to cite the project agree with each other."""

import re
import tomllib

import yaml

from tests.docs.pages import ROOT, text_of

PAPER = text_of("paper.md")
BIBLIOGRAPHY = (ROOT / "paper.bib").read_text(encoding="utf-8")
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SECTIONS = (
    "Summary",
    "Statement of need",
    "State of the field",
    "Software design",
    "Research impact statement",
    "AI usage disclosure",
    "Acknowledgements",
    "References",
)
"""What the journal asks for, in its order."""
WITHOUT_DOI = {"sfo", "apricot", "luedtke"}
"""The journal of the first two gives none; that of the third was not at hand to be checked."""
_, HEADER, TEXT = PAPER.split("---\n", 2)
ENTRIES = dict(re.findall(r"(?ms)^@\w+\{(\w+),\n(.*?)^\}", BIBLIOGRAPHY))
"""Every reference by its key."""


def test_the_paper_has_the_header_the_sections_and_the_length_that_the_journal_asks_for():
    header = yaml.safe_load(HEADER)
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} == set(header)
    assert (header["bibliography"], header["title"]) == ("paper.bib", CITATION["title"])
    assert [item["name"] for item in header["authors"]] == ["The depl developers"]
    assert tuple(re.findall(r"(?m)^# (.+)$", TEXT)) == SECTIONS
    assert 750 <= len(TEXT.split()) <= 1500


def test_every_reference_is_cited_and_has_its_fields_and_a_doi_where_there_is_one():
    assert set(re.findall(r"@(\w+)", TEXT)) == set(ENTRIES)
    for key, body in ENTRIES.items():
        fields = dict(re.findall(r"(?m)^  (\w+) +\= \{(.*)\},?$", body))
        assert {"author", "title", "year"} < set(fields), key
        assert ("doi" in fields) == (key not in WITHOUT_DOI), key
        assert re.fullmatch(r"10\.\d{4,}/\S+", fields.get("doi", "10.1000/none")), key


def test_the_citation_file_agrees_with_package_and_paper():
    assert (CITATION["cff-version"], CITATION["type"]) == ("1.2.0", "software")
    assert CITATION["title"].lower() == f"{PROJECT['name']}: {PROJECT['description']}".lower()
    same = ("version", "license", "keywords", "authors")
    assert [CITATION[key] for key in same] == [PROJECT[key] for key in same]
    (reference,) = CITATION["references"]
    named = [f"{row['family-names']}, {row['given-names']}" for row in reference["authors"]]
    for said in (f"doi     = {{{reference['doi']}}}", *named):
        assert said in ENTRIES["depl"]
