"""Minimising set functions, above all submodular ones, with answers that say what was proved (Sec. IV-A).

Read `functions` (what a set function is), `status` (whether it is submodular), `certificate` (what proves a
minimum) and `minimise` (which method is for what), in this order; every other module is one method.
"""
