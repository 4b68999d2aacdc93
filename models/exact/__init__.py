"""Proved optima: enumeration and searches, under the law, on scenarios and on traces.

The searches share subproblems explored by increasing bound (`tree`), assignments of data, prices of time, the
cheapest clusters of a sequence, and reasons. `law_search` is exact under the law itself; `scenario_search`
goes on where the mathematical programs give up; `listing` judges all plans, also under laws with memory.
"""
