"""Proved optima: enumeration and searches, under the law, on scenarios and on traces.

One search explores subproblems by increasing bound (`search`), for three meanings of the quantile: counted
scenarios (`counted`), chords of normal increments (`chords`), and the law itself (`law`). `listing`
judges all plans, also under laws with memory.
"""
