"""``depl completion``: print a script by which a shell completes commands, options and names.

The script is made from the parsers and holds all names: make it again after an update. So a key press starts
no Python; to ask depl itself each time, as argcomplete does, takes a second or more.
"""

import argparse

_WHERE = {
    "bash": "~/.local/share/bash-completion/completions/depl",
    "zsh": "~/.depl.zsh (then 'source ~/.depl.zsh' in ~/.zshrc, after compinit)",
    "fish": "~/.config/fish/completions/depl.fish",
}


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    described = "; ".join(f"{name}, whose place is {place}" for name, place in _WHERE.items())
    parser.add_argument("shell", metavar="SHELL", choices=tuple(_WHERE), help=described)
    parser.set_defaults(run="depl.commands.completion:run")
