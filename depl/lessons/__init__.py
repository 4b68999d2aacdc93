"""What the lessons in ``docs/lessons`` use: exercises that check themselves, and drawings.

A lesson is a plain script. Its exercises are open (``None``) until a reader fills them in; solutions are on a
page of their own, and the tests fill them in, together with typical mistakes.
"""
