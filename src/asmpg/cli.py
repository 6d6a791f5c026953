"""The command line: one thin command per user intent. Nothing heavy is imported before it runs."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro
from tyro.conf import FlagCreatePairsOff, Positional, arg


def envs(
    name: Annotated[str | None, Positional, arg(metavar="NAME")] = None,
    *,
    json: bool = False,
    pictures: Annotated[Path | None, arg(metavar="FOLDER")] = None,
    recompute: bool = False,
) -> None:
    """Show the environments and what policies of several kinds are worth in them.

    Args:
        name: Show this environment only, in detail.
        json: Print JSON instead of a table.
        pictures: Draw the environments and the yardsticks into this folder.
        recompute: Run the slow solvers of the environments with real observations as well.
    """
    from asmpg.study import environments_page

    environments_page.show(name, as_json=json, pictures=pictures, recompute=recompute)


COMMANDS = {"envs": envs}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; exit with 2 on wrong usage, 1 on failure."""
    from asmpg import __version__

    given = list(sys.argv[1:] if arguments is None else arguments)
    if given == ["--version"]:
        print(f"asmpg {__version__}")
        return
    try:
        tyro.extras.subcommand_cli_from_dict(
            COMMANDS,
            prog="asmpg",
            description="Reinforcement learning with a learned, finite memory.",
            args=given,
            config=(FlagCreatePairsOff,),
        )
    except ValueError as error:
        print(f"asmpg: error: {error}", file=sys.stderr)
        sys.exit(2)
    except (OSError, ImportError) as error:
        print(f"asmpg: error: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
