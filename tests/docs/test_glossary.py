"""Glossary and table of symbols are complete, in words that the pages use."""

import re

from tests.docs.pages import DOCS, text_of

# Every symbol that Sec. III, IV and VI-A of the paper introduce for the problem and the method.
PAPERS = r"""
n \in \mathcal N; d \in \mathcal D; m \in \mathcal M; r(n); b(n); \kappa(n); \beta(d, n); s(m);
c(k, m, d); \ell^{\text{run}}(k, d, m); \ell^{\text{sw}}(k, d, m, m'); k; y(k, n); z(d, n); x(k, n); K;
m(k); T(k); \ell(k); \ell(0); \ell_\omega(K); \ell_\omega^{\max}; \omega; T^{\max}; \hat{\mathcal D};
\hat K(\hat{\mathcal D}); \hat T(\hat{\mathcal D}); \eta; i; j; \Omega; \varepsilon; A_m; B_m;
\mathcal X_m; x \sim \mathcal X_m
"""
PAPER = [symbol.strip() for symbol in PAPERS.split(";")]
OURS = ["q(d)", "Q_0", "h(D)", r"K_{\max}", r"\tau", r"p = 1 - \omega", "N", r"\lambda", r"\psi_k(\lambda)"]
"""What the toolkit adds to the problem."""
GLOSSARY = text_of("docs/glossary.rst").partition(".. glossary::\n")[2]
ENTRIES = dict(re.findall(r"(?m)^   (\S[^\n]*)\n((?:      .*\n)+)", GLOSSARY))
"""Words, with what is said of them."""
TABLES = [
    [re.findall(r"^   [* ] - (.*)$", row, re.MULTILINE) for row in re.split(r"(?m)^(?=   \* - )", block)[2:]]
    for block in text_of("docs/symbols.rst").split(".. list-table::")[1:]
]
"""The cells of the list-tables of the symbols, without their heads."""


def test_the_words_are_in_order_explained_and_used_by_the_other_pages():
    assert len(ENTRIES) > 20
    assert list(ENTRIES) == sorted(ENTRIES)
    assert all(len(told.partition("``depl.")[0].split()) >= 5 for told in ENTRIES.values())
    pages = (path.read_text(encoding="utf-8") for path in DOCS.rglob("*.rst") if path.name != "glossary.rst")
    text = " ".join(" ".join(page.lower().split()) for page in pages)
    assert [word for word in ENTRIES if word not in text] == []


def test_every_symbol_of_the_model_is_listed_exactly_once_with_all_columns():
    rows = [row for table in TABLES for row in table]
    assert ({len(row) for row in rows}, all(cell.strip() for row in rows for cell in row)) == ({5}, True)
    papers, ours = ([re.fullmatch(r":math:`(.+)`", row[0])[1] for row in table] for table in TABLES)
    assert sorted(papers) == sorted(PAPER)
    assert len(set(ours)) == len(ours)
    assert set(OURS) <= set(ours)
    assert not set(ours) & set(PAPER)
