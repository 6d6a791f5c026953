"""The options of each command, as dataclasses that `tyro` turns into a command line.

Nothing heavy is imported here, so that `asmpg --help` answers at once. The fields of a command and
of its option groups are the arguments of its `show`.
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
