"""Read mutated POMDP files: every one is read, or refused with line and column, in a moment.

    python benchmarks/pomdp_files.py [--files 10000] [--seed 0] [FILE ...]

Without files, the classics that come with the package are mutated.
"""

import argparse
import random
import time
import warnings
from pathlib import Path

from asmpg.environments import pomdp_files
from asmpg.environments.pomdp_files import PomdpFileError, classic_names, parse_pomdp

_ODD = ("*", ":", "#", "T:", "O:", "R:", "start:", "states:", "-1", "nan", "1e999", "uniform")
_ODD += ("identity", "reset", "100000", "0x1", "\x00", "\n")


def mutate(text: str, generator: random.Random) -> str:
    """Cut, repeat or replace a few pieces of `text`, characters and words alike."""
    for _ in range(generator.randint(1, 4)):
        begin = generator.randrange(len(text) + 1)
        end = min(len(text), begin + generator.choice((0, 1, 2, 5, 20, 500)))
        put = generator.choice(
            (
                "",
                f" {generator.choice(_ODD)} ",
                text[begin:end] * generator.randint(2, 20),
                str(generator.randint(-5, 10 ** generator.randint(1, 12))),
                chr(generator.randrange(0x3000)),
            )
        )
        text = text[:begin] + put + text[end:]
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    folder = Path(pomdp_files.__file__).parent / "classics"
    paths = arguments.paths or [folder / name for name in classic_names()]
    texts = [path.read_text(errors="replace") for path in paths]
    generator, read, refused, slowest = random.Random(arguments.seed), 0, 0, 0.0
    warnings.simplefilter("ignore")
    for _ in range(arguments.files):
        text = mutate(generator.choice(texts), generator)
        started = time.perf_counter()
        try:
            parse_pomdp(text, Path("mutated.pomdp"))
            read += 1
        except PomdpFileError as error:
            _, line, column, _ = str(error).split(":", 3)
            assert line.isdigit()
            assert column.isdigit()
            refused += 1
        slowest = max(slowest, time.perf_counter() - started)
    print(f"{arguments.files} files: {read} read, {refused} refused, {slowest:.2f} s the slowest")


if __name__ == "__main__":
    main()
