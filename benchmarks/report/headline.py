"""The headline table: mean cost over the proved optimum, on the paper's and on random instances."""

from depl.benchmarks.analysis.ratio_table import ratio_table
from depl.benchmarks.analysis.table import Cell, Table
from depl.benchmarks.report.evidence import Evidence

WITHOUT_PLAN = ("missed", "timed_out", "rejected", "failed", "hung", "crashed")
"""Fates of attempts that end without a plan on an instance that may have one."""
_SUITES = {"paper": "family", "random": ""}


def headline_table(evidence: Evidence) -> Table:
    """A line for each method, a column for each family and for the random instances.

    Returns
    -------
    Table
        Means of cost over proved optimum; the largest ratio anywhere; how many plans were compared; attempts
        without a plan, and refused ones. Only methods that mean the law.
    """
    lines: dict[str, dict[str, list[dict[str, Cell]]]] = {}
    groups: list[str] = []
    for suite, label in _SUITES.items():
        own = evidence.suite(suite)
        for record in ratio_table(own, by=(label,) if label else ()).records() if own else ():
            group = str(record[label]) if label else suite
            groups += [group] if group not in groups else []
            if record["meaning"] == "law":
                lines.setdefault(str(record["configuration"]), {}).setdefault(group, []).append(record)
    rows = []
    for method, by_group in lines.items():
        every = [record for records in by_group.values() for record in records]
        means = [by_group[group][0]["mean"] if group in by_group else None for group in groups]
        largest = [float(record["largest"]) for record in every if isinstance(record["largest"], float)]
        counted = [sum(int(record[name] or 0) for record in every) for name in ("compared", "refused")]
        without = sum(int(record[name] or 0) for record in every for name in WITHOUT_PLAN)
        rows.append((method, *means, max(largest, default=None), counted[0], without, counted[1]))
    return Table(("method", *groups, "largest", "compared", "no plan", "not covered"), tuple(rows))
