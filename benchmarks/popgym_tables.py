"""Tables of docs/popgym.md from results/popgym: every run, and ASM-PPO beside the GRU."""

import statistics
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from json_results import Table, markdown, read_csv

#: Of Easy tasks that need an option, the entry that has it, and its name; the rest have defaults.
OPTIONS = {
    "RepeatPreviousEasy": ("asm-ppo-window-8", "window=8"),
    "CountRecallEasy": ("asm-ppo-counts", "counts=True"),
    "MultiarmedBanditEasy": ("asm-ppo-counts", "counts=True"),
    "BattleshipEasy": ("asm-ppo-counts", "counts=True"),
    "MineSweeperEasy": ("asm-ppo-counts", "counts=True"),
}
#: The entry with default options.
DEFAULT = "asm-ppo-latent"
#: The returns of all seeds, by the steps that evaluations were due at.
Evaluations = dict[int, list[float]]
#: Two medians that are no further apart are level.
LEVEL = 0.05
#: When ends of training are compared.
END = 400_000


def every_run(results: Path) -> str:
    """Median and worst seed by the steps that were taken."""
    runs: dict[str, dict[str, dict[str, Table]]] = defaultdict(lambda: defaultdict(dict))
    for row in read_csv(results / "popgym" / "runs.csv"):
        seeds = runs[row["environment"]][row["entry"]]
        seeds.setdefault(row["seed"], []).append(row)
    lines = []
    for environment, entries in runs.items():
        for entry, seeds in entries.items():
            cells = []
            for steps in (100_000, 400_000, 1_000_000):
                scores = [
                    float(row["undiscounted_return"])
                    for rows in seeds.values()
                    for row in rows
                    if int(row["due"]) == steps
                ]
                cell = f"{statistics.median(scores):.3f} / {min(scores):.3f}" if scores else ""
                some = 0 < len(scores) < len(seeds)
                cells.append(f"{cell} ({len(scores)})" if some else cell)
            lines.append([environment.removeprefix("popgym-"), entry, str(len(seeds)), *cells])
    heading = ["task", "method", "seeds", "100,000 steps", "400,000", "1,000,000"]
    return markdown(heading, lines)


def beside_gru(results: Path) -> str:
    """Ends of medians, and from when on they stay no further than LEVEL below the lower end.

    Both from evaluations that both methods have.
    """
    lines = []
    for task, entries in easy_tasks(results).items():
        entry, options = OPTIONS.get(task, (DEFAULT, ""))
        ours, gru = (
            {due: statistics.median(scores) for due, scores in entries[name].items()}
            for name in (entry, "gru-ppo")
        )
        latent = entries.get("gru-ppo-latent", {})
        both = sorted(due for due in ours.keys() & gru.keys() if due <= END)
        ends = [medians[END] for medians in (ours, gru)]
        steps = [_stays_from(medians, both, min(ends) - LEVEL) for medians in (ours, gru)]
        lines.append(
            [
                task,
                options,
                *(f"{end:.3f}" for end in ends),
                f"{statistics.median(latent[END]):.3f}" if END in latent else "",
                *("" if min(steps) == 0 else f"{each:,}" for each in steps),
                _verdict(ends[0] - ends[1], steps[0] - steps[1]),
            ]
        )
    ends_of = ["ASM-PPO", "GRU-PPO", "GRU-PPO, latent critic"]
    heading = ["task", "options", *ends_of, "ASM-PPO, steps", "GRU-PPO, steps", ""]
    return markdown(heading, lines)


def easy_tasks(results: Path) -> dict[str, dict[str, Evaluations]]:
    """The evaluations of all entries in each Easy task."""
    found: dict[str, dict[str, Evaluations]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for row in read_csv(results / "popgym" / "runs.csv"):
        task = row["environment"].removeprefix("popgym-")
        if task.endswith("Easy"):
            found[task][row["entry"]][int(row["due"])].append(float(row["undiscounted_return"]))
    return found


def _stays_from(medians: Mapping[int, float], dues: list[int], level: float) -> int:
    below = [due for due in dues if medians[due] < level]
    return min((due for due in dues if due > max(below, default=-1)), default=END)


def _verdict(difference: float, steps: int) -> str:
    if abs(difference) > LEVEL:
        return "ahead" if difference > 0 else "behind"
    return "level" if steps == 0 else f"level, in {'fewer' if steps < 0 else 'more'} steps"
