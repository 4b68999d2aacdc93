"""What the page on the loop that is closed says, from the record of the case `training-loop`."""

from collections.abc import Iterator

from tests.docs.prose import Values, row


def training_loop(values: Values) -> Iterator[str]:
    """A row of the table for each rule, and the sentences below it."""
    rows = {item["rule"]: item for item in values["rows"]}
    for item in rows.values():
        share = item["reached"] / item["runs"]
        yield row(
            item["rule"],
            f"{share:.3f} [{item['lower']:.3f}, {item['upper']:.3f}]",
            f"{item['cost']:.1f} ({item['standard_error']:.1f})",
            f"{item['epochs']:.1f}",
        )
    yield f"{values['pilots']} pilot runs"
    edge, far = values["prices"]
    yield f"An epoch costs {edge} on the edge and {far} on the far edge"
    yield f"a loss of {values['target']:g} with probability {values['omega']:.2f}"
    fixed, policy, usual = rows["fixed number of epochs"], rows["policy"], rows["threshold"]
    assert usual["reached"] == policy["reached"]
    yield f"the policy saves {100 * (1 - policy['cost'] / usual['cost']):.0f} % more"
    yield f"costs {policy['cost'] / fixed['cost']:.2f} of what a fixed number of epochs costs"


def training_loop_commands(values: Values) -> Iterator[str]:
    """The commands that the page shows, and the probabilities that they print."""
    for item in values["commands"]:
        if not item["command"].startswith(("depl report", "depl traces import fresh")):
            yield f"$ {item['command']}"
        if item["command"].startswith(("depl solve", "depl policy solve")):
            (line,) = (line for line in item["text"].splitlines() if line.startswith("P("))
            yield " ".join(line.split())
