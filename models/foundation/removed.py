"""Public names that pages promised once and that are gone, each with what to use in its place.

It stands below all that takes time to import: commands and options are looked up here, too.
"""

SUCCESSORS = {
    "depl.paths": "paths within limits on graphs of your own are found by cspy or PathWyse, without limits "
    "by networkx; model selection has depl.heuristics.paths.setting.least_weight",
    "depl front --expected": "'depl front' without it bounds what is promised instead of the expected loss",
    "depl policy replay --weighted": "'depl policy simulate' follows a policy under the law, and "
    "'depl certify' counts fresh runs",
}
"""What to use in place of a name, written as its users wrote it.

A name of the face or of one of its modules is ``depl.paths``, a command or an option of it ``depl front
--expected``, and a method ``method graph``.
"""


def removed(name: str) -> str | None:
    """What to tell whoever asks for a name that is gone; None for every other name.

    Examples
    --------
    >>> removed("depl.solve") is None
    True
    """
    successor = SUCCESSORS.get(name)
    return None if successor is None else f"{name} was removed: {successor}"
