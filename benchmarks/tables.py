"""The tables of README and docs, made from what is in results/.

    python benchmarks/tables.py            # write them into the pages
    python benchmarks/tables.py --check    # only say which are not what results/ says

In a page, a table stands between `<!-- table NAME -->` and `<!-- end -->`; what stands there is
replaced. To add one, write a function from the folder of results to lines, and name it in TABLES.
"""

import argparse
import json
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cassandra
import popgym_tables
import speed_tables
import study_tables
import targets
from json_results import grouped, markdown, median, read_csv, read_rows

ROOT = Path(__file__).parents[1]
_MARK = re.compile(r"(<!-- table ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def peers(results: Path) -> str:
    """Steps and seconds, medians of the seeds; or what was reached, if one did not."""
    runs: dict[tuple[str, float], dict[str, list[dict[str, Any]]]] = defaultdict(dict)
    for path in sorted((results / "peers").glob("*.json")):
        run = json.loads(path.read_text())
        runs[run["task"], run["target"]].setdefault(run["library"], []).append(run)
    lines = []
    for (task, target), libraries in runs.items():
        cells = []
        for own in (libraries.get(library, []) for library in ("asmpg", "sb3-contrib")):
            reached = [run["reached"] for run in own]
            last = [run["curve"][-1] for run in own]
            if not own:
                cells += ["", ""]
            elif None in reached:
                steps, score, seconds = (max(part) for part in zip(*last, strict=True))
                cells += [f"not in {steps:,} ({score:.3g})", f"{seconds:.0f}"]
            else:
                steps, seconds = (statistics.median(part) for part in zip(*reached, strict=True))
                cells += [f"{steps:,.0f}", f"{seconds:.0f}"]
        lines.append([task, f"{target:g}", *cells])
    heading = ["task", "score", "ASM-PPO, steps", "seconds", "RecurrentPPO, steps", "seconds"]
    return markdown(heading, lines)


def real_actions(results: Path) -> str:
    """Median and worst seed of the last evaluation and of the best one."""
    lines = []
    for path in sorted((results / "real-actions").glob("*/*/metrics.csv")):
        curves: dict[str, list[float]] = defaultdict(list)
        for row in read_csv(path):
            curves[row["seed"]].append(float(row["undiscounted_return"]))
        ends = [curve[-1] for curve in curves.values()]
        highest = [max(curve) for curve in curves.values()]
        cells = [f"{statistics.median(some):.4g} / {min(some):.4g}" for some in (ends, highest)]
        lines.append([path.parts[-3], path.parts[-2], str(len(curves)), *cells])
    return markdown(["task", "method", "seeds", "last evaluation", "best evaluation"], lines)


def latent(folder: Path) -> str:
    """A row for each task: the median, the worst and the best seed with either critic."""
    critics = ("history", "latent")
    cells = []
    for (task, score), rows in grouped(read_rows(folder), "task", "score").items():
        found = {name: same for (name,), same in grouped(rows, "critic").items()}
        line = [task, score.replace("_", " "), str(len(rows) // len(critics))]
        for name in critics:
            values = [row["value"] for row in found.get(name, [])]
            spread = f" ({min(values):.4g} to {max(values):.4g})" if values else ""
            line.append(f"{median(values)}{spread}")
        cells.append(line)
    return markdown(["task", "score", "seeds", *(f"{name} critic" for name in critics)], cells)


def distil(folder: Path) -> str:
    """A row for each task and kind of student, medians over seeds."""
    rows = read_rows(folder)
    sizes = sorted({row["num_states"] for row in rows} - {None})
    kinds = list(dict.fromkeys(row["kind"] for row in rows if row["num_states"]))
    found = {
        key: [row["value"] for row in same]
        for key, same in grouped(rows, "task", "kind", "num_states").items()
    }
    cells = []
    for (task, score), own in grouped(rows, "task", "score").items():
        for kind in (kind for kind in kinds if any(row["kind"] == kind for row in own)):
            values = [median(found.get((task, kind, size), [])) for size in sizes]
            teacher = median(found.get((task, "teacher", None), []))
            cells.append([task, score.replace("_", " "), kind, teacher, *values])
    return markdown(["task", "score", "student", "teacher", *map(str, sizes)], cells)


def machines(folder: Path) -> str:
    """Means over seeds; the worst machine, and how many are worth no less than their agents."""
    lines = []
    for (task, options, score), rows in grouped(
        read_rows(folder), "task", "options", "score"
    ).items():
        agents, small = ([row[name] for row in rows] for name in ("agent", "minimised"))
        kept = sum(after >= before for before, after in zip(agents, small, strict=True))
        sizes = [row["states"][1] for row in rows]
        states = str(sizes[0]) if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
        means = [f"{statistics.fmean(values):.4f}" for values in (agents, small)]
        named = [task, options, score.replace("_", " ")]
        lines.append([*named, *means, f"{min(small):.4f}", f"{kept} of {len(rows)}", states])
    heading = ["", "options", "score", "agents", "machines", "worst machine", "no less", "states"]
    return markdown(heading, lines)


def classics(name: str, results: Path) -> str:
    return markdown(*getattr(cassandra, name)(results / "cassandra"))


TABLES: dict[str, Callable[[Path], str]] = {
    "steps-to-90": lambda results: study_tables.steps_to("90", results),
    "steps-to-95": lambda results: study_tables.steps_to("95", results),
    "targets": lambda results: targets.table(results, "asm-ppo-default"),
    "popgym": popgym_tables.every_run,
    "popgym-easy": popgym_tables.beside_gru,
    "peers": peers,
    "startup": speed_tables.startup,
    "environment-speed": speed_tables.environments,
    "training": speed_tables.training,
    "host": speed_tables.host,
    "many-seeds": speed_tables.many_seeds,
    "from-the-prompt": speed_tables.from_the_prompt,
    "updates": speed_tables.updates,
    "readings": study_tables.readings,
    "readings-held": study_tables.readings_held,
    "gradient-noise": lambda results: study_tables.gradient_noise(
        json.loads((results / "readings" / "step-reduction.json").read_text())
    ),
    "machine-constants": lambda results: study_tables.constants_table(
        results / "readings" / "constants", "MachineRepair"
    ),
    "healthcare-constants": lambda results: study_tables.constants_table(
        results / "readings" / "constants", "HealthcareTreatment"
    ),
    "activations": study_tables.activations,
    "costs": study_tables.costs,
    "paper-claims": study_tables.paper_claims,
    "paper-methods": study_tables.paper_methods,
    "real-actions": real_actions,
    "latent": lambda results: latent(results / "latent"),
    "distil": lambda results: distil(results / "distil"),
    "machines": lambda results: machines(results / "machines"),
    "solved": lambda results: classics("solved", results),
    "solved-shipped": lambda results: classics("shipped", results),
    "learned": lambda results: classics("learned", results),
    "learned-shipped": lambda results: classics("learned_shipped", results),
    "controllers": lambda results: classics("controllers", results),
    "bounds": lambda results: classics("bounds", results),
}


def rewritten(page: str, results: Path) -> str:
    """The page with its tables made anew."""

    def table(match: re.Match[str]) -> str:
        name = match[2]
        if name not in TABLES:
            raise ValueError(f"a table is one of {', '.join(TABLES)}, got {name!r}")
        return f"{match[1]}\n{TABLES[name](results)}\n{match[3]}"

    return _MARK.sub(table, page)


def stale_pages(root: Path, *, write: bool = False) -> list[Path]:
    """Pages that do not say what results/ says; with `write` they do afterwards."""
    stale = []
    for path in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        page = path.read_text()
        current = rewritten(page, root / "results")
        if current != page:
            stale.append(path.relative_to(root))
            if write:
                path.write_text(current)
    return stale


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the tables of README and docs.")
    parser.add_argument("--check", action="store_true", help="fail where one differs")
    check = parser.parse_args().check
    stale = stale_pages(ROOT, write=not check)
    for page in stale:
        print(f"{page}: {'not what results/ says' if check else 'written anew'}")
    sys.exit(1 if check and stale else 0)


if __name__ == "__main__":
    main()
