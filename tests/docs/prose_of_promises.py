"""What the pages say of promises that were fitted to runs, from the records that hold it."""

from collections.abc import Iterator

import pytest

from tests.docs.prose import Values, cell, percent, row


def honest_tests(values: Values) -> Iterator[str]:
    assert values["size_as_printed"] < 0.005
    assert all(round(size, 2) in (0.04, 0.05, 0.06) for size in values["sizes"].values())
    yield "about 5 % honestly, below half a per cent as printed"


def promised_delivered(values: Values) -> Iterator[str]:
    def told(setting: str, method: str, runs: int, *, every: bool) -> list[str]:
        """By family and promise: least and greatest share of the plans with so many runs."""
        found = []
        for family in ("digits-alexnet", "digits-mobilenet"):
            for promised in (0.9, 0.95, 0.99):
                key = (family, setting, method, promised)
                shares = [
                    item["delivered"]
                    for item in values["fixed"]
                    if (item["family"], item["setting"], item["method"], item["promised"]) == key
                    and item["runs"]
                    and (item["runs"] == runs or not every)
                    and item["runs"] + item["refused"] == runs
                ]
                least, most = (cell(round(share, 2)) for share in (min(shares), max(shares)))
                least, most = (text if text == "1" else f"{float(text):.2f}" for text in (least, most))
                found.append(least if least == most else f"{least} to {most}")
        return found

    rows = {
        "order statistic, or affine law with residuals per run": ("held-out runs", "affine, per run"),
        "affine law, independent residuals": ("held-out runs", "affine, independent"),
        "independent increments": ("held-out runs", "independent increments"),
        "affine law per run, 5 epochs after the switch": ("known loss", "affine, per run"),
        "independent increments, 5 epochs after the switch": ("known loss", "independent increments"),
        "the plan never run, affine law per run, no margin": ("unseen plan", "affine, per run"),
    }
    for name, (setting, method) in rows.items():
        yield row(name, *told(setting, method, 104, every=True))
    yield row(
        "plans of the design, none of them run, the same",
        *told("unseen plan", "affine, per run", 288, every=False),
    )


def few_runs(values: Values) -> Iterator[str]:
    known = {"few": "51 runs", "halves": "half", "sixty": "60 of each"}
    for drawn in values["chosen"]:
        marginal = drawn["confidence"] is None
        shown = marginal or (drawn["known"], drawn["confidence"]) == ("sixty", 0.95)
        if drawn["collection"] != "drawn" or not shown:
            continue
        same = ("known", "confidence", "promised")
        (tuned,) = (
            item
            for item in values["chosen"]
            if item["collection"] == "tuned" and all(item[name] == drawn[name] for name in same)
        )
        told = []
        for item in (drawn, tuned):
            made = item["delivered"] is not None
            error = f"{item['standard_error'] or 0:.3f}"
            told.append(f"{cell(item['delivered'])} ({error})" if made else "none")
            told.append(percent(item["refused"]))
        how = "marginal" if marginal else "confidence 0.95"
        yield row(f"{known[drawn['known']]}, {how}", cell(drawn["promised"]), *told)
    few_known = [item for item in values["chosen"] if item["collection"] in ("drawn", "tuned")]
    marginal = [item for item in few_known if item["confidence"] is None and item["judged"]]
    most = max(item["refuted"] for item in marginal if item["known"] != "few")
    fewest = max(item["refuted"] for item in marginal if item["known"] == "few" and item["judged"] >= 20)
    yield (
        f"Of single marginal promises from 37 runs or more of a plan at most {100 * most:.0f} % are refuted "
        f"by an exact test at 5 %, of those from 12 or 15 runs at most {100 * fewest:.0f} %"
    )
    most = max(item["refuted"] for item in few_known if item["confidence"] and item["judged"])
    yield f"Of promises with confidence at most {100 * most:.1f} % are refuted"
    asked = {"known": "sixty", "confidence": None, "promised": 0.9}
    refused = {
        item["collection"]: percent(item["refused"])
        for item in few_known
        if all(item[key] == value for key, value in asked.items())
    }
    told = f"{refused['drawn']} of the problems of *drawn* are refused"
    yield f"{told} and {refused['tuned']} of those of *tuned*"


def promises_kept(values: Values) -> Iterator[str]:
    def plan(text: str) -> str:
        stages = [stage.replace("pruned-", "p") for stage in text.split(", ") if not stage.startswith("0 ")]
        return ", ".join(stages)

    careful = [item for item in values["rows"] if item["setting"] != "flattered"]
    for item in careful:
        asked = cell(item["target"]).ljust(4, "0"), f"{item['promised']:.2f}"
        if item["delivered"] is None:
            yield " - ".join((*asked, "none"))
            continue
        yield " - ".join(
            (
                *asked,
                plan(item["plan"]),
                str(item["runs_before"]),
                cell(item["delivered"]),
                f"{item['paper_quantile']:.2f}; {item['observed']:.2f}",
            )
        )
    flattered = [item for item in values["rows"] if item["setting"] == "flattered"]
    for family in ("digits-alexnet", "digits-mobilenet"):
        pair = [item for item in flattered if item["family"] == family]
        shown = [(cell(item["delivered"]), item["p_value"] < 0.05) for item in pair]
        yield "; ".join(f"**{share}**" if broken else share for share, broken in shown)
        yield "; ".join(
            ", ".join(f"{item[name]:.2f}" for item in pair) for name in ("paper_quantile", "observed")
        )
    made = [item for item in careful if item["delivered"] is not None]
    assert (len(made), len(careful), values["promises"]) == (9, 12, 9)
    least = min(item["p_value"] for item in made)
    assert least > 0.05
    yield (
        "None of the nine promises made with care is refuted at the 5 % level (one-sided, exact); "
        f"the lowest p-value is {cell(round(least, 2))}"
    )
    yield "For three problems nothing was promised"
    assert (sum(item["p_value"] < 0.05 for item in flattered), len(flattered)) == (3, 4)
    yield "Three of the four promises made without the margin are broken"
    alexnet, mobilenet = ([line.split()[0] for line in item["rounds"]] for item in values["pilots"])
    assert not alexnet
    (exceeded,) = mobilenet
    yield f"For MobileNet {exceeded} of 300 exceeded"


def runs_per_plan(values: Values) -> Iterator[str]:
    """A row for each promise and number of runs, and what is said below the table."""
    found = {(item["known"], item["confidence"], item["promised"]): item for item in values["pooled"]}
    for level in (0.8, 0.9, 0.95, 0.99):
        for known in (12, 24, 60, 300):
            told = []
            for confidence in (None, 0.95):
                item = found[known, confidence, level]
                made = item["delivered"] is not None
                least = f"({cell(item['least'])}; {item['families']})" if made else ""
                told += [f"{cell(item['delivered'])} {least}" if made else "none", percent(item["refused"])]
            yield row(cell(level), known, *told)
    judged = [item for item in values["pooled"] if item["refuted"] is not None]
    assert all(item["delivered"] >= item["promised"] for item in judged)
    most = max(item["refuted"] for item in judged if item["confidence"] is None)
    yield f"at most {percent(most)} of the single ones of a row are refuted"
    rows = [item for item in values["chosen"] if item["collection"] not in ("drawn", "tuned")]
    worst = max((item for item in rows if item["judged"]), key=lambda item: item["refuted"])
    assert (worst["promises"], round(worst["promises"] / (1 - worst["refused"]))) == (3, 60)
    assert worst["refuted"] == 1
    told = f"is *{worst['collection']}* with {worst['known']} runs: in 60 problems it is promised"
    kept = f"(kept in {worst['delivered']:.2f})"
    yield f"{told} {worst['promised']} three times, and all three are refuted {kept}"
    sure = [item for item in rows if item["confidence"] is not None and item["judged"]]
    assert max(item["refuted"] for item in sure) == 0
    yield "Of the promises with confidence 0.95 none is refuted in any family"
    assert found[12, 0.95, 0.8]["families"] == 3
    assert found[12, 0.95, 0.9]["families"] == 0
    short = [item["delivered"] for item in sure if item["delivered"] < item["promised"]]
    yield f"In one family promises of 0.90 with confidence from 300 runs were kept in {min(short):.2f}"
    assert len(short) == 1


def few_runs_in_the_readme(values: Values) -> Iterator[str]:
    asked = {"collection": "drawn", "known": "halves", "confidence": None}
    rows = [row for row in values["chosen"] if all(row[name] == value for name, value in asked.items())]
    shares = [f"{row['delivered']:.3f}" for row in rows if row["judged"]]
    yield f"from half of the runs delivered {', '.join(shares[:-1])} and {shares[-1]}"
    (few,) = (row for row in rows if row["promised"] == 0.99)
    asked = few["promises"] / (1 - few["refused"])
    assert asked == pytest.approx(round(asked))
    yield f"for 0.99 only {few['promises']} of {asked:.0f} promises were made, the others were refused"


def promises_in_the_readme(values: Values) -> Iterator[str]:
    careful, flattered = (
        [item for item in values["rows"] if (item["setting"] == "flattered") is chosen]
        for chosen in (False, True)
    )
    made = [item for item in careful if item["delivered"] is not None]
    assert {item["runs"] for item in made} == {200}
    assert all(item["p_value"] > 0.05 for item in made)
    shares = [item["delivered"] for item in made]
    assert (len(made), len(careful)) == (9, 12)
    kept = f"kept their targets in {min(shares):.2f} to {max(shares):.2f} of the runs"
    yield f"{kept}; none of nine promises is refuted at the 5 % level, and three more were not made"
    shares = [item["delivered"] for item in flattered]
    broken = [item for item in flattered if item["p_value"] < 0.05]
    assert (len(broken), len(flattered)) == (3, 4)
    yield f"it is {min(shares):.2f} to {max(shares):.2f}, and three of four are broken"
    assert all(item["paper_quantile"] > item["target"] for item in [*made, *flattered])
    yield "The paper's law calls all these targets out of reach"
    assert values["pilots_certified"] == 0
    yield "No promise of 0.99 was certified with 300 pilot runs"
