"""DepL as printed, one file for each of its three stages, and the loop of Fig. 3: what a lecture shows.

Read `data` (stage 1), `models` (stage 2), `resources` (stage 3) and `loop` in this order. What the paper
leaves open is read in one stated way, and nothing is repaired on the quiet.
"""
