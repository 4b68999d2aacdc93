"""The paper for a journal has the journal's form, and the ways to cite the project agree with each other."""

import datetime
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
CFF_KEYS = {
    *("abstract", "authors", "cff-version", "commit", "contact", "date-released", "doi", "identifiers"),
    *("keywords", "license", "license-url", "message", "preferred-citation", "references", "repository"),
    *("repository-artifact", "repository-code", "title", "type", "url", "version"),
}
"""All keys that the Citation File Format 1.2.0 knows at the top."""


def parts() -> tuple[dict, str]:
    """Header and text of the paper."""
    _, header, text = PAPER.split("---\n", 2)
    return yaml.safe_load(header), text


def entries() -> dict[str, str]:
    """Every reference by its key."""
    return dict(re.findall(r"(?ms)^@\w+\{(\w+),\n(.*?)^\}", BIBLIOGRAPHY))


def test_the_header_of_the_paper_has_what_the_journal_asks_for():
    header, _ = parts()
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} == set(header)
    assert header["bibliography"] == "paper.bib"
    assert header["title"] == CITATION["title"]
    assert [item["name"] for item in header["authors"]] == ["The depl developers"]
    assert {item["affiliation"] for item in header["authors"]} == {
        item["index"] for item in header["affiliations"]
    }
    datetime.datetime.strptime(header["date"], "%d %B %Y")


def test_the_paper_has_the_sections_of_the_journal_and_its_length():
    _, text = parts()
    assert tuple(re.findall(r"(?m)^# (.+)$", text)) == SECTIONS
    assert 750 <= len(text.split()) <= 1500


def test_every_reference_is_cited_and_every_citation_is_a_reference():
    _, text = parts()
    assert set(re.findall(r"@(\w+)", text)) == set(entries())


def test_every_reference_has_its_fields_and_a_doi_where_there_is_one():
    for key, body in entries().items():
        fields = dict(re.findall(r"(?m)^  (\w+) +\= \{(.*)\},?$", body))
        assert {"author", "title", "year"} < set(fields), key
        assert ("doi" in fields) == (key not in WITHOUT_DOI), key
        assert re.fullmatch(r"10\.\d{4,}/\S+", fields.get("doi", "10.1000/none")), key


def test_the_citation_file_is_one():
    assert CITATION["cff-version"] == "1.2.0"
    assert {"authors", "cff-version", "message", "title"} <= set(CITATION) <= CFF_KEYS
    assert CITATION["type"] in ("software", "dataset")
    assert all({"type", "title", "authors"} <= set(item) for item in CITATION["references"])
    assert all(isinstance(word, str) for word in CITATION["keywords"])


def test_the_citation_file_agrees_with_the_package():
    name, _, described = CITATION["title"].partition(": ")
    assert name == PROJECT["name"]
    assert described == PROJECT["description"][0].lower() + PROJECT["description"][1:]
    assert CITATION["version"] == PROJECT["version"]
    assert CITATION["license"] == PROJECT["license"]
    assert CITATION["keywords"] == PROJECT["keywords"]
    assert CITATION["authors"] == PROJECT["authors"] == [{"name": "The depl developers"}]


def test_the_paper_that_depl_stands_on_is_cited_alike():
    (reference,) = CITATION["references"]
    assert f"doi     = {{{reference['doi']}}}" in entries()["depl"]
    assert all(
        f"{row['family-names']}, {row['given-names']}" in entries()["depl"] for row in reference["authors"]
    )
