"""What each command is told, as a dataclass: `tyro` makes the command line of it.

Nothing heavy is imported here: `asmpg --help` answers at once. The fields of a command, with those
of its groups of options, are the arguments of its `show`.
"""

from asmpg.commands.arguments._environments import Check, Envs, Solve, Verify
from asmpg.commands.arguments._runs import Compress, Distil, Evaluate, Plot, Show
from asmpg.commands.arguments._studies import Report, Study, Sweep
from asmpg.commands.arguments._train import Train

COMMANDS: dict[str, type] = {
    command.__name__.lower(): command
    for command in (
        *(Train, Evaluate, Plot, Show, Study, Sweep, Report, Envs, Verify, Check, Solve),
        *(Distil, Compress),
    )
}
