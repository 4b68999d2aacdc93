"""Rows of the tables that ``make numbers`` writes into README and pages, from records and attempts."""

from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, Decimal
from statistics import median

from depl.benchmarks.report.quoted import Values, problems, shipped_and_random, source, where
from depl.benchmarks.report.tables import headline_table
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice

Rows = list[list[str]]
FAMILIES = {"digits-alexnet": "AlexNet", "digits-mobilenet": "MobileNet", "digits-alexnet-slow": "AlexNet"}


def measured() -> Rows:
    """What the README answers by records; the three stages of the paper stand by themselves."""
    names = ("ratios", "scale", "promises-kept", "suites", "exact-law", "graph", "claims")
    ratios, scale, kept, suites, exact, graph, claims = map(source, names)
    steps, made, gaps = suites["steps"], kept["made"], scale["full_gaps"]
    (levels,) = where(graph["curves"], epochs=100, eta=200)
    delivered, broken = [row["delivered"] for row in made], [row for row in made if row["p_value"] < 0.05]
    solved = [(exact[f"{kind}_instances"], exact[f"{kind}_proved"]) for kind in ("one_cluster", "whole")]
    proved = sum(round(count * share) for count, share in solved)
    mean, most = ratios["depl_mean_ratio"], _raised(ratios["depl_largest_ratio"], ".001")
    printed, found = ratios["depl_paper_mean_ratio"], ratios["depl_paper_found"]
    median_gap, largest_gap = scale["full_median_gap"], _raised(100 * max(gaps), ".1")
    return [
        [
            f"`depl` on {ratios['instances']} random instances, cost over the proved optimum",
            f"{mean:.3f} on average of {ratios['depl_compared']}, at most {most}",
        ],
        [
            "the paper's loop as printed, there",
            f"{printed:.2f} on average of {found}; no plan on {ratios['depl_paper_missed']}",
        ],
        [
            "its data, by the Lovász extension",
            f"not the best on {steps['data_missed']} of {steps['data_compared']}",
        ],
        ["its graph, 200 levels, 100 epochs", f"no path on {100 * levels['missed']:.0f} % of instances"],
        [
            "its rounded placement",
            f"not the cheapest on {steps['placement_missed']} of {steps['placements_compared']}",
        ],
        [
            f"`exact` on {sum(count for count, _ in solved)} small instances",
            f"{proved} proved within {exact['seconds_allowed']:g} s each",
        ],
        [
            "1000 clusters, datasets and epochs, 50 models: gap of `depl`",
            f"{100 * median_gap:.1f} % in the median of {len(gaps)}, at most {largest_gap} %",
        ],
        [
            "promises of 0.90 and 0.95 on real runs",
            f"{len(made)} made, kept in {min(delivered):.2f} to {max(delivered):.2f} of fresh runs, "
            f"{len(broken) or 'none'} refuted; {len(where(kept['rows'], delivered=None))} refused",
        ],
        [f"{claims['judged']} claims of the paper", ", ".join(claims["counts"])],
    ]


def _raised(value: float, step: str) -> str:
    """Rounded up: what is at most this."""
    return str(Decimal(str(value)).quantize(Decimal(step), ROUND_CEILING))


def headline() -> Rows:
    """Methods that mean the law; a mean that is not over all proved optima has its number beside it."""
    evidence = shipped_and_random()
    table = headline_table(evidence)
    rows = []
    for row in table.records():
        cells = [f"``{row['method']}``"]
        for column in (
            "paper-alexnet",
            "paper-alexnet-deadline",
            "paper-alexnet-deadline-normal",
            "paper-mobilenet",
            "random",
        ):
            own = [
                item for item in evidence.attempts if column in (item.task.suite, item.labels.get("family"))
            ]
            proved = {item.task.instance for item in own if item.ending == "optimal"}
            tried = {
                item.task.instance
                for item in own
                if item.task.configuration == row["method"] and item.cost is not None
            }
            held = len(proved & tried)
            cells.append(
                f"{row[column] or 0:.3f}" + (f" ({held} of {len(proved)})" if held < len(proved) else "")
            )
        rows.append([*cells, f"{row['largest']:.3f}", str(row["no plan"])])
    return [cells for cells in rows if cells[0] != "``enumerate``"]


def policies() -> Rows:
    rows = []
    for own in problems(source("closed-loop")):
        fixed, first = own.get("fixed"), own["clairvoyant"]
        if first["omega"] != 0.95:
            continue
        problem = f"{FAMILIES[first['family']]}: {first['maximum_loss']:g}, {first['maximum_epochs']}"
        cells = [problem, f"{fixed['delivered']:.2f} at {fixed['cost']:.1f}" if fixed else "none"]
        for rung in ("optimal, counted", "optimal, ledger", "clairvoyant"):
            row = own.get(rung, {"promised": None})
            if row.get("promised", 1) is None:
                cells.append("none")
                continue
            cost = f"{row['cost'] / fixed['cost']:.2f}" if fixed else f"{row['cost']:.1f}"
            certified = f"{row['promised']:.3f}: " if "promised" in row else ""
            cells.append(f"{certified}{row['delivered']:.2f}; {cost}")
        rows.append(cells)
    return rows


def levels() -> Rows:
    shown = [row for row in source("graph")["curves"] if row["eta"] in (50, 200, 800, 1600)]
    names = ("up_mean", "up_max", "down_mean", "down_min")
    return [
        [f"{row['epochs']}", f"{row['eta']}", f"{100 * row['missed']:.0f} %"]
        + ["--" if row[name] is None else f"{row[name]:.3f}" for name in names]
        for row in shown
    ]


def set_sizes() -> Rows:
    rows = []
    for family in ("digits-alexnet", "digits-mobilenet", "cells-perceptron"):
        own = where(source("prediction-sets")["comparisons"], family=family)
        falls, below = [], []
        for kind in ("mean", "upper"):
            fall = [100 * (1 - row[f"{kind}_after"] / row[f"{kind}_before"]) for row in own]
            falls.append(f"{min(fall):.0f}, {median(fall):.0f}, {max(fall):.0f} %")
            below.append(f"{len(where(own, **{f'{kind}_verdict': 'smaller'}))} of {len(own)}")
        rows.append([family, str(len(own)), falls[0], below[0], f"{falls[1]}; {below[1]}"])
    return rows


def rules() -> Rows:
    return [
        [
            row["rule"],
            f"{row['reached'] / row['runs']:.3f} [{row['lower']:.3f}, {row['upper']:.3f}]",
            f"{row['cost']:.1f} ({row['standard_error']:.1f})",
            f"{row['epochs']:.1f}",
        ]
        for row in source("training-loop")["rows"]
    ]


def console(commands: Sequence[Values], shown: Sequence[str]) -> Rows:
    """What recorded commands printed, of the kinds of lines that a page shows: by label, and tables whole."""
    printed = {f"$ {row['command']}": row["text"].splitlines() for row in commands}
    blocks: dict[str, list[str]] = {}
    command = ""
    for line in shown:
        command = line if line.startswith("$ ") else command
        if command not in printed:
            raise InvalidInputError(f"{command!r} was not recorded; {advice(command, list(printed))}")
        blocks.setdefault(command, []).append(_label(line))
    return [
        [line]
        for command, labels in blocks.items()
        for line in (command, *(text for text in printed[command] if text and _label(text) in labels))
    ]


def _label(line: str) -> str:
    return "|" if " | " in line or "-+-" in line else line.split("  ")[0].partition(":")[0]


TABLES: dict[str, Callable[[Sequence[str]], Rows]] = {
    "commands of training-loop": lambda shown: console(source("training-loop")["commands"], shown),
    "headline": lambda _: headline(),
    "levels": lambda _: levels(),
    "measured": lambda _: measured(),
    "policies": lambda _: policies(),
    "rules": lambda _: rules(),
    "set sizes": lambda _: set_sizes(),
}
"""By name; the commands take the lines that stand there."""
