"""LaTeX tables: every sign means itself, numbers are set flush right, and columns may be spread."""

from depl.benchmarks.analysis.latex import booktabs, escaped, pivoted
from depl.benchmarks.analysis.table import Table

LONG = Table(
    ("target", "method", "cost"), ((5.0, "exact", 17.0), (5.0, "a_b", None), (7.0, "exact", 14.12345))
)


def test_signs_that_latex_understands_are_escaped() -> None:
    assert escaped("50 % & {a_b} #1 ~ ^") == (r"50 \% \& \{a\_b\} \#1 \textasciitilde{} \textasciicircum{}")
    assert escaped("\\<=") == r"\textbackslash{}\textless{}="


def test_a_table_has_three_rules_and_a_line_for_every_row() -> None:
    assert booktabs(LONG, comments=["from a test"]).splitlines() == [
        "% from a test",
        r"\begin{tabular}{rlr}",
        r"\toprule",
        r"target & method & cost \\",
        r"\midrule",
        r"5 & exact & 17 \\",
        r"5 & a\_b & -- \\",
        r"7 & exact & 14.12 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_a_caption_makes_it_float() -> None:
    text = booktabs(LONG, "Costs of 100 %")
    assert text.startswith("\\begin{table}\n\\centering\n\\caption{Costs of 100 \\%}\n")
    assert text.endswith("\\end{tabular}\n\\end{table}\n")


def test_entries_of_a_column_become_headings() -> None:
    assert pivoted(LONG, "method", "cost") == Table(
        ("target", "exact", "a_b"), ((5.0, 17.0, None), (7.0, 14.12345, None))
    )
