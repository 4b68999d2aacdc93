"""DepL as printed in Fig. 3: data, then models, then resources, with blacklists and backtracking (Sec. IV).

Read `data` (stage 1), `graph` and `models` (stage 2), `resources` (stage 3) and `method` (the loop) in this
order. What the paper leaves open is read in one stated way, and nothing is repaired on the quiet.
"""
