"""A method of the reader's own: its cost over the best that is known, where it loses, its worst instances."""

import glob
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from depl.benchmarks.analysis.ratio_table import EXACTLY, tally
from depl.benchmarks.analysis.reference import Frame, pd, ratio
from depl.benchmarks.analysis.table import Table
from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.measure.catalogue import all_suites
from depl.benchmarks.report.evidence import Evidence
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.foundation.wording import counted, percentage
from depl.models.solving.methods import registered

WORST, GROUPS = 10, 15
"""Instances and groups that are listed."""
_VALUES = range(2, 13)
"""How many values a label may have to form groups: one says nothing, and many are names."""


@dataclass(frozen=True)
class OwnMethod:
    """A configuration in a sentence, and its tables by name: ``against``, ``groups`` and ``worst``."""

    name: str
    sentence: str
    tables: Mapping[str, Table]


def own_names(evidence: Evidence, named: Sequence[str] = ()) -> tuple[str, ...]:
    """The configurations or methods that are named, or else those of methods that are not built in."""
    methods = {item.task.configuration: item.method for item in evidence.attempts}
    if not named:
        shipped = {item.name for item in registered()}
        shipped |= {item.label for suite in all_suites().values() for item in suite.configurations}
        return tuple(name for name, method in methods.items() if not {name, method} & shipped)
    found: list[str] = []
    for wanted in named:
        of_method = [name for name, method in methods.items() if wanted == method]
        if wanted not in methods and not of_method:
            raise InvalidInputError(f"no attempt of a method {wanted!r}; {advice(wanted, sorted(methods))}")
        found += [wanted] if wanted in methods else of_method
    return tuple(dict.fromkeys(found))


def own_method(evidence: Evidence, name: str) -> OwnMethod:
    """A configuration against the other methods on the same questions, by groups, and where it loses most."""
    rows = evidence.trials.assign(over=lambda rows: rows["ratio"].fillna(rows["bound_ratio"]))
    own = rows[rows["configuration"] == name]
    asked = rows[rows["question"].isin(own["question"]) & (rows["ending"] != "refused")]
    costs = asked.fillna({"cost": np.inf}).pivot_table("cost", "question", "configuration", "min")
    costs = costs if name in costs else costs.assign(**{name: np.nan})
    tables = {"against": _against(name, costs), "groups": _groups(own), "worst": _worst(own, costs)}
    return OwnMethod(name, _sentence(name, own), tables)


def _sentence(name: str, own: Frame) -> str:
    found = tally(own)
    number = {key: int(found[key] or 0) for key in ("instances", "bounded", "unserved", "refused")}
    said = own[own["ending"].isin(["optimal", "infeasible"]) | (own["lower_bound"] > 0)]
    wrong = (said["wrong_bound"] | (said["fate"] == "false_infeasible")).sum()
    parts = [f"{name} was tried {counted(len(own), 'time')} on {counted(number['instances'], 'instance')}"]
    if found["mean"] is not None:
        optimal = percentage(float(found["optimal_share"] or 0), 2)
        parts.append(
            f"over the proved optimum its plans cost {found['mean']:.3f} on average and "
            f"{found['largest']:.3f} at most ({found['compared']} compared, {optimal} optimal)"
        )
    if found["bound_mean"] is not None:
        parts.append(
            f"where only a lower bound is proved, they cost at most {found['bound_mean']:.3f} times the "
            f"optimum on average ({counted(number['bounded'], 'plan')})"
        )
    if found["mean"] is found["bound_mean"] is None:
        parts.append("no optimum and no positive lower bound is proved, so that no ratio is formed")
    missed = f"{counted(number['unserved'], 'attempt')} ended without a plan where some method found one"
    parts.append(missed if number["unserved"] else "it found a plan wherever some method did")
    if wrong:
        parts.append(f"claims of proof contradicted by cheaper plans: {wrong} of {len(said)}")
    if number["refused"]:
        parts.append(f"it refused {counted(number['refused'], 'instance')}")
    return "; ".join(parts) + "."


def _against(name: str, costs: Frame) -> Table:
    """From the least cost by question and configuration, infinite where it was tried and found no plan."""
    rows = []
    for other in costs.columns.drop(name):
        pairs = costs[[name, other]].dropna()
        mine, its = (pairs[own] < np.inf for own in (name, other))
        both = ratio(pairs[name], pairs[other])[mine & its]
        cheaper, costlier = (both < 1 - EXACTLY).sum(), (both > 1 + EXACTLY).sum()
        alike, without = len(both) - cheaper - costlier, ((mine & ~its).sum(), (its & ~mine).sum())
        rows.append((other, len(pairs), cheaper, alike, costlier, *without, both.mean()))
    columns = ["against", "tried by both", "cheaper", "equal", "more expensive", "other without plan"]
    columns += ["itself without plan", "mean cost over the other's"]
    return Table.of(pd.DataFrame(rows, columns=columns).query("`tried by both` > 0"))


def _groups(own: Frame) -> Table:
    """By every label that has several values: ratios, the worst mean first."""
    found = []
    for label, values in pd.DataFrame(list(own["labels"]), index=own.index).items():
        told = values.dropna().astype(str).str.removesuffix(".0")
        if told.nunique() in _VALUES:
            groups = own.loc[told.index].groupby(told, sort=False)
            parts = groups.agg(
                attempts=("over", "size"),
                compared=("over", "count"),
                mean=("over", "mean"),
                largest=("over", "max"),
                **{"no plan": ("unserved", "sum")},
            )
            found.append(parts.reset_index(names="value").assign(label=label))
    if not found:
        return Table(("label", "value"))
    rows = pd.concat(found).sort_values("mean", ascending=False, kind="stable").head(GROUPS)
    return Table.of(rows.set_index("label").reset_index())


def _worst(own: Frame, costs: Frame) -> Table:
    """Some without a plan where there is one, half of the list at most, and those that cost most."""
    by = costs.idxmin(axis=1).reindex(own["question"]).array
    own = own.assign(by=by, excess=ratio(own["cost"], own["cheapest"]))
    own["loss"] = own[["over", "excess"]].max(axis=1)
    able = own[(own["fate"] != "refused") & own["feasible"]]
    costly = able[able["loss"] > 1 + EXACTLY].sort_values("loss", ascending=False, kind="stable")
    missed = able[able["cost"].isna()].head(max(WORST // 2, WORST - len(costly)))
    rows = pd.concat([missed, costly]).head(WORST)
    told = {
        **{name: name for name in ("instance", "suite", "seed")},
        "ended": "ending",
        "cost": "cost",
        "best known cost": "cheapest",
        "found by": "by",
        "lower bound": "bound",
        "over best known": "excess",
        "over the optimum at most": "over",
    }
    found = rows.assign(bound=rows["bound"].where(rows["bound"] > 0))[list(told.values())]
    found.columns = list(told)
    return Table.of(found.assign(**{"to run it again": rows["attempt"].map(_command)}))


def _command(item: Attempt) -> str:
    words = ["depl", "bench", "run", item.task.suite, "--instances", glob.escape(item.task.instance)]
    words += ["--methods", item.task.configuration, "--out", "again.jsonl"]
    suite, known = all_suites().get(item.task.suite), {known.name for known in registered()}
    shipped = suite is not None and item.method in known | {own.method for own in suite.configurations}
    return shlex.join(words if shipped else [*words, "--import", "FILE.py"])
