"""All commands of the command line, by their words."""

import click

from depl.cli import ROOT
from depl.commands.options import every


def leaves():
    """Every command that is no group, by its words."""
    for words, command in every(ROOT):
        if not isinstance(command, click.Group):
            yield " ".join(words), command


def options_of(command):
    """The long options of a command."""
    return {
        name
        for param in command.params
        if isinstance(param, click.Option)
        for name in (*param.opts, *param.secondary_opts)
    }
