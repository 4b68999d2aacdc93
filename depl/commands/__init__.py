"""The commands of the command line, one module each: ``run`` answers what was parsed.

A command prints nothing. It returns an `depl.commands.answer.Answer`, which `depl.cli` prints once.
"""
