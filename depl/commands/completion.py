"""``depl completion``: a script by which a shell asks depl what may follow."""

from depl.commands import options as given
from depl.commands.answer import Answer

_PLACES = {
    "bash": "~/.local/share/bash-completion/completions/depl",
    "zsh": "~/.depl.zsh (then 'source ~/.depl.zsh' in ~/.zshrc, after compinit)",
    "fish": "~/.config/fish/completions/depl.fish",
}


@given.command("""\
depl completion bash                         # > ~/.local/share/bash-completion/completions/depl
depl completion zsh
depl completion fish                         # > ~/.config/fish/completions/depl.fish
""")
@given.argument(
    "SHELL",
    "; ".join(f"{name}, whose place is {place}" for name, place in _PLACES.items()),
    given.Choice(tuple(_PLACES)),
)
def completion(options: given.Options) -> Answer:
    """Print a script by which bash, zsh or fish completes commands, options and names."""
    from click.shell_completion import get_completion_class

    from depl.cli import COMPLETING, ROOT

    shell = get_completion_class(options.shell)
    if shell is None:  # click knows the three
        raise TypeError(options.shell)
    return Answer(shell(ROOT, {}, "depl", COMPLETING).source().rstrip("\n"))
