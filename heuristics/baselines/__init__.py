"""What our loop is compared with: DepL as printed, best-exp, and general-purpose methods.

DepL as printed in Fig. 3 is data, then models, then resources, with blacklists and backtracking (Sec. IV).
Read `paper_data` and `paper_extension` (stage 1), `paper_graph` and `paper_models` (stage 2),
`paper_resources` (stage 3) and `paper_method` (the loop) in this order. What the paper leaves open is read in
one stated way, and nothing is repaired on the quiet. The general-purpose methods (`density`, `drafts`,
`peers`) know little of the problem.
"""
