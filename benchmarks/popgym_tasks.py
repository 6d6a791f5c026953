"""Which POPGym tasks run here, and why the others do not: the table of docs/popgym.md.

    pip install popgym
    python benchmarks/popgym_tasks.py

Each of the 42 originals (14 tasks at three difficulties, the mazes left out) is looked at as
`asmpg check` does, with a short random play. `--seconds 20` also trains a little with and without
memory, as `asmpg check` does by default.
"""

import argparse
import importlib

import asmpg
from asmpg.environments.popgym import DIFFICULTIES, POPGYM_TASKS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.0)
    seconds = parser.parse_args().seconds
    originals = importlib.import_module("popgym.envs").ALL  # an extra
    ids = [each["id"] for each in originals.values() if "Labyrinth" not in each["id"]]
    tasks = dict.fromkeys(name.removesuffix("-v0") for name in ids)
    print("| task | compiled | on the host |\n| --- | --- | --- |")
    for easy in [name for name in tasks if name.endswith("Easy")]:
        stem = easy.removesuffix("Easy")
        compiled = all(f"{stem}{each}" in POPGYM_TASKS for each in DIFFICULTIES)
        reports = [
            asmpg.check(f"{stem}{each}-v0", seconds=seconds)
            for each in DIFFICULTIES
            if f"{stem}{each}-v0" in ids
        ]
        fits = [report.fits for report in reports]
        assert len({*fits}) == 1, f"{stem} is refused at some difficulties only: {reports}"
        problem = (reports[0].problem or "").split(";")[0]
        name = stem.removeprefix("popgym-")
        host = "yes" if fits[0] else f"no: {problem}"
        print(f"| {name} | {'yes' if compiled else ''} | {host} |")
    print(f"\n{len(ids)} environments")


if __name__ == "__main__":
    main()
