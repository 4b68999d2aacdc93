"""The commands of the command line, one module each: ``add`` declares its options, ``run`` answers.

A command prints nothing. It returns an `depl.commands.answer.Answer`, which `depl.cli` prints once.
"""
