"""Public names that pages promised once and that are gone, each with what to use in its place.

It stands below all that takes time to import: commands and options are looked up here, too.
"""

_CALCULUS = "modular total restricted contracted complement truncated tried Expression Monotone concave"
_RANKS = "uniform_rank partition_rank graphic_rank entropy log_det"
_TRAINED = "depl trains the digits and cells families; bring other losses by 'depl traces import'"
_REPLAYED = "depl.replay follows a policy on recorded runs; depl.plot.traces draws runs"
_TLS = "dask's own configuration names the certificates (distributed.comm.tls)"
_LOGS = ("traces import", "diagnose", "fit", "certify", "start")
_JOINED = {
    "closed-loop": "closed-loop-counted closed-loop-halves",
    "data": "submodular",
    "default": "default-method default-drawn-anew default-reach",
    "graph": "label-setting expanded-graph",
    "knapsacks": "chance-knapsacks outside-knapsacks",
    "promises-held-out": "few-runs runs-per-plan promised-delivered",
    "ratios": "competitive-ratio stochastic-value",
    "samples": "ladder search-goals sample-size",
}
"""Studies that asked one question more than once, by the one that asks it now."""

SUCCESSORS = {
    **{
        f"study {name}": f"its rows are in the study {study!r} and its record"
        for study, names in _JOINED.items()
        for name in names.split()
    },
    **{
        f"depl.submodular.{name}": "write the sum as one function for depl.submodular.claimed, or use cut, "
        "coverage, quadratic, facility_location and concave_of_weight, which take a modular part"
        for name in f"{_CALCULUS} {_RANKS}".split()
    },
    "method graph": "'depl-paper' searches the paper's graph in its second stage (option eta)",
    "method annealing": "use random, which is as good on the whole, or density-greedy",
    "method one-pass": "'depl-paper' decides in the paper's order, data, models, resources",
    "method depl-paper, option data": "depl minimises K^ T^ by select_datasets (depl.heuristics.data.select)",
    "method depl-paper, option placement": "epochs are placed by depl.heuristics.placement.place",
    **{f"depl train {option}": _TRAINED for option in ("--folder", "--images")},
    **{f"depl bench run {option}": _TLS for option in ("--tls-ca", "--tls-cert", "--tls-key")},
    "depl bench cases": "'depl bench list', 'run', 'table' and 'draw' take studies of every kind",
    "depl bench behaviour": "'depl bench compare behaviour' asks recorded answers again, with --update it "
    "replaces them, and 'depl bench run behaviour --out FILE' records all of them",
    "depl bench recheck": "'depl bench compare' asks recorded answers again",
    "depl bench export": "the file of a sweep is what is committed: gzip -n FILE.jsonl",
    "depl bench merge": "'depl bench report' and 'depl figures --paper' read several files",
    "depl.paths": "paths within limits on graphs of your own are found by cspy or PathWyse, without limits "
    "by networkx; model selection has depl.heuristics.paths.search.least_weight",
    "depl.Rollout": "depl.Controller(plan, instance=instance, replan=True), or Controller(instance), plans "
    "the rest again after every epoch; its 'rest' is the plan to follow",
    "depl front --expected": "'depl front' without it bounds what is promised instead of the expected loss",
    "method milp-resource": "milp proves the same optima, and 'depl program --form cone' writes the program "
    "with resources and times as variables, which SCIP solves",
    "depl program --form resource": "--form cone has resources and times as variables; the default is linear",
    "depl policy replay": "'depl policy simulate' follows a policy under the law, and depl.replay, in "
    "Python, on counterfactual runs",
    "depl fit --only-setup": "--leave-out PATTERN leaves out runs, files and folders of a name",
    **{
        f"depl {command} --stages-from": "the hyperparameter 'stages' of a run counts where no option says "
        "what was trained where"
        for command in _LOGS
    },
    **{f"depl policy show {option}": _REPLAYED for option in ("--runs", "--metric")},
    **{
        f"depl figures {option}": "a figure is written as PNG, SVG and PDF, its values as CSV and LaTeX"
        for option in ("--format", "--latex")
    },
    "depl figures --column-width": "scale the PDF in your document, whose letters stay letters",
    "depl policy solve --explain": "the answer has the numbers: price, promise, bound and gap; docs/policies "
    "has the equations",
}
"""What to use in place of a name, written as its users wrote it.

A name of the face or of one of its modules is ``depl.paths``, a command, an option of it or a choice of
that ``depl front --expected``, a method ``method graph``, an option of one ``method depl-paper, option
data``, and a study of ``depl bench`` is ``study ladder``.
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
