"""Tables as CSV and LaTeX: every sign means itself, and nothing is an empty field or a dash."""

import csv
import io

from depl.benchmarks.analysis.table import Table, booktabs, escaped, pivoted

LONG = Table(
    ("target", "method", "cost"), ((5.0, "exact", 17.0), (5.0, "a_b", None), (7.0, "exact", 14.12345))
)


def test_csv_reads_back_and_nothing_is_an_empty_field(tmp_path):
    table = Table(("name", "value"), (("a,b", 1.5), ('say "no"', None)))
    table.write(tmp_path / "t.csv")
    text = (tmp_path / "t.csv").read_text()
    assert text == table.csv()
    assert list(csv.reader(io.StringIO(text))) == [["name", "value"], ["a,b", "1.5"], ['say "no"', ""]]


def test_a_latex_table_has_three_rules_and_every_sign_means_itself():
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
    text = booktabs(LONG, "Costs of 100 %")
    assert text.startswith("\\begin{table}\n\\centering\n\\caption{Costs of 100 \\%}\n")
    assert text.endswith("\\end{tabular}\n\\end{table}\n")
    assert escaped("50 % & {a_b} #1 ~ ^") == r"50 \% \& \{a\_b\} \#1 \textasciitilde{} \textasciicircum{}"
    assert escaped("\\<=") == r"\textbackslash{}\textless{}="


def test_entries_of_a_column_become_headings():
    assert pivoted(LONG, "method", "cost") == Table(
        ("target", "exact", "a_b"), ((5.0, 17.0, None), (7.0, 14.12345, None))
    )
