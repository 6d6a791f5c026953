"""`asmpg show`: a run's agents as machines: a table, figures, and a page to watch them play."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from asmpg._support.checks import check_integer, check_number
from asmpg._support.files import write_atomically
from asmpg.agents import chosen_seed, load, statuses
from asmpg.agents.machine import Machine
from asmpg.analysis.machine_page import View, machine_page, memory_history, write_history
from asmpg.runs import RunFolder, Which

#: What is written beside the page.
_FILES = ("machine.svg", "machine.png", "machine.dot", "machine.json")
#: At most this many seeds have their machines shown side by side.
_MOST_SEEDS = 10
_MOST_MOMENTS = 20


@dataclasses.dataclass(frozen=True)
class Shown:
    """The machine of a run, and the files that show it."""

    machine: Machine
    paths: tuple[Path, ...]


def show(
    run: str | Path,
    out: str | Path | None = None,
    *,
    seed: int | None = None,
    which: Which = "best",
    minimise: bool = False,
    tolerance: float = 1e-6,
    cases: int = 16,
    episodes: int = 2,
    history: int = 0,
    words: bool = False,
    quiet: bool = True,
) -> Shown:
    """Draw the machine of a seed, by default the best, and write `machine.html` to watch it play.

    The page shows the machine as learned, and hardened and minimised; without `seed`, it also shows
    those of the run's other seeds. With `minimise`, the figures and files are of the minimised
    machine. With `history`, the seed is trained again to show its machine at that many points of
    the run. Files are written to the folder `out`, by default the run's. Unless `quiet`, the
    machine is printed, as a table or in `words`.

    >>> print(asmpg.show("runs/cheese", minimise=True).machine)
    """
    check_number("tolerance", tolerance, low=0, high=1)
    check_integer("cases", cases, low=1, high=1000)
    check_integer("episodes", episodes, low=1, high=20)
    if history not in (0, *range(2, _MOST_MOMENTS + 1)):
        raise ValueError(f"history must be 0, or an integer in [2, {_MOST_MOMENTS}], got {history}")
    with Console(stderr=True, quiet=quiet).status("Computing and drawing the machine"):
        folder = RunFolder(run)
        known = statuses(folder, which)
        best = chosen_seed(known, seed, run=run, which=which)
        others = [each for each in known if each != best and seed is None]
        learned = load(run, seed=best, which=which).machine(cases=cases)
        small = learned.harden().minimise(tolerance)
        machine = small if minimise else learned
        views = [View(f"seed {best}, minimised", small), View(f"seed {best}, as learned", learned)]
        for each in others[: _MOST_SEEDS - 1]:
            other = load(run, seed=each, which=which).machine(cases=cases)
            views.append(View(f"seed {each}, minimised", other.harden().minimise(tolerance)))
        target = folder.path if out is None else Path(out)
        target.mkdir(parents=True, exist_ok=True)
        setting = machine.setting
        page = machine_page(
            views if minimise else [views[1], views[0], *views[2:]],
            None if setting is None else setting.environment,
            title=f"{machine.name}, {folder.config.method_name}",
            episodes=episodes,
        )
        write_atomically(target / "machine.html", lambda file: file.write(page.encode()))
        paths = [target / "machine.html", *_pictures(machine, target)]
        if history:
            paths += write_history(memory_history(run, seed=best, moments=history), target)
    shown = Shown(machine, tuple(paths))
    if not quiet:
        print(machine.describe() if words else machine)
        print()
        for path in shown.paths:
            print(f"Wrote {path}")
    return shown


def _pictures(machine: Machine, folder: Path) -> Iterator[Path]:
    for name in _FILES:
        path = folder / name
        machine.plot(path) if path.suffix in (".svg", ".png") else machine.export(path)
        yield path
