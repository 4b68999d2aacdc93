"""The symbol table of the documentation names what exists, and all of it."""

import importlib
import re

import pytest

from tests.docs.pages import text_of

# Every symbol that Sec. III, IV and VI-A of the paper introduce for the problem and the method.
PAPERS = r"""
n \in \mathcal N; d \in \mathcal D; m \in \mathcal M; r(n); b(n); \kappa(n); \beta(d, n); s(m);
c(k, m, d); \ell^{\text{run}}(k, d, m); \ell^{\text{sw}}(k, d, m, m'); k; y(k, n); z(d, n); x(k, n); K;
m(k); T(k); \ell(k); \ell(0); \ell_\omega(K); \ell_\omega^{\max}; \omega; T^{\max}; \hat{\mathcal D};
\hat K(\hat{\mathcal D}); \hat T(\hat{\mathcal D}); \eta; i; j; \Omega; \varepsilon; A_m; B_m;
\mathcal X_m; x \sim \mathcal X_m
"""
PAPER = [symbol.strip() for symbol in PAPERS.split(";")]

# What the toolkit adds to the problem.
OURS = ["q(d)", "Q_0", "h(D)", r"K_{\max}", r"\tau", r"p = 1 - \omega", "N", r"\lambda", r"\psi_k(\lambda)"]


def tables() -> list[list[list[str]]]:
    """The cells of every list-table of the page, header rows left out."""
    text = text_of("docs/symbols.rst")
    found = []
    for block in text.split(".. list-table::")[1:]:
        rows = re.split(r"(?m)^(?=   \* - )", block)[1:]
        found.append([re.findall(r"^   [* ] - (.*)$", row, re.MULTILINE) for row in rows][1:])
    return found


def inside(cell: str, pattern: str) -> str:
    """What stands in the markup of a cell."""
    match = re.fullmatch(pattern, cell)
    assert match, f"{cell} is not {pattern}"
    return match[1]


FORMULA, LITERAL = r":math:`(.+)`", r"``(.+)``"


def resolves(name: str) -> bool:
    """Whether a dotted name leads to a module, or to an attribute or declared field of something in one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            if isinstance(found, type) and any(
                part in vars(base).get("__annotations__", {}) for base in found.__mro__
            ):
                return part == parts[-1]
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


IN_CODE = [row for table in tables() for row in table]


def test_the_page_has_the_two_tables_with_all_their_columns() -> None:
    assert len(tables()) == 2
    assert {len(row) for row in IN_CODE} == {5}
    assert all(cell.strip() for row in IN_CODE for cell in row)


def test_every_symbol_of_the_model_is_listed_exactly_once() -> None:
    listed = [inside(row[0], FORMULA) for row in IN_CODE]
    assert sorted(listed) == sorted(set(listed))
    assert sorted({*PAPER, *OURS} - {*listed}) == []
    ours = {inside(row[0], FORMULA) for row in tables()[1]}
    assert sorted({*listed} - ours) == sorted(PAPER)


@pytest.mark.parametrize("row", IN_CODE, ids=lambda row: row[0])
def test_every_name_in_the_table_exists(row: list[str]) -> None:
    assert resolves(inside(row[2], LITERAL)), (
        f"{inside(row[2], LITERAL)} does not exist (any more): correct docs/symbols.rst"
    )


@pytest.mark.parametrize("name", ["depl.models.nothing", "depl.models.problem.instance.Cluster.nothing"])
def test_a_name_that_does_not_exist_is_noticed(name: str) -> None:
    assert not resolves(name)
