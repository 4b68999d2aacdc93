"""The options of the commands, one module each: ``add`` declares them, and nothing heavy is imported.

So a slip and ``--help`` are answered in a tenth of a second. What runs a command is told to its parser by
name (``run="depl.commands.solve:run"``), and `depl.cli` imports it once the words are parsed. What a help
shows comes from modules that import next to nothing, such as `depl.models.solving.defaults`.
"""
