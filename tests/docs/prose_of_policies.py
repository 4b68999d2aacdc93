"""What the page on policies on real training says, from the record of the case `closed-loop`."""

from collections.abc import Iterator, Mapping
from typing import Any

from depl.benchmarks.studies.closed_loop import of_cost, refuted
from tests.docs.prose import Values, row

NAMES = {"digits-alexnet-slow": "AlexNet", "digits-mobilenet": "MobileNet"}
Row = Mapping[str, Any]


def closed_loop_table(values: Values) -> Iterator[str]:
    """A row for each problem."""
    for key, own in problems(values["rows"]).items():
        family, loss, epochs, omega = key
        fixed = own.get("fixed")
        yield row(
            NAMES[family],
            f"{loss:g} in {epochs}",
            f"{omega:.2f}",
            "none" if fixed is None else f"{fixed['delivered']:.2f} at {fixed['cost']:.1f}",
            plain(own.get("fixed, stopped"), fixed),
            certified(own["optimal, counted"], fixed),
            certified(own["optimal, ledger"], fixed),
            plain(own["reset rule"], fixed),
            plain(own["clairvoyant"], fixed),
        )


def problems(rows: list[Row]) -> dict[tuple[str, float, int, float], dict[str, Row]]:
    """Rows by family, target, epochs and omega, and then by rung."""
    found: dict[tuple[str, float, int, float], dict[str, Row]] = {}
    for item in rows:
        key = item["family"], item["maximum_loss"], item["maximum_epochs"], item["omega"]
        found.setdefault(key, {})[item["rung"]] = item
    return found


def plain(item: Row | None, fixed: Row | None) -> str:
    """What was delivered, and the cost in that of the fixed plan."""
    if item is None:
        return "none"
    return f"{item['delivered']:.2f}; {cost(item, fixed)}"


def certified(item: Row, fixed: Row | None) -> str:
    """What was certified, and then the same with the interval."""
    if item.get("promised") is None:
        return "none"
    interval = f"[{item['lower']:.2f}, {item['upper']:.2f}]"
    return f"{item['promised']:.3f}: {item['delivered']:.2f} {interval}; {cost(item, fixed)}"


def cost(item: Row, fixed: Row | None) -> str:
    """In that of the fixed plan, or as such where there is none."""
    return f"{item['cost']:.1f}" if fixed is None else f"{item['cost'] / fixed['cost']:.2f}"


def closed_loop(values: Values) -> Iterator[str]:
    """What the page says of the goals, and of what went wrong."""
    many = values["promises"]
    yield f"None of the counted promises is refuted, and none of the {many} policies gave up a run"
    assert values["refuted_counted"] == values["given_up_at_start"] == 0
    assert not [
        item for item in values["rows"] if item["rung"].endswith("counted") and item.get("p_value", 1) < 0.05
    ]
    yield f"{values['refuted_ledger']} probabilities that were certified on the ledger are refuted"
    yield f"in {values['refuted_omega']} cases even omega"
    yield f"{values['fixed_refuted']} fixed plans break omega, too"
    yield f"In {values['refuted_cost']} of the {many} cases the mean cost is above the certified one"
    costs = [values[f"{name}ratio_{level}"] for name in ("", "mean_", "least_") for level in ("90", "95")]
    yield (
        f"of the fixed plan's cost, {costs[2]:.2f} on average and {costs[0]:.2f} at worst at 0.90, "
        f"{costs[3]:.2f} and {costs[1]:.2f} at 0.95; "
        f"the clairvoyant pays {costs[4]:.2f} and {costs[5]:.2f} on average"
    )
    yield from missed(values["rows"])
    yield watched(values["rows"])
    yield f"is refuted {values['reset_refuted']} times"
    own = problems(values["rows"])["digits-mobilenet", 0.6, 47, 0.9]["optimal, ledger"]
    yield f"certified {own['promised']:.3f}, delivered {own['delivered']:.3f}"
    yield from at_the_least_price(values["prices"])


def missed(rows: list[Row]) -> Iterator[str]:
    """How often a goal for the cost is missed, and how often the counted policy looks at the loss."""
    words, same, counted = [], 0, 0
    for level, goal in ((0.9, 0.85), (0.95, 0.77)):
        ratios = []
        for (_, _, epochs, omega), own in problems(rows).items():
            policy = own["optimal, counted"]
            if omega != level or policy.get("promised") is None:
                continue
            counted, same = counted + 1, same + (policy["cost"] == own["static, counted"]["cost"])
            if epochs == 47:
                ratios.append(policy["cost"] / own["fixed"]["cost"])
        words.append(f"{sum(ratio > goal for ratio in ratios)} of {len(ratios)} targets")
    yield f"at 0.90 that is missed for {words[0]}, at 0.95 for {words[1]}"
    yield f"in {same} of {counted} cases a fixed plan that is left when the target is reached"


def watched(rows: list[Row]) -> str:
    """What choosing the switch by the loss saves under the law."""
    pairs = [(own["static, ledger"], own["optimal, ledger"]) for own in problems(rows).values()]
    kept = [(fixed, best) for fixed, best in pairs if fixed.get("promised") is not None]
    saved = [1 - best["promised_cost"] / fixed["promised_cost"] for fixed, best in kept]
    few = sum(share < 0.01 for share in saved)
    most = f"{100 * max(saved):.1f} % at most"
    return f"less than 1 % of the certified cost in {few} of {len(saved)} cases, and {most}"


def at_the_least_price(rows: list[Row]) -> Iterator[str]:
    """What becomes of runs where a failure costs rho_up and 1.5 times that."""
    told = {(item["family"], item["factor"], item["abandon_at_start"]): item for item in rows}
    cheap = told["digits-alexnet-slow", 1.0, True]
    yield f"gave up {cheap['abandoned_at_start']} of {cheap['runs']} runs before the first epoch"
    yield f"({cheap['promised']:.3f} certified, {cheap['delivered']:.3f} delivered)"
    others = [item for key, item in told.items() if key != ("digits-alexnet-slow", 1.0, True)]
    assert all(item["abandoned_at_start"] == 0 for item in others)


def closed_loop_counted(values: Values) -> Iterator[str]:
    """What is said of the counted policies alone, and of those that were planned on halves."""
    policies = [
        item for item in values["rows"] if item["rung"] == "optimal, counted" and item["promised"] is not None
    ]
    many = len(policies)
    assert sum(item["abandoned_at_start"] for item in policies) == 0
    yield f"Of {many} policies none is refuted"
    dear = refuted([of_cost(policy) for policy in policies])
    yield f"in {dear} of the {many} cases the mean cost is above the certified one"
    half, judged = ([item[kind] for item in values["halves"]] for kind in ("counted", "judged"))
    assert (len(half), values["counted_broken"], values["judged_broken"]) == (20, 0, 0)
    mean = sum(half) / len(half)
    yield (
        f"the other half delivered {min(half):.3f} to {max(half):.3f}, {mean:.3f} on average, in "
        f"{sum(share < 0.95 for share in half)} splits less than 0.95 and in none less than 0.95 by more"
    )
    yield f"seeds delivered {min(judged):.3f} to {max(judged):.3f}"
