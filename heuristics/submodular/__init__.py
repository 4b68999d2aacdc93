"""Minimising set functions, above all submodular ones, with answers that say what was proved.

`minimise` chooses the method and says what follows; `function` is what all of them take.
"""
