"""The command line: reads a command and runs it. Nothing heavy is imported before that."""

import importlib
import os
import sys
from collections.abc import Sequence

from asmpg._support.command_line import plain_output, read_command, shortened
from asmpg._support.errors import CheckpointError, TrainingError
from asmpg._support.interrupts import leave_interrupted, leave_on_interrupt, raise_on_interrupt
from asmpg._support.version import __version__
from asmpg.commands.arguments import COMMANDS


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; exit with 2 on wrong usage, 1 on failure, 130 on Ctrl-C.

    While modules are being imported, Ctrl-C ends the process at once.
    """
    plain_output()
    try:
        try:
            _run(list(sys.argv[1:] if arguments is None else arguments))
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output is gone; Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt as interrupt:
        leave_interrupted(" ".join(map(str, interrupt.args)) or "stopped")
    finally:
        leave_on_interrupt()


def _run(given: Sequence[str]) -> None:
    if given == ["--version"]:
        print(f"asmpg {__version__}")
        return
    name, options = read_command(
        COMMANDS,
        given,
        prog="asmpg",
        description="Reinforcement learning with a learned, finite memory.",
    )
    try:
        command = importlib.import_module(f"asmpg.commands.{name}")
        compile_cache = importlib.import_module("asmpg._support.compile_cache")
        raise_on_interrupt()
        if options.pop("no_compile_cache", False):
            compile_cache.switch_compile_cache_off()
        else:
            compile_cache.use_compile_cache()
        command.show(**options)
    except BrokenPipeError:  # an OSError, but not the user's
        raise
    except (CheckpointError, TrainingError, OSError, ImportError) as error:
        _stop(f"error: {error}", code=1)
    except ValueError as error:
        _stop(f"error: {error}", code=2)


def _stop(message: str, *, code: int) -> None:
    print(f"asmpg: {shortened(message)}", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
