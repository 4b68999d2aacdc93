"""What ``depl`` says when nothing is asked of it: what it is for, what to type next, and where to read on."""

GUIDE = """\
depl plans training in which the final loss must meet a target with a given probability: which data, which
model in each epoch, on which cluster, with how many resources, at the least cost. On the shipped instance
paper-alexnet-deadline-9 it finds a plan of cost 137.84 that meets a loss of 9 with probability 0.99, and
proves that no plan costs less; to choose models by the mean loss costs 215.91.

Next steps:

  depl instances show paper-alexnet-deadline-9
  depl solve paper-alexnet-deadline-9 --explain --out plan.json
  depl instances new --out mine.json        # an instance of your own, with comments to start from

All commands: depl --help. Each has examples: depl solve --help. Methods: depl methods.
Pages: the README and the folder docs of the sources; begin with docs/cli.rst and docs/howto.
"""
